/** Groups and entities (docs/contract.md#groups) over HTTP, on a whole server. */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Actor, Entity, MessagingGroup } from '@parley/protocol/resources/actor.ts';
import t from 'tap';
import { setActive } from '../../src/core/accounts/users/activation.ts';
import { readGroups } from '../../src/core/resources/group.ts';
import { borrowTestApp, refusalOf } from '../support/app.ts';
import {
  actorsNamed,
  closed,
  type Guarded,
  gatesOf,
  personWith,
  TIME,
  trustedAgent,
  walk,
} from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const GROUPS = '/v1/messaging/groups';
const ENTITIES = '/v1/entities';

const actor = (id: string, type: Actor['type'], name: string, handle: string | null): Actor => ({
  id,
  object: 'actor' as const,
  type,
  name,
  handle,
  avatar_url: null,
  role: null,
});
const GRACE = actor(grace.id, 'user', 'Grace Hopper', grace.email);
const ADA = actor(ada.id, 'user', 'Ada Lovelace', ada.email);
const ASSISTANT = actor(demo.agent.actor_id, 'agent', 'Assistant', null);

t.test('a group: the resource, every field and no other', async (t) => {
  const ids = [GRACE, ASSISTANT, ADA].map(({ id }) => id);
  const { status, body } = await create<MessagingGroup>(GROUPS, { name: 'Night desk', members: ids });
  t.equal(status, 201);
  const plain = {
    id: body.id,
    object: 'messaging_group',
    name: 'Night desk',
    members: null,
    created_at: body.created_at,
    updated_at: body.created_at,
  };
  t.strictSame(body, plain);
  t.match(body.id, /^grp_\w{24}$/);
  t.match(body.created_at, TIME);
  t.strictSame(await only(`${GROUPS}?q=night`), plain);
  const whole = { ...plain, members: [GRACE, ASSISTANT, ADA] };
  t.strictSame(await only(`${GROUPS}?q=NIGHT&include[]=members`), whole, 'in the order of the body');
  const read = (await readGroups(database, [body.id, newId('group')])).get(body.id);
  t.strictSame(read, { ...plain, actor_id: read?.actor_id, avatar_url: null, external_id: null });
  t.match(read?.actor_id, /^act_\w{24}$/);

  const empty = await create<MessagingGroup>(`${GROUPS}?include[]=members`, { name: 'Empty' });
  t.strictSame(empty.body.members, []);
  const full = await create<MessagingGroup>(`${GROUPS}?include[]=members`, {
    name: 'Two',
    members: [ada.id, vera.id],
  });
  t.match(full.body.members, [ADA, { id: vera.id }]);
  t.match(await only(`${GROUPS}?q=customer`), { name: 'Customer Service' }, 'the persona is one of them');
});

t.test('an entity: the resource, every field and no other', async (t) => {
  const { status, body } = await create<Entity>(ENTITIES, { name: 'SO-1042', handle: 'order-1042' });
  t.equal(status, 201);
  t.strictSame(body, {
    id: body.id,
    object: 'entity',
    type: 'entity',
    name: 'SO-1042',
    handle: 'order-1042',
  });
  t.match(body.id, /^ent_\w{24}$/);
  t.strictSame(await only(`${ENTITIES}?q=so-10`), body);
  t.strictSame(await only(`${ENTITIES}?search=ORDER-1`), body, 'by its handle');
  const bare = await create<Entity>(ENTITIES, { name: 'SO-2000', handle: null });
  t.equal(bare.body.handle, null);

  const message = await app.call<{ resource: Entity }>(
    'POST',
    `/v1/messaging/conversations/${demo.conversations.group}/messages?include[]=resource`,
    { body: { client_message_id: randomUUID(), link_resource_type: 'entity', link_resource_id: body.id } },
  );
  t.strictSame(message.body.resource, body, 'messages can point to it');
});

t.test('lists: in pages, both ways, newest first, one account each', async (t) => {
  for (const path of [GROUPS, ENTITIES]) {
    const made: string[] = [];
    for (let n = 0; n < 5; n++)
      made.unshift((await create<{ id: string }>(path, { name: `Pager ${n}` })).body.id);
    t.strictSame(await walk(app, `${path}?q=pager&limit=2`), { forth: made, back: made }, path);
    const other = demo.other_account;
    const theirs = await app.call<List<object>>('GET', `${path}?q=pager`, {
      token: other.api_key,
      headers: { 'Service-Account': other.account_id },
    });
    t.strictSame(theirs.body.data, [], `${path} of another account`);
    const wrong: [query: string, refusal: string][] = [
      ['limit=0', '400 parameter_invalid limit'],
      ['cursor=x', '400 parameter_invalid cursor'],
      ['include[]=actor', `400 ${path === GROUPS ? 'parameter_invalid' : 'parameter_unknown'} include[]`],
      ['name=x', '400 parameter_unknown name'],
    ];
    for (const [query, refusal] of wrong) {
      t.equal(refusalOf(await app.call('GET', `${path}?${query}`)), refusal, `${path}?${query}`);
    }
  }
});

t.test('invalid bodies for a group are refused', async (t) => {
  const gone = await personWith(app, []);
  await database.transaction((tx) => setActive(tx, gone.id, false));
  const foreign = await idOf({ account_id: demo.other_account.account_id });
  const many = Array.from({ length: 101 }, () => newId('actor'));
  const cases: [body: object, refusal: string][] = [
    [{}, '400 missing_field name'],
    [{ name: null }, '400 missing_field name'],
    [{ name: 7 }, '400 invalid_format name'],
    [{ name: '' }, '422 validation_failed name'],
    [{ name: '  ' }, '422 validation_failed name'],
    [{ name: 'n'.repeat(201) }, '422 validation_failed name'],
    [{ name: 'G', members: ada.id }, '400 invalid_format members'],
    [{ name: 'G', members: [ada.id, 1] }, '400 invalid_format members[1]'],
    [{ name: 'G', members: ['m'.repeat(65)] }, '422 validation_failed members[0]'],
    [{ name: 'G', members: many }, '422 validation_failed members'],
    [{ name: 'G', members: [ada.id, ada.id] }, '422 validation_failed members[1]'],
    [{ name: 'G', members: [ada.id, newId('actor')] }, '404 resource_not_found members[1]'],
    [{ name: 'G', members: [foreign] }, '404 resource_not_found members[0]'],
    [{ name: 'G', members: [gone.id] }, '404 resource_not_found members[0]'],
    [{ name: 'G', members: [await idOf({ customer: true })] }, '422 validation_failed members[0]'],
    [{ name: 'G', members: [ada.id, await idOf({ type: 'group' })] }, '422 validation_failed members[1]'],
    [{ name: 'G', members: [await idOf({ type: 'api_key' })] }, '422 validation_failed members[0]'],
    [{ name: 'G', handle: 'g' }, '422 validation_failed handle'],
    [{ name: 'Customer Service' }, '409 resource_exists name'],
  ];
  for (const [body, refusal] of cases) t.equal(await refusalTo(GROUPS, body), refusal, show(body));
  const [absent, theirs] = await Promise.all(
    [newId('actor'), foreign].map((id) => app.call('POST', GROUPS, { body: { name: 'G', members: [id] } })),
  );
  t.equal(theirs?.text, absent?.text, "another account's actor answers like an absent one, byte for byte");

  const left = await actorsNamed(app, 'G');
  t.strictSame(left, [], 'nothing is left of what failed');
});

t.test('invalid bodies for an entity are refused', async (t) => {
  const cases: [body: object, refusal: string][] = [
    [{}, '400 missing_field name'],
    [{ name: '' }, '422 validation_failed name'],
    [{ name: 'n'.repeat(201) }, '422 validation_failed name'],
    [{ name: ['E'] }, '400 invalid_format name'],
    [{ name: 'E', handle: '' }, '422 validation_failed handle'],
    [{ name: 'E', handle: 'h'.repeat(255) }, '422 validation_failed handle'],
    [{ name: 'E', type: 'account' }, '422 validation_failed type'],
  ];
  for (const [body, refusal] of cases) t.equal(await refusalTo(ENTITIES, body), refusal, show(body));
  t.equal((await create(ENTITIES, { name: 'E', handle: 'same' })).status, 201);
  t.equal((await create(ENTITIES, { name: 'E', handle: 'same' })).status, 201, 'neither need be unique');
});

t.test('two groups of a name at once: one', async (t) => {
  const body = { name: 'Twin', members: [ada.id] };
  const answers = await Promise.all([1, 2, 3].map(() => app.call('POST', GROUPS, { body })));
  const outcomes = answers.map((answer) => (answer.status === 201 ? 'made' : refusalOf(answer)));
  t.strictSame(outcomes.sort(), ['409 resource_exists name', '409 resource_exists name', 'made']);
});

t.test('an Idempotency-Key makes the creation of groups repeatable', async (t) => {
  for (const path of [GROUPS, ENTITIES]) {
    const request = { body: { name: 'Once' }, headers: { 'Idempotency-Key': randomUUID() } };
    const [first, again] = [await app.call('POST', path, request), await app.call('POST', path, request)];
    t.strictSame([first.status, first.headers.get('Idempotent-Replayed')], [201, null], path);
    t.strictSame([again.status, again.headers.get('Idempotent-Replayed')], [201, 'true'], path);
    t.equal(again.text, first.text, path);
  }
});

t.test('managing groups requires its permission', async (t) => {
  const read = { method: 'GET', permission: 'messaging:read', agents: true } as const;
  const update = { method: 'POST', body: {}, permission: 'messaging:update', agents: true } as const;
  const guarded: Guarded[] = [
    { ...read, path: GROUPS },
    { ...update, path: GROUPS },
    { ...read, path: ENTITIES },
    { ...update, path: ENTITIES },
  ];
  for (const route of guarded) {
    t.strictSame(await gatesOf(app, route), closed(route), `${route.method} ${route.path}`);
  }
  const token = await trustedAgent(app);
  t.equal((await app.call('POST', ENTITIES, { token, body: { name: 'Of an agent' } })).status, 201);
  t.equal((await app.call('GET', GROUPS, { token })).status, 200, 'agents may, as far as their roles go');
});

async function create<Body>(path: string, body: object) {
  const answer = await app.call<Body>('POST', path, { body });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer;
}

async function refusalTo(path: string, body: object): Promise<string> {
  return refusalOf(await app.call('POST', path, { body }));
}

/** The one resource that a list shows. */
async function only(path: string): Promise<unknown> {
  const { data } = (await app.call<List<unknown>>('GET', path)).body;
  if (data.length !== 1) throw new Error(`${path}: ${data.length}`);
  return data[0];
}

/** The id of an actor of the demo account, unless another account is given. */
async function idOf(wanted: {
  account_id?: string;
  customer?: boolean;
  type?: Actor['type'];
}): Promise<string> {
  const { account_id = demo.account_id, customer = false, type = customer ? 'user' : 'api_key' } = wanted;
  const { id } = await database.kysely
    .selectFrom('actors')
    .select('id')
    .where('account_id', '=', account_id)
    .where('customer', '=', customer)
    .where('type', '=', type)
    .limit(1)
    .executeTakeFirstOrThrow();
  return id;
}

function show(value: object): string {
  return JSON.stringify(value).slice(0, 100);
}
