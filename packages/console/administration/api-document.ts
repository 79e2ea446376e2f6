import type { JsonSchema } from '@parley/ui/form/json-schema.ts';
import { texts } from '../texts/texts.ts';

/** An endpoint of the API, as its OpenAPI document describes it. */
export interface Operation {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its parameters in braces. */
  readonly path: string;
  /** Undefined where any credential will do. */
  readonly permission: string | undefined;
  readonly summary: string;
  readonly pathParams: readonly Parameter[];
  readonly query: readonly Parameter[];
  readonly body: JsonSchema | undefined;
  readonly answer: JsonSchema;
}

export interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonSchema;
}

/** The contract as data: pages, forms and tables are made from it. */
export class ApiDocument {
  readonly #operations: ReadonlyMap<string, Operation>;
  readonly #schemas: Readonly<Record<string, JsonSchema>>;

  constructor({ paths, components }: OpenApi) {
    this.#schemas = components.schemas;
    this.#operations = new Map(
      Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, written]) => {
          const operation = operationOf(method, path, written);
          return [operation.id, operation] as const;
        }),
      ),
    );
  }

  /** Returns undefined for an operation that this server does not have. */
  operation(id: string): Operation | undefined {
    return this.#operations.get(id);
  }

  readonly resolve = (reference: string): JsonSchema => this.#schemas[reference.slice(PREFIX.length)] ?? {};

  /** Returns the schema of one resource of a list. */
  itemOf(list: Operation): JsonSchema {
    const { properties } = list.answer.$ref === undefined ? list.answer : this.resolve(list.answer.$ref);
    return properties?.data?.items ?? {};
  }
}

const PREFIX = '#/components/schemas/';

function operationOf(method: string, path: string, written: WrittenOperation): Operation {
  const { parameters = [], requestBody, responses } = written;
  const of = (place: string) =>
    parameters.flatMap((parameter) =>
      'in' in parameter && parameter.in === place
        ? [{ name: parameter.name, description: parameter.description ?? '', schema: parameter.schema }]
        : [],
    );
  const [, done] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  return {
    id: written.operationId ?? '',
    method: method.toUpperCase() as Operation['method'],
    path,
    permission: written['x-permission'],
    summary: written.summary ?? '',
    pathParams: of('path'),
    query: of('query'),
    body: requestBody?.content[JSON_TYPE]?.schema,
    answer: done?.content?.[JSON_TYPE]?.schema ?? {},
  };
}

const JSON_TYPE = 'application/json';

/** The part of an OpenAPI document that is read here. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, WrittenOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

interface WrittenOperation {
  readonly operationId?: string;
  readonly 'x-permission'?: string;
  readonly summary?: string;
  readonly parameters?: readonly (
    | (Parameter & { readonly in: string; readonly description?: string })
    | { readonly $ref: string }
  )[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>;

/** Returns a path with its parameters filled in, in their order. */
export function filled(path: string, ids: readonly string[]): string {
  let next = 0;
  return path.replace(/\{\w+\}/g, () => encodeURIComponent(ids[next++] ?? ''));
}

let kept: Promise<ApiDocument> | undefined;

/** Reads the document of this server, once for the page. */
export function readApiDocument(): Promise<ApiDocument> {
  kept ??= read();
  kept.catch(() => {
    kept = undefined;
  });
  return kept;
}

async function read(): Promise<ApiDocument> {
  const answer = await fetch('/v1/openapi.json');
  if (!answer.ok) throw new Error(texts.administration.noDocument(answer.status));
  return new ApiDocument((await answer.json()) as OpenApi);
}
