/** A statement that Postgres parses once per connection, by its name (at most 63 bytes; a name has one text). */
export interface Statement<
  in Params extends readonly Value[] = readonly Value[],
  out Row extends object = object,
> {
  readonly name: string;
  readonly text: string;
  /** No value: carries the types of the parameters and of the rows to `query`. */
  readonly types?: (params: Params) => Row;
}

/**
 * Gives a statement the types of its parameters and rows, beside its text: `query` checks the values against the one
 * and returns the other. Without type arguments it takes no parameters, and its rows are only counted.
 */
export function statement<Params extends readonly Value[] = [], Row extends object = object>({
  name,
  text,
}: Omit<Statement, 'types'>): Statement<Params, Row> {
  return { name, text };
}

/**
 * A parameter. Arrays become Postgres arrays, bytes bytea, other objects JSON (an array that is meant as JSON must be
 * given as JSON text). Times are ISO 8601 strings.
 */
export type Value = string | number | bigint | boolean | null | object;

/**
 * Returns the values in a form that pg can always convert, or throws here. If the conversion fails inside pg (on a
 * circular object, for instance), pg deallocates the named statement on the server but still considers it prepared:
 * every later use of the name fails on that connection.
 */
export function bindable(values: readonly Value[]): Bindable[] {
  return values.map(convert);
}

type Bindable = string | Buffer | null | Bindable[];

function convert(value: Value): Bindable {
  if (value === null || value === undefined || typeof value === 'string') return value ?? null;
  if (typeof value !== 'object') return String(value);
  if (Buffer.isBuffer(value)) return value;
  if (Array.isArray(value)) return value.map(convert);
  if (value instanceof Date) return value.toISOString();
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return JSON.stringify(value);
}
