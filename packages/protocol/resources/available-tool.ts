import { type Static, Type } from 'typebox';
import { describe, Identity, OneOf } from '../schema/schema.ts';
import type { MembersSince } from '../schema/since.ts';

/** `built_in` tools are attached one by one; `api_endpoint` tools call an endpoint as the agent. */
export const TOOL_CATEGORIES = ['built_in', 'api_endpoint'] as const;

/** The built-in tools by their slugs (docs/contract.md#tools). */
export const BUILT_IN_TOOLS = ['create_artifact', 'read_doc', 'fetch_url', 'ask_person'] as const;
export type BuiltInTool = (typeof BUILT_IN_TOOLS)[number];

/** The versions that brought later ones. */
export const BUILT_IN_SINCE: MembersSince<BuiltInTool> = { ask_person: '1.5.harbor-preview.1' };

/** A tool for agents (docs/contract.md#tools), with the JSON Schema of its configuration. */
export const AvailableTool = Type.Object({
  ...Identity('available_tool'),
  slug: Type.String(),
  name: Type.String(),
  description: Type.String(),
  category: OneOf(TOOL_CATEGORIES),
  mutating: Type.Boolean(),
  config_schema: Type.Record(Type.String(), Type.Unknown()),
});
export type AvailableTool = Static<typeof AvailableTool>;

describe(AvailableTool, {
  slug: 'Name of the tool, as agents are given it.',
  name: 'Name for people.',
  description: 'What the tool does.',
  category:
    '`built_in` tools are attached one by one; an `api_endpoint` tool calls one endpoint as the agent and is granted by its slug.',
  mutating:
    'Whether the tool changes something. A built-in tool that does waits for approval whatever its review requirement says.',
  config_schema: 'JSON Schema of the configuration of the tool.',
});

/**
 * Returns the slug of an endpoint's tool: its operation id with dashes. Undefined if it is closed
 * to agents, or shows a secret, which would remain in the run that called it.
 */
export function toolSlugOf(endpoint: {
  readonly name: string;
  readonly agents?: boolean;
  readonly secret?: boolean;
}): string | undefined {
  const isClosed = endpoint.agents === false || endpoint.secret === true;
  return isClosed ? undefined : endpoint.name.replaceAll('_', '-');
}
