import type { BuiltInTool } from '@parley/protocol/resources/available-tool.ts';
import { Body } from '@parley/protocol/schema/schema.ts';
import { type TSchema, Type } from 'typebox';

/** The facts of a built-in tool that are known without calling it. */
interface BuiltInToolFacts {
  readonly name: string;
  readonly description: string;
  readonly mutating: boolean;
  /** Whether it reaches servers outside the account. */
  readonly reachesOutside: boolean;
  /** Closed schema of an attached tool's `config`, which admits only values Postgres can store. */
  readonly configSchema: TSchema;
}

/** Maximum bytes that a tool may read or write unless its configuration sets a lower limit. */
export const TOOL_BYTES = { artifact: 1_048_576, fetched: 1_048_576 } as const;

/** A name of lower-case labels; with a leading `*.` all names below it. */
const HOST = '^(\\*\\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?$';

/** All built-in tools (docs/contract.md#tools). */
export const BUILT_IN_TOOL_FACTS: Readonly<Record<BuiltInTool, BuiltInToolFacts>> = {
  create_artifact: {
    name: 'Create artifact',
    description: 'Keeps a text that the agent wrote as a file of its run, attached to what it says.',
    mutating: true,
    reachesOutside: false,
    configSchema: Body({
      max_bytes: Type.Optional(
        Type.Integer({ minimum: 1, maximum: TOOL_BYTES.artifact, default: TOOL_BYTES.artifact }),
      ),
    }),
  },
  read_doc: {
    name: 'Read document',
    description: 'Reads an artifact of the account, or an attachment of a conversation, as text by its id.',
    mutating: false,
    reachesOutside: false,
    configSchema: Body({}),
  },
  fetch_url: {
    name: 'Fetch URL',
    description: 'Reads a public web page or document as text by its URL.',
    mutating: false,
    reachesOutside: true,
    configSchema: Body({
      allowed_hosts: Type.Optional(
        Type.Array(Type.String({ pattern: HOST, maxLength: 253 }), {
          minItems: 1,
          maxItems: 50,
          description:
            'Hosts that it may reach, such as example.com or *.example.com; without: every public one.',
        }),
      ),
      max_bytes: Type.Optional(
        Type.Integer({ minimum: 1, maximum: TOOL_BYTES.fetched, default: TOOL_BYTES.fetched }),
      ),
    }),
  },
  ask_person: {
    name: 'Ask a person',
    description:
      'Asks the people of a conversation with buttons, a selection or a form. Its result is the answer, which may take days, or that none came.',
    // Asking is how an agent gets leave for what changes something.
    mutating: false,
    reachesOutside: false,
    configSchema: Body({}),
  },
};
