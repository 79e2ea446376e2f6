import { schemaAt } from '@parley/protocol/schema/since.ts';
import type { TraceContext } from '@parley/protocol/traceparent.ts';
import { versionFor } from '@parley/protocol/versions.ts';
import type { Principal } from '../../api/access/principal.ts';
import type { EndpointFacts } from './endpoint-facts.ts';

/** Calls the API without a connection (api/pipeline/in-process.ts). */
export interface EndpointCaller {
  /** Resolves with the response, whatever its status; rejects with the reason of `signal`. */
  call(
    request: EndpointRequest & CallOf,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly text: string }>;
}

/** A call's endpoint with its arguments. */
export interface EndpointRequest {
  readonly route: Pick<EndpointFacts, 'name' | 'method' | 'since'>;
  readonly path: string;
  readonly query: string;
  /** JSON; '' if there is none. */
  readonly body: string;
}

/** The caller of an endpoint, and its request. */
interface CallOf {
  readonly principal: Principal;
  readonly idempotencyKey: string | undefined;
  /** The run of the agent that calls; undefined for other callers. */
  readonly runId: string | undefined;
  readonly trace: TraceContext | undefined;
}

/** The shape that `parametersOf` accepts. */
export interface EndpointArguments {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** The parts of JSON Schema that are used here. */
interface ObjectSchema {
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

/** Returns the request of these arguments. Query parameters are named without their `[]`. */
export function requestOf(
  facts: EndpointFacts,
  { path = {}, query = {}, body }: EndpointArguments,
): EndpointRequest {
  return {
    route: facts,
    path: facts.path.replace(PATH_PARAMETER, (_, name: string) => encodeURIComponent(String(path[name]))),
    query: queryTextOf(facts, query),
    body: facts.body === undefined ? '' : JSON.stringify(body ?? {}),
  };
}

const PATH_PARAMETER = /:(\w+)/g;

const known = new WeakMap<EndpointFacts, Readonly<Record<string, unknown>>>();

/**
 * Returns the JSON Schema of the arguments, `{path, query, body}` as far as the endpoint has them.
 * It is the same object for all callers, because its compiled validator is cached.
 */
export function parametersOf(facts: EndpointFacts): Readonly<Record<string, unknown>> {
  const parameters = known.get(facts) ?? makeParameters(facts);
  known.set(facts, parameters);
  return parameters;
}

function makeParameters(facts: EndpointFacts): Readonly<Record<string, unknown>> {
  const version = versionFor(facts.since);
  const parts = {
    path: pathSchema(facts.path),
    query: facts.query && querySchema(schemaAt(version, facts.query)),
    body: facts.body && plain(schemaAt(version, facts.body)),
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

function querySchema(query: object): object {
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
export function plain(schema: object): Record<string, unknown> {
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
