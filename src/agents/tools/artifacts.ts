import { type Selectable, sql } from 'kysely';
import type { ObjectStore } from '../../attachments/storage.ts';
import type { Database } from '../../db/database.ts';
import type { Schema } from '../../db/schema.ts';
import { ID_PREFIXES } from '../../protocol/ids.ts';

/** A file that an agent wrote, as it stands in Postgres. */
export type ArtifactRow = Selectable<Schema['artifacts']>;

export interface NewArtifact {
  readonly accountId: string;
  /** The agent. */
  readonly actorId: string;
  readonly runId: string;
  /** Makes one artifact, however often it is done. */
  readonly actionId: string;
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** The artifact of an action. What broke off on the way is found by the purge of uploads, or done again. */
export async function makeArtifact(
  database: Database,
  store: ObjectStore,
  artifact: NewArtifact,
): Promise<ArtifactRow> {
  const id = idOf('artifact', artifact.actionId);
  const made = await findArtifact(database, artifact.accountId, id);
  if (made !== undefined) return made;
  const key = idOf('upload', artifact.actionId);
  const file = {
    s3_key: key,
    account_id: artifact.accountId,
    filename: artifact.filename,
    content_type: artifact.contentType,
    size_bytes: artifact.bytes.length,
  };
  await database.kysely
    .insertInto('uploads')
    .values({ ...file, actor_id: artifact.actorId })
    .onConflict((conflict) => conflict.column('s3_key').doNothing())
    .execute();
  await store.put({ key, contentType: artifact.contentType }, artifact.bytes);
  return database.transaction(async (tx) => {
    await tx.kysely
      .insertInto('artifacts')
      .values({ ...file, id, run_id: artifact.runId })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
    await tx.kysely
      .updateTable('uploads')
      .set({ attached_at: sql<string>`clock_timestamp()` })
      .where('s3_key', '=', key)
      .execute();
    return tx.kysely.selectFrom('artifacts').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  });
}

/** Undefined where the account has none with this id. */
export function findArtifact(
  { kysely }: Database,
  accountId: string,
  id: string,
): Promise<ArtifactRow | undefined> {
  return kysely
    .selectFrom('artifacts')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .executeTakeFirst();
}

/** An action and what it makes share what stands behind the prefix: doing it again names the same things. */
function idOf(kind: 'artifact' | 'upload', actionId: string): string {
  return `${ID_PREFIXES[kind]}_${actionId.slice(actionId.indexOf('_') + 1)}`;
}
