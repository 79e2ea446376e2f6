/** Inboxes (docs/contract.md#inboxes) over HTTP, on a whole server. */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { Inbox } from '@parley/protocol/resources/inbox.ts';
import t from 'tap';
import { readMailboxAddress } from '../../src/features/mail/mailboxes/mailbox-address.ts';
import { closed, type Guarded, gatesOf, TIME, walk } from '../accounts/fixture.ts';
import { asNeighbour } from '../agents/bodies.ts';
import { type CallOptions, type Refusal, refusalOf, startTestApp } from '../support/app.ts';
import { addGroup } from './fixture.ts';

const app = await startTestApp(t, { PARLEY_MAIL_DOMAINS: 'harbor.example, Help.Harbor.example' });
const { demo, database } = app;
const PATH = '/v1/messaging/inboxes';
const VERSION = '1.2.harbor';
const owner = { database, accountId: demo.account_id, actorId: demo.users.ada.id };
const group = await addGroup(owner, 'Billing');

t.test('a mailbox is shown with every field and no other', async (t) => {
  const body = { name: ' Billing ', address: 'Billing@Harbor.example', group_id: group.id };
  const made = await create({ ...body, assignee_id: group.id });
  t.strictSame(made, {
    id: made.id,
    object: 'inbox',
    name: 'Billing',
    address: 'billing@harbor.example',
    group_id: group.id,
    assignee_id: group.actor_id,
    created_at: made.created_at,
    updated_at: made.updated_at,
  });
  t.match([made.id, made.created_at], [/^inb_\w{24}$/, TIME]);
  const token = demo.users.grace.access_token;
  t.strictSame((await call<Inbox>('GET', `${PATH}/${made.id}`, { token })).body, made, 'for a member');
  t.strictSame((await list(`${PATH}?q=billing@`)).data, [made]);
  t.strictSame((await list(`${PATH}?q=bill&limit=1`)).data, [made]);

  const changed = await patch(made.id, { name: 'Bills', group_id: null, assignee_id: demo.users.grace.id });
  t.match(changed, { name: 'Bills', group_id: null, assignee_id: demo.users.grace.id });
  t.ok(changed.updated_at > made.updated_at);
  t.strictSame(
    await patch(made.id, { name: 'Bills', address: 'BILLING@harbor.example' }),
    changed,
    'as it is',
  );
  t.strictSame((await call('DELETE', `${PATH}/${made.id}`)).body, {
    ...changed,
    updated_at: await lastTime(made),
  });
  for (const method of ['GET', 'DELETE', 'PATCH'] as const) {
    const refused = await call(
      method,
      `${PATH}/${made.id}`,
      method === 'PATCH' ? { body: { name: 'A' } } : {},
    );
    t.equal(refusalOf(refused), '404 resource_not_found id', method);
  }
  t.strictSame((await list(`${PATH}?q=billing`)).data, []);
  t.strictSame(await audited(made.id), [
    'inbox.deleted {"address":"billing@harbor.example"}',
    'inbox.updated {"fields":["name","group_id","assignee_id"]}',
    'inbox.created {"address":"billing@harbor.example"}',
  ]);
});

t.test('what an inbox cannot be', async (t) => {
  const { id } = await create({});
  const customer = demo.customer.actor_id;
  const bodies: [body: object, refusal: string][] = [
    [{}, '400 missing_field name'],
    [{ name: 'A' }, '400 missing_field address'],
    [{ name: 'A', address: null }, '400 missing_field address'],
    [{ name: 'A', address: 'harbor.example' }, '400 invalid_format address'],
    [{ name: 'A', address: 'a@harbor.example\r\nBcc: b@c.example' }, '400 invalid_format address'],
    [{ name: 'A\r\nBcc: b@c.example', address: 'a@harbor.example' }, '422 validation_failed name'],
    [{ name: 'x'.repeat(101), address: 'a@harbor.example' }, '422 validation_failed name'],
    [{ name: '', address: 'a@harbor.example' }, '422 validation_failed name'],
    [{ name: 'A', address: `${'x'.repeat(65)}@harbor.example` }, '422 validation_failed address'],
    [{ name: 'A', address: 'a+b@harbor.example' }, '422 validation_failed address'],
    [{ name: 'A', address: 'a@other.example' }, '422 validation_failed address'],
    [{ name: 'A', address: 'a@sub.harbor.example' }, '422 validation_failed address'],
    [{ name: 'A', address: 'a@harbor.example', group_id: newId('group') }, '404 resource_not_found group_id'],
    [
      { name: 'A', address: 'a@harbor.example', assignee_id: newId('actor') },
      '404 resource_not_found assignee_id',
    ],
    [{ name: 'A', address: 'a@harbor.example', assignee_id: customer }, '422 validation_failed assignee_id'],
    [
      { name: 'A', address: 'a@harbor.example', assignee_id: demo.agent.actor_id },
      '422 validation_failed assignee_id',
    ],
    [{ name: 'A', address: 'a@harbor.example', color: 'red' }, '422 validation_failed color'],
  ];
  for (const [body, refusal] of bodies) {
    t.equal(refusalOf(await call('POST', PATH, { body })), refusal, JSON.stringify(body));
    if (!('name' in body) || !('address' in body) || body.address === null) continue;
    t.equal(refusalOf(await call('PATCH', `${PATH}/${id}`, { body })), refusal, JSON.stringify(body));
  }
  t.equal(refusalOf(await call('PATCH', `${PATH}/${id}`, { body: {} })), '422 validation_failed null');
  t.equal(refusalOf(await call('GET', `${PATH}?limit=0`)), '400 parameter_invalid limit');
  t.equal(refusalOf(await call('GET', `${PATH}?color=red`)), '400 parameter_unknown color');
});

t.test('domains: those of the deployment, or any where strangers cannot register', (t) => {
  const any = { domains: [], isAny: true };
  t.equal(readMailboxAddress('A@B.example', any), 'a@b.example');
  t.throws(
    () => readMailboxAddress('a@b.example', { domains: [], isAny: false }),
    /has no domains for inboxes/,
  );
  t.throws(() => readMailboxAddress('a@b.example', { domains: ['c.example'], isAny: true }), /c\.example/);
  t.end();
});

t.test('an address belongs to one inbox of one account, until that is deleted', async (t) => {
  const body = { name: 'Sales', address: 'sales@help.harbor.example' };
  const first = await create(body);
  const again = { ...body, address: 'SALES@help.harbor.example' };
  const neighbour = { ...asNeighbour(app).headers, 'Service-Version': VERSION };
  for (const headers of [{ 'Service-Version': VERSION }, neighbour]) {
    const token = headers === neighbour ? demo.other_account.api_key : demo.api_key;
    const refused = await app.call('POST', PATH, { body: again, headers, token });
    t.match(
      [refusalOf(refused), refused.body.error.message],
      ['409 resource_exists address', /^Another inbox/],
    );
  }
  const other = await create({ name: 'Other' });
  const moved = await call('PATCH', `${PATH}/${other.id}`, { body: { address: body.address } });
  t.equal(refusalOf(moved), '409 resource_exists address');
  await call('DELETE', `${PATH}/${first.id}`);
  const theirs = await app.call<Inbox>('POST', PATH, {
    body,
    headers: neighbour,
    token: demo.other_account.api_key,
  });
  t.equal(theirs.status, 201);
});

t.test('callers without the right, and inboxes of others', async (t) => {
  const { id, ...before } = await create({});
  const guarded: Pick<Guarded, 'method' | 'path' | 'body' | 'permission'>[] = [
    { method: 'POST', path: PATH, body: { name: 'A', address: 'a@harbor.example' }, permission: null },
    { method: 'GET', path: PATH, permission: 'inboxes:read' },
    { method: 'GET', path: `${PATH}/${id}`, permission: 'inboxes:read' },
    { method: 'PATCH', path: `${PATH}/${id}`, body: { name: 'A' }, permission: null },
    { method: 'DELETE', path: `${PATH}/${id}`, permission: null },
  ];
  for (const one of guarded) {
    const gates = await gatesOf(app, { ...one, agents: false, version: VERSION });
    t.match(gates, closed({ agents: false }), `${one.method} ${one.path}`);
    if (one.path === PATH) continue;
    const headers = { ...asNeighbour(app).headers, 'Service-Version': VERSION };
    const other = await app.call(one.method, one.path, { ...asNeighbour(app), headers, body: one.body });
    t.equal(refusalOf(other), '404 resource_not_found id', `${one.method} ${one.path}`);
  }
  t.strictSame((await call<Inbox>('GET', `${PATH}/${id}`)).body, { id, ...before });
});

t.test('a repetition with an Idempotency-Key, and pages', async (t) => {
  const headers = { 'Idempotency-Key': randomUUID() };
  const body = { name: 'Again', address: 'again@harbor.example' };
  const first = await call<Inbox>('POST', PATH, { body, headers });
  const second = await call<Inbox>('POST', PATH, { body, headers });
  t.strictSame([second.status, second.body], [201, first.body]);
  t.equal(second.headers.get('Idempotent-Replayed'), 'true');
  const { data } = await list(PATH);
  const walked = await walk({ ...app, call }, `${PATH}?limit=2`);
  t.strictSame(
    walked.forth,
    data.map(({ id }) => id),
  );
});

function call<Body = Refusal>(method: string, path: string, options: CallOptions = {}) {
  const headers = { 'Service-Version': VERSION, ...options.headers };
  return app.call<Body>(method, path, { ...options, headers });
}

async function create(fields: object): Promise<Inbox> {
  const address = `${newId('inbox').slice(-12).toLowerCase()}@harbor.example`;
  const { status, text, body } = await call<Inbox>('POST', PATH, {
    body: { name: 'Support', address, ...fields },
  });
  if (status !== 201) throw new Error(text);
  return body;
}

async function patch(id: string, body: object): Promise<Inbox> {
  const { status, text, body: inbox } = await call<Inbox>('PATCH', `${PATH}/${id}`, { body });
  if (status !== 200) throw new Error(text);
  return inbox;
}

async function list(path: string): Promise<List<Inbox>> {
  return (await call<List<Inbox>>('GET', path)).body;
}

/** `updated_at` of a deleted inbox. */
async function lastTime({ id }: Inbox): Promise<string> {
  const row = await database.kysely
    .selectFrom('inboxes')
    .select('updated_at')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return row.updated_at;
}

async function audited(id: string): Promise<string[]> {
  const { body } = await call<List<AuditEvent>>('GET', '/v1/account/audit?limit=100');
  return body.data.flatMap(({ action, details: { inbox_id, ...details } }) =>
    inbox_id === id ? [`${action} ${JSON.stringify(details)}`] : [],
  );
}
