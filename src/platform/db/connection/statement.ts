/** A statement that Postgres parses once per connection, by its name (up to 63 bytes, one text). */
export interface Statement<
  in Params extends readonly Value[] = readonly Value[],
  out Row extends object = object,
> {
  readonly name: string;
  readonly text: string;
  /** Whether its rows are large: outside a transaction it runs on Database.bulk. */
  readonly isBulk?: boolean;
  /** No value: carries the types of the parameters and of the rows to `query`. */
  readonly types?: (params: Params) => Row;
}

/**
 * Gives a statement its name and the types of its parameters and rows, which `query` checks and
 * returns: statement<Params, Row>('name')`SQL`. Without type arguments it takes no parameters, and
 * its rows are only counted.
 */
export function statement<Params extends readonly Value[] = [], Row extends object = object>(
  name: string,
): (sql: string | TemplateStringsArray, ...parts: readonly (string | number)[]) => Statement<Params, Row> {
  return (sql, ...parts) => {
    const text = typeof sql === 'string' ? sql : String.raw({ raw: sql }, ...parts);
    return { name, text, isBulk: false };
  };
}

/**
 * A parameter. Arrays become Postgres arrays, bytes bytea, other objects JSON (an array that is
 * meant as JSON must be given as JSON text). Times are ISO 8601 strings.
 */
export type Value = string | number | bigint | boolean | null | object;

/** A value as it is sent: bytes as such, everything else as text. */
export type Bindable = string | Buffer | null;

/**
 * Returns the values as they are sent, or throws here. If the conversion failed inside pg (on a
 * circular object, for instance), pg would deallocate the named statement on the server but
 * consider it prepared: every later use of the name would fail on that connection.
 */
export function bindable(values: readonly Value[]): Bindable[] {
  return values.map(convert);
}

function convert(value: Value): Bindable {
  if (value === null || value === undefined || typeof value === 'string') return value ?? null;
  if (typeof value !== 'object') return String(value);
  if (Buffer.isBuffer(value)) return value;
  if (Array.isArray(value)) return arrayText(value);
  if (value instanceof Date) return value.toISOString();
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return JSON.stringify(value);
}

/** Returns the literal of a Postgres array (PostgreSQL, Array Input and Output Syntax). */
function arrayText(items: readonly Value[]): string {
  let text = '{';
  for (const [index, item] of items.entries()) {
    if (index > 0) text += ',';
    text += Array.isArray(item) ? arrayText(item) : elementText(convert(item));
  }
  return `${text}}`;
}

function elementText(value: Bindable): string {
  if (value === null) return 'NULL';
  if (typeof value !== 'string') return `"\\\\x${value.toString('hex')}"`;
  return SPECIAL.test(value) ? `"${value.replaceAll(SPECIALS, '\\$&')}"` : `"${value}"`;
}

const SPECIAL = /["\\]/;
const SPECIALS = /["\\]/g;
