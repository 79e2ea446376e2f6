import { type Selectable, sql } from 'kysely';
import type { ObjectStore } from '../../attachments/storage.ts';
import type { Database } from '../../db/database.ts';
import type { Schema } from '../../db/schema.ts';
import { ID_PREFIXES } from '../../protocol/ids.ts';

/** A file that an agent wrote, as a row of Postgres. */
export type ArtifactRow = Selectable<Schema['artifacts']>;

export interface NewArtifact {
  readonly accountId: string;
  /** The agent's actor id. */
  readonly actorId: string;
  readonly runId: string;
  /** An action makes one artifact, however often it is repeated. */
  readonly actionId: string;
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Buffer;
}

/**
 * Returns the artifact of an action and creates it if necessary. A creation that broke off is removed by the purge of
 * uploads, or completed by a repetition.
 */
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

/** Returns undefined if the account has no artifact with this id. */
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

/**
 * An action, its artifact and its upload share the part of the id after the prefix, so a repetition uses the same ids.
 */
function idOf(kind: 'artifact' | 'upload', actionId: string): string {
  return `${ID_PREFIXES[kind]}_${actionId.slice(actionId.indexOf('_') + 1)}`;
}
