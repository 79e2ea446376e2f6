/**
 * Deactivating and activating users over REST, and the answers of an account without a
 * subscription.
 */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import { PERMISSIONS } from '@parley/protocol/permissions.ts';
import type { Account } from '@parley/protocol/resources/account.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Session } from '@parley/protocol/resources/session.ts';
import type { RealtimeTicket, Token } from '@parley/protocol/resources/token.ts';
import type { User } from '@parley/protocol/resources/user.ts';
import { CLOSE_CODES } from '@parley/protocol/socket/close-codes.ts';
import { sql } from 'kysely';
import t from 'tap';
import WebSocket from 'ws';
import { createAccount, updateAccount } from '../../src/core/accounts/account/accounts.ts';
import { createApiKey } from '../../src/core/accounts/keys/keys.ts';
import { borrowTestApp, refusalOf } from '../support/app.ts';
import { newAddress } from '../support/new-address.ts';
import { until } from '../support/until.ts';
import { personWith } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const PREVIEW = { 'Service-Version': '1.2.harbor' };
const CONVERSATIONS = '/v1/messaging/conversations';

t.test('a deactivated user cannot act, and comes back without its tokens', async (t) => {
  const { body: tokens } = await app.call<Token>('POST', '/v1/auth/tokens', { body: { user_id: vera.id } });
  const mention = () =>
    app.call('POST', `${CONVERSATIONS}/${demo.conversations.group}/messages`, {
      body: { body: 'ahoy', client_message_id: randomUUID(), mentions: [vera.id] },
    });
  const reads = () => app.call('GET', '/v1/messaging/notifications', { token: tokens.access_token });
  t.equal((await mention()).status, 201);

  const off = await change(vera.id, 'deactivate');
  t.strictSame([off.status, off.body.id, off.body.status], [200, vera.id, 'deactivated']);
  t.strictSame((await change(vera.id, 'deactivate')).body, off.body, 'twice is once');
  await eventually('refused', async () => (await reads()).status === 401);
  await eventually('not to be mentioned', async () => (await mention()).status === 422);
  t.equal(refusalOf((await mention()) as never), '422 validation_failed mentions[0]');
  const added = await app.call('POST', CONVERSATIONS, {
    body: { type: 'group', participants: [{ type: 'user', actor_id: vera.id }] },
  });
  t.equal(refusalOf(added), '422 validation_failed participants[0].actor_id');

  const on = await change(vera.id, 'activate');
  t.strictSame([on.status, on.body.status, on.body.email], [200, 'active', off.body.email]);
  t.strictSame((await change(vera.id, 'activate')).body, on.body);
  await eventually('mentioned again', async () => (await mention()).status === 201);
  t.equal(refusalOf(await reads()), '401 invalid_credentials null', 'its access token stays ended');
  const body = { refresh_token: tokens.refresh_token };
  const refreshed = await app.call('POST', '/v1/auth/tokens/refresh', { body });
  t.equal(refusalOf(refreshed), '401 invalid_credentials refresh_token');
  const { body: fresh } = await app.call<Token>('POST', '/v1/auth/tokens', { body: { user_id: vera.id } });
  const options = { token: fresh.access_token, headers: PREVIEW };
  const { body: sessions } = await app.call<List<Session>>('GET', '/v1/me/sessions', options);
  t.strictSame(
    sessions.data.map(({ is_current }) => is_current),
    [true],
    'it signs in anew',
  );
  const shown = await app.call<User>('POST', `/v1/users/${vera.id}/actions/activate?include[]=role`, {
    headers: PREVIEW,
  });
  t.equal(shown.body.role?.object, 'role');
});

t.test('nothing of before a deactivation comes back with the activation', async (t) => {
  const { id } = await personWith(app, ['messaging:read', 'users:read']);
  const signIn = async () =>
    (await app.call<Token>('POST', '/v1/auth/tokens', { body: { user_id: id } })).body;
  const refresh = (token: Token) =>
    app.call<Token>('POST', '/v1/auth/tokens/refresh', { body: { refresh_token: token.refresh_token } });
  const ticketOf = async (token: Token) => {
    const taken = await app.call<RealtimeTicket>('POST', '/v1/realtime/tickets', {
      token: token.access_token,
    });
    return taken.body.ticket;
  };
  const [first, second, third] = [await signIn(), await signIn(), await signIn()];
  const { body: rotated } = await refresh(second);
  // Its access token outlives its refresh token by some minutes.
  await database.kysely
    .updateTable('refresh_tokens')
    .set({ expires_at: sql<string>`clock_timestamp()` })
    .where('family_id', '=', familyOf(third))
    .execute();
  const ticket = await ticketOf(first);
  const ended = await socketOf(await ticketOf(rotated));

  for (const times of ['once', 'twice']) {
    // Both in one moment: no node has to have seen the one before the other is committed.
    await change(id, 'deactivate');
    await change(id, 'activate');
    if (times === 'once') t.equal(await ended.closed, CLOSE_CODES.credentials_revoked.code, 'its socket');
    await eventually('every node has seen it', async () => {
      const { rowCount } = await database.pool.query("SELECT FROM outbox WHERE topic = 'rights.changed'");
      return rowCount === 0;
    });
    for (const token of [first, second, third, rotated]) {
      const read = await app.call('GET', '/v1/messaging/notifications', { token: token.access_token });
      t.equal(refusalOf(read), '401 invalid_credentials null', times);
      t.equal((await refresh(token)).status, 401, times);
    }
  }
  await t.rejects(socketOf(ticket), { message: 'Unexpected server response: 401' }, 'a ticket of before');
});

t.test('a token that no session issued ends with a deactivation too', async (t) => {
  const { id } = await personWith(app, ['messaging:read']);
  const reads = async (token: string) =>
    (await app.call('GET', '/v1/messaging/notifications', { token })).status;
  const old = await app.tokenOf(id);
  t.equal(await reads(old), 200);
  await change(id, 'deactivate');
  await change(id, 'activate');
  await eventually('the deactivation was seen', async () => (await reads(old)) === 401);
  t.equal(await reads(await app.tokenOf(id)), 200, 'a later one is valid');
});

t.test('a token that is issued while its user is deactivated is one of before or none', async (t) => {
  const { id } = await personWith(app, ['messaging:read']);
  const issued = Array.from({ length: 10 }, () =>
    app.call<Token>('POST', '/v1/auth/tokens', { body: { user_id: id } }),
  );
  await change(id, 'deactivate');
  const tokens = (await Promise.all(issued)).filter(({ status }) => status === 201);
  await change(id, 'activate');
  for (const { body } of tokens) {
    const answer = await app.call('POST', '/v1/auth/tokens/refresh', {
      body: { refresh_token: body.refresh_token },
    });
    t.equal(answer.status, 401);
  }
  const open = 'SELECT FROM refresh_tokens WHERE actor_id = $1 AND revoked_at IS NULL';
  t.equal((await database.pool.query(open, [id])).rowCount, 0);
});

t.test('a deactivated owner is no owner that a group can be left to', async (t) => {
  const person = await personWith(app, ['messaging:read']);
  const participants = [
    { type: 'user', actor_id: person.id, role: 'owner' },
    { type: 'user', actor_id: grace.id },
  ];
  const { body } = await app.call<Conversation>('POST', `${CONVERSATIONS}?include[]=participants`, {
    token: ada.access_token,
    body: { type: 'group', participants },
  });
  const own = body.participants!.find(({ actor }) => actor?.id === ada.id)!;
  const leave = () =>
    app.call('DELETE', `${CONVERSATIONS}/${body.id}/participants/${own.id}`, { token: ada.access_token });
  await change(person.id, 'deactivate');
  t.equal(refusalOf(await leave()), '409 resource_conflict null');
  await change(person.id, 'activate');
  t.equal((await leave()).status, 200);
});

t.test('users cannot deactivate themselves, nor the last admin', async (t) => {
  const own = await change(ada.id, 'deactivate', ada.access_token);
  t.equal(refusalOf(own as never), '409 resource_conflict null', 'oneself');
  t.equal(refusalOf((await change(ada.id, 'deactivate')) as never), '409 resource_conflict null', 'the last');
  const { role_id: roleId } = await database.kysely
    .selectFrom('actors')
    .select('role_id')
    .where('id', '=', ada.id)
    .executeTakeFirstOrThrow();
  const fields = { name: 'Second', email: newAddress(), role_id: roleId };
  const { body: second } = await app.call<User>('POST', '/v1/users', { body: fields });
  const token = await app.tokenOf(second.id);
  const [one, other] = await Promise.all([
    change(ada.id, 'deactivate', token),
    change(second.id, 'deactivate', ada.access_token),
  ]);
  const active = await database.kysely
    .selectFrom('actors')
    .select('id')
    .where('role_id', '=', roleId)
    .where('type', '=', 'user')
    .where('deactivated_at', 'is', null)
    .execute();
  t.equal(active.length, 1, `one of two that deactivate each other stays: ${one.status}, ${other.status}`);
  await change(ada.id, 'activate');
});

t.test('deactivating a user requires users:update and at least the role of the user', async (t) => {
  const manager = await personWith(app, ['users:update', 'messaging:read']);
  const reader = await personWith(app, ['messaging:read']);
  const more = await personWith(app, ['messaging:read', 'messaging:update']);
  const every = await personWith(
    app,
    PERMISSIONS.filter((permission) => permission !== 'users:update'),
  );
  for (const move of ['deactivate', 'activate'] as const) {
    const forbidden = '403 insufficient_permissions null';
    t.equal((await change(reader.id, move, manager.token)).status, 200);
    t.equal(refusalOf((await change(reader.id, move, every.token)) as never), forbidden);
    t.equal(refusalOf((await change(more.id, move, manager.token)) as never), forbidden, 'a role with more');
    t.equal(refusalOf((await change(ada.id, move, manager.token)) as never), forbidden, 'an admin');
    for (const id of [newId('actor'), demo.agent.actor_id, demo.other_account.account_id]) {
      t.equal(refusalOf((await change(id, move)) as never), '404 resource_not_found id', id);
    }
    const path = `/v1/users/${reader.id}/actions/${move}`;
    t.equal(refusalOf(await app.call('POST', path)), '400 api_version_too_old Service-Version');
    const field = await app.call('POST', path, { headers: PREVIEW, body: { reason: 'x' } });
    t.equal(refusalOf(field), '422 validation_failed reason');
  }
  const options = { headers: { ...PREVIEW, 'Idempotency-Key': randomUUID() } };
  const path = `/v1/users/${reader.id}/actions/deactivate`;
  const first = await app.call('POST', path, options);
  await change(reader.id, 'activate');
  const again = await app.call('POST', path, options);
  t.strictSame([again.text, again.headers.get('Idempotent-Replayed')], [first.text, 'true']);
});

t.test('without a subscription the account alone answers', async (t) => {
  const { accountId, key } = await database.transaction(async (tx) => {
    const { account, roles } = await createAccount(tx, { name: 'Unpaid' });
    await updateAccount(tx, account.id, { subscription: 'inactive' });
    const made = await createApiKey(tx, { accountId: account.id, name: 'Test', roleId: roles.admin.id });
    return { accountId: account.id, key: made.key };
  });
  const options = { token: key, headers: { 'Service-Account': accountId } };
  const answer = await app.call<Account>('GET', '/v1/account', options);
  t.strictSame([answer.status, answer.body.subscription], [200, 'inactive']);
  t.equal(refusalOf(await app.call('GET', '/v1/users', options)), '402 payment_required null');
});

function change(id: string, move: 'activate' | 'deactivate', token = demo.api_key) {
  return app.call<User>('POST', `/v1/users/${id}/actions/${move}`, { token, headers: PREVIEW });
}

function eventually(what: string, condition: () => Promise<boolean>): Promise<unknown> {
  return until(condition, { what, timeoutMs: 60_000 });
}

/** Opens a socket with a ticket. `closed` is the code that it is closed with later. */
async function socketOf(ticket: string): Promise<{ readonly closed: Promise<number> }> {
  const query = new URLSearchParams({ ticket, version: '1.2.harbor', account: demo.account_id });
  const socket = new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime?${query}`);
  const closed = once(socket, 'close').then(([code]) => Number(code));
  // Of a socket that is refused.
  closed.catch(() => undefined);
  await once(socket, 'open');
  return { closed };
}

/** The family of an access token, as its payload has it. */
function familyOf({ access_token: token }: Token): string {
  const [, payload = ''] = token.split('.');
  return JSON.parse(Buffer.from(payload, 'base64url').toString()).family;
}
