import { ID_PREFIXES } from '../../../contract/protocol/ids.ts';
import type { ObjectStore } from '../../../core/attachments/storage.ts';
import { insertUpload } from '../../../core/attachments/uploads.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import {
  type ArtifactRow,
  findArtifact,
  insertArtifact,
  markAttached,
  readArtifact,
} from './artifact-store.ts';

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
 * Returns the artifact of an action and creates it if necessary. A creation that broke off is
 * removed by the purge of uploads, or completed by a repetition. Throws ApiError `limit_exceeded`.
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
  const upload = { ...file, actor_id: artifact.actorId };
  await database.transaction((tx) => insertUpload(tx, upload, store.accountBytes));
  await store.put({ key, contentType: artifact.contentType }, artifact.bytes);
  return database.transaction(async (tx) => {
    await insertArtifact(tx, { ...file, id, run_id: artifact.runId });
    await markAttached(tx, key);
    return readArtifact(tx, id);
  });
}

/**
 * An action, its artifact and its upload share the part of the id after the prefix, so a repetition
 * uses the same ids.
 */
function idOf(kind: 'artifact' | 'upload', actionId: string): string {
  return `${ID_PREFIXES[kind]}_${actionId.slice(actionId.indexOf('_') + 1)}`;
}
