import { schemaAt, sinceOf } from '@parley/protocol/schema/since.ts';
import { covers, SOCKETS_SINCE, type Version } from '@parley/protocol/versions.ts';
import { nameOf, type SchemaObject } from '../../src/api/documents/openapi/schemas.ts';

/**
 * Returns what exists at a version: operations and frames, and the named schemas that these refer
 * to.
 */
export function shapesAt(
  version: Version,
  { paths, components }: OpenApi,
  { components: sockets }: AsyncApi,
): object {
  const operations: Record<string, object> = {};
  const named = new Named(version, components.schemas);
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const since = sinceOf(operation);
      if (since === undefined || !covers(version, since)) continue;
      operations[`${method.toUpperCase()} ${path}`] = operationAt(named, operation);
    }
  }
  const frames: Record<string, Shape> = {};
  const framed = new Named(version, sockets.schemas);
  for (const { name, payload, ...message } of Object.values(sockets.messages)) {
    const since = sinceOf(message) ?? SOCKETS_SINCE;
    // Refusals are the table of errors, for every version.
    if (name === 'refusal' || !covers(version, SOCKETS_SINCE) || !covers(version, since)) continue;
    frames[name] = framed.shapeOf(payload);
  }
  return { operations, frames, schemas: joined(named.shapes(), framed.shapes()) };
}

function operationAt(named: Named, { parameters, requestBody, responses }: Operation): object {
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && named.has(parameter.schema))
    .map(({ name, required, schema }) => [required ? name : `${name}?`, named.shapeOf(schema)]);
  const contents = Object.entries(responses).filter(([status]) => status < '300');
  return {
    ...(query.length > 0 && { query: Object.fromEntries(query) }),
    ...(requestBody !== undefined &&
      named.hasFields(bodyOf(requestBody)) && { body: named.shapeOf(bodyOf(requestBody)) }),
    ...Object.fromEntries(contents.map(([status, answer]) => [status, named.shapeOf(bodyOf(answer))])),
  };
}

function bodyOf({ content }: Content): SchemaObject {
  return content['application/json']?.schema ?? {};
}

/** A type in words, or fields with theirs; `?` behind a name: it may be absent. */
type Shape = string | { readonly [field: string]: Shape } | readonly Shape[];

/** Schemas at a version; collects those that are referred to by their names. */
class Named {
  readonly #version: Version;
  readonly #schemas: Readonly<Record<string, SchemaObject>>;
  readonly #shapes = new Map<string, Shape>();

  constructor(version: Version, schemas: Readonly<Record<string, SchemaObject>>) {
    this.#version = version;
    this.#schemas = schemas;
  }

  /** Whether callers of the version know it. */
  has(schema: SchemaObject): boolean {
    const since = sinceOf(schema);
    return since === undefined || covers(this.#version, since);
  }

  /** Whether callers of the version know a field of it, if it has any. */
  hasFields({ properties = {} }: SchemaObject): boolean {
    const fields = Object.values(properties);
    return fields.length === 0 || fields.some((field) => this.has(field));
  }

  shapeOf(schema: SchemaObject): Shape {
    return this.#shapeOf(schemaAt(this.#version, schema));
  }

  /** Those that were referred to so far, by name. */
  shapes(): Record<string, Shape> {
    return Object.fromEntries([...this.#shapes].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #shapeOf(schema: SchemaObject): Shape {
    if (schema.$ref !== undefined) return this.#referred(nameOf(schema.$ref));
    if (schema.properties !== undefined) return this.#fieldsOf(schema);
    if (schema.const !== undefined) return literal(schema.const);
    if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) return oneOf(choices.map((choice) => this.#shapeOf(choice)));
    const [part] = schema.allOf ?? [];
    if (part !== undefined) return this.#shapeOf(part);
    const { type = 'any', format, items, additionalProperties: values } = schema;
    const types = [type].flat().map((name): Shape => {
      if (name === 'array' && items !== undefined) return listOf(this.#shapeOf(items));
      if (name === 'object' && typeof values === 'object') return { map_of: this.#shapeOf(values) };
      return name === 'string' && format !== undefined ? format : name;
    });
    return oneOf(types);
  }

  #fieldsOf({ properties = {}, required = [] }: SchemaObject): Shape {
    const fields = Object.entries(properties).map(([name, field]) => {
      // Newer fields are always there for those who know them.
      const mayBeAbsent = !required.includes(name) && sinceOf(field) === undefined;
      return [mayBeAbsent ? `${name}?` : name, this.#shapeOf(field)];
    });
    return Object.fromEntries(fields);
  }

  #referred(name: string): string {
    if (!this.#shapes.has(name)) {
      // Schemas refer to themselves.
      this.#shapes.set(name, name);
      this.#shapes.set(name, this.shapeOf(this.#schemas[name]!));
    }
    return name;
  }
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}

function listOf(item: Shape): Shape {
  if (typeof item !== 'string') return { list_of: item };
  return item.includes(' ') ? `(${item})[]` : `${item}[]`;
}

function oneOf(shapes: readonly Shape[]): Shape {
  if (shapes.length === 1) return shapes[0]!;
  return shapes.every((shape) => typeof shape === 'string') ? shapes.join(' | ') : shapes;
}

/** Throws if one name stands for two shapes. */
function joined(a: Readonly<Record<string, Shape>>, b: Readonly<Record<string, Shape>>) {
  for (const [name, shape] of Object.entries(b)) {
    if (name in a && JSON.stringify(a[name]) !== JSON.stringify(shape))
      throw new Error(`two schemas are ${name}`);
  }
  return { ...a, ...b };
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, SchemaObject>> };
}

interface Operation {
  readonly parameters: readonly {
    readonly name: string;
    readonly in?: string;
    readonly required?: boolean;
    readonly schema: SchemaObject;
  }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

interface Content {
  readonly content: { readonly 'application/json'?: { readonly schema: SchemaObject } };
}

export interface AsyncApi {
  readonly components: {
    readonly messages: Readonly<Record<string, { readonly name: string; readonly payload: SchemaObject }>>;
    readonly schemas: Readonly<Record<string, SchemaObject>>;
  };
}
