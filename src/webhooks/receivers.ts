import { RevocableCache } from '../access/revocable-cache.ts';
import type { Rights } from '../access/rights.ts';
import type { Database } from '../db/database.ts';
import type { Destination } from './attempt.ts';
import { readReceiver } from './webhook-store.ts';

/** What tries need of enabled webhooks, kept until a change of the webhook is announced. */
export class Receivers {
  readonly #cache: RevocableCache<Destination | undefined>;

  constructor({ database, rights }: { readonly database: Database; readonly rights: Rights }) {
    this.#cache = new RevocableCache({
      rights,
      load: async (id) => {
        const receiver = await readReceiver(database, id);
        return receiver && { ...receiver, target: new URL(receiver.url) };
      },
      subjectsOf: (receiver, id) => (receiver === undefined ? [id] : [id, receiver.account_id]),
      max: MAX_RECEIVERS,
    });
  }

  /** Returns undefined for a webhook that is disabled or gone. Rejects if Postgres is away. */
  get(id: string): Destination | undefined | Promise<Destination | undefined> {
    return this.#cache.get(id);
  }

  close(): void {
    this.#cache.close();
  }
}

const MAX_RECEIVERS = 10_000;
