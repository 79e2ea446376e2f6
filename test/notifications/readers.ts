import { randomUUID } from 'node:crypto';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import { sql } from 'kysely';
import { WebSocket } from 'ws';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import { findRole } from '../../src/core/accounts/rights/roles.ts';
import { Client } from '../gateway/fixture.ts';
import type { TestApp } from '../support/app.ts';
import type { Teardown } from '../support/teardown.ts';

export interface Reader {
  readonly id: string;
  readonly token: string;
}

/** A notification that nothing made. */
export interface Row {
  readonly title?: string;
  readonly body?: string | null;
  readonly category?: string;
  readonly status?: Notification['status'];
  readonly created_at?: string;
  readonly resource_type?: 'entity';
  readonly resource_id?: string;
}

let readers = 0;

/** A user of the demo account whose feed is still empty. `role`: by its name or id. */
export async function newReader({ database, demo, tokenOf }: TestApp, role = 'viewer'): Promise<Reader> {
  readers += 1;
  const [name, email] = [`Reader ${readers}`, `reader-${readers}@example.com`];
  const accountId = demo.account_id;
  const { user } = await database.transaction(async (tx) => {
    const { id: roleId } = await findRole(tx, accountId, role);
    return createUser(tx, { accountId, name, email, roleId });
  });
  return { id: user.id, token: await tokenOf(user.id) };
}

/** Returns the id. Later than the previous one unless `created_at` is given. */
export async function insertRow({ database, demo }: TestApp, { id }: Reader, row: Row = {}): Promise<string> {
  const { created_at, ...others } = row;
  const at =
    created_at === undefined ? sql<string>`statement_timestamp()` : sql<string>`${created_at}::timestamptz`;
  const inserted = await database.kysely
    .insertInto('notifications')
    .values({
      id: sql`notification_id(${at}, ${randomUUID()}, ${id})`,
      account_id: demo.account_id,
      recipient_id: id,
      created_at: at,
      updated_at: at,
      category: 'chat.message',
      title: 'row',
      body: null,
      ...others,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return inserted.id;
}

/** A ready socket of the newest version, unless another one is given. */
export async function openSocket(
  t: Teardown,
  { baseUrl, demo }: Pick<TestApp, 'baseUrl' | 'demo'>,
  { token }: Pick<Reader, 'token'>,
  version = '1.2.harbor',
): Promise<Client> {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Service-Version': version,
    'Service-Account': demo.account_id,
  };
  const client = new Client(new WebSocket(`${baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
  t.teardown(() => client.close());
  await client.frame('ready');
  return client;
}
