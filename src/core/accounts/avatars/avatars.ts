import { newId } from '@parley/protocol/ids.ts';
import { sql } from 'kysely';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { readImage, type UploadedImage } from '../../attachments/images.ts';
import type { FileBytes, ObjectStore } from '../../attachments/storage.ts';
import { withdrawUploads } from '../../attachments/uploads.ts';
import { enqueueActorChanged } from '../rights/rights-changed.ts';

/** The path below which avatars are served, before their id. */
export const AVATARS_PATH = '/v1/avatars/';

export interface AvatarsOptions {
  readonly database: Database;
  readonly store: Pick<ObjectStore, 'open' | 'putStream' | 'read' | 'sizeOf'>;
  /** The base URL at which callers reach this server, without a trailing slash; called per use. */
  readonly baseUrl: () => string;
}

/**
 * The images of actors (docs/contract.md#avatars). Each is an upload with its own random id, which
 * is part of its public address; a new image gets a new id.
 */
export class Avatars {
  readonly #options: AvatarsOptions;

  constructor(options: AvatarsOptions) {
    this.#options = options;
  }

  /**
   * Returns the checked image that a body names by `avatar_s3_key`; null and undefined are returned
   * as they are. Outside a transaction, since it reads from the store. Rejects as `readImage` does.
   */
  async find<Key extends string | null | undefined>(
    accountId: string,
    key: Key,
  ): Promise<UploadedImage | Exclude<Key, string>> {
    if (typeof key !== 'string') return key as Exclude<Key, string>;
    const { database, store } = this.#options;
    return readImage(database, store, { accountId, key, param: 'avatar_s3_key' });
  }

  /**
   * Replaces an actor's image: `null` removes it, `undefined` keeps it. The old file is removed
   * unless something else uses it. Every node shows the change within a second.
   */
  async set(
    tx: Tx,
    { accountId, actorId }: { readonly accountId: string; readonly actorId: string },
    image: UploadedImage | null | undefined,
  ): Promise<void> {
    if (image === undefined) return;
    await tx.kysely.selectFrom('actors').select('id').where('id', '=', actorId).forNoKeyUpdate().execute();
    await removeAvatar(tx, actorId, image?.s3_key);
    const id = newId('avatar');
    if (image !== null) {
      await tx.kysely
        .insertInto('avatars')
        .values({ id, account_id: accountId, actor_id: actorId, ...image })
        .execute();
    }
    await tx.kysely
      .updateTable('actors')
      .set({ avatar_url: image && this.#urlOf(id), updated_at: sql<string>`later_than(updated_at)` })
      .where('id', '=', actorId)
      .execute();
    await enqueueActorChanged(tx, actorId);
  }

  /** Returns the bytes and the type of an avatar, or undefined if there is none. */
  async open(id: string): Promise<{ readonly bytes: FileBytes; readonly contentType: string } | undefined> {
    const { database, store } = this.#options;
    const [avatar] = ID.test(id) ? await database.query(FIND, id) : [];
    if (avatar === undefined) return undefined;
    const bytes = await store.open(avatar.s3_key);
    return bytes && { bytes, contentType: avatar.content_type };
  }

  /** Updates actors to addresses of this server, whose base URL may have changed since. */
  async readdress(): Promise<void> {
    await this.#options.database.query(READDRESS, this.#urlOf(''));
  }

  #urlOf(id: string): string {
    return `${this.#options.baseUrl()}${AVATARS_PATH}${id}`;
  }
}

/**
 * Removes an actor's image, if any, and its file unless it is `kept`. The caller clears
 * `avatar_url`.
 */
async function removeAvatar(tx: Tx, actorId: string, kept?: string): Promise<void> {
  const removed = await tx.kysely
    .deleteFrom('avatars')
    .where('actor_id', '=', actorId)
    .returning('s3_key')
    .executeTakeFirst();
  if (removed !== undefined && removed.s3_key !== kept) await withdrawUploads(tx, [removed.s3_key]);
}

/** Returns the key of the file of an actor's image, for exports, or undefined. */
export async function readAvatarKey(db: Db, actorId: string): Promise<string | undefined> {
  const [file] = await db.query(FIND_OF_ACTOR, actorId);
  return file?.s3_key;
}

const ID = /^ava_\w{24}$/;

const FIND = statement<[id: string], { readonly s3_key: string; readonly content_type: string }>(
  'find-avatar',
)`
    SELECT v.s3_key, v.content_type FROM avatars v JOIN accounts c ON c.id = v.account_id AND c.deleted_at IS NULL
    WHERE v.id = $1`;

const FIND_OF_ACTOR = statement<[actorId: string], { readonly s3_key: string }>('find-avatar-of-actor')`
    SELECT s3_key FROM avatars WHERE actor_id = $1`;

const READDRESS = statement<[prefix: string]>('readdress-avatars')`
    UPDATE actors a SET avatar_url = $1 || v.id FROM avatars v
    WHERE v.actor_id = a.id AND a.avatar_url IS DISTINCT FROM $1 || v.id`;
