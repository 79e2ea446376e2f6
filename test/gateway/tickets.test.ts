/**
 * Tickets: used once, bound to actor, account and the credential that requested them
 * (docs/realtime.md#opening).
 */

import { CURRENT_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import type { Principal } from '../../src/api/access/principal.ts';
import { Tickets } from '../../src/edge/gateway/socket/tickets.ts';
import { Ground, refusal } from './fixture.ts';

const ground = await Ground.start(t);
const { demo, database, authenticator } = ground;
const query = { version: demo.service_version, account: demo.account_id };
const INVALID = { status: 401, error: { code: 'invalid_credentials', param: 'ticket' } };

t.test('a ticket opens one socket', async (t) => {
  const { ticket, expiresAt } = await take();
  const leftMs = Date.parse(expiresAt) - Date.now();
  t.ok(leftMs > 25_000 && leftMs <= 31_000, `${leftMs} ms left`);
  const client = await ground.open({}, { ...query, ticket });
  const ready = await client.frame('ready');
  t.match(ready, { actor: { id: demo.users.ada.id }, account_id: demo.account_id });
  t.ok(Date.parse(String(ready.expires_at)) > Date.now(), 'as long as the token that asked for it');
  t.match(await refusal(ground, {}, { ...query, ticket }), INVALID, 'not a second time');
  client.close();
});

t.test('of two concurrent uses of a ticket one succeeds', async (t) => {
  const { ticket } = await take();
  const attempts = await Promise.allSettled(Array.from({ length: 5 }, () => ground.tickets.redeem(ticket)));
  t.equal(attempts.filter(({ status }) => status === 'fulfilled').length, 1);
});

t.test('its account need not be named, but must not be another one', async (t) => {
  const { ticket } = await take();
  const client = await ground.open({}, { version: query.version, ticket });
  t.ok(await client.frame('ready'));
  client.close();
  const foreign = { ...query, account: demo.other_account.account_id, ticket: (await take()).ticket };
  t.match(await refusal(ground, {}, foreign), { status: 404, error: { code: 'resource_not_found' } });
  t.match(await refusal(ground, {}, { account: query.account, ticket: (await take()).ticket }), {
    status: 400,
    error: { code: 'api_version_required' },
  });
});

t.test('one that is unknown, malformed or expired opens nothing', async (t) => {
  const { ticket } = await take();
  const unknown = `${ticket.slice(0, -4)}xxxx`;
  await database.query({
    name: 'test-age-tickets',
    text: "UPDATE tickets SET expires_at = now() - interval '1 ms'",
  });
  for (const text of [ticket, unknown, 'ticket_', 'x', 'ticket_%00']) {
    t.match(await refusal(ground, {}, { ...query, ticket: text }), INVALID, text);
  }
});

t.test('it is kept hashed, and not for long', async (t) => {
  const { ticket } = await take();
  const rows = await database.kysely.selectFrom('tickets').selectAll().execute();
  t.ok(rows.length > 0);
  t.notOk(JSON.stringify(rows).includes(ticket.slice('ticket_'.length)));
  await database.query({
    name: 'test-age-tickets',
    text: "UPDATE tickets SET expires_at = now() - interval '1 ms'",
  });
  const fresh = new Tickets(database);
  await fresh.issue(await ada());
  t.equal((await database.kysely.selectFrom('tickets').selectAll().execute()).length, 1);
});

t.test('it ends with the credential that requested it', async (t) => {
  const { token } = await ground.tokens.issueAccess({
    accountId: demo.account_id,
    actorId: demo.users.ada.id,
    ttlS: 60,
  });
  const principal = await authenticator.authenticate(`Bearer ${token}`);
  const { ticket } = await ground.tickets.issue({
    ...principal,
    credential: { ...principal.credential, expiresAtMs: Date.now() - 1 },
  });
  t.match(await refusal(ground, {}, { ...query, ticket }), { status: 401, error: { code: 'expired_token' } });

  const vera = await authenticator.authenticate(`Bearer ${demo.users.vera.access_token}`);
  const hers = await ground.tickets.issue(vera);
  await database.kysely
    .updateTable('actors')
    .set({ deactivated_at: new Date().toISOString() })
    .where('id', '=', demo.users.vera.id)
    .execute();
  await ground.rights.announce(demo.users.vera.id);
  t.match(await refusal(ground, {}, { ...query, ticket: hers.ticket }), {
    status: 401,
    error: { code: 'invalid_credentials' },
  });
});

t.test('the endpoint: people, keys and customers, no agents', async (t) => {
  const [route] = ground.routes;
  t.match(route, {
    method: 'POST',
    path: '/v1/realtime/tickets',
    since: '1.1.harbor',
    permission: null,
    agents: false,
    customers: true,
    status: 201,
  });
  const call = async (principal: Principal) =>
    route?.handle?.({
      principal,
      version: CURRENT_VERSION,
      params: {},
      query: {},
      body: {},
      url: '/',
      answer: (reply: object) => reply,
    } as never);
  for (const credential of [demo.api_key, demo.customer.access_token]) {
    const resource = await call(await authenticator.authenticate(`Bearer ${credential}`));
    t.match(resource, { object: 'realtime_ticket', ticket: /^ticket_/, expires_at: /Z$/ });
    const { ticket } = resource as { ticket: string };
    const client = await ground.open({}, { ...query, ticket });
    t.ok(await client.frame('ready'));
    client.close();
  }
});

// uWS closed one socket in some hundred right behind its hello, or never sent it another frame, for
// what it read in its memory after an upgrade behind an await (edge/gateway/socket/server.ts,
// holdCork).
t.test('each of 300 sockets that were greeted gets ready, among handshakes that are refused', async (t) => {
  let ready = 0;
  for (let round = 0; round < 15; round++) {
    const opened = Array.from({ length: 20 }, async () => {
      const client = await ground.open({}, { ...query, ticket: (await take()).ticket });
      await client.frame('ready');
      return client;
    });
    const refused = Array.from({ length: 10 }, () => refusal(ground, {}, { ...query, ticket: 'ticket_x' }));
    const clients = await Promise.all(opened);
    ready += clients.length;
    await Promise.all(refused);
    for (const client of clients) client.close();
    await Promise.all(clients.map((client) => client.closes()));
  }
  t.equal(ready, 300);
});

async function ada(): Promise<Principal> {
  return authenticator.authenticate(`Bearer ${demo.users.ada.access_token}`);
}

async function take(): Promise<{ ticket: string; expiresAt: string }> {
  return ground.tickets.issue(await ada());
}
