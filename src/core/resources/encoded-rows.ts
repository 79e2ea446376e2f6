import { setImmediate as nextTurn } from 'node:timers/promises';
import { type FormReader, formAt } from '@parley/protocol/forms/forms.ts';
import { MAX_PAGE_BYTES } from '@parley/protocol/lists.ts';
import { ageOf, isNewerThan } from '@parley/protocol/schema/since.ts';
import type { Version } from '@parley/protocol/versions.ts';
import { LRUCache } from 'lru-cache';
import type { TObject } from 'typebox';
import type { Rights } from '../../api/access/rights.ts';
import { bounded } from '../../platform/bounded.ts';
import type { CoreMetrics } from '../metrics.ts';

/** A row as the statement of a page returns it at first. */
export interface RowKey {
  readonly id: string;
  /** The row's `updated_at` as Postgres writes it, which grows with every change of the row. */
  readonly version: string;
}

/** The keys of a page in one row: pg's cost is per row and per field. */
export interface GatheredKeys {
  readonly keys: string | null;
}

/** SQL: the key of a row of an alias, selected as `key` by a subquery in the order of the page. */
export function rowKey(alias: string): string {
  return `${alias}.id || ' ' || ${alias}.updated_at`;
}

/** SQL: the keys of such a subquery. */
export const GATHERED_KEYS = `string_agg(key, ',') AS keys`;

export function parseKeys([row]: readonly GatheredKeys[]): RowKey[] {
  return row?.keys ? row.keys.split(',').map(parseKey) : [];
}

/** Ids and times contain no comma, and ids no blank. */
export function parseKey(key: string): RowKey {
  const end = key.indexOf(' ');
  return { id: key.slice(0, end), version: key.slice(end + 1) };
}

/** The form of a row, which depends only on these two properties of the caller. */
export interface Form {
  readonly version: Version;
  readonly customer: boolean;
}

/** A kind of rows that pages show. */
export interface RowKind<Row, Links> {
  /** A label of the metrics. */
  readonly name: string;
  /** Returns the JSON that the row alone determines, with null for each sub-object. */
  readonly encode: (row: Row, form: Form) => string;
  /** The columns that name sub-objects. */
  readonly linksOf: (row: Row) => Links;
  /** Whether the version changes whenever the JSON does. Other rows are not cached. */
  readonly isVersioned: (row: Row) => boolean;
  /** Returns the id of the resource whose content the row shows: the row's own, or a message's. */
  readonly subjectOf: (row: Row) => string;
}

/** A large text of a row, held beside it as the bytes of its JSON; the row then has HELD_PLACE. */
export interface LargeText {
  readonly body_json?: Buffer | null;
}

/** Texts in Postgres cannot contain a NUL. */
export const HELD_PLACE = '\0';

interface Encoded<Links> extends LargeText {
  readonly json: string;
  readonly links: Links;
}

export interface EncodedRow<Links, Key = RowKey> extends Encoded<Links> {
  readonly key: Key;
}

/** One page of a list and the ways to read it, all in the order of the page except `readRows`. */
export interface RowPage<Row, Key> {
  /** Equal for requests of the same page. */
  readonly name: string;
  readonly form: Form;
  readonly readKeys: () => Promise<readonly Key[]>;
  /** Returns the current rows with these ids, without deleted ones. */
  readonly readRows: (ids: readonly string[]) => Promise<readonly Row[]>;
  readonly readWhole: () => Promise<readonly Row[]>;
  readonly keyOf: (row: Row) => Key;
}

export interface EncodedRowsOptions {
  /** Announces the resources to remove. */
  readonly rights: Pick<Rights, 'inDoubt'>;
  readonly metrics: Pick<CoreMetrics, 'encodedRowReads' | 'encodedRowBytes'>;
  /** Default: MAX_BYTES. */
  readonly maxBytes?: number;
}

/**
 * Caches rows as JSON for pages that show them again (DECISIONS.md#pages-from-encoded-rows).
 * The second read of a page caches its rows, and later reads start from its keys. Each read is one
 * statement, unless rows are missing here. Keys come from Postgres each time, so nothing here
 * decides what a caller may read, and no old version is shown. `forget` removes what must not stay
 * in memory, on every node. While other nodes cannot announce that, nothing is cached.
 */
export class EncodedRows<Row extends RowKey & LargeText, Links> {
  readonly #kind: RowKind<Row, Links>;
  readonly #rights: EncodedRowsOptions['rights'];
  readonly #metrics: EncodedRowsOptions['metrics'];
  readonly #entries: LRUCache<string, Entry<Links>>;
  /** The pages that were read recently, by name, and whether their rows were kept. */
  readonly #pages = new LRUCache<string, 'read' | 'kept'>(bounded(MAX_PAGES));
  /** The ids of the entries that show the content of another resource. */
  readonly #idsOf = new Map<string, Set<string>>();
  /** Number of removals: a row that was read before one may contain what it removed. */
  #removals = 0;
  #watch: NodeJS.Timeout | undefined;

  constructor(kind: RowKind<Row, Links>, { rights, metrics, maxBytes = MAX_BYTES }: EncodedRowsOptions) {
    this.#kind = kind;
    this.#rights = rights;
    this.#metrics = metrics;
    this.#entries = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ bytes }) => bytes,
      dispose: ({ subject }, id) => this.#unlink(subject, id),
    });
  }

  async read<Key extends RowKey>(page: RowPage<Row, Key>): Promise<readonly EncodedRow<Links, Key>[]> {
    const earlier = this.#pages.get(page.name);
    if (earlier === 'kept') return this.#readByKeys(page);
    return this.#readWhole(page, earlier !== undefined);
  }

  /** Removes every row that shows the content of this resource. */
  forget(subject: string): void {
    this.#removals += 1;
    this.#entries.delete(subject);
    for (const id of [...(this.#idsOf.get(subject) ?? [])]) this.#entries.delete(id);
    this.#showBytes();
  }

  clear(): void {
    this.#removals += 1;
    this.#entries.clear();
    this.#showBytes();
  }

  close(): void {
    this.clear();
    clearTimeout(this.#watch);
  }

  #find({ id, version }: RowKey, form: Form): Encoded<Links> | undefined {
    const entry = this.#entries.get(id);
    return entry?.version === version ? entry.forms[placeOf(form)] : undefined;
  }

  /**
   * Leaves out rows that do not fit on the page. Rows of such a page are not cached, since a few
   * would fill the memory.
   */
  async #readWhole<Key extends RowKey>(
    page: RowPage<Row, Key>,
    keeps: boolean,
  ): Promise<readonly EncodedRow<Links, Key>[]> {
    const read = await this.#readRows(page.readWhole, page.form, keeps, MAX_PAGE_BYTES);
    const units = read.reduce((sum, { encoded }) => sum + unitsOf(encoded), 0);
    this.#pages.set(page.name, keeps && units <= MAX_PAGE_BYTES ? 'kept' : 'read');
    this.#count(0, read.length);
    return read.map(({ row, encoded }) => ({ key: page.keyOf(row), ...encoded }));
  }

  async #readByKeys<Key extends RowKey>(page: RowPage<Row, Key>): Promise<readonly EncodedRow<Links, Key>[]> {
    for (;;) {
      const keys = await page.readKeys();
      const rows: EncodedRow<Links, Key>[] = [];
      const missing: string[] = [];
      for (const key of keys) {
        const kept = this.#find(key, page.form);
        if (kept === undefined) missing.push(key.id);
        else rows.push({ key, ...kept });
      }
      if (missing.length > MAX_MISSING) return this.#readWhole(page, true);
      this.#count(rows.length, missing.length);
      if (missing.length === 0) return rows;
      const read = await this.#readRows(() => page.readRows(missing), page.form, true);
      // If a row was deleted after its key was read, another row takes its place.
      if (read.length === missing.length) return inOrder(keys, rows, read);
    }
  }

  async #readRows(
    read: () => Promise<readonly Row[]>,
    form: Form,
    keeps: boolean,
    maxUnits = Number.POSITIVE_INFINITY,
  ): Promise<ReadRow<Row, Links>[]> {
    const removals = this.#removals;
    const rows = await read();
    const { encode, linksOf, isVersioned } = this.#kind;
    const encoded: ReadRow<Row, Links>[] = [];
    let units = 0;
    for (const row of rows) {
      const one: Encoded<Links> = {
        json: encode(row, form),
        body_json: row.body_json ?? null,
        links: linksOf(row),
      };
      encoded.push({ row, encoded: one });
      units += unitsOf(one);
      // The first row that does not fit tells the page that it ends here.
      if (units > maxUnits) break;
      // Encoding a large text takes milliseconds, during which no other request is served.
      if (unitsOf(one) > LARGE_UNITS) await nextTurn();
    }
    // This follows the last wait: removed rows must not be cached again.
    const isCurrent = removals === this.#removals && !this.#rights.inDoubt;
    const isKept = keeps && isCurrent && units <= maxUnits;
    for (const { row, encoded: one } of isKept ? encoded : []) {
      if (isVersioned(row)) this.#keep(row, form, one);
    }
    if (isKept) this.#showBytes();
    return encoded;
  }

  #keep(row: Row, form: Form, one: Encoded<Links>): void {
    const { id, version } = row;
    const current = this.#entries.get(id);
    const kept = current?.version === version ? current : undefined;
    const forms = [...(kept?.forms ?? [])];
    forms[placeOf(form)] = one;
    const subject = this.#kind.subjectOf(row);
    const bytes = (kept?.bytes ?? 0) + bytesOf(one) + ENTRY_BYTES;
    this.#entries.set(id, { version, forms, subject, bytes });
    if (subject !== id) this.#link(subject, id);
    this.#watch ??= setTimeout(() => this.#check(), WATCH_MS).unref();
  }

  #link(subject: string, id: string): void {
    const ids = this.#idsOf.get(subject);
    if (ids === undefined) this.#idsOf.set(subject, new Set([id]));
    else ids.add(id);
  }

  #unlink(subject: string, id: string): void {
    const ids = this.#idsOf.get(subject);
    ids?.delete(id);
    if (ids?.size === 0) this.#idsOf.delete(subject);
  }

  /** Clears rows in doubt; repeats while rows are cached. */
  #check(): void {
    this.#watch = undefined;
    if (this.#rights.inDoubt) this.clear();
    if (this.#entries.size > 0) this.#watch = setTimeout(() => this.#check(), WATCH_MS).unref();
  }

  #count(hits: number, misses: number): void {
    const { encodedRowReads: reads } = this.#metrics;
    const rows = this.#kind.name;
    if (hits > 0) reads.inc({ rows, outcome: 'hit' }, hits);
    if (misses > 0) reads.inc({ rows, outcome: 'miss' }, misses);
  }

  #showBytes(): void {
    this.#metrics.encodedRowBytes.set({ rows: this.#kind.name }, this.#entries.calculatedSize);
  }
}

interface Entry<Links> {
  readonly version: string;
  /** Indexed by `placeOf`; a form that was not requested is absent. */
  readonly forms: readonly (Encoded<Links> | undefined)[];
  readonly subject: string;
  readonly bytes: number;
}

interface ReadRow<Row, Links> {
  readonly row: Row;
  readonly encoded: Encoded<Links>;
}

/** Returns the cached and the read rows in the order of their keys. */
function inOrder<Row extends RowKey, Links, Key extends RowKey>(
  keys: readonly Key[],
  kept: readonly EncodedRow<Links, Key>[],
  read: readonly ReadRow<Row, Links>[],
): EncodedRow<Links, Key>[] {
  const byId = new Map(read.map(({ row, encoded }) => [row.id, encoded]));
  let next = 0;
  return keys.map((key) => {
    const encoded = byId.get(key.id);
    return encoded === undefined ? kept[next++]! : { key, ...encoded };
  });
}

/** After a row with more JSON than this, other requests are served first. */
const LARGE_UNITS = 64 * 1024;

/** About 25,000 rows. */
const MAX_BYTES = 32 * 1024 * 1024;
/** If more rows are missing, they are read with the whole page, which ends where it has no room. */
const MAX_MISSING = 8;
const MAX_PAGES = 1_000;
/** The memory of an entry beside its JSON. */
const ENTRY_BYTES = 600;
/** Milliseconds between looks whether removals are announced, while rows are cached. */
const WATCH_MS = 500;

function placeOf({ version, customer }: Form): number {
  return ageOf(version) * 2 + Number(customer);
}

/** Returns the length of a row's JSON in UTF-8, with its large text. */
export function jsonBytesOf({ json, body_json }: Encoded<unknown>): number {
  return Buffer.byteLength(json) + (body_json?.length ?? 0);
}

function unitsOf({ json, body_json }: Encoded<unknown>): number {
  return json.length + (body_json?.length ?? 0);
}

/** Returns the bytes in V8: two a character once a text has one beyond Latin-1. */
function bytesOf({ json, body_json }: Encoded<unknown>): number {
  const units = Buffer.byteLength(json) === json.length ? json.length : json.length * 2;
  return units + (body_json?.length ?? 0);
}

/** Returns JSON with the large text in its place, as pieces if there is such a text. */
export function withText(json: string, { body_json }: LargeText): string | Buffer[] {
  if (!body_json) return json;
  const at = json.indexOf(PLACE);
  const [head, tail] = [json.slice(0, at), json.slice(at + PLACE.length)];
  return [Buffer.from(head), body_json, Buffer.from(tail)];
}

/** Within another text its backslash would be escaped. */
const PLACE = JSON.stringify(HELD_PLACE);

/**
 * Returns the JSON of a resource with values instead of null, for fields in the order of the
 * resource. Absent values leave the null. Exact for a resource without sub-objects: no text in it
 * looks like a field, since quotes within strings are escaped, and no name follows a string's end.
 */
export function withFields(
  json: string,
  version: Version,
  reader: FormReader,
  { properties }: TObject,
  fields: readonly (readonly [name: string, value: unknown])[],
): string {
  let filled = '';
  let from = 0;
  for (const [name, value] of fields) {
    if (value === undefined || value === null || isNewerThan(version, properties[name]!)) continue;
    const field = `,"${name}":`;
    const at = json.indexOf(`${field}null`, from);
    if (at === -1) throw new TypeError(`the resource has no empty ${name} behind the fields before`);
    filled +=
      json.slice(from, at) + field + JSON.stringify(formAt(version, properties[name]!, value, reader));
    from = at + field.length + 'null'.length;
  }
  return from === 0 ? json : filled + json.slice(from);
}
