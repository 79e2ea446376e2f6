/** The parts of JSON Schema that say what a value is. */
interface JsonSchema {
  readonly type?: unknown;
  readonly const?: unknown;
  readonly enum?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
}

/**
 * Returns whether values of the schema have places for JSON of the caller's own, which no schema
 * describes: `data` of an event, `input` of a run, members of a key. Numbers there keep their
 * digits (exact-json.ts).
 */
export function hasOpenJson(schema: object): boolean {
  const {
    properties = {},
    patternProperties = {},
    additionalProperties,
    items,
    anyOf,
    oneOf,
  }: JsonSchema = schema;
  if (additionalProperties === true) return true;
  const inner = [...Object.values(properties), ...Object.values(patternProperties)];
  if (typeof additionalProperties === 'object') inner.push(additionalProperties);
  if (items !== undefined) inner.push(items);
  // A choice may only state conditions, so a missing type does not make it open.
  return (
    inner.some((one) => isOpen(one) || hasOpenJson(one)) ||
    [...(anyOf ?? []), ...(oneOf ?? [])].some(hasOpenJson)
  );
}

function isOpen({ type, const: only, enum: values, anyOf, oneOf }: JsonSchema): boolean {
  return [type, only, values, anyOf, oneOf].every((said) => said === undefined);
}
