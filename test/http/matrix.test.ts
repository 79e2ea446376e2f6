/**
 * Every endpoint against every way of not being allowed to use it
 * (docs/contract.md#order-of-checks), and every id of another account in every place of a path or
 * body: answered byte for byte like an absent id.
 */

import { type IdKind, newId } from '@parley/protocol/ids.ts';
import { PERMISSIONS, type Permission } from '@parley/protocol/permissions.ts';
import { VERSIONS } from '@parley/protocol/versions.ts';
import t from 'tap';
import { bodyExampleOf } from '../../src/api/documents/openapi/examples.ts';
import type { SchemaObject } from '../../src/api/documents/openapi/schemas.ts';
import type { Route } from '../../src/api/pipeline/route.ts';
import { createAccount, updateAccount } from '../../src/core/accounts/account/accounts.ts';
import { createApiKey, revokeApiKey } from '../../src/core/accounts/keys/keys.ts';
import { createRole } from '../../src/core/accounts/rights/roles.ts';
import { personWith } from '../accounts/fixture.ts';
import { type CallAnswer, type CallOptions, type Refusal, refusalOf, startTestApp } from '../support/app.ts';
import { newAddress } from '../support/new-address.ts';
import { until } from '../support/until.ts';
import { kindInPath } from './path-kinds.ts';

const app = await startTestApp(t, { PARLEY_SOCKET_POLLS_PER_SECOND: '1000' });
const { demo, database } = app;
// Those of operators are not there for others (test/installation/operators.test.ts).
const routes = app.routes.filter(({ operators }) => operators === undefined);
const closedRoutes = routes.filter((route) => route.open !== true);

/** Parameters of paths that name no resource, percent-encoded. */
const VALUES: Readonly<Record<string, string | undefined>> = { emoji: encodeURIComponent('👍') };

interface Reference {
  /** The endpoint's name. */
  readonly name: string;
  readonly place: string;
  readonly kind: IdKind;
  /** Good but for the id. */
  readonly body: (id: string) => object;
  readonly refusal: string;
  /** Set if it must not be OURS. */
  readonly conversationId?: string;
}

function reference(
  name: string,
  place: string,
  kind: IdKind,
  body: Reference['body'],
  refusal = `404 resource_not_found ${place.replaceAll('[]', '[0]')}`,
): Reference {
  return { name, place, kind, body, refusal };
}

const message = (fields: object) => ({ body: 'ahoy', client_message_id: newId('message'), ...fields });
const imported = (fields: object) => ({
  messages: [{ ...message({ author_id: OURS.actor, created_at: '2020-01-01T00:00:00Z' }), ...fields }],
});
const agent = { name: 'A', slug: 'a', category_code: 'c', trigger_type: 'manual', config: {} };
const QUESTION = { text: 'Sail?', type: 'buttons', options: [{ value: 'yes' }] };
const NOTICE = { category: 'order.updated', title: 'Ahoy' };
const person = () => ({ type: 'user', actor_id: OURS.actor });

const REFERENCES: readonly Reference[] = [
  reference('create_user', 'role_id', 'role', (role_id) => ({ name: 'A', email: 'a@example.com', role_id })),
  reference('put_user', 'role_id', 'role', (role_id) => ({ name: 'A', email: 'a@example.com', role_id })),
  reference('update_user', 'role_id', 'role', (role_id) => ({ role_id })),
  reference('claim_user', 'role_id', 'role', (role_id) => ({ email: 'a@example.com', role_id })),
  reference('create_api_key', 'role_id', 'role', (role_id) => ({ name: 'A', role_id })),
  reference('create_token', 'user_id', 'actor', (user_id) => ({ user_id })),
  reference('create_group', 'members[]', 'actor', (id) => ({ name: newId('group'), members: [id] })),
  reference('put_group', 'members[]', 'actor', (id) => ({ name: newId('group'), members: [id] })),
  reference('update_group', 'members[]', 'actor', (id) => ({ members: [id] })),
  reference('create_conversation', 'participants[].actor_id', 'actor', (actor_id) => ({
    type: 'group',
    title: 'A',
    participants: [{ type: 'user', actor_id }],
  })),
  reference('put_conversation', 'participants[].actor_id', 'actor', (actor_id) => ({
    type: 'group',
    title: 'A',
    participants: [{ type: 'user', actor_id }],
  })),
  reference('create_conversation', 'topic.id', 'entity', (id) => ({
    type: 'group',
    title: 'A',
    participants: [person()],
    topic: { type: 'entity', id },
  })),
  reference('put_conversation', 'topic.id', 'entity', (id) => ({
    type: 'group',
    title: 'A',
    participants: [person()],
    topic: { type: 'entity', id },
  })),
  reference('create_conversation', 'group_id', 'group', (group_id) => ({
    type: 'group',
    title: 'A',
    participants: [person()],
    group_id,
  })),
  reference('put_conversation', 'group_id', 'group', (group_id) => ({
    type: 'group',
    title: 'A',
    participants: [person()],
    group_id,
  })),
  reference('create_conversation', 'inbox_id', 'inbox', (inbox_id) => ({
    type: 'group',
    audience: 'customer',
    inbox_id,
    participants: [{ type: 'customer', name: 'A', email: 'a@example.net' }],
  })),
  reference('put_conversation', 'inbox_id', 'inbox', (inbox_id) => ({
    type: 'group',
    audience: 'customer',
    inbox_id,
    participants: [{ type: 'customer', name: 'A', email: 'a@example.net' }],
  })),
  reference('update_conversation', 'assignee_id', 'actor', (assignee_id) => ({ assignee_id })),
  reference('update_conversation', 'topic.id', 'entity', (id) => ({ topic: { type: 'entity', id } })),
  reference('add_participant', 'actor_id', 'actor', (actor_id) => ({ type: 'user', actor_id })),
  reference('create_customer_token', 'participant_id', 'participant', (participant_id) => ({
    participant_id,
  })),
  {
    ...reference('send_message', 'source_thread_message_id', 'message', (source_thread_message_id) =>
      message({ mode: 'draft', channel: 'message', source_thread_message_id }),
    ),
    conversationId: demo.conversations.case,
  },
  reference('send_message', 'reply_to_message_id', 'message', (reply_to_message_id) =>
    message({ reply_to_message_id }),
  ),
  reference('send_message', 'link_resource_id', 'entity', (link_resource_id) =>
    message({ link_resource_type: 'entity', link_resource_id }),
  ),
  reference('send_message', 'attachments[].resource_id', 'entity', (resource_id) =>
    message({ attachments: [{ kind: 'resource', resource_type: 'entity', resource_id }] }),
  ),
  reference(
    'send_message',
    'mentions[]',
    'actor',
    (id) => message({ mentions: [id] }),
    '422 validation_failed mentions[0]',
  ),
  reference(
    'send_message',
    'question.actor_ids[]',
    'actor',
    (id) => message({ question: { ...QUESTION, actor_ids: [id] } }),
    '422 validation_failed question.actor_ids[0]',
  ),
  reference(
    'update_message',
    'mentions[]',
    'actor',
    (id) => ({ mentions: [id] }),
    '422 validation_failed mentions[0]',
  ),
  reference('import_messages', 'messages[].author_id', 'actor', (author_id) => imported({ author_id })),
  reference('import_messages', 'messages[].reply_to_message_id', 'message', (reply_to_message_id) =>
    imported({ reply_to_message_id }),
  ),
  reference('import_messages', 'messages[].reactions[].actor_id', 'actor', (actor_id) =>
    imported({ reactions: [{ emoji: '👍', actor_id }] }),
  ),
  reference('import_messages', 'messages[].attachments[].resource_id', 'entity', (resource_id) =>
    imported({ attachments: [{ kind: 'resource', resource_type: 'entity', resource_id }] }),
  ),
  reference('update_message', 'attachments[].id', 'attachment', (id) => ({ attachments: [{ id }] })),
  reference('update_message', 'attachments[].resource_id', 'entity', (resource_id) => ({
    attachments: [{ kind: 'resource', resource_type: 'entity', resource_id }],
  })),
  reference('forward_message', 'conversation_id', 'conversation', (conversation_id) => ({
    conversation_id,
    client_message_id: newId('message'),
  })),
  reference('create_alert', 'conversation_id', 'conversation', (conversation_id) => ({
    title: 'Ahoy',
    conversation_id,
  })),
  reference('create_notifications', 'recipient_ids[]', 'actor', (id) => ({ ...NOTICE, recipient_ids: [id] })),
  reference('create_notifications', 'resource_id', 'entity', (resource_id) => ({
    ...NOTICE,
    recipient_ids: [OURS.actor],
    resource_type: 'entity',
    resource_id,
  })),
  reference('create_inbox', 'group_id', 'group', (group_id) => ({
    name: 'A',
    address: newAddress('harbor.example'),
    group_id,
  })),
  reference('create_inbox', 'assignee_id', 'actor', (assignee_id) => ({
    name: 'A',
    address: newAddress('harbor.example'),
    assignee_id,
  })),
  reference('update_inbox', 'group_id', 'group', (group_id) => ({ group_id })),
  reference('update_inbox', 'assignee_id', 'actor', (assignee_id) => ({ assignee_id })),
  reference('create_identity_provider', 'role_id', 'role', (role_id) => ({
    name: 'A',
    issuer: 'https://login.example.com',
    audience: 'a',
    jwks_url: 'https://login.example.com/keys',
    role_id,
  })),
  reference('update_identity_provider', 'role_id', 'role', (role_id) => ({ role_id })),
  reference('create_push_device', 'app_id', 'pushApp', (app_id) => ({ app_id, token: 'token' })),
  reference('create_widget', 'group_id', 'group', (group_id) => ({
    name: 'A',
    sites: ['https://a.example'],
    group_id,
  })),
  reference('create_widget', 'identity_provider_id', 'identityProvider', (identity_provider_id) => ({
    name: 'A',
    sites: ['https://a.example'],
    identity_provider_id,
  })),
  reference('create_widget', 'inbox_id', 'inbox', (inbox_id) => ({
    name: 'A',
    sites: ['https://a.example'],
    inbox_id,
  })),
  reference('update_widget', 'inbox_id', 'inbox', (inbox_id) => ({ inbox_id })),
  reference('update_widget', 'group_id', 'group', (group_id) => ({ group_id })),
  reference('update_widget', 'identity_provider_id', 'identityProvider', (identity_provider_id) => ({
    identity_provider_id,
  })),
  reference('create_agent', 'role_id', 'role', (role_id) => ({ ...agent, role_id })),
  reference('update_agent', 'role_id', 'role', (role_id) => ({ role_id })),
  reference('continue_agent_run', 'decisions[].action_id', 'agentAction', (action_id) => ({
    decisions: [{ action_id, approve: false }],
  })),
];

/**
 * Places that are named like ids and take texts of the caller's own, that are for customers alone
 * (test/widgets/claims.test.ts), or whose refusal is a frame
 * (test/gateway/event-streams.test.ts, polls.test.ts).
 */
const OWN_TEXTS: ReadonlySet<string> = new Set([
  'create_event event_id',
  'create_event resource_id',
  'import_messages messages[].reply_to_client_message_id',
  'create_conversation widget_id',
  'create_conversation_view filters.assignee_id',
  'create_conversation_view filters.group_id',
  'create_conversation_view filters.inbox_id',
  'update_conversation_view filters.assignee_id',
  'update_conversation_view filters.group_id',
  'update_conversation_view filters.inbox_id',
  'open_realtime_stream subscribe[].conversation_id',
  'poll_realtime subscribe[].conversation_id',
]);

/** Bodies of requests that would be answered for long without them: this cursor ends the answer. */
const ENDING: Readonly<Record<string, object>> = {
  open_realtime_stream: { cursor: 'x' },
  poll_realtime: { cursor: 'x' },
};

/** Fields that are named like ids and never name what is there. */
const OWN_NAMES: ReadonlySet<string> = new Set([
  'client_message_id',
  'external_id',
  'client_id',
  'key_id',
  'team_id',
  'private_key_id',
  'project_id',
]);

let keys = 0;
const keysWithout = new Map<string, Promise<string>>();
const OURS = await resourcesOf(demo.api_key, demo.account_id);

/** What belongs to a case. */
const OF_CASES: ReadonlySet<IdKind> = new Set([
  'conversation',
  'message',
  'participant',
  'attachment',
  'notification',
  'agentRun',
  'agentAction',
  'artifact',
]);
/** Stands in every text of the other team's cases. */
const WORD = 'whereabouts';
const TEAMS = await teamsOf();

t.test('the matrix is not empty, and its cases have distinct names', async (t) => {
  t.ok(routes.length > 50, `${routes.length} endpoints`);
  t.equal(new Set(routes.map(({ name }) => name)).size, routes.length);
  t.equal(new Set(routes.map(({ method, path }) => `${method} ${path}`)).size, routes.length);
});

t.test('every route refuses an invalid credential', async (t) => {
  const expired = await app.tokenOf(demo.users.ada.id, { issuedAtMs: Date.now() - 86_400_000 });
  const tampered = `${demo.users.ada.access_token.slice(0, -3)}abc`;
  const cases: [what: string, authorization: string | undefined, refusal: string][] = [
    ['none', undefined, '401 invalid_credentials Authorization'],
    ['empty', '', '401 invalid_credentials Authorization'],
    ['another scheme', 'Basic YWRhOngK', '401 invalid_credentials Authorization'],
    ['no token', 'Bearer', '401 invalid_credentials Authorization'],
    ['nonsense', 'Bearer nonsense', '401 invalid_credentials null'],
    ['a mistyped key', `Bearer ${demo.api_key.slice(0, -1)}_`, '401 invalid_credentials null'],
    ['a tampered token', `Bearer ${tampered}`, '401 invalid_credentials null'],
    ['an expired token', `Bearer ${expired}`, '401 expired_token null'],
    ['an expired key', `Bearer ${await key({ expired: true })}`, '401 api_key_expired null'],
    ['a revoked key', `Bearer ${await key({ revoked: true })}`, '401 api_key_revoked null'],
  ];
  for (const route of closedRoutes) {
    const got = await Promise.all(
      cases.map(async ([what, Authorization]) => {
        const refusal = await told(route, { headers: { Authorization } });
        return [what, refusal];
      }),
    );
    t.strictSame(
      got,
      cases.map(([what, , refusal]) => [what, refusal]),
      route.name,
    );
  }
});

t.test('every route refuses a missing, an invalid and a too old version', async (t) => {
  for (const route of routes) {
    const tooOld = VERSIONS.slice(0, VERSIONS.indexOf(route.since));
    const got = await Promise.all(
      [undefined, '', '0.9.harbor', '1.1', ...tooOld].map((version) =>
        told(route, { headers: { 'Service-Version': version } }),
      ),
    );
    t.strictSame(
      got,
      [
        ...Array(2).fill('400 api_version_required Service-Version'),
        ...Array(2).fill('400 api_version_invalid Service-Version'),
        ...tooOld.map(() => '400 api_version_too_old Service-Version'),
      ],
      route.name,
    );
  }
});

t.test('accounts that are not the caller’s', async (t) => {
  const unpaid = await unpaidAccount();
  const cases: [what: string, options: CallOptions, refusal: string][] = [
    ['none', { headers: { 'Service-Account': undefined } }, '400 parameter_missing Service-Account'],
    [
      'absent',
      { headers: { 'Service-Account': newId('account') } },
      '404 resource_not_found Service-Account',
    ],
    [
      'another one',
      { headers: { 'Service-Account': demo.other_account.account_id } },
      '404 resource_not_found Service-Account',
    ],
    [
      "another account's key",
      { token: demo.other_account.api_key },
      '404 resource_not_found Service-Account',
    ],
    [
      'one that does not pay',
      { token: unpaid.key, headers: { 'Service-Account': unpaid.accountId } },
      '402 payment_required null',
    ],
  ];
  for (const route of closedRoutes) {
    const got = await Promise.all(cases.map(async ([what, options]) => [what, await told(route, options)]));
    t.strictSame(
      got,
      cases.map(([what, , refusal]) => {
        const answersUnpaid = route.unsubscribed === true && refusal.startsWith('402');
        return [what, answersUnpaid ? '200 undefined undefined' : refusal];
      }),
      route.name,
    );
  }
});

t.test('roles that do not grant it, customers, agents', async (t) => {
  const FORBIDDEN = '403 insufficient_permissions null';
  for (const route of closedRoutes) {
    if (route.permission !== null) {
      const wanted = [route.permission, ...(route.own === undefined ? [] : [route.own.permission])];
      t.equal(
        await told(route, { token: await keyWithout(wanted) }),
        FORBIDDEN,
        `${route.name}: a role without ${wanted.join(' and ')}`,
      );
    }
    const customer = await told(route, { token: demo.customer.access_token });
    if (route.customers) t.not(customer, FORBIDDEN, `${route.name}: open to customers`);
    else t.equal(customer, FORBIDDEN, `${route.name}: closed to customers`);
    if (route.agents === false) {
      const token = await app.tokenOf(demo.agent.actor_id);
      t.equal(await told(route, { token }), FORBIDDEN, `${route.name}: closed to agents`);
    }
  }
});

t.test("another account's resource in a path is answered like one that is absent", async (t) => {
  const foreign = await resourcesOf(demo.other_account.api_key, demo.other_account.account_id);
  for (const route of closedRoutes) {
    const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
    const ids = names.filter((name) => VALUES[name] === undefined);
    for (const [position, name] of ids.entries()) {
      const kind = kindInPath(route.path, name);
      const theirs = foreign[kind];
      t.ok(theirs, `${route.name}: the other account has a ${kind}`);
      const absent = newId(kind);
      // The ids before it in the path belong to our account and exist.
      const pathWith = (id: string) => {
        let at = -1;
        return route.path.replaceAll(/:(\w+)/g, (_, own: string) => {
          at += 1;
          return at === position ? id : ourValue(route.path, own);
        });
      };
      const asked = (id: string) => ask(route.method, pathWith(id), bodyFor(route));
      const [found, missing] = await Promise.all([asked(theirs!), asked(absent)]);
      t.equal(
        found.text.replaceAll(theirs!, 'ID'),
        missing.text.replaceAll(absent, 'ID'),
        `${route.name} ${name}`,
      );
      t.match(refusalOf(found), /^404 resource_not_found /, `${route.name} ${name}`);
    }
  }
});

t.test("another account's id in a body is answered like one that is absent", async (t) => {
  const foreign = await resourcesOf(demo.other_account.api_key, demo.other_account.account_id);
  for (const route of closedRoutes) {
    const places = [...new Set(idPlaces(route.body ?? {}, ''))]
      .filter((place) => !OWN_TEXTS.has(`${route.name} ${place}`))
      .sort();
    const known = REFERENCES.filter(({ name }) => name === route.name);
    t.strictSame(
      known.map(({ place }) => place).sort(),
      places,
      `${route.name}: every place of an id is known`,
    );
    for (const { place, kind, body, refusal, conversationId } of known) {
      const absent = newId(kind);
      const path = pathWithOurs(route).replace(OURS.conversation, conversationId ?? OURS.conversation);
      const asked = (id: string) => ask(route.method, path, { body: body(id) });
      const [found, missing] = await Promise.all([asked(foreign[kind]), asked(absent)]);
      const what = `${route.name} ${place}`;
      t.equal(found.text.replaceAll(foreign[kind], 'ID'), missing.text.replaceAll(absent, 'ID'), what);
      t.equal(refusalOf(found), refusal, what);
    }
  }
});

t.test("another team's case in a path is answered like one that is absent", async (t) => {
  for (const route of closedRoutes) {
    for (const [, name] of route.path.matchAll(/:(\w+)/g)) {
      if (VALUES[name!] !== undefined) continue;
      const kind = kindInPath(route.path, name!);
      // All other ids in the path belong to the reader's own team.
      const pathWith = (id: string) =>
        route.path.replaceAll(/:(\w+)/g, (_, other: string) =>
          other === name ? id : valueIn(TEAMS.own.widget, route.path, other),
        );
      await isHidden(t, `${route.name} ${name}`, kind, (id) =>
        ask(route.method, pathWith(id), { ...bodyFor(route), token: TEAMS.reader }),
      );
    }
  }
});

t.test("an id of another team's case in a body is answered like one that is absent", async (t) => {
  for (const { name, place, kind, body } of REFERENCES) {
    const route = closedRoutes.find((one) => one.name === name)!;
    const path = route.path.replaceAll(/:(\w+)/g, (_, own: string) =>
      valueIn(TEAMS.own.widget, route.path, own),
    );
    await isHidden(t, `${name} ${place}`, kind, (id) =>
      ask(route.method, path, { body: body(id), token: TEAMS.reader }),
    );
  }
});

t.test("no list, count, search or feed shows anything of another team's case", async (t) => {
  const { reader, other, theirs } = TEAMS;
  const secrets = Object.values(theirs).flatMap((ids) => [...OF_CASES].map((kind) => ids[kind]));
  const { inbox, widget } = theirs;
  const queries: Readonly<Record<string, readonly string[]>> = {
    list_conversations: [
      '?limit=100',
      '?order=waiting&limit=100',
      `?q=${WORD}`,
      `?inbox_id=${inbox.inbox}`,
      `?conversation_ids[]=${inbox.conversation}&conversation_ids[]=${widget.conversation}`,
    ],
    search: [`?q=${WORD}`, `?q=${WORD}&type=conversations`],
    list_presence: [`?actor_ids[]=${OURS.actor}`],
    list_actors: [`?actor_ids[]=${OURS.actor}`],
  };
  const shows = async (path: string, token: string) => {
    const answer = await ask('GET', path, { token });
    const { status, text } = answer;
    t.ok(status === 200 || refusalOf(answer) === FOR_ADMINS, `${path}: ${text}`);
    return [...secrets, WORD].some((one) => text.includes(one));
  };
  const shown: string[] = [];
  for (const route of closedRoutes) {
    if (route.method !== 'GET' || route.path.includes(':')) continue;
    for (const query of queries[route.name] ?? ['']) {
      const path = `${route.path}${query}`;
      t.notOk(await shows(path, reader), path);
      if (await shows(path, other)) shown.push(route.name);
    }
  }
  t.strictSame(
    [...new Set(shown)].sort(),
    ['get_inbox_summary', 'get_work', 'list_conversations', 'list_notifications', 'list_runs', 'search'],
    'the other team is shown its own in these',
  );
});

t.test('a user that the caller does not know is answered like one that is absent', async (t) => {
  // These make or show users, so their holders know every user.
  const permissions = PERMISSIONS.filter((one) => !one.startsWith('users:') && one !== 'tokens:create');
  const [{ id: caller, token }, stranger] = [await personWith(app, permissions), await personWith(app, [])];
  const path = `/v1/messaging/conversations/${OURS.conversation}/participants`;
  await ask('POST', path, { body: { type: 'user', actor_id: caller, role: 'owner' } });
  const places: [what: string, asked: (id: string) => Promise<CallAnswer<Refusal>>][] = [];
  for (const route of closedRoutes) {
    if (/:id/.test(route.path) && route.upserts !== true && kindInPath(route.path, 'id') === 'actor') {
      const pathWith = (id: string) => pathWithOurs({ ...route, path: route.path.replace(':id', id) });
      places.push([
        `${route.name} id`,
        (id) => ask(route.method, pathWith(id), { ...bodyFor(route), token }),
      ]);
    }
    for (const { place, kind, body } of REFERENCES.filter(({ name }) => name === route.name)) {
      if (kind !== 'actor') continue;
      places.push([
        `${route.name} ${place}`,
        (id) => ask(route.method, pathWithOurs(route), { token, body: body(id) }),
      ]);
    }
  }
  const differing = async () => {
    const found: string[] = [];
    for (const [what, asked] of places) {
      const absent = newId('actor');
      const [missing, theirs] = [await asked(absent), await asked(stranger.id)];
      if (missing.text.replaceAll(absent, 'ID') !== theirs.text.replaceAll(stranger.id, 'ID'))
        found.push(what);
    }
    return found;
  };
  const set = async (people: 'everyone' | 'shared') => {
    await ask('PATCH', '/v1/account', { body: { people } });
    const isSet = async () => {
      const { status } = await ask('GET', `/v1/messaging/people/${stranger.id}`, { token });
      return (status === 200) === (people === 'everyone');
    };
    await until(isSet, { what: `the setting ${people}` });
  };
  await set('shared');
  t.strictSame(await differing(), []);
  await set('everyone');
  t.strictSame(await differing(), [
    'get_person id',
    'create_group members[]',
    'update_group members[]',
    'put_group members[]',
    'create_conversation participants[].actor_id',
    'update_conversation assignee_id',
    'put_conversation participants[].actor_id',
    'block_actor id',
    'unblock_actor id',
    'add_participant actor_id',
    'send_message mentions[]',
    'send_message question.actor_ids[]',
    'create_notifications recipient_ids[]',
  ]);
});

/** What admins alone may do is refused to others before anything is looked up. */
const FOR_ADMINS = '403 insufficient_permissions null';

/** Asserts that what belongs to the other team's cases is answered like what is not there. */
async function isHidden(
  t: Pick<typeof import('tap').t, 'equal' | 'match'>,
  what: string,
  kind: IdKind,
  asked: (id: string) => Promise<CallAnswer<Refusal>>,
): Promise<void> {
  if (!OF_CASES.has(kind)) return;
  const absent = newId(kind);
  const missing = await asked(absent);
  if (refusalOf(missing) !== FOR_ADMINS) t.match(refusalOf(missing), /^404 resource_not_found /, what);
  for (const [origin, { [kind]: theirs }] of Object.entries(TEAMS.theirs)) {
    const found = await asked(theirs);
    t.equal(found.text.replaceAll(theirs, 'ID'), missing.text.replaceAll(absent, 'ID'), `${what}, ${origin}`);
  }
}

/** In the newest version, which has every endpoint, unless the headers name one. */
function ask(method: string, path: string, options: CallOptions = {}) {
  return app.call(method, path, {
    ...options,
    headers: { 'Service-Version': VERSIONS.at(-1), ...options.headers },
  });
}

async function told(route: Route, options: CallOptions): Promise<string> {
  const body = ENDING[route.name];
  const asked = { ...options, ...(body !== undefined && { body }) };
  return refusalOf(await ask(route.method, pathWithOurs(route), asked));
}

function pathWithOurs({ path, upserts }: Route): string {
  // What such a path names is made by the request.
  if (upserts === true) return path.replace(':id', `ext:${newId('actor')}`);
  return path.replaceAll(/:(\w+)/g, (_, name: string) => ourValue(path, name));
}

/** A good value for a parameter of a path. */
function ourValue(path: string, name: string): string {
  return valueIn(OURS, path, name);
}

function valueIn(ids: Record<IdKind, string>, path: string, name: string): string {
  return VALUES[name] ?? ids[kindInPath(path, name)];
}

/** `participants[].actor_id`: where a body takes the id of something. */
function* idPlaces(schema: SchemaObject, at: string): Iterable<string> {
  for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) yield* idPlaces(part, at);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (!OWN_NAMES.has(name)) yield* idPlaces(property, at === '' ? name : `${at}.${name}`);
  }
  if (schema.items !== undefined) yield* idPlaces(schema.items, `${at}[]`);
  const isText = schema.type === 'string';
  if (isText && /(^|[._])id$|^mentions\[\]$|^members\[\]$|_ids\[\]$/.test(at)) yield at;
}

function bodyFor({ body }: Route): CallOptions {
  return body === undefined ? {} : { body: bodyExampleOf(body, () => undefined, '') };
}

/** One of each kind that paths name. */
async function resourcesOf(token: string, accountId: string): Promise<Record<IdKind, string>> {
  const headers = { 'Service-Account': accountId, 'Service-Version': VERSIONS.at(-1) };
  const create = async (path: string, body: object) => {
    const answer = await app.call<{ id: string; error?: object }>('POST', path, { token, headers, body });
    if (answer.status !== 201) throw new Error(`${path}: ${answer.text}`);
    return answer.body;
  };
  const { data: roles } = (await app.call<{ data: { id: string }[] }>('GET', '/v1/roles', { token, headers }))
    .body;
  const role = roles[0]!.id;
  const person = (email: string) => create('/v1/users', { name: 'Zoe', email, role_id: role });
  const [zoe, yan] = [await person(newAddress()), await person(newAddress())];
  const conversation = await create('/v1/messaging/conversations', {
    type: 'group',
    title: 'Elsewhere',
    participants: [
      { type: 'user', actor_id: zoe.id },
      { type: 'user', actor_id: yan.id },
    ],
  });
  const message = await create(`/v1/messaging/conversations/${conversation.id}/messages`, {
    body: 'ahoy',
    attachments: [{ kind: 'link', url: 'https://a.example/' }],
    client_message_id: newId('message'),
  });
  const agent = await create('/v1/ai/agents', {
    name: 'Elsewhere',
    slug: `elsewhere-${Math.random().toString(36).slice(2)}`,
    category_code: 'support',
    trigger_type: 'manual',
    config: {},
  });
  const { agentRun, agentAction, artifact } = await waitingRun(accountId, agent.id);
  const apiKey = await create('/v1/api-keys', { name: 'Elsewhere', role_id: role });
  const group = await create('/v1/messaging/groups', { name: `Elsewhere ${newId('group')}` });
  const entity = await create('/v1/entities', { name: 'Elsewhere' });
  const event = await create('/v1/events', { type: 'order.created', data: {} });
  const webhook = await create('/v1/webhooks', { url: 'https://a.example/', event_types: ['order.created'] });
  const inbox = await create('/v1/messaging/inboxes', {
    name: 'Elsewhere',
    address: newAddress('harbor.example'),
  });
  const identityProvider = await create('/v1/identity-providers', {
    name: 'Elsewhere',
    issuer: `https://login.example.com/${newId('account')}`,
    audience: 'elsewhere',
    jwks_url: 'https://login.example.com/keys',
  });
  const widget = await create('/v1/widgets', { name: 'Elsewhere', sites: ['https://a.example'] });
  const webhookDelivery = newId('webhookDelivery');
  await database.kysely
    .insertInto('webhook_deliveries')
    .values({
      webhook_id: webhook.id,
      id: webhookDelivery,
      event_id: event.id,
      event_type: 'order.created',
      status: 'delivered',
      occurred_at: '2026-01-01T00:00:00Z',
    })
    .execute();
  const { id: participant } = await database.kysely
    .selectFrom('participants')
    .select('id')
    .where('conversation_id', '=', conversation.id)
    .executeTakeFirstOrThrow();
  const { id: notification } = await until(
    () =>
      database.kysely
        .selectFrom('notifications')
        .select('id')
        .where('recipient_id', '=', zoe.id)
        .executeTakeFirst(),
    { what: 'a notification' },
  );
  const emailComplaint = newId('emailComplaint');
  await database.kysely
    .insertInto('mail_complaints')
    .values({
      id: emailComplaint,
      account_id: accountId,
      address: emailComplaint,
      kind: 'abuse',
      mail_id: 'mai_none',
    })
    .execute();
  const pushSubscription = newId('pushSubscription');
  await database.kysely
    .insertInto('push_subscriptions')
    .values({
      id: pushSubscription,
      account_id: accountId,
      actor_id: zoe.id,
      key_id: 'key',
      p256dh: '',
      auth: '',
      endpoint: 'https://push.example.com/1',
      origin: 'https://push.example.com',
    })
    .execute();
  const pushApp = newId('pushApp');
  await database.kysely
    .insertInto('push_apps')
    .values({
      id: pushApp,
      account_id: accountId,
      name: 'App',
      platform: 'fcm',
      identifier: 'app',
      credential: Buffer.alloc(0),
      created_by: zoe.id,
    })
    .execute();
  const pushDevice = newId('pushDevice');
  await database.kysely
    .insertInto('push_devices')
    .values({
      id: pushDevice,
      account_id: accountId,
      actor_id: zoe.id,
      app_id: pushApp,
      token: 'token',
      origin: 'https://push.example.com',
    })
    .execute();
  const conversationView = newId('conversationView');
  await database.kysely
    .insertInto('conversation_views')
    .values({
      id: conversationView,
      account_id: accountId,
      actor_id: zoe.id,
      name: 'Queue',
      filters: '{"order":"waiting"}',
    })
    .execute();
  await create('/v1/auth/tokens', { user_id: zoe.id });
  const { family_id: session } = await database.kysely
    .selectFrom('refresh_tokens')
    .select('family_id')
    .where('actor_id', '=', zoe.id)
    .executeTakeFirstOrThrow();
  const [exported, erased] = [newId('export'), newId('erasure')];
  const job = { account_id: accountId, subject_id: zoe.id, requested_by: zoe.id, status: 'failed' } as const;
  await database.kysely
    .insertInto('compliance_jobs')
    .values([
      { ...job, id: exported, kind: 'user_export' },
      { ...job, id: erased, kind: 'user_erasure', options: '{"messages":"keep","held_conversations":[]}' },
    ])
    .execute();
  const imported = newId('import');
  await database.kysely
    .insertInto('imports')
    .values({
      id: imported,
      account_id: accountId,
      source: 'slack',
      status: 'failed',
      size_bytes: 1,
      part_bytes: 1,
      created_by: zoe.id,
    })
    .execute();
  const { id: attachment } = await database.kysely
    .selectFrom('attachments')
    .select('id')
    .where('message_id', '=', message.id)
    .executeTakeFirstOrThrow();
  return {
    actor: zoe.id,
    attachment,
    export: exported,
    erasure: erased,
    import: imported,
    role,
    conversation: conversation.id,
    message: message.id,
    agent: agent.id,
    agentRun,
    agentAction,
    artifact,
    apiKey: apiKey.id,
    group: group.id,
    entity: entity.id,
    event: event.id,
    webhook: webhook.id,
    inbox: inbox.id,
    identityProvider: identityProvider.id,
    widget: widget.id,
    webhookDelivery,
    participant,
    notification,
    emailComplaint,
    pushSubscription,
    pushApp,
    pushDevice,
    conversationView,
    session,
    account: accountId,
  } as Record<IdKind, string>;
}

/**
 * Two teams of our account, each with a case of its inbox and one of its widget: the tokens of a
 * member of each, who may do everything there that no admin must do, and their ids. The message of
 * a case of an inbox is a draft.
 */
async function teamsOf() {
  const role = await database.transaction((tx) =>
    createRole(tx, { accountId: demo.account_id, name: 'Member of a team', permissions: PERMISSIONS }),
  );
  const [own, theirs] = [await teamOf(role.id, 'ours'), await teamOf(role.id, WORD)];
  return { reader: own.token, own: own.cases, other: theirs.token, theirs: theirs.cases };
}

async function teamOf(roleId: string, word: string) {
  const create = async <Body extends { id: string }>(path: string, body: object, token = demo.api_key) => {
    const answer = await ask('POST', path, { token, body });
    if (answer.status !== 201) throw new Error(`${path}: ${answer.text}`);
    return answer.body as unknown as Body;
  };
  const member = await create('/v1/users', { name: 'Member', email: newAddress(), role_id: roleId });
  const token = await app.tokenOf(member.id);
  const group = await create('/v1/messaging/groups', { name: newId('group'), members: [member.id] });
  const group_id = group.id;
  const inbox = await create('/v1/messaging/inboxes', {
    name: 'Team',
    address: newAddress('harbor.example'),
    group_id,
  });
  const widget = await create('/v1/widgets', { name: 'Team', sites: ['https://a.example'], group_id });
  const visitor = await ask('POST', `/v1/widgets/${widget.id}/visitors`, {
    headers: { Authorization: undefined, 'Service-Account': undefined },
    body: {},
  });
  const { access_token } = visitor.body as unknown as { access_token: string };
  const cases = '/v1/messaging/conversations';
  const title = `Case ${word}`;
  const opened = { type: 'group', audience: 'customer', title };
  const ofWidget = await create(cases, opened, access_token);
  const customer = { type: 'customer', name: 'Cleo', email: newAddress() };
  const ofInbox = await create(cases, { ...opened, inbox_id: inbox.id, participants: [customer] });
  const link = { kind: 'link', url: `https://a.example/${word}` };
  const write = (id: string, by: string, fields: object) =>
    create(`${cases}/${id}/messages`, message({ body: word, attachments: [link], ...fields }), by);
  const reply = await write(ofWidget.id, token, { audience: 'customer' });
  await write(ofWidget.id, access_token, {});
  const draft = await write(ofInbox.id, token, { mode: 'draft', channel: 'message' });
  const idsOf = async (conversation: string, message: string) => {
    const { kysely } = database;
    const [participant, attachment, notification, run] = await Promise.all([
      kysely
        .selectFrom('participants')
        .select('id')
        .where('conversation_id', '=', conversation)
        .where('actor_id', '=', member.id)
        .executeTakeFirstOrThrow(),
      kysely
        .selectFrom('attachments')
        .select('id')
        .where('message_id', '=', message)
        .executeTakeFirstOrThrow(),
      until(
        () =>
          kysely
            .selectFrom('notifications')
            .select('id')
            .where('recipient_id', '=', member.id)
            .where('resource_id', '=', conversation)
            .executeTakeFirst(),
        { what: 'a notification of the team' },
      ),
      waitingRun(demo.account_id, OURS.agent, conversation),
    ]);
    return {
      ...OURS,
      ...run,
      conversation,
      message,
      participant: participant.id,
      attachment: attachment.id,
      notification: notification.id,
      group: group_id,
      inbox: inbox.id,
    };
  };
  return {
    token,
    cases: { widget: await idsOf(ofWidget.id, reply.id), inbox: await idsOf(ofInbox.id, draft.id) },
  };
}

/** A run that waits for people, with the call that it waits for and a file that it made. */
async function waitingRun(accountId: string, agentId: string, conversationId?: string) {
  const { kysely } = database;
  const [agentRun, step, agentAction] = [newId('agentRun'), newId('agentStep'), newId('agentAction')];
  const { actor_id } = await kysely
    .selectFrom('agent_definitions')
    .select('actor_id')
    .where('id', '=', agentId)
    .executeTakeFirstOrThrow();
  await kysely
    .insertInto('agent_runs')
    .values({
      id: agentRun,
      account_id: accountId,
      agent_id: agentId,
      actor_id,
      trigger_type: 'manual',
      trigger_key: agentRun,
      status: 'awaiting_approval',
      ...(conversationId !== undefined && { conversation_id: conversationId }),
    })
    .execute();
  await kysely
    .insertInto('agent_run_steps')
    .values({ id: step, run_id: agentRun, position: 1, status: 'completed' })
    .execute();
  await kysely
    .insertInto('agent_run_actions')
    .values({
      id: agentAction,
      run_id: agentRun,
      step_id: step,
      position: 0,
      call_id: 'call_1',
      tool: 'list-agents',
      category: 'api_endpoint',
      status: 'pending_review',
      arguments: '{}',
    })
    .execute();
  const artifact = newId('artifact');
  await kysely
    .insertInto('artifacts')
    .values({
      id: artifact,
      account_id: accountId,
      run_id: agentRun,
      s3_key: newId('upload'),
      filename: 'a.txt',
      content_type: 'text/plain',
      size_bytes: 1,
    })
    .execute();
  return { agentRun, agentAction, artifact };
}

function key({ expired = false, revoked = false }): Promise<string> {
  return database.transaction(async (tx) => {
    const role = await createRole(tx, {
      accountId: demo.account_id,
      name: `Key ${keys++}`,
      permissions: PERMISSIONS,
    });
    const { key, apiKey } = await createApiKey(tx, {
      accountId: demo.account_id,
      name: 'Test',
      roleId: role.id,
      ...(expired ? { expiresAt: new Date(Date.now() - 1_000).toISOString() } : {}),
    });
    if (revoked) await revokeApiKey(tx, apiKey.id);
    return key;
  });
}

/** A key of a role that grants all other permissions. */
function keyWithout(wanted: readonly string[]): Promise<string> {
  const name = `No ${wanted.join(' nor ')}`;
  const known = keysWithout.get(name);
  if (known !== undefined) return known;
  const made = database.transaction(async (tx) => {
    const permissions = PERMISSIONS.filter((one: Permission) => !wanted.includes(one));
    const role = await createRole(tx, { accountId: demo.account_id, name, permissions });
    return (await createApiKey(tx, { accountId: demo.account_id, name: 'Test', roleId: role.id })).key;
  });
  keysWithout.set(name, made);
  return made;
}

async function unpaidAccount(): Promise<{ accountId: string; key: string }> {
  return database.transaction(async (tx) => {
    const { account, roles } = await createAccount(tx, { name: 'Unpaid' });
    await updateAccount(tx, account.id, { subscription: 'inactive' });
    const { key } = await createApiKey(tx, { accountId: account.id, name: 'Test', roleId: roles.admin.id });
    return { accountId: account.id, key };
  });
}
