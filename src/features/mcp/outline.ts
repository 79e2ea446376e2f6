/** The parts of JSON Schema that an outline has. */
interface Schema {
  readonly type?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/**
 * Returns a schema that says less, of which every value of `schema` is one: fields and their types
 * down to those of the items of a list. Whole schemas of the answers of the default tools are half
 * a megabyte, which a host would load before its first call.
 */
export function outline(schema: Schema, levels = LEVELS): Schema {
  const { type, anyOf, items, properties, required } = schema;
  if (schema.const !== undefined) return { const: schema.const };
  if (schema.enum !== undefined) return { enum: schema.enum };
  if (anyOf !== undefined) return { anyOf: anyOf.map((part) => outline(part, levels)) };
  if (items !== undefined) return { type, items: outline(items, levels) };
  if (properties === undefined || levels === 0) return type === undefined ? {} : { type };
  const shown = Object.entries(properties).map(([name, part]) => [name, outline(part, levels - 1)]);
  return { type, properties: Object.fromEntries(shown), ...(required !== undefined && { required }) };
}

const LEVELS = 2;
