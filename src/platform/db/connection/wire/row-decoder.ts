import pg from 'pg';

/** A column of a result. */
export interface Column {
  readonly name: string;
  /** The id of its type in `pg_type`. */
  readonly typeId: number;
}

/** Returns the columns that a RowDescription names, from its content. */
export function readColumns(bytes: Buffer, start: number): Column[] {
  const columns: Column[] = [];
  let at = start + 2;
  for (let count = bytes.readUInt16BE(start); count > 0; count--) {
    const nameEnd = bytes.indexOf(0, at);
    const name = bytes.toString('utf8', at, nameEnd);
    // Behind the name: the table (4 bytes), its column (2), the type (4), its size (2), its
    // modifier (4), the format (2).
    columns.push({ name, typeId: bytes.readUInt32BE(nameEnd + 7) });
    at = nameEnd + 19;
  }
  return columns;
}

type Kind = 'integer' | 'boolean' | 'time' | 'text' | 'bytes' | 'parsed';

/** Types that are decoded from their bytes as their parser would do it (connection-options.ts). */
const KINDS: ReadonlyMap<number, Kind> = new Map([
  [16, 'boolean'],
  [20, 'integer'],
  [21, 'integer'],
  [23, 'integer'],
  [1184, 'time'],
  [2275, 'bytes'],
]);

/**
 * Makes objects of the rows of one statement, with the values that pg makes. A call into native
 * code costs more than the rest of a column, so a row's text is decoded in one call and cut into
 * values. Numbers and times are read from the bytes. The objects have one shape.
 */
export class RowDecoder {
  readonly #kinds: readonly Kind[];
  readonly #parsers: readonly ((text: string) => unknown)[];
  readonly #toObject: (values: readonly unknown[]) => object;
  /** In the row being read: where each value is (`#from` is -1 for null), and the values. */
  readonly #from: Int32Array;
  readonly #to: Int32Array;
  readonly #values: unknown[];

  constructor(columns: readonly Column[], types: pg.CustomTypesConfig) {
    const parsers = columns.map(({ typeId }) => types.getTypeParser(typeId, 'text'));
    this.#parsers = parsers;
    this.#kinds = columns.map(
      ({ typeId }, index) => KINDS.get(typeId) ?? (parsers[index] === KEEP_TEXT ? 'text' : 'parsed'),
    );
    this.#toObject = objectMaker(columns.map(({ name }) => name));
    this.#from = new Int32Array(columns.length);
    this.#to = new Int32Array(columns.length);
    this.#values = columns.map(() => null);
  }

  /** Reads the content of a DataRow, whose bytes it may change. Throws the error of a parser. */
  decode(bytes: Buffer, start: number, end: number): object {
    this.#locate(bytes, start);
    // Values cut from it keep all of it in memory, so a large row is decoded value by value.
    const rowText = end - start <= MAX_ROW_TEXT ? bytes.toString('latin1', start, end) : undefined;
    const values = this.#values;
    for (let index = 0; index < values.length; index++) {
      values[index] = this.#valueAt(index, bytes, start, rowText);
    }
    return this.#toObject(values);
  }

  #locate(bytes: Buffer, start: number): void {
    const [from, to, kinds] = [this.#from, this.#to, this.#kinds];
    let at = start + 2;
    for (let index = 0; index < kinds.length; index++) {
      const length = bytes.readInt32BE(at);
      at += 4;
      from[index] = length === -1 ? -1 : at;
      if (length > 0) at += length;
      to[index] = at;
      if (kinds[index] === 'time' && length === FULL_TIME_BYTES && toIsoTime(bytes, at - length))
        to[index] = at - 2;
    }
  }

  #valueAt(index: number, bytes: Buffer, start: number, rowText: string | undefined): unknown {
    const from = this.#from[index]!;
    if (from === -1) return null;
    const to = this.#to[index]!;
    const kind = this.#kinds[index]!;
    if (kind === 'integer' && to - from <= SAFE_DIGITS) return integerAt(bytes, from, to);
    if (kind === 'boolean') return bytes[from] === TRUE;
    if (kind === 'bytes') return Buffer.from(bytes.subarray(from, to));
    const isShared = rowText !== undefined && isPlain(bytes, from, to);
    const text = isShared ? rowText.substring(from - start, to - start) : bytes.toString('utf8', from, to);
    if (kind === 'text' || (kind === 'time' && bytes[to - 1] === Z)) return text;
    return this.#parsers[index]!(text);
  }
}

/** A row of up to this size has its text decoded at once. */
const MAX_ROW_TEXT = 2_048;
/** A longer value is decoded by itself: looking at each of its bytes takes longer. */
const MAX_LOOKED_AT = 128;
/** Integers of up to this many characters are exact as numbers. */
const SAFE_DIGITS = 15;
/** `2026-11-21 01:02:03.123456+00` */
const FULL_TIME_BYTES = 29;

const MINUS = 0x2d;
const PLUS = 0x2b;
const SPACE = 0x20;
const T = 0x54;
const TRUE = 0x74;
const Z = 0x5a;
const ZERO = 0x30;

/** The parser of pg for types that it does not know, and for `text`. */
const KEEP_TEXT = pg.types.getTypeParser(pg.types.builtins.TEXT, 'text');

/** Returns whether these bytes are ASCII, each of them a character. */
function isPlain(bytes: Buffer, from: number, to: number): boolean {
  if (to - from > MAX_LOOKED_AT) return false;
  for (let at = from; at < to; at++) {
    if (bytes[at]! >= 0x80) return false;
  }
  return true;
}

function integerAt(bytes: Buffer, from: number, to: number): number {
  const isNegative = bytes[from] === MINUS;
  let value = 0;
  for (let at = isNegative ? from + 1 : from; at < to; at++) value = 10 * value + bytes[at]! - ZERO;
  return isNegative ? -value : value;
}

/** Rewrites a time that has all its digits in place as `readTime` does, two bytes shorter. */
function toIsoTime(bytes: Buffer, from: number): boolean {
  if (bytes[from + 10] !== SPACE || bytes[from + 26] !== PLUS) return false;
  bytes[from + 10] = T;
  bytes[from + 26] = Z;
  return true;
}

/** Compiles a function for these names: assigning fields by name takes five times as long. */
function objectMaker(names: readonly string[]): (values: readonly unknown[]) => object {
  const fields = names.map((name, index) => `${JSON.stringify(name)}: values[${index}]`);
  return new Function('values', `return { ${fields.join(', ')} };`) as (values: readonly unknown[]) => object;
}
