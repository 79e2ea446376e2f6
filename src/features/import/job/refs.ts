import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { bounded } from '../../../platform/bounded.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { ImportRow } from '../imports/import-store.ts';

/** The counterpart of a thing of an archive. */
export interface Ref {
  /** The id of an actor or a conversation, or the key of an upload. */
  readonly id: string;
  readonly importId: string;
  /** Whether that import created it; otherwise it existed. */
  readonly isMade: boolean;
}

type Kind = 'person' | 'conversation' | 'file';

/**
 * The counterparts of the things of one server of one service, in the account of an import. They
 * are stored in Postgres for later imports of the same server, and the latest are cached in memory.
 */
export class Refs {
  readonly #import: Pick<ImportRow, 'id' | 'account_id'>;
  readonly #scope: string;
  readonly #known = new LRUCache<string, Ref>(bounded(MAX_KNOWN));

  constructor(row: Pick<ImportRow, 'id' | 'account_id' | 'source' | 'options'>) {
    this.#import = row;
    this.#scope = JSON.stringify([row.account_id, row.source, row.options.origin ?? '']);
  }

  /** Returns the counterparts by their ids in the archive; absent ones are left out. */
  async find(db: Db, kind: Kind, sourceIds: Iterable<string>): Promise<Map<string, Ref>> {
    const found = new Map<string, Ref>();
    const asked = new Map<string, string>();
    for (const sourceId of sourceIds) {
      const key = this.#keyOf(kind, sourceId);
      const known = this.#known.get(key);
      if (known === undefined) asked.set(key, sourceId);
      else found.set(sourceId, known);
    }
    if (asked.size === 0) return found;
    for (const { key, our_id, import_id, is_made } of await db.query(READ, [...asked.keys()])) {
      const ref = { id: our_id, importId: import_id, isMade: is_made };
      this.#known.set(key, ref);
      found.set(asked.get(key)!, ref);
    }
    return found;
  }

  /** Stores counterparts, replacing earlier ones. */
  async put(
    tx: Tx,
    kind: Kind,
    became: readonly { readonly sourceId: string; readonly id: string; readonly isMade: boolean }[],
  ): Promise<void> {
    if (became.length === 0) return;
    const { id: importId, account_id } = this.#import;
    const keys = became.map(({ sourceId }) => this.#keyOf(kind, sourceId));
    const ids = became.map(({ id }) => id);
    const made = became.map(({ isMade }) => isMade);
    await tx.query(PUT, keys, ids, made, account_id, importId);
    // They are not cached before the commit.
    for (const key of keys) this.#known.delete(key);
  }

  /** Returns a key without names: ids of some services are names of people. */
  #keyOf(kind: Kind, sourceId: string): string {
    return hash('sha256', `${this.#scope} ${kind} ${sourceId}`, 'base64url');
  }
}

const MAX_KNOWN = 100_000;

const READ = statement<
  [keys: readonly string[]],
  { key: string; our_id: string; import_id: string; is_made: boolean }
>('read-import-refs')`
    SELECT key, our_id, import_id, is_made FROM import_refs WHERE key = ANY($1)`;

const PUT = statement<
  [
    keys: readonly string[],
    ids: readonly string[],
    made: readonly boolean[],
    accountId: string,
    importId: string,
  ]
>('put-import-refs')`
    INSERT INTO import_refs (key, our_id, is_made, account_id, import_id)
    SELECT DISTINCT ON (key) key, id, is_made, $4, $5
    FROM unnest($1::text[], $2::text[], $3::boolean[]) AS r(key, id, is_made)
    ON CONFLICT (key) DO UPDATE SET our_id = excluded.our_id, is_made = excluded.is_made,
      import_id = excluded.import_id`;
