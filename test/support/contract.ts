import { codeOf } from '@parley/protocol/errors/error-envelope.ts';
import { ERRORS, type ErrorCondition } from '@parley/protocol/errors/errors.ts';
import { isMediaType } from '@parley/protocol/schema/formats.ts';
import { schemaAt, sinceOf } from '@parley/protocol/schema/since.ts';
import { NEWEST_VERSION, VERSIONS, type Version, versionNamed } from '@parley/protocol/versions.ts';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** An answer as it was received. */
export interface WireAnswer {
  readonly method: string;
  /** With the query string. */
  readonly path: string;
  /** The Service-Version that was sent. */
  readonly version?: string | undefined;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The JSON body of the request; undefined if it had none. */
  readonly sent?: unknown;
}

/**
 * Checks every answer that a test receives against the OpenAPI document that the server publishes.
 * An undocumented status, an extra field or one of the wrong type, a field newer than the caller's
 * version, or an error that is not in the table fails the test that made the request.
 */
export class Contract {
  /** By the tag of the document: the greatest upload depends on the store. */
  static readonly #byTag = new Map<string, Contract>();

  readonly #operations: readonly Operation[];
  // Most schemas are used only a few times, so fast compilation matters more than fast validation.
  readonly #ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    inlineRefs: false,
    code: { optimize: false },
  });
  /** Keyed by the text of the schema: all refusals share one. */
  readonly #checks = new Map<string, ValidateFunction>();

  /** Returns the contract of a server. Servers of a process that publish the same share it. */
  static async of(baseUrl: string): Promise<Contract> {
    const response = await fetch(`${baseUrl}/v1/openapi.json`);
    const tag = response.headers.get('etag') ?? '';
    const known = Contract.#byTag.get(tag);
    if (known !== undefined) {
      await response.body?.cancel();
      return known;
    }
    const contract = new Contract((await response.json()) as OpenApi);
    Contract.#byTag.set(tag, contract);
    return contract;
  }

  constructor({ paths, components }: OpenApi) {
    addFormats.default(this.#ajv);
    this.#ajv.addFormat('media-type', isMediaType);
    for (const version of VERSIONS) {
      const schemas = schemaAt(version, components).schemas;
      this.#ajv.addSchema({ components: { schemas: closedMap(schemas) } }, version);
    }
    this.#operations = Object.entries(paths)
      .flatMap(([template, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({
          ...operation,
          method: method.toUpperCase(),
          template,
          pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`),
        })),
      )
      // A literal path takes precedence over a parameter, as in the router.
      .sort((a, b) => a.template.split('{').length - b.template.split('{').length);
  }

  /** Throws if the answer does not match the document. */
  check(answer: WireAnswer): void {
    const problem = this.#problemOf(answer);
    if (problem === undefined) return;
    const { method, path, status, text } = answer;
    throw new Error(`against the contract: ${method} ${path} answered ${status}: ${problem}\n${text}`);
  }

  #problemOf({ method, path, version = '', status, headers, text, sent }: WireAnswer): string | undefined {
    if (!headers.get('Request-Id')) return 'no Request-Id';
    const pathname = path.split('?')[0]!;
    const operation = this.#find(method === 'HEAD' ? 'GET' : method, pathname);
    const isApi = operation !== undefined || pathname.startsWith('/v1/');
    if (!isApi || text === '') return undefined;
    const type = headers.get('Content-Type') ?? 'none';
    const content = operation?.responses[status]?.content ?? { 'application/json': {} };
    if (!Object.hasOwn(content, type)) return `its type is ${type}`;
    if (type !== 'application/json') return undefined;
    const body: unknown = JSON.parse(text);
    if (operation === undefined) return status < 400 ? undefined : errorProblem(status, body);

    const response = operation.responses[status];
    if (response === undefined) return `${operation.operationId} documents no such status`;
    const { schema, examples } = response.content['application/json'];
    const spoken = versionNamed(version) ?? NEWEST_VERSION;
    const check = this.#checkFor(schema, spoken);
    if (!check(body)) return this.#ajv.errorsText(check.errors, { dataVar: 'body' });
    if (status >= 400) return errorProblem(status, body, Object.keys(examples ?? {}));
    return sent === undefined ? undefined : this.#requestProblem(operation, spoken, sent);
  }

  /**
   * Returns a problem if an accepted request does not match the document. A null counts as absent.
   */
  #requestProblem({ requestBody }: Operation, version: Version, sent: unknown): string | undefined {
    if (requestBody === undefined) return undefined;
    const { schema } = requestBody.content['application/json'];
    const check = this.#checkFor(schema, version, (schema) => schema);
    if (check(sent) || check(withoutNulls(sent))) return undefined;
    return `the request is not as documented: ${this.#ajv.errorsText(check.errors, { dataVar: 'body' })}`;
  }

  #find(method: string, path: string): Operation | undefined {
    return this.#operations.find((operation) => operation.method === method && operation.pattern.test(path));
  }

  #checkFor(schema: Schema, version: Version, close = closed): ValidateFunction {
    const text = JSON.stringify(schemaAt(version, schema)).replaceAll(
      '"#/components/',
      `"${version}#/components/`,
    );
    let check = this.#checks.get(text);
    if (check === undefined) {
      check = this.#ajv.compile(close(JSON.parse(text)));
      this.#checks.set(text, check);
    }
    return check;
  }
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface DocumentedOperation {
  readonly operationId: string;
  readonly requestBody?: DocumentedResponse;
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
}

interface DocumentedResponse {
  readonly content: { readonly 'application/json': { readonly schema: Schema; readonly examples?: object } };
}

interface Operation extends DocumentedOperation {
  readonly method: string;
  readonly template: string;
  readonly pattern: RegExp;
}

type Schema = Readonly<Record<string, unknown>>;

/**
 * Closes a schema: clients ignore unknown fields, but the server under test must not send any.
 * Objects that consist of several parts are closed as a whole.
 */
function closed(schema: Schema, isPart = false): Schema {
  const copy: Record<string, unknown> = { ...schema };
  if (isSchema(copy.properties)) copy.required = [...requiredOf(copy), ...newerOf(copy.properties)];
  const { properties, items, additionalProperties, patternProperties } = copy;
  if (isSchema(properties)) copy.properties = closedMap(properties);
  if (isSchema(patternProperties)) copy.patternProperties = closedMap(patternProperties);
  if (isSchema(additionalProperties)) copy.additionalProperties = closed(additionalProperties);
  if (isSchema(items)) copy.items = closed(items);
  for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
    const parts = copy[keyword];
    if (Array.isArray(parts)) copy[keyword] = parts.map((part: Schema) => closed(part, keyword === 'allOf'));
  }
  if (isPart) return copy;
  if (copy.allOf !== undefined) return { ...copy, unevaluatedProperties: false };
  const isOpen =
    properties !== undefined && additionalProperties === undefined && patternProperties === undefined;
  return isOpen ? { ...copy, additionalProperties: false } : copy;
}

function requiredOf({ required = [] }: { readonly required?: unknown }): readonly string[] {
  return required as readonly string[];
}

/**
 * Returns the newer fields. Callers of a newer version always get them, although the schema for all
 * versions cannot require them.
 */
function newerOf(properties: Schema): string[] {
  return Object.entries(properties).flatMap(([name, property]) =>
    sinceOf(property as object) === undefined ? [] : name,
  );
}

export function closedMap(schemas: Schema): Schema {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, closed(schema as Schema)]),
  );
}

function withoutNulls(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, field: unknown) => (field === null ? undefined : field));
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null;
}

/**
 * Returns a problem unless code, type, status and transience are one line of the error table, and
 * the route documents it.
 */
function errorProblem(status: number, body: unknown, documented?: readonly string[]): string | undefined {
  const { error } = body as { readonly error?: Readonly<Record<string, unknown>> };
  if (error === undefined) return 'no error envelope';
  if (/[^.]\.\.$/.test(String(error.message))) return 'its message ends with two full stops';
  const conditions = (Object.keys(ERRORS) as ErrorCondition[]).filter(
    (condition) => codeOf(condition) === error.code && ERRORS[condition].status === status,
  );
  if (conditions.length === 0) return `the error table has no ${error.code} with this status`;
  const agrees = (condition: ErrorCondition) =>
    ERRORS[condition].type === error.type && ERRORS[condition].transient === error.is_transient;
  if (!conditions.some(agrees)) return `the error table says otherwise about ${error.code}`;
  if (documented === undefined || conditions.some((condition) => documented.includes(condition)))
    return undefined;
  return `${error.code} is not documented for this endpoint`;
}
