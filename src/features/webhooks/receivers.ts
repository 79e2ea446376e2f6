import { keptVersion } from '@parley/protocol/versions.ts';
import { RevocableCache } from '../../api/access/revocable-cache.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Receiver } from './delivery.ts';
import { IS_TRIED } from './webhook-store.ts';

/**
 * Caches the receivers of webhooks until a change is announced. Disabled webhooks are cached too,
 * because their events continue.
 */
export class Receivers {
  readonly #cache: RevocableCache<(Receiver & Pick<ReceiverRow, 'is_open'>) | undefined>;

  constructor({ database, rights }: Pick<NodeParts, 'database' | 'rights'>) {
    this.#cache = new RevocableCache({
      rights,
      load: async (id) => {
        const [row] = await database.query(READ, id);
        return row && { ...row, version: keptVersion(row.version), target: new URL(row.url) };
      },
      subjectsOf: (known, id) => (known === undefined ? [id] : [id, known.account_id]),
      max: MAX_RECEIVERS,
    });
  }

  /** Returns undefined for a disabled or deleted webhook. Rejects while Postgres is unavailable. */
  async get(id: string): Promise<Receiver | undefined> {
    const known = await this.#cache.get(id);
    return known?.is_open ? known : undefined;
  }

  close(): void {
    this.#cache.close();
  }
}

const MAX_RECEIVERS = 10_000;

/** A try is allowed if the webhook is enabled and its account not deleted. */
type ReceiverRow = Omit<Receiver, 'version' | 'target'> & {
  readonly version: string;
  readonly is_open: boolean;
};

const READ = statement<[id: string], ReceiverRow>('read-webhook-receiver')`
    SELECT w.id, w.account_id, w.url, w.version, w.secret, w.previous_secret, w.previous_secret_until,
      ${IS_TRIED} AND a.deleted_at IS NULL AS is_open
    FROM webhooks w JOIN accounts a ON a.id = w.account_id WHERE w.id = $1`;
