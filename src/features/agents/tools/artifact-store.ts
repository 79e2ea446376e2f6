import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';

/** A file that an agent wrote, as a row of Postgres. */
export type ArtifactRow = Selectable<Schema['artifacts']>;

export function findArtifact(db: Db, accountId: string, id: string): Promise<ArtifactRow | undefined> {
  return db.kysely
    .selectFrom('artifacts')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .executeTakeFirst();
}

/** Inserts an artifact, unless it exists already. */
export async function insertArtifact(tx: Tx, artifact: Insertable<Schema['artifacts']>): Promise<void> {
  await tx.kysely
    .insertInto('artifacts')
    .values(artifact)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

/** Marks the upload as attached, so that the purge of uploads spares it. */
export async function markAttached(tx: Tx, key: string): Promise<void> {
  await tx.kysely
    .updateTable('uploads')
    .set({ attached_at: sql<string>`clock_timestamp()` })
    .where('s3_key', '=', key)
    .execute();
}
