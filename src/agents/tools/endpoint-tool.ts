import type { Principal } from '../../access/principal.ts';
import type { TraceContext } from '../../protocol/traceparent.ts';
import type { EndpointFacts } from './catalogue.ts';
import { cutText } from './document-text.ts';
import { type RunTool, ToolRefusal } from './tool.ts';

/** The API as whoever is let in without a connection calls it (http/in-process.ts). */
export interface EndpointCaller {
  /** Resolves with whatever was answered; rejects with the reason of `signal`. */
  call(
    request: {
      readonly route: Pick<EndpointFacts, 'name' | 'method'>;
      readonly path: string;
      readonly query: string;
      /** JSON; '' where there is none. */
      readonly body: string;
      readonly principal: Principal;
      readonly idempotencyKey: string | undefined;
      readonly runId: string;
      readonly trace: TraceContext | undefined;
    },
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly text: string }>;
}

/**
 * The tool that calls one endpoint as the agent, with all that a caller from outside meets: version, rate limit,
 * permission, validation. Its arguments are `{path, query, body}`, as far as the endpoint has them; parameters
 * of the query are named without their `[]`. The id of the action is the Idempotency-Key: what is done again is
 * done once. Answers `{status, body}`; a refusal is a ToolRefusal with the error's own code.
 */
export function endpointTool(
  slug: string,
  facts: EndpointFacts,
  options: { readonly caller: EndpointCaller; readonly needsReview: boolean },
): RunTool {
  return {
    slug,
    category: 'api_endpoint',
    spec: {
      name: slug,
      description: `${facts.summary}. ${facts.method} ${facts.path}`,
      parameters: parametersOf(facts),
    },
    needsReview: options.needsReview,
    async call(args, { principal, runId, actionId, trace, signal }) {
      const { path = {}, query = {}, body } = args as EndpointArguments;
      const request = {
        route: facts,
        path: facts.path.replace(PATH_PARAMETER, (_, name: string) => encodeURIComponent(String(path[name]))),
        query: queryTextOf(facts, query),
        body: facts.body === undefined ? '' : JSON.stringify(body ?? {}),
        principal,
        idempotencyKey: actionId,
        runId,
        trace,
      };
      const { status, text } = await options.caller.call(request, signal);
      if (status >= 400) throw refusalIn(text);
      return { output: { status, ...bounded(text) } };
    },
  };
}

/** Bytes of an answer that a model is given. */
const ANSWER_BYTES = 65_536;

const PATH_PARAMETER = /:(\w+)/g;

/** What `parametersOf` accepts. */
interface EndpointArguments {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** Of JSON Schema what is looked at here. */
interface ObjectSchema {
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

const known = new WeakMap<EndpointFacts, Readonly<Record<string, unknown>>>();

/** One and the same object for all agents: what is compiled of it is kept. */
function parametersOf(facts: EndpointFacts): Readonly<Record<string, unknown>> {
  const parameters = known.get(facts) ?? makeParameters(facts);
  known.set(facts, parameters);
  return parameters;
}

function makeParameters(facts: EndpointFacts): Readonly<Record<string, unknown>> {
  const parts = {
    path: pathSchema(facts.path),
    query: querySchema(facts.query),
    body: facts.body && plain(facts.body),
  };
  const present = Object.entries(parts).filter(([, part]) => part !== undefined);
  return objectSchema(
    Object.fromEntries(present),
    present.filter(([, part]) => ((part as ObjectSchema).required ?? []).length > 0).map(([name]) => name),
  );
}

function pathSchema(path: string): object | undefined {
  const names = [...path.matchAll(PATH_PARAMETER)].map(([, name = '']) => name);
  if (names.length === 0) return undefined;
  const properties = names.map((name) => [name, { type: 'string', minLength: 1, maxLength: 200 }]);
  return objectSchema(Object.fromEntries(properties), names);
}

function querySchema(query: object | undefined): object | undefined {
  if (query === undefined) return undefined;
  const { properties = {}, required = [] } = plain(query) as ObjectSchema;
  const shown = Object.entries(properties).filter(([, schema]) => !('deprecated' in schema));
  return objectSchema(
    Object.fromEntries(shown.map(([name, schema]) => [shortName(name), schema])),
    required.map(shortName),
  );
}

function objectSchema(properties: object, required: readonly string[]): Record<string, unknown> {
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/** Providers take letters, digits, `_`, `.` and `-` in names. */
function shortName(name: string): string {
  return name.replace(/\[\]$/, '');
}

/** Without what the schema library keeps beside the schema, and what is ajv's alone. */
function plain(schema: object): object {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === 'discriminator' ? undefined : value)));
}

function queryTextOf(facts: EndpointFacts, query: Readonly<Record<string, unknown>>): string {
  const { properties = {} } = (facts.query ?? {}) as ObjectSchema;
  const names = new Map(Object.keys(properties).map((name) => [shortName(name), name]));
  const pairs = Object.entries(query).flatMap(([short, value]) =>
    (Array.isArray(value) ? value : [value]).map((item): [string, string] => [
      names.get(short) ?? short,
      String(item),
    ]),
  );
  return pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');
}

function bounded(text: string): { readonly body: unknown; readonly note?: string } {
  const cut = cutText(text, ANSWER_BYTES);
  if (!cut.truncated) return { body: JSON.parse(text) };
  const note = `Cut off after ${ANSWER_BYTES} of ${Buffer.byteLength(text)} bytes. Ask for less at once.`;
  return { body: cut.text, note };
}

function refusalIn(text: string): ToolRefusal {
  const { error }: Envelope = JSON.parse(text);
  const { code, message, param } = error;
  return new ToolRefusal(code, param === null ? message : `${param}: ${message}`);
}

interface Envelope {
  readonly error: { readonly code: string; readonly message: string; readonly param: string | null };
}
