import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import { parseExact } from '@parley/protocol/json/exact-json.ts';
import type { TraceContext } from '@parley/protocol/traceparent.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { EndpointFacts } from './catalogue.ts';
import { cutText } from './document-text.ts';
import { type RunTool, ToolRefusal } from './tool.ts';

/** Calls the API without a connection (api/pipeline/in-process.ts). */
export interface EndpointCaller {
  /** Resolves with the response, whatever its status; rejects with the reason of `signal`. */
  call(
    request: {
      readonly route: Pick<EndpointFacts, 'name' | 'method' | 'since'>;
      readonly path: string;
      readonly query: string;
      /** JSON; '' if there is none. */
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
 * Returns the tool that calls one endpoint as the agent, with every check that an outside caller
 * meets: version, rate limit, permission, validation. Its arguments are `{path, query, body}`, as
 * far as the endpoint has them; query parameters are named without their `[]`. The id of the action
 * is the Idempotency-Key, so a repetition has no second effect. Returns `{status, body}`; an error
 * response becomes a ToolRefusal with the error's own code.
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
    mutating: facts.method !== 'GET',
    needsReview: options.needsReview,
    reachesOutside: ({ body }) => facts.reachesOutside?.(body ?? {}) ?? false,
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

/** Bytes of a response that a model gets. */
const ANSWER_BYTES = 65_536;

const PATH_PARAMETER = /:(\w+)/g;

/** The shape that `parametersOf` accepts. */
interface EndpointArguments {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** The parts of JSON Schema that are used here. */
interface ObjectSchema {
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

const known = new WeakMap<EndpointFacts, Readonly<Record<string, unknown>>>();

/** Returns the same object for all agents, because its compiled validator is cached. */
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

/** Removes `[]`: providers accept letters, digits, `_`, `.` and `-` in names. */
function shortName(name: string): string {
  return name.replace(/\[\]$/, '');
}

/** Removes the schema library's own additions, and keywords that only ajv knows. */
function plain(schema: object): object {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === 'discriminator' ? undefined : value)));
}

function queryTextOf(facts: EndpointFacts, query: Readonly<Record<string, unknown>>): string {
  const { properties = {} } = (facts.query ?? {}) as ObjectSchema;
  const names = new Map(Object.keys(properties).map((name) => [shortName(name), name]));
  const pairs = Object.entries(query).flatMap(([short, value]): [string, string][] => {
    const name = names.get(short) ?? short;
    if (Array.isArray(value)) return value.map((item) => [name, String(item)]);
    if (typeof value !== 'object' || value === null) return [[name, String(value)]];
    return Object.entries(value).map(([field, item]) => [`${name}[${field}]`, String(item)]);
  });
  return pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');
}

function bounded(text: string): { readonly body: unknown; readonly note?: string } {
  const cut = cutText(text, ANSWER_BYTES);
  if (!cut.truncated) return { body: parseExact(text) };
  const note = `Cut off after ${ANSWER_BYTES} of ${Buffer.byteLength(text)} bytes. Ask for less at once.`;
  return { body: cut.text, note };
}

function refusalIn(text: string): ToolRefusal {
  const { code, message, param } = (JSON.parse(text) as { error: ErrorObject }).error;
  return new ToolRefusal(code, param === null ? message : `${param}: ${message}`);
}
