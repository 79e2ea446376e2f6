import type { Selectable } from 'kysely';
import type { Db } from '../../../platform/db/connection/handle.ts';
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
