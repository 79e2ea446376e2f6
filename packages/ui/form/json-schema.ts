/** The part of JSON Schema 2020-12 that forms and tables read. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  /** The kinds of resources that an id may name. */
  readonly 'x-id-of'?: readonly string[];
}

/** Finds the schema that a reference names. */
export type Resolve = (reference: string) => JsonSchema;

/** Returns the schema behind references, and whether null is allowed beside it. */
export function withoutNull(
  schema: JsonSchema,
  resolve: Resolve,
): { readonly nullable: boolean; readonly schema: JsonSchema } {
  if (schema.$ref !== undefined) return withoutNull(resolve(schema.$ref), resolve);
  const [part, ...others] = schema.allOf ?? [];
  // A reference with a description of its own.
  if (part?.$ref !== undefined && others.length === 0 && schema.properties === undefined) {
    return withoutNull(part, resolve);
  }
  const members = (schema.anyOf ?? schema.oneOf)?.filter(({ type }) => type !== 'null') ?? [];
  if (members.length === 1 && schema.properties === undefined) {
    const { schema: only } = withoutNull(members[0]!, resolve);
    return { nullable: true, schema: only };
  }
  return { nullable: [schema.type].flat().includes('null'), schema };
}
