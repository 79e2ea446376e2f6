import {
  IMPORT_LIMITS,
  type ImportedType,
  ImportRemark,
  type ImportReport,
} from '@parley/protocol/resources/import.ts';
import type { Insertable } from 'kysely';
import { presentAs } from '../../../core/resources/present-as.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { type KeysetPage, keysetList } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';

export type RemarkRow = Insertable<Schema['import_remarks']>;

/** Adds remarks; those of the same record and item stay as they are. */
export async function insertRemarks(tx: Tx, rows: readonly RemarkRow[]): Promise<void> {
  for (let begin = 0; begin < rows.length; begin += AT_ONCE) {
    const some = rows.slice(begin, begin + AT_ONCE).map((row) => ({
      ...row,
      detail: row.detail.slice(0, MOST_CHARACTERS),
      place: row.place.slice(0, MOST_CHARACTERS),
    }));
    await tx.kysely
      .insertInto('import_remarks')
      .values(some)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** The last remark of a type and reason, and the number of such remarks. */
export interface LastRemark extends Pick<RemarkRow, 'type' | 'reason' | 'record' | 'item'> {
  readonly remarks: number;
}

export function readLastRemarks(db: Db, importId: string): Promise<readonly LastRemark[]> {
  return db.query(READ_LAST_REMARKS, importId);
}

/** An amount to add to the count of a remark. */
export type Addition = Pick<RemarkRow, 'record' | 'item' | 'count'>;

export async function addToRemarks(tx: Tx, importId: string, additions: readonly Addition[]): Promise<void> {
  if (additions.length === 0) return;
  const of = <Key extends keyof Addition>(key: Key) => additions.map((it) => it[key]);
  await tx.query(ADD_TO_REMARKS, importId, of('record'), of('item'), of('count'));
}

/** Returns remarks in the order of the archive; null means any type or reason. */
export function readRemarks(
  db: Db,
  importId: string,
  { type, reason }: { readonly type: string | null; readonly reason: string | null },
  page: KeysetPage,
): Promise<RemarkRow[]> {
  return LIST.readPage(db, [importId, type, reason], page);
}

export const remarkKeyOf = ({ record, item }: RemarkRow): [number, number] => [record, item];

export function presentRemark(row: RemarkRow): ImportRemark {
  return presentAs(ImportRemark, row);
}

type Reasons = ImportReport['notes'];

/** Returns the reasons of each type with their first remarks. */
export async function readReasons(
  db: Db,
  importId: string,
): Promise<ReadonlyMap<ImportedType | 'note', Reasons>> {
  const rows = await db.query(READ_REASONS, importId);
  const reasons = new Map<ImportedType | 'note', Reasons>();
  for (const { type, reason, count, examples } of rows) {
    const shown = { reason, count, examples: examples.map((row) => presentRemark(row)) };
    reasons.set(type, [...(reasons.get(type) ?? []), shown]);
  }
  return reasons;
}

const AT_ONCE = 1_000;
const MOST_CHARACTERS = 500;
/** The largest number of the column. */
const MOST_COUNTED = 2 ** 31 - 1;

const LIST = keysetList<[importId: string, type: string | null, reason: string | null], RemarkRow>({
  name: 'list-import-remarks',
  columns: 'r.*',
  from: 'import_remarks r',
  where: `r.import_id = $1 AND ($2::text IS NULL OR r.type = $2) AND ($3::text IS NULL OR r.reason = $3)`,
  key: [
    ['r.record', 'integer'],
    ['r.item', 'integer'],
  ],
  order: 'oldest_first',
});

const READ_LAST_REMARKS = statement<[importId: string], LastRemark>('read-last-remarks')`
  SELECT DISTINCT ON (type, reason) type, reason, record, item,
    count(*) OVER (PARTITION BY type, reason)::integer AS remarks
  FROM import_remarks WHERE import_id = $1 ORDER BY type, reason, record DESC, item DESC`;

const ADD_TO_REMARKS = statement<
  [importId: string, records: readonly number[], items: readonly number[], counts: readonly number[]]
>('add-to-remarks')`
  UPDATE import_remarks r SET count = least(r.count::bigint + a.count, ${MOST_COUNTED})::integer
  FROM unnest($2::integer[], $3::integer[], $4::bigint[]) AS a (record, item, count)
  WHERE r.import_id = $1 AND r.record = a.record AND r.item = a.item`;

const READ_REASONS = statement<
  [importId: string],
  { type: ImportedType | 'note'; reason: string; count: number; examples: RemarkRow[] }
>('read-reasons-of-import')`
    SELECT g.type, g.reason, g.count, (
        SELECT json_agg(e ORDER BY e.record, e.item) FROM (
          SELECT r.* FROM import_remarks r
          WHERE r.import_id = $1 AND r.type = g.type AND r.reason = g.reason
          ORDER BY r.record, r.item LIMIT ${IMPORT_LIMITS.examples}
        ) AS e
      ) AS examples
    FROM (
      SELECT type, reason, sum(count)::bigint AS count FROM import_remarks
      WHERE import_id = $1 GROUP BY type, reason
    ) AS g ORDER BY g.type, g.count DESC, g.reason`;
