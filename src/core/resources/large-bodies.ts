import { MAX_PAGE_BYTES } from '@parley/protocol/lists.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import { type Statement, statement } from '../../platform/db/connection/statement.ts';
import { HELD_PLACE } from './encoded-rows.ts';
import { type BriefRow, briefColumns, type MessageRow, messageColumns, type TimelineRow } from './message.ts';

/**
 * Returns the first of these rows with the bodies that were left out: as many as have `maxBytes` of
 * JSON together, and one more. The bodies are read in parts, because their JSON may be six times as
 * long: a page of 1 MiB shows five messages of 40,000 control characters. No statement runs if no
 * body is large. Large rows are in their current state, and left out if they were purged meanwhile.
 */
export function withLargeBodies<Row extends BriefRow>(
  db: Querier,
  rows: readonly Row[],
  maxBytes: number = MAX_PAGE_BYTES,
): Promise<readonly Row[]> {
  return withLarge(db, rows, READ_TEXTS, maxBytes);
}

/**
 * Does `withLargeBodies` for a page, but with `body_json` and a body that holds its place. A page
 * of 1 MiB assembled from such bytes makes no garbage in V8's heap; 100 pages at once made 260 MB
 * of garbage.
 */
export function withLargeJson<Row extends BriefRow>(
  db: Querier,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  return withLarge(db, rows, READ_JSON, MAX_PAGE_BYTES);
}

async function withLarge<Row extends BriefRow>(
  db: Querier,
  rows: readonly Row[],
  statement: ReadLarge,
  maxBytes: number,
): Promise<readonly Row[]> {
  if (rows.every(({ large_bytes }) => large_bytes === null)) return rows;
  const whole: Row[] = [];
  let bytes = 0;
  for (let next = 0; next < rows.length && bytes <= maxBytes; ) {
    const part = rows.slice(next, endOfPart(rows, next, maxBytes - bytes));
    next += part.length;
    for (const { row, jsonBytes } of await readLarge(db, part, statement)) {
      whole.push(row);
      bytes += jsonBytes;
      if (bytes > maxBytes) break;
    }
  }
  return whole;
}

/** Returns the index after the row that fills a part, or `room`, with the texts from `start` on. */
function endOfPart(rows: readonly BriefRow[], start: number, room: number): number {
  const most = Number.isFinite(room) ? Math.min(room, PART_BYTES) : room;
  let bytes = 0;
  let end = start;
  while (end < rows.length && bytes <= most) {
    const { body, large_bytes } = rows[end]!;
    bytes += large_bytes ?? body?.length ?? 0;
    end += 1;
  }
  return end;
}

async function readLarge<Row extends BriefRow>(
  db: Querier,
  rows: readonly Row[],
  statement: ReadLarge,
): Promise<readonly { readonly row: Row; readonly jsonBytes: number }[]> {
  const ids = rows.flatMap(({ id, large_bytes }) => (large_bytes === null ? [] : id));
  const large = new Map((ids.length === 0 ? [] : await db.query(statement, ids)).map((row) => [row.id, row]));
  return rows.flatMap((row) => {
    if (row.large_bytes === null) return { row, jsonBytes: row.body?.length ?? 0 };
    const found = large.get(row.id);
    if (found === undefined) return [];
    const { json_bytes, ...whole } = found;
    const body = whole.body_json ? HELD_PLACE : whole.body;
    return { row: { ...row, ...whole, body }, jsonBytes: json_bytes ?? 0 };
  });
}

/** Bodies read by one statement: three or four of the longest. */
const PART_BYTES = 128 * 1024;

/**
 * Returns messages of any account in any state, in the order of their ids, each once. If their
 * texts exceed the room of a page, the last ones are left out: a page in this order ends before
 * them.
 */
export async function readMessagesForPage(
  db: Querier,
  ids: readonly string[],
): Promise<readonly MessageRow[]> {
  return withLargeBodies(db, await db.query(READ_BRIEF, [...new Set(ids)]));
}

interface LargeRow extends TimelineRow {
  /** The length of the body's JSON in UTF-8; null if the body is present. */
  readonly json_bytes: number | null;
}

type LargeIds = [ids: readonly string[]];
type ReadLarge = Statement<LargeIds, LargeRow>;

const LARGE_COLUMNS = `m.updated_at::text AS version, octet_length(to_json(m.body)::text) AS json_bytes`;

const READ_TEXTS = {
  ...statement<LargeIds, LargeRow>('read-large-messages')`
    SELECT ${messageColumns('m')}, ${LARGE_COLUMNS} FROM messages m WHERE m.id = ANY($1)`,
  isBulk: true,
};

/** Postgres escapes a text as JSON.stringify does. */
const READ_JSON = {
  ...statement<LargeIds, LargeRow>('read-large-messages-as-json')`
    SELECT ${messageColumns('m').replace('m.body', 'NULL AS body')}, textout(to_json(m.body)::text) AS body_json,
      ${LARGE_COLUMNS}
    FROM messages m WHERE m.id = ANY($1)`,
  isBulk: true,
};

const READ_BRIEF = statement<[ids: readonly string[]], BriefRow>('read-brief-messages')`
    SELECT ${briefColumns('m')} FROM unnest($1::text[]) WITH ORDINALITY AS n(id, place) JOIN messages m ON m.id = n.id
    ORDER BY n.place`;
