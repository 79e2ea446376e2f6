import { randomBytes } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { changeListeners } from '../../src/core/accounts/account/listeners.ts';
import type { Database } from '../../src/platform/db/connection/database.ts';
import { until } from '../support/until.ts';

export interface WebhookOptions {
  readonly eventTypes?: readonly string[];
  readonly includeDirect?: boolean;
  readonly isDisabled?: boolean;
  readonly url?: string;
}

/** Makes a webhook as the endpoint does, of the account of this actor. Returns its id. */
export async function addWebhook(
  database: Database,
  { accountId, actorId }: { readonly accountId: string; readonly actorId: string },
  {
    eventTypes = ['*'],
    includeDirect = false,
    isDisabled = false,
    url = 'http://127.0.0.1:9/',
  }: WebhookOptions = {},
): Promise<string> {
  const id = newId('webhook');
  await database.transaction(async (tx) => {
    await tx.kysely
      .insertInto('webhooks')
      .values({
        id,
        account_id: accountId,
        created_by: actorId,
        url,
        version: NEWEST_VERSION,
        event_types: [...eventTypes],
        include_direct: includeDirect,
        status: isDisabled ? 'disabled' : 'enabled',
        secret: randomBytes(24),
      })
      .execute();
    await changeListeners(tx);
  });
  return id;
}

/** Waits until every committed event has been handled. */
export async function settled(database: Database): Promise<void> {
  await until(async () => (await database.pool.query('SELECT FROM outbox')).rowCount === 0, {
    what: 'an empty outbox',
  });
}
