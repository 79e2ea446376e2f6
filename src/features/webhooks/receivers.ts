import { RevocableCache } from '../../platform/access/revocable-cache.ts';
import type { Rights } from '../../platform/access/rights.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Destination } from './attempt.ts';
import { type ReceiverRow, readReceiver } from './webhook-store.ts';

/**
 * Caches the receivers of webhooks until a change is announced. Disabled ones are cached too,
 * because their events go on.
 */
export class Receivers {
  readonly #cache: RevocableCache<Known | undefined>;

  constructor({ database, rights }: { readonly database: Database; readonly rights: Rights }) {
    this.#cache = new RevocableCache({
      rights,
      load: async (id) => {
        const row = await readReceiver(database, id);
        return row && { ...row, target: new URL(row.url) };
      },
      subjectsOf: (known, id) => (known === undefined ? [id] : [id, known.account_id]),
      max: MAX_RECEIVERS,
    });
  }

  /** Returns undefined for a disabled or deleted webhook. Rejects while Postgres is unavailable. */
  async get(id: string): Promise<Destination | undefined> {
    const known = await this.#cache.get(id);
    return known?.is_open ? known : undefined;
  }

  close(): void {
    this.#cache.close();
  }
}

type Known = Destination & ReceiverRow;

const MAX_RECEIVERS = 10_000;
