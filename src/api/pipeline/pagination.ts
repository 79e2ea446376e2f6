import { hash } from 'node:crypto';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { type List, MAX_PAGE_BYTES, PAGE_LIMIT, type PageInfo } from '@parley/protocol/lists.ts';
import { isDateTime } from '@parley/protocol/schema/formats.ts';
import { Body } from '@parley/protocol/schema/schema.ts';
import { isCleanText } from '@parley/protocol/validation/validation.ts';
import { LRUCache } from 'lru-cache';
import { type TSchema, Type } from 'typebox';
import type { KeysetPage } from '../../platform/db/connection/keyset.ts';
import { badCursor, type CursorSeal } from './cursor-seal.ts';

/**
 * Keyset pages (docs/contract.md#lists): a cursor is the key of the row at a page's edge, so rows
 * that appear or disappear elsewhere neither repeat nor hide others. A list names its key once:
 *
 *     const LIST = defineList('notifications', ['time', 'text']);
 *     const page = readPage(LIST, query, { actor, status: query.status });
 *     const rows = await readRows(page);               // page.fetch rows at most
 *     return toList(rows, page, url, (row) => [row.created_at, row.id], present);
 */
export interface ListDefinition {
  readonly name: string;
  readonly key: readonly KeyPart[];
  /** Its pages lead to the next one only. */
  readonly isForwardOnly: boolean;
}

/** `time` is in Postgres' format, with its microseconds; `integer` is within 2^53. */
export type KeyPart = 'time' | 'text' | 'integer';

/** The values that a list is ordered by; the last is unique. */
export type Key = readonly (string | number)[];

/** The page that a request asks for, for stores. */
export interface PageRequest extends KeysetPage {
  /** Most rows of a page; `fetch` is one more, which shows whether the list goes on. */
  readonly limit: number;
  readonly filtersHash: string;
  /** True if the list has rows before this page, though no cursor led here. */
  readonly startsInside?: boolean;
  readonly isForwardOnly?: boolean;
}

export function defineList(
  name: string,
  key: readonly KeyPart[],
  { isForwardOnly = false }: Partial<Pick<ListDefinition, 'isForwardOnly'>> = {},
): ListDefinition {
  return { name, key, isForwardOnly };
}

/** Returns the query schema of a list: its own filters and the parameters of every list. */
export function PageQuery<P extends Record<string, TSchema>>(filters: P) {
  return Body({ ...filters, ...PAGE_PARAMETERS });
}

/** Adds the parameters of a search. */
export function SearchQuery<P extends Record<string, TSchema>>(filters: P) {
  return Body({ ...filters, ...PAGE_PARAMETERS, q: SearchText, search: SearchText });
}

export interface PageParameters {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
  readonly page?: string | undefined;
  readonly q?: string | undefined;
  readonly search?: string | undefined;
}

/**
 * Reads the page of a request. `filters` has everything that decides which rows are in the list,
 * including the ids of the path; a cursor is valid for these only. Throws ApiError
 * `parameter_invalid` (param cursor), `parameters_exclusive`, `parameter_unknown` (param page).
 */
export function readPage(
  list: ListDefinition,
  query: PageParameters,
  filters: Readonly<Record<string, unknown>>,
): PageRequest {
  refusePage(query);
  const search = readSearch(query);
  const filtersHash = hashOf([list.name, search, filters]);
  const { cursor, limit = PAGE_LIMIT.default } = query;
  const { direction, after } = cursor === undefined ? FIRST : decodeCursor(cursor, list.key, filtersHash);
  const { isForwardOnly } = list;
  return { limit, fetch: limit + 1, direction, after, search, filtersHash, isForwardOnly };
}

/** Returns an identifier among the pages of all lists; it may change when rows come or go. */
export function nameOf({ filtersHash, direction, after, fetch }: PageRequest): string {
  return `${filtersHash} ${direction} ${after ?? ''} ${fetch}`;
}

/**
 * Returns the list envelope (docs/contract.md#lists) of the rows that a store fetched for `page`.
 * `url` is this request's path and query as sent; the other pages' URLs keep its filters.
 */
export function toList<Row, Item>(
  rows: readonly Row[],
  page: PageRequest,
  url: string,
  keyOf: (row: Row) => Key,
  present: (row: Row) => Item,
): Page<Item> {
  const { shown, infoOf } = laidOut(rows, page, url, keyOf);
  return new Page(shown.map(present), page.direction, infoOf);
}

/** Does what `toList` does, for rows with known JSON, in the form of the caller's version. */
export function toEncodedList<Row>(
  rows: readonly Row[],
  page: PageRequest,
  url: string,
  keyOf: (row: Row) => Key,
  encoded: (row: Row) => ItemJson,
): Page<never> {
  const { shown, infoOf } = laidOut(rows, page, url, keyOf);
  return new Page([], page.direction, infoOf, shown.map(encoded));
}

interface Layout<Row> {
  /** The rows of the page, in the order of the list. */
  readonly shown: Row[];
  /** Returns the `page_info` of the rows from `start` to before `end`. */
  readonly infoOf: (start: number, end: number) => PageInfo;
}

function laidOut<Row>(
  rows: readonly Row[],
  page: PageRequest,
  url: string,
  keyOf: (row: Row) => Key,
): Layout<Row> {
  const goesOn = rows.length > page.limit;
  const shown = rows.slice(0, page.limit);
  const isForward = page.direction === 'next';
  if (!isForward) shown.reverse();

  const pageUrl = (direction: PageRequest['direction'], edge: Row | undefined) =>
    // An empty page has no edge, because the list ends beside it.
    withCursor(url, encodeCursor(direction, edge === undefined ? [] : keyOf(edge), page.filtersHash));
  const infoOf = (start: number, end: number): PageInfo => {
    const ahead = goesOn || end - start < shown.length;
    // A page reached by a cursor has the cursor's row before it.
    const behind = page.after !== null || page.startsInside === true;
    const [hasNext, hasPrevious] = isForward ? [ahead, behind] : [behind, ahead];
    return {
      next_page_url: hasNext ? pageUrl('next', shown[end - 1]) : null,
      previous_page_url:
        hasPrevious && page.isForwardOnly !== true ? pageUrl('previous', shown[start]) : null,
      has_next_page: hasNext,
      has_prev_page: hasPrevious,
    };
  };
  return { shown, infoOf };
}

/** The JSON of an item: a text, or bytes in pieces, which are copied once into the page. */
export type ItemJson = string | readonly Buffer[];

/** One page of a list. Its JSON ends after the requested rows, or at MAX_PAGE_BYTES. */
export class Page<Item> implements List<Item> {
  readonly object = 'list';
  readonly data: readonly Item[];
  readonly #direction: PageRequest['direction'];
  readonly #infoOf: Layout<Item>['infoOf'];
  readonly #encoded: readonly ItemJson[] | undefined;
  /** The JSON of further fields of the list, each followed by a comma. */
  #facts = '';

  constructor(
    data: readonly Item[],
    direction: PageRequest['direction'],
    infoOf: Layout<Item>['infoOf'],
    /** The JSON of items that are not in `data`. */
    encoded?: readonly ItemJson[],
  ) {
    this.data = data;
    this.#direction = direction;
    this.#infoOf = infoOf;
    this.#encoded = encoded;
  }

  /** Adds the list's fields beside its page (packages/protocol/lists.ts), and returns this page. */
  with(facts: object): this {
    this.#facts = `${JSON.stringify(facts).slice(1, -1)},`;
    return this;
  }

  get page_info(): PageInfo {
    return this.#infoOf(0, (this.#encoded ?? this.data).length);
  }

  /**
   * Returns the JSON with sealed cursors, as bytes if items have bytes. Too many items are cut at
   * the far end of the page, so that the next page in the same direction begins with them. At least
   * one remains. `data` has the form of the caller's version.
   */
  toText(seal: CursorSeal, data: readonly unknown[] = this.data): string | Buffer {
    if (this.#encoded === undefined) return this.#assemble(seal, data, JSON.stringify);
    return this.#assemble(seal, this.#encoded, (json) => json);
  }

  #assemble<Source>(
    seal: CursorSeal,
    items: readonly Source[],
    encode: (item: Source) => ItemJson,
  ): string | Buffer {
    const isForward = this.#direction === 'next';
    const texts: ItemJson[] = [];
    let units = 0;
    let bytes: number | undefined;
    for (const item of isForward ? items : items.toReversed()) {
      const text = encode(item);
      units += typeof text === 'string' ? text.length : bytesOf(text);
      // Counting bytes takes time, and no UTF-16 unit has more than three of them.
      if (units * 3 > MAX_PAGE_BYTES) {
        bytes ??= texts.reduce((sum, one) => sum + bytesOf(one), 0);
        bytes += bytesOf(text);
        if (bytes > MAX_PAGE_BYTES && texts.length > 0) break;
      }
      texts.push(text);
    }
    if (!isForward) texts.reverse();
    const start = isForward ? 0 : items.length - texts.length;
    const { next_page_url, previous_page_url, ...rest } = this.#infoOf(start, start + texts.length);
    const pageInfo = {
      next_page_url: sealed(next_page_url, seal),
      previous_page_url: sealed(previous_page_url, seal),
      ...rest,
    };
    const head = `{"object":"list",${this.#facts}"page_info":${JSON.stringify(pageInfo)},"data":[`;
    return joined(head, texts, ']}');
  }
}

/** Unseals the cursor of a list's query. Throws ApiError `parameter_invalid` (param cursor). */
export function openCursor(query: unknown, seal: CursorSeal): void {
  const parameters = query as { cursor?: unknown; readonly page?: unknown };
  if (typeof parameters.cursor !== 'string' || parameters.page !== undefined) return;
  parameters.cursor = seal.open(parameters.cursor);
}

function bytesOf(json: ItemJson): number {
  return typeof json === 'string'
    ? Buffer.byteLength(json)
    : json.reduce((sum, { length }) => sum + length, 0);
}

/** Returns bytes if an item has bytes. */
function joined(head: string, items: readonly ItemJson[], end: string): string | Buffer {
  if (items.every((item) => typeof item === 'string')) {
    // One copy: a large text made of a joined one would be copied again when it is sent.
    const texts = [...items];
    texts[0] = head + (texts[0] ?? '');
    texts[texts.length - 1] += end;
    return texts.join(',');
  }
  const parts = items.flatMap((item, index) => [
    Buffer.from(index === 0 ? head : ','),
    ...(typeof item === 'string' ? [Buffer.from(item)] : item),
  ]);
  return Buffer.concat([...parts, Buffer.from(end)]);
}

/** Seals the cursor at the end of the URL, where `withCursor` puts it. */
function sealed(url: string | null, seal: CursorSeal): string | null {
  if (url === null) return null;
  const start = url.lastIndexOf('=') + 1;
  return url.slice(0, start) + seal.seal(url.slice(start));
}

const PAGE_PARAMETERS = {
  cursor: Type.Optional(Type.String()),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_LIMIT.most, default: PAGE_LIMIT.default })),
  /** Accepted only to distinguish two mistakes (docs/contract.md#lists); not in documents. */
  page: Type.Optional(Type.String({ deprecated: true })),
};
const SearchText = Type.Optional(Type.String({ maxLength: 256 }));

const FIRST = { direction: 'next', after: null } as const;

function refusePage({ page, cursor }: PageParameters): void {
  if (page === undefined) return;
  if (cursor === undefined) {
    throw new ApiError(
      'parameter_unknown',
      'There is no such parameter here. Use cursor to reach other pages.',
      { param: 'page' },
    );
  }
  throw new ApiError('parameters_exclusive', 'Send either cursor or page.', { param: 'page' });
}

function readSearch({ q, search }: PageParameters): string | null {
  if (q !== undefined && search !== undefined) {
    const message = 'Send either q or search: they are the same.';
    throw new ApiError('parameters_exclusive', message, { param: 'search' });
  }
  return q || search || null;
}

function withCursor(url: string, cursor: string): string {
  const at = url.indexOf('?');
  if (at === -1) return `${url}?cursor=${cursor}`;
  const others = url
    .slice(at + 1)
    .split('&')
    .filter((pair) => pair !== '' && !CURSOR_PAIR.test(pair));
  return `${url.slice(0, at)}?${[...others, `cursor=${cursor}`].join('&')}`;
}

/** Percent-encoded letters are rare, but valid. */
const CURSOR_PAIR = /^(?:c|%63)(?:u|%75)(?:r|%72)(?:s|%73)(?:o|%6f)(?:r|%72)(?:=|$)/i;

/** A cursor has the index of its direction. */
const DIRECTIONS = ['next', 'previous'] as const;

function encodeCursor(direction: PageRequest['direction'], key: Key, filtersHash: string): string {
  const content = JSON.stringify([DIRECTIONS.indexOf(direction), filtersHash, ...key]);
  return Buffer.from(content).toString('base64url');
}

/** Checks everything, because a caller sent the cursor and its key goes into SQL. */
function decodeCursor(
  cursor: string,
  parts: readonly KeyPart[],
  filtersHash: string,
): Pick<PageRequest, 'direction' | 'after'> {
  const content = parseCursor(cursor);
  if (!Array.isArray(content)) throw badCursor();
  const [coded, of, ...key]: unknown[] = content;
  const direction = typeof coded === 'number' ? DIRECTIONS[coded] : undefined;
  if (direction === undefined || of !== filtersHash) throw badCursor();
  if (key.length === 0) return { direction, after: null };
  if (key.length !== parts.length || !parts.every((part, i) => KEY_CHECKS[part](key[i]))) throw badCursor();
  return { direction, after: key as unknown as Key };
}

function parseCursor(cursor: string): unknown {
  const bytes = Buffer.from(cursor, 'base64url');
  // Only the exact encoding is accepted, because decoding skips characters beyond base64url.
  if (bytes.toString('base64url') !== cursor) throw badCursor();
  try {
    return JSON.parse(bytes.toString());
  } catch {
    throw badCursor();
  }
}

const KEY_CHECKS: Readonly<Record<KeyPart, (value: unknown) => boolean>> = {
  time: (value) => typeof value === 'string' && isDateTime(value),
  text: (value) => typeof value === 'string' && isCleanText(value),
  integer: (value) => Number.isSafeInteger(value),
};

/** Returns a short hash that does not depend on the order of fields. */
function hashOf(filters: readonly unknown[]): string {
  // Cached, because lists are read again with the same filters, and hashing takes longer than JSON.
  const json = JSON.stringify(filters);
  const known = HASHES.get(json) ?? hashCanonically(filters);
  HASHES.set(json, known);
  return known;
}

const HASHES = new LRUCache<string, string>({
  maxSize: 1024 * 1024,
  sizeCalculation: (filtersHash, json) => json.length + filtersHash.length,
});

function hashCanonically(filters: readonly unknown[]): string {
  const canonical = JSON.stringify(filters, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return hash('sha256', canonical, 'base64url').slice(0, 12);
}
