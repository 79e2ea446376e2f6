import type { UpdateObject } from 'kysely';
import type { Db, Tx } from '../../db/handle.ts';
import type { Schema } from '../../db/schema.ts';
import { touched } from '../../db/touched.ts';
import { type ApiError, notFound } from '../../protocol/errors.ts';
import type { RunRow } from '../../resources/run.ts';

/** Returns a run of this account. Throws ApiError `resource_not_found` (param id). */
export async function findRun(db: Db, accountId: string, id: string): Promise<RunRow> {
  const row = await ofAccount(db, accountId, id).executeTakeFirst();
  if (row === undefined) throw runNotFound();
  return row;
}

/** Like `findRun`, locked until the end of `tx`: decisions about a run are made one at a time. */
export async function lockRun(tx: Tx, accountId: string, id: string): Promise<RunRow> {
  const row = await ofAccount(tx, accountId, id).forUpdate().executeTakeFirst();
  if (row === undefined) throw runNotFound();
  return row;
}

/** Updates a locked run. `updated_at` grows, and the change is part of catch-up. */
export function updateRun(
  tx: Tx,
  id: string,
  fields: Omit<UpdateObject<Schema, 'agent_runs'>, 'updated_at' | 'changed_in'>,
): Promise<RunRow> {
  return tx.kysely
    .updateTable('agent_runs')
    .set({
      ...fields,
      ...touched(),
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

function ofAccount(db: Db, accountId: string, id: string) {
  return db.kysely
    .selectFrom('agent_runs')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId);
}

export function runNotFound(): ApiError {
  return notFound('run', 'id');
}
