import type { FileBytes, NewObject, ObjectStore } from '../../../core/attachments/storage.ts';
import { insertMailFile, removeUnreferenced, withdrawUploads } from '../../../core/attachments/uploads.ts';
import type { MailboxRow } from '../../../core/resources/mailbox.ts';
import type { Database } from '../../../platform/db/connection/database.ts';

/** The methods of a store that reading a mail needs. */
export type MailFiles = Pick<ObjectStore, 'open' | 'putStream' | 'remove'>;

/**
 * The files of one mail: its source and its attachments. Each has a row of `uploads` before its
 * first byte, so that a purge finds whatever a dead node leaves.
 */
export class RegisteredFiles implements MailFiles {
  readonly #database: Database;
  readonly #store: ObjectStore;
  readonly #inbox: MailboxRow;
  readonly #keys: string[] = [];

  constructor(database: Database, store: ObjectStore, inbox: MailboxRow) {
    this.#database = database;
    this.#store = store;
    this.#inbox = inbox;
  }

  async putStream(
    object: Pick<NewObject, 'key' | 'contentType'>,
    bytes: AsyncIterable<Buffer>,
  ): Promise<number> {
    const { account_id, created_by: actor_id } = this.#inbox;
    const { key: s3_key, contentType: content_type } = object;
    await insertMailFile(this.#database, { s3_key, account_id, actor_id, filename: '', content_type });
    this.#keys.push(s3_key);
    return this.#store.putStream(object, bytes);
  }

  open(key: string): Promise<FileBytes | undefined> {
    return this.#store.open(key);
  }

  remove(keys: readonly string[]): Promise<void> {
    return this.#store.remove(keys);
  }

  /** Removes unreferenced files. Must be called after the outcome of the commit is known. */
  removeUnreferenced(): Promise<void> {
    return removeUnreferenced(this.#database, this.#store, this.#keys);
  }

  /** Has unreferenced files removed in a minute: a transaction in doubt may still commit. */
  withdraw(): Promise<void> {
    return this.#database.transaction((tx) => withdrawUploads(tx, this.#keys));
  }
}
