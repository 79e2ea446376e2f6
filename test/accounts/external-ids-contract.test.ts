/**
 * external_id of each resource that has one, PUT by external_id, and the customers of an account
 * (docs/contract.md#own-ids).
 */

import type { List } from '@parley/protocol/lists.ts';
import type { Customer } from '@parley/protocol/resources/customer.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { createCustomer } from '../../src/core/accounts/actors/actors.ts';
import { downloaded, exported } from '../compliance/export-fixture.ts';
import { freshDirectory } from '../start/parley.ts';
import { borrowTestApp, callsAt } from '../support/app.ts';
import { until } from '../support/until.ts';
import { personWith } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const accountId = demo.account_id;
const { call, refusal } = callsAt(app, NEWEST_VERSION);

interface Made {
  readonly id: string;
  readonly object: string;
  readonly name: string | null;
  readonly title: string | null;
  readonly email: string | null;
  readonly external_id: string | null;
  readonly members: readonly { readonly id: string }[];
  readonly participants: readonly { readonly actor_id: string; readonly role: string }[];
}

const roleId = (await call<List<{ id: string; type: string }>>('GET', '/v1/roles')).body.data.find(
  ({ type }) => type === 'user',
)!.id;
let count = 0;
const newName = () => `n${++count}`;
const AGENT = { category_code: 'c', trigger_type: 'manual', config: {} };
const person = () => ({ name: 'Zoe', email: `${newName()}@example.com`, role_id: roleId });

/** How each kind is created, and where it is. */
const KINDS = {
  user: { path: '/v1/users', body: person },
  group: { path: '/v1/messaging/groups', body: () => ({ name: newName() }) },
  agent: { path: '/v1/ai/agents', body: () => ({ ...AGENT, name: 'Agent', slug: newName() }) },
  conversation: { path: '/v1/messaging/conversations', body: () => ({ type: 'group', title: 'Order' }) },
} as const;

for (const [kind, { path, body }] of Object.entries(KINDS)) {
  t.test(`the external_id of a ${kind}`, async (t) => {
    const first = await call<Made>('POST', path, { body: { ...body(), external_id: `${kind} 1` } });
    t.equal(first.body.external_id, `${kind} 1`);
    const other = await call<Made>('POST', path, { body: body() });
    t.equal(other.body.external_id, null);
    const at = `${path}/${other.body.id}`;
    t.equal((await call<Made>('GET', `${path}/${first.body.id}`)).body.external_id, `${kind} 1`);

    const taken = { external_id: `${kind} 1` };
    t.equal(
      await refusal('POST', path, { body: { ...body(), ...taken } }),
      '409 resource_exists external_id',
    );
    t.equal(await refusal('PATCH', at, { body: taken }), '409 resource_exists external_id');
    for (const external_id of ['', 'a\nb', 'x'.repeat(256)]) {
      const wrong = { body: { ...body(), external_id } };
      t.equal(await refusal('POST', path, wrong), '422 validation_failed external_id');
      t.equal(await refusal('PATCH', at, { body: { external_id } }), '422 validation_failed external_id');
    }
    t.equal(
      await refusal('POST', path, { body: { ...body(), external_id: 7 } }),
      '400 invalid_format external_id',
    );

    const listed = await call<List<Made>>('GET', `${path}?external_id=${encodeURIComponent(`${kind} 1`)}`);
    t.same(
      listed.body.data.map(({ id }) => id),
      [first.body.id],
    );
    t.equal((await call<List<Made>>('GET', `${path}?external_id=nothing`)).body.data.length, 0);

    const ours = await call<Made>('PATCH', `${path}/${first.body.id}`, { body: { external_id: null } });
    t.equal(ours.body.external_id, null);
    const longest = '😀'.repeat(255);
    t.equal((await call<Made>('PATCH', at, { body: { external_id: longest } })).body.external_id, longest);
    t.equal((await call<Made>('GET', `${path}/ext:${encodeURIComponent(longest)}`)).body.id, other.body.id);
    // Free again, blanks and case count, and another account is not in the way.
    for (const external_id of [`${kind} 1`, ` ${kind} 1`, kind.toUpperCase()]) {
      const again = await call<Made>('POST', path, { body: { ...body(), external_id } });
      t.equal(again.body.external_id, external_id);
    }
    if (kind === 'user' || kind === 'agent') return;
    const { api_key: token, account_id } = demo.other_account;
    const theirs = await call<Made>('POST', path, {
      token,
      headers: { 'Service-Account': account_id },
      body: { ...body(), external_id: longest },
    });
    t.equal(theirs.status, 201);
  });

  t.test(`an older version never sees the external_id of a ${kind}`, async (t) => {
    const made = await call<Made>('POST', path, { body: { ...body(), external_id: newName() } });
    const old = callsAt(app, '1.2.harbor');
    const at = `${path}/${made.body.id}`;
    for (const place of [at, path]) t.notMatch((await old.call('GET', place)).text, 'external_id', place);
    const change = { body: { external_id: 'x' } };
    t.equal(await old.refusal('PATCH', at, change), '422 validation_failed external_id');
    t.equal(await old.refusal('GET', `${path}?external_id=x`), '400 parameter_unknown external_id');
    t.equal(
      await old.refusal('PUT', `${path}/ext:x`, { body: {} }),
      kind === 'user' || kind === 'conversation'
        ? '400 api_version_too_old Service-Version'
        : '405 method_not_allowed null',
    );
  });
}

/** What PUT takes: all of a new one, what is missing of it, and a change with what it leaves. */
const PUTS = {
  user: { path: '/v1/users', body: person, missing: 'name', change: { name: 'New' } },
  customer: {
    path: '/v1/customers',
    body: () => ({ name: 'Carla', email: 'c@example.net' }),
    missing: 'name',
    change: { name: 'New' },
  },
  group: { path: '/v1/groups', body: () => ({ name: newName() }), missing: 'name', change: { members: [] } },
  conversation: {
    path: '/v1/messaging/conversations',
    body: () => ({ type: 'group', title: 'Order', participants: [{ type: 'user', actor_id: vera.id }] }),
    missing: 'type',
    change: { type: 'group', title: 'New' },
  },
} as const;

for (const [kind, { path, body, missing, change }] of Object.entries(PUTS)) {
  t.test(`PUT creates or changes a ${kind}`, async (t) => {
    const id = encodeURIComponent(`a/b %2F${kind}`);
    const at = `${path}/ext:${id}`;
    t.equal(await refusal('PUT', at, { body: {} }), `400 missing_field ${missing}`);
    const made = await call<Made>('PUT', at, { body: body() });
    t.equal(made.status, 201);
    t.equal(made.body.external_id, `a/b %2F${kind}`);
    const changed = await call<Made>('PUT', at, { body: change });
    t.equal(changed.status, 200);
    t.equal(changed.body.id, made.body.id);
    t.match(
      changed.body,
      kind === 'group' ? { name: made.body.name } : { external_id: made.body.external_id },
    );
    if (kind !== 'group') t.equal(changed.body.title ?? changed.body.name, 'New');
    t.equal(changed.body.email, made.body.email, 'what is absent stays');
    t.equal((await call<Made>('GET', at)).body.id, made.body.id);

    t.equal(await refusal('PUT', `${path}/${made.body.id}`, { body: body() }), '404 resource_not_found id');
    for (const wrong of ['ext:', 'ext:%0A', `ext:${'x'.repeat(256)}`]) {
      t.equal(await refusal('PUT', `${path}/${wrong}`, { body: body() }), '422 validation_failed id', wrong);
    }
    const headers = { 'Idempotency-Key': newName() };
    const replayed = `${path}/ext:${newName()}`;
    const once = body();
    const first = await call('PUT', replayed, { headers, body: once });
    const again = await call('PUT', replayed, { headers, body: once });
    t.equal(again.headers.get('Idempotent-Replayed'), 'true');
    t.same([again.status, again.text], [201, first.text]);
  });

  t.test(`50 PUTs of one ${kind} at once make one`, async (t) => {
    const at = `${path}/ext:many`;
    const same = body();
    // Changes of one path by one caller follow one another, so some come from other callers.
    const tokens = [demo.api_key, ada.access_token];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => call<Made>('PUT', at, { body: same, token: tokens[i % 2]! })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    t.same(statuses, [...Array.from({ length: 49 }, () => 200), 201]);
    t.equal(new Set(answers.map(({ body: { id } }) => id)).size, 1);
  });
}

t.test('PUT needs the right to create or to change', async (t) => {
  const creator = await personWith(app, ['users:create', 'messaging:create']);
  const changer = await personWith(app, ['users:update', 'messaging:update']);
  for (const kind of ['user', 'customer', 'conversation'] as const) {
    const { path, body } = PUTS[kind];
    const at = `${path}/ext:rights`;
    const role = kind === 'user' ? { role_id: creator.roleId } : {};
    const put = (token: string) => refusal('PUT', at, { token, body: { ...body(), ...role } });
    t.equal(await put(changer.token), '403 insufficient_permissions null', kind);
    t.equal(await put(creator.token), '201', kind);
    t.equal(await put(creator.token), '403 insufficient_permissions null', kind);
    const none = await personWith(app, ['messaging:read', 'users:read']);
    t.equal(await put(none.token), '403 insufficient_permissions null', kind);
  }
});

t.test('PUT keeps the address', async (t) => {
  const at = '/v1/users/ext:mover';
  const { email } = (await call<Made>('PUT', at, { body: person() })).body;
  t.equal(await refusal('PUT', at, { body: { name: 'Z', email: email!.toUpperCase() } }), '200');
  t.equal(await refusal('PUT', at, { body: { email: 'x@example.com' } }), '409 resource_conflict email');
  const another = { body: { ...person(), email } };
  t.equal(await refusal('PUT', '/v1/users/ext:other', another), '409 resource_exists email');
});

t.test('PUT of a conversation adds members, and cannot make it another one', async (t) => {
  const at = '/v1/messaging/conversations/ext:case?include[]=participants';
  const customer = { type: 'customer', external_id: 'c-1', name: 'Carla', email: 'carla@example.net' };
  const body = { type: 'group', audience: 'customer', participants: [customer, user(grace.id)] };
  const made = (await call<Made>('PUT', at, { body })).body;
  t.equal(made.participants.length, 2);
  t.equal(made.participants.find(({ actor_id }) => actor_id === grace.id)!.role, 'member');
  const more = { ...body, participants: [customer, user(vera.id), { ...user(grace.id), role: 'viewer' }] };
  const changed = (await call<Made>('PUT', at, { body: more })).body;
  t.equal(changed.participants.length, 3);
  t.equal(changed.participants.find(({ actor_id }) => actor_id === grace.id)!.role, 'member');
  for (const [field, value] of Object.entries({ audience: 'internal', group_id: 'x' })) {
    const other = { type: 'group', [field]: value };
    t.equal(await refusal('PUT', at, { body: other }), `409 resource_conflict ${field}`);
  }
  const direct = { type: 'direct_message', participants: [user(grace.id), user(vera.id)] };
  t.equal(await refusal('PUT', at, { body: direct }), '409 resource_conflict type');

  const named = (await call<Made>('PUT', at, { body: { title: 'Order 7', participants: [customer] } })).body;
  t.match(
    named,
    { id: made.id, type: 'group', audience: 'customer', title: 'Order 7' },
    'absent fields stay',
  );
  t.equal(named.participants.length, 3);
  t.equal((await call<Made>('PUT', at, { body: {} })).body.title, 'Order 7');
  const fresh = '/v1/messaging/conversations/ext:fresh';
  t.equal(await refusal('PUT', fresh, { body: { title: 'Order 8' } }), '400 missing_field type');
  const alone = { type: 'direct_message' };
  t.equal(await refusal('PUT', fresh, { body: alone }), '400 missing_field participants');
  t.equal(await refusal('PUT', fresh, { body: { ...alone, title: 'x' } }), '422 validation_failed title');

  const dm = '/v1/messaging/conversations/ext:dm';
  const twice = [
    await call<Made>('PUT', dm, { body: direct }),
    await call<Made>('PUT', dm, { body: direct }),
  ];
  t.equal(twice[0]!.body.id, twice[1]!.body.id);
  t.equal(twice[1]!.body.external_id, 'dm');
  const others = { ...direct, participants: [user(grace.id), user(ada.id)] };
  t.equal(await refusal('PUT', dm, { body: others }), '409 resource_conflict participants');
  t.equal(
    await refusal('PUT', '/v1/messaging/conversations/ext:dm2', { body: direct }),
    '409 resource_conflict external_id',
  );
  const marked = (await call<Made>('PUT', dm, { body: { metadata: { order: '7' } } })).body;
  t.match(marked, { type: 'direct_message', metadata: { order: '7' } });
  t.equal(await refusal('PUT', dm, { body: { title: 'x' } }), '422 validation_failed title');
  await call('DELETE', dm);
  t.equal(await refusal('PUT', dm, { body: direct }), '410 resource_gone id');
});

t.test('a participant names a customer by its external_id', async (t) => {
  const start = (customer: object) =>
    call<Made>('POST', '/v1/messaging/conversations?include[]=participants', {
      body: { type: 'group', audience: 'customer', participants: [{ type: 'customer', ...customer }] },
    });
  const known = (await call<Made>('PUT', '/v1/customers/ext:known', { body: { name: 'Kim' } })).body;
  const idOf = ({ body }: { body: Made }) => body.participants[0]!.actor_id;
  t.equal(idOf(await start({ external_id: 'known', name: 'Other' })), known.id);
  t.equal(idOf(await start({ actor_id: 'ext:known' })), known.id);
  const address = { name: 'Kim', email: 'kim@example.net' };
  const byAddress = idOf(await start(address));
  const other = idOf(await start({ ...address, external_id: 'kim-2' }));
  t.not(other, byAddress, 'an address joins no customers');
  t.equal(idOf(await start({ external_id: 'kim-2' })), other);
  const create = { type: 'group', audience: 'customer' };
  t.equal(
    await refusal('POST', '/v1/messaging/conversations', {
      body: { ...create, participants: [{ type: 'customer', external_id: 'nobody' }] },
    }),
    '400 missing_field participants[0].name',
  );
});

t.test('customers are listed, read and changed', async (t) => {
  const { id } = await createCustomer(database, { accountId, name: 'Olga', email: 'olga@example.net' });
  const found = (await call<List<Customer>>('GET', '/v1/customers?q=OLGA%40')).body.data;
  t.match(found, [
    { id, object: 'customer', name: 'Olga', email: 'olga@example.net', status: 'active', blocked: false },
  ]);
  const at = `/v1/customers/${id}`;
  t.same((await call('GET', at)).body, found[0]);
  await call('POST', `/v1/messaging/actors/${id}/actions/block`);
  t.equal((await call<Customer>('GET', at)).body.blocked, true);
  const change = { name: 'Olga B.', email: 'olga@example.net', external_id: 'olga' };
  t.match((await call<Customer>('PATCH', at, { body: change })).body, change);
  t.equal((await call<Customer>('GET', '/v1/customers/ext:olga')).body.id, id);
  const listed = (await call<List<Customer>>('GET', '/v1/customers?external_id=olga')).body.data;
  t.equal(listed[0]?.id, id);
  t.equal(await refusal('PATCH', at, { body: { name: null } }), '400 missing_field name');
  t.equal(await refusal('PATCH', at, { body: { email: 'o@example.net' } }), '409 resource_conflict email');
  await call('PUT', '/v1/customers/ext:silent', { body: { name: 'Sil' } });
  const given = { body: { email: 'sil@example.net' } };
  t.match((await call<Customer>('PATCH', '/v1/customers/ext:silent', given)).body, given.body);
  t.equal(await refusal('PATCH', at, { body: { external_id: 'known' } }), '409 resource_exists external_id');
  t.equal(await refusal('GET', `/v1/customers/${ada.id}`), '404 resource_not_found id');
  t.equal(await refusal('GET', `/v1/users/ext:olga`), '404 resource_not_found id');
  const { token } = await personWith(app, ['messaging:read', 'messaging:update']);
  for (const method of ['GET', 'PATCH']) {
    t.equal(
      await refusal(method, at, { token, ...(method === 'PATCH' && { body: {} }) }),
      '403 insufficient_permissions null',
    );
  }
  t.equal(await refusal('GET', '/v1/customers', { token }), '403 insufficient_permissions null');
});

t.test('customers see no external_id, and name conversations alone', async (t) => {
  const { case: conversation } = demo.conversations;
  const { access_token: token } = demo.customer;
  await call('PATCH', `/v1/messaging/conversations/${conversation}`, { body: { external_id: 'their case' } });
  const shown = await call<Made>('GET', '/v1/messaging/conversations/ext:their%20case', { token });
  t.equal(shown.body.id, conversation);
  t.equal(shown.body.external_id, null);
  const listed = await call<List<Made>>('GET', '/v1/messaging/conversations?external_id=their%20case', {
    token,
  });
  t.equal(listed.body.data.length, 0);
});

t.test('the audit, an export and an erasure know it, and then it is free', async (t) => {
  const made = (await call<Made>('PUT', '/v1/customers/ext:leaving', { body: { name: 'Leo' } })).body;
  await call('PUT', '/v1/customers/ext:leaving', { body: { name: 'Leo L.' } });
  const audited = await call<List<{ details: object }>>('GET', '/v1/account/audit?action=customer.updated');
  t.match(audited.body.data[0], { details: { customer_id: made.id, fields: ['name'] } });
  const shown = await exported(app, `/v1/users/${made.id}/exports`);
  const { files } = await downloaded(shown, freshDirectory(t));
  t.match(files.get('profile.json'), /"external_id": ?"leaving"/);

  const asked = await call<{ id: string }>('POST', '/v1/users/ext:leaving/actions/erase', {
    body: { messages: 'keep' },
  });
  t.equal(asked.status, 201);
  await until(
    async () =>
      (await call<{ status: string }>('GET', `/v1/erasures/${asked.body.id}`)).body.status === 'complete',
    { what: 'the end of the erasure' },
  );
  t.equal((await call<Customer>('GET', `/v1/customers/${made.id}`)).body.external_id, null);
  t.equal(
    await refusal('PATCH', `/v1/customers/${made.id}`, { body: { name: 'X' } }),
    '409 resource_conflict null',
  );
  const again = await call<Made>('PUT', '/v1/customers/ext:leaving', { body: { name: 'Lea' } });
  t.same([again.status, again.body.id === made.id], [201, false]);
});

t.test('what is deleted frees it', async (t) => {
  const members = ['group', 'agent'] as const;
  for (const kind of members) {
    const { path, body } = KINDS[kind];
    const create = () => call<Made>('POST', path, { body: { ...body(), external_id: 'passing' } });
    const { body: made } = await create();
    await call('DELETE', `${path}/${made.id}`);
    t.equal((await create()).status, 201, kind);
  }
});

t.test('a change of a conversation shows it to audit, export and readers', async (t) => {
  const at = '/v1/messaging/conversations/ext:shown';
  const made = (await call<Made>('PUT', at, { body: { type: 'group', title: 'A' } })).body;
  await call('PATCH', at, { body: { external_id: 'shown 2' } });
  const audit = await call<List<{ action: string; details: object }>>(
    'GET',
    `/v1/messaging/conversations/${made.id}/audit`,
  );
  t.match(audit.body.data[0], {
    action: 'conversation.external_id_changed',
    details: { from: 'shown', to: 'shown 2' },
  });
  const shown = await exported(app, `/v1/messaging/conversations/${made.id}/exports`);
  const { files } = await downloaded(shown, freshDirectory(t));
  t.match(files.get('conversation.json'), /"external_id": ?"shown 2"/);
});

function user(id: string) {
  return { type: 'user', actor_id: id };
}
