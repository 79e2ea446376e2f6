/**
 * Returns the schema of a value as Parley answered it. No control names the fields of a resource,
 * so fields that the contract adds are written as well.
 */
export function schemaOf(value: unknown): object {
  if (Array.isArray(value)) return { type: 'array', items: value.length === 0 ? {} : schemaOf(value[0]) };
  if (typeof value === 'boolean' || typeof value === 'number') return { type: typeof value };
  if (value === null || typeof value !== 'object') return { type: ['string', 'null'] };
  const fields = Object.entries(value).map(([name, field]) => [name, schemaOf(field)]);
  return { type: 'object', properties: Object.fromEntries(fields) };
}
