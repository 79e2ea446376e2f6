import { MAX_PAGE_BYTES } from '../../contract/protocol/lists.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { type BriefRow, briefColumns, type MessageRow, messageColumns, type TimelineRow } from './message.ts';

/**
 * Returns the first of these rows, with the bodies that were left out: those whose JSON has
 * `maxBytes` together, and one more. The bodies are read in parts, because their JSON may be six
 * times as long as they are: a page of 1 MiB shows five messages of 40,000 control characters. No
 * statement runs where no body is large. Large rows are as they are now, and are left out if they
 * were purged meanwhile.
 */
export async function withLargeBodies<Row extends BriefRow>(
  db: Querier,
  rows: readonly Row[],
  maxBytes: number = MAX_PAGE_BYTES,
): Promise<readonly Row[]> {
  if (rows.every(({ large_bytes }) => large_bytes === null)) return rows;
  const whole: Row[] = [];
  let bytes = 0;
  for (let next = 0; next < rows.length && bytes <= maxBytes; ) {
    const part = rows.slice(next, endOfPart(rows, next, maxBytes - bytes));
    next += part.length;
    for (const row of await readBodies(db, part)) {
      whole.push(row);
      bytes += jsonLengthOf(row.body ?? '');
      if (bytes > maxBytes) break;
    }
  }
  return whole;
}

/**
 * Returns the place behind the row with which the texts from `start` on have a part's bytes, or
 * `room`.
 */
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

async function readBodies<Row extends BriefRow>(db: Querier, rows: readonly Row[]): Promise<readonly Row[]> {
  const ids = rows.flatMap(({ id, large_bytes }) => (large_bytes === null ? [] : id));
  if (ids.length === 0) return rows;
  const large = new Map((await db.query(READ_LARGE, ids)).map((row) => [row.id, row]));
  return rows.flatMap((row) => {
    if (row.large_bytes === null) return row;
    const whole = large.get(row.id);
    return whole === undefined ? [] : { ...row, ...whole };
  });
}

/**
 * The least length of the text's JSON in UTF-8: control characters take six bytes, unless they have
 * a short form.
 */
function jsonLengthOf(text: string): number {
  let length = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x20) length += SHORT_ESCAPES.includes(unit) ? 1 : 5;
    else if (unit === 0x22 || unit === 0x5c) length += 1;
  }
  return length;
}

/** \b \t \n \f \r */
const SHORT_ESCAPES: readonly number[] = [0x08, 0x09, 0x0a, 0x0c, 0x0d];

/** Bodies read by one statement: three or four of the longest. */
const PART_BYTES = 128 * 1024;

/**
 * Returns messages of any account in any state, in the order of their ids, each once. Where their
 * texts have more than a page has room for, the last ones are left out: a page that shows them in
 * this order ends before.
 */
export async function readMessagesForPage(
  db: Querier,
  ids: readonly string[],
): Promise<readonly MessageRow[]> {
  return withLargeBodies(db, await db.query(READ_BRIEF, [...new Set(ids)]));
}

const READ_LARGE = statement<[ids: readonly string[]], TimelineRow>({
  name: 'read-large-messages',
  isBulk: true,
  text: `
    SELECT ${messageColumns('m')}, m.updated_at::text AS version FROM messages m WHERE m.id = ANY($1)`,
});

const READ_BRIEF = statement<[ids: readonly string[]], BriefRow>({
  name: 'read-brief-messages',
  text: `
    SELECT ${briefColumns('m')} FROM unnest($1::text[]) WITH ORDINALITY AS n(id, place) JOIN messages m ON m.id = n.id
    ORDER BY n.place`,
});
