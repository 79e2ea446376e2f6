/**
 * Every list, over its filters: rows that exist at the start come once and in order, in both
 * directions, while rows are added.
 */

import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { createAccount } from '../../src/core/accounts/account/accounts.ts';
import { createOperatorKey } from '../../src/core/accounts/installation/operator-keys.ts';
import { addComplaint } from '../../src/features/mail/complaints/complaint-store.ts';
import { addInbox } from '../mail/fixture.ts';
import { borrowTestApp } from '../support/app.ts';
import { Random } from '../support/random.ts';
import { until } from '../support/until.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { ada, grace } = demo.users;
let made = 0;

const roleId = await firstRole();
const busyAgent = await create('/v1/ai/agents', {
  name: 'Busy',
  slug: 'busy',
  category_code: 'busy',
  trigger_type: 'manual',
  config: {},
});
const busy = await create('/v1/messaging/conversations', {
  type: 'group',
  title: 'Busy',
  participants: [{ type: 'user', actor_id: grace.id }],
});

const held = await create('/v1/messaging/conversations', { type: 'group', participants: [] });
const edited = await create(`/v1/messaging/conversations/${held}/messages`, {
  body: 'first',
  client_message_id: newId('message'),
});
await app.call('POST', `/v1/messaging/conversations/${held}/actions/set-legal-hold`, {
  body: { legal_hold: 'held' },
});

const operator = await app.database.transaction((tx) => createOperatorKey(tx, { name: 'Lists' }));
const busyWebhook = await addWebhook();
const busyImport = await addImport();

interface Subject {
  /** The endpoint's name. */
  readonly name: string;
  readonly path: string;
  /** Each narrows the list to rows of which `add` makes some. */
  readonly filters: readonly string[];
  readonly add: () => Promise<unknown>;
  readonly token?: string;
  /** Default: the demo account's. */
  readonly version?: string;
  /**
   * For many others it is only checked that they page in the same way: messages and tools have
   * tests of their own.
   */
  readonly rows: number;
}

const SUBJECTS: readonly Subject[] = [
  {
    name: 'list_roles',
    path: '/v1/roles',
    filters: ['', 'q=page'],
    add: () => create('/v1/roles', { name: `Page ${made++}`, permissions: ['messaging:read'] }),
    rows: 6,
  },
  {
    name: 'list_users',
    path: '/v1/users',
    filters: ['', 'search=page'],
    add: () => create('/v1/users', { name: 'Page', email: `page${made++}@example.com`, role_id: roleId }),
    rows: 6,
  },
  {
    name: 'list_people',
    path: '/v1/messaging/people',
    filters: ['', 'q=somebody'],
    add: () =>
      create('/v1/users', { name: 'Somebody', email: `somebody${made++}@example.com`, role_id: roleId }),
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_own_sessions',
    path: '/v1/me/sessions',
    filters: [''],
    add: addSession,
    token: grace.access_token,
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_user_sessions',
    path: `/v1/users/${grace.id}/sessions`,
    filters: [''],
    add: addSession,
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_customers',
    path: '/v1/customers',
    filters: ['', 'q=page', 'metadata[plan]=pro'],
    add: async () => {
      const { status } = await app.call('PUT', `/v1/customers/ext:page-${made++}`, {
        body: { name: 'Page', metadata: { plan: 'pro' } },
        headers: { 'Service-Version': NEWEST_VERSION },
      });
      if (status !== 201) throw new Error('the customer cannot be made');
    },
    version: NEWEST_VERSION,
    rows: 6,
  },
  {
    name: 'list_api_keys',
    path: '/v1/api-keys',
    filters: ['', 'q=page'],
    add: () => create('/v1/api-keys', { name: `Page ${made++}`, role_id: roleId }),
    rows: 6,
  },
  {
    name: 'list_groups',
    path: '/v1/messaging/groups',
    filters: ['', 'q=page'],
    add: () => create('/v1/messaging/groups', { name: `Page ${made++}` }),
    rows: 6,
  },
  {
    name: 'list_entities',
    path: '/v1/entities',
    filters: ['', 'q=page'],
    add: () => create('/v1/entities', { name: `Page ${made++}` }),
    rows: 6,
  },
  {
    name: 'list_events',
    path: '/v1/events',
    filters: ['', 'type=page.added', 'type=page.added&resource_id=1'],
    add: () => {
      const event = { type: 'page.added', data: {}, resource_type: 'page', resource_id: '1' };
      return create('/v1/events', event, { 'Service-Version': '1.2.harbor' });
    },
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_conversations',
    path: '/v1/messaging/conversations',
    filters: ['', 'q=page', 'type=group&audience=internal', 'status=active'],
    add: () =>
      create('/v1/messaging/conversations', {
        type: 'group',
        title: `Page ${made++}`,
        participants: [{ type: 'user', actor_id: ada.id }],
      }),
    token: ada.access_token,
    rows: 6,
  },
  {
    name: 'list_participants',
    path: `/v1/messaging/conversations/${held}/participants`,
    filters: [''],
    add: async () => {
      const email = `participant${made++}@example.com`;
      const actor_id = await create('/v1/users', { name: 'Participant', email, role_id: roleId });
      await create(`/v1/messaging/conversations/${held}/participants`, { type: 'user', actor_id });
    },
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_conversation_audit',
    path: `/v1/messaging/conversations/${busy}/audit`,
    filters: [''],
    add: () => renameBusy(),
    rows: 6,
  },
  {
    name: 'list_account_audit',
    path: '/v1/account/audit',
    filters: ['', `conversation_id=${busy}&action=conversation.renamed`],
    add: () => renameBusy(),
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_messages',
    path: `/v1/messaging/conversations/${demo.conversations.case}/messages`,
    filters: ['status=draft'],
    add: () =>
      create(`/v1/messaging/conversations/${demo.conversations.case}/messages`, {
        body: 'page',
        mode: 'draft',
        channel: 'message',
      }),
    rows: 6,
  },
  {
    name: 'list_conversation_files',
    path: `/v1/messaging/conversations/${held}/files`,
    filters: [''],
    add: () => sendFile(),
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_blocks',
    path: '/v1/messaging/blocks',
    filters: [''],
    add: async () => {
      const participants = [{ type: 'customer', name: `Customer ${made++}` }];
      const body = { type: 'group', audience: 'customer', participants };
      const { body: created } = await app.call<{ participants: { type: string; actor: { id: string } }[] }>(
        'POST',
        '/v1/messaging/conversations?include[]=participants',
        { body },
      );
      const { actor } = created.participants.find(({ type }) => type === 'customer')!;
      await app.call('POST', `/v1/messaging/actors/${actor.id}/actions/block`, {
        headers: { 'Service-Version': '1.2.harbor' },
      });
    },
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_message_revisions',
    path: `/v1/messaging/messages/${edited}/revisions`,
    filters: [''],
    add: async () => {
      const body = { body: `Edited ${made++}` };
      const { status } = await app.call('PATCH', `/v1/messaging/messages/${edited}`, { body });
      if (status !== 200) throw new Error('the message cannot be edited');
    },
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_reactions',
    path: `/v1/messaging/messages/${edited}/reactions`,
    filters: [''],
    add: () =>
      app.database.kysely
        .insertInto('reactions')
        .values({
          message_id: edited,
          conversation_id: held,
          actor_id: ada.id,
          customer: false,
          emoji: String.fromCodePoint(0x1f600 + made++),
        })
        .execute(),
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_pins',
    path: `/v1/messaging/conversations/${held}/pins`,
    filters: [''],
    add: async () => {
      const message = { body: 'page', client_message_id: newId('message') };
      const id = await create(`/v1/messaging/conversations/${held}/messages`, message);
      const { status } = await app.call('POST', `/v1/messaging/messages/${id}/actions/pin`, {
        headers: { 'Service-Version': '1.2.harbor' },
      });
      if (status !== 200) throw new Error('the message cannot be pinned');
    },
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_replies',
    path: `/v1/messaging/messages/${edited}/replies`,
    filters: [''],
    add: () =>
      create(`/v1/messaging/conversations/${held}/messages`, {
        body: 'page',
        client_message_id: newId('message'),
        reply_to_message_id: edited,
      }),
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_agents',
    path: '/v1/ai/agents',
    filters: ['', 'q=page', 'trigger_type=manual&status=active'],
    add: () =>
      create('/v1/ai/agents', {
        name: 'Page',
        slug: `page-${made++}`,
        category_code: 'page',
        trigger_type: 'manual',
        config: {},
      }),
    rows: 6,
  },
  {
    name: 'list_agent_runs',
    path: `/v1/ai/agents/${busyAgent}/runs`,
    // Without a role it fails at once.
    filters: ['', 'trigger_type=manual', 'status=failed&include[]=steps'],
    add: async () => {
      const id = await create(`/v1/ai/agents/${busyAgent}/runs`, {});
      const status = async () => (await app.call<{ status: string }>('GET', `/v1/ai/runs/${id}`)).body.status;
      await until(async () => (await status()) === 'failed', { what: 'the run has failed' });
    },
    rows: 6,
  },
  {
    name: 'list_runs',
    path: '/v1/ai/runs',
    filters: ['', `agent_id=${busyAgent}&status[]=failed&status[]=completed`, `conversation_id=${busy}`],
    add: addRun,
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_exports',
    path: '/v1/exports',
    filters: [''],
    add: () => addComplianceJob('export', 'conversation_export'),
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_erasures',
    path: '/v1/erasures',
    filters: [''],
    add: () => addComplianceJob('erasure', 'user_erasure'),
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_agent_occurrences',
    path: `/v1/ai/agents/${busyAgent}/occurrences`,
    filters: ['', 'outcome=skipped'],
    add: () =>
      app.database.kysely
        .insertInto('agent_occurrences')
        .values({
          agent_id: busyAgent,
          run_id: null,
          outcome: 'skipped',
          reason: 'missed',
          due_at: new Date(Date.now() + 60_000 * made++).toISOString(),
        })
        .execute(),
    rows: 6,
  },
  {
    name: 'list_notifications',
    path: '/v1/messaging/notifications',
    filters: ['', 'category=chat.message', 'status=unseen&sender_types[]=system', 'q=page'],
    add: async () => {
      const before = await notificationsOfGrace();
      await create(`/v1/messaging/conversations/${busy}/messages`, {
        body: 'page',
        client_message_id: newId('message'),
      });
      await until(async () => (await notificationsOfGrace()) > before, { what: 'a notification' });
    },
    token: grace.access_token,
    rows: 6,
  },
  {
    name: 'list_inboxes',
    path: '/v1/messaging/inboxes',
    filters: ['', 'q=harbor'],
    add: () => addInbox({ database: app.database, accountId: demo.account_id, actorId: ada.id }),
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_email_complaints',
    path: '/v1/messaging/email-complaints',
    filters: ['', 'q=customers'],
    add: () =>
      app.database.transaction((tx) =>
        addComplaint(tx, {
          account_id: demo.account_id,
          address: `${made++}@customers.example`,
          kind: 'abuse',
          mail_id: 'mai_none',
          conversation_id: null,
        }),
      ),
    version: '1.4.harbor',
    rows: 6,
  },
  {
    name: 'list_webhooks',
    path: '/v1/webhooks',
    filters: [''],
    add: () => addWebhook(),
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_webhook_deliveries',
    path: `/v1/webhooks/${busyWebhook}/deliveries`,
    filters: ['', 'status=delivered'],
    add: () =>
      app.database.kysely
        .insertInto('webhook_deliveries')
        .values({
          webhook_id: busyWebhook,
          id: newId('webhookDelivery'),
          event_id: `evt_${made++}`,
          event_type: 'message.created',
          occurred_at: new Date().toISOString(),
          status: 'delivered',
        })
        .execute(),
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_push_subscriptions',
    path: '/v1/messaging/push-subscriptions',
    filters: [''],
    add: () =>
      app.database.kysely
        .insertInto('push_subscriptions')
        .values({
          id: newId('pushSubscription'),
          account_id: demo.account_id,
          actor_id: grace.id,
          key_id: '',
          endpoint: `https://push.example.com/${made++}`,
          origin: '',
          p256dh: '',
          auth: '',
        })
        .execute(),
    token: grace.access_token,
    version: '1.2.harbor',
    rows: 6,
  },
  {
    name: 'list_conversation_views',
    path: '/v1/messaging/views',
    filters: [''],
    add: () =>
      app.database.kysely
        .insertInto('conversation_views')
        .values({
          id: newId('conversationView'),
          account_id: demo.account_id,
          actor_id: grace.id,
          name: `View ${made++}`,
          filters: '{"order":"waiting"}',
        })
        .execute(),
    token: grace.access_token,
    version: '1.4.harbor',
    rows: 6,
  },
  {
    name: 'list_installation_accounts',
    path: '/v1/installation/accounts',
    filters: ['', 'q=page'],
    add: () => app.database.transaction((tx) => createAccount(tx, { name: `Page ${made++}` })),
    token: operator.key,
    version: NEWEST_VERSION,
    rows: 6,
  },
  {
    name: 'list_installation_identity_providers',
    path: `/v1/installation/accounts/${demo.account_id}/identity-providers`,
    filters: ['', 'q=page'],
    add: addProvider,
    token: operator.key,
    version: NEWEST_VERSION,
    rows: 6,
  },
  {
    name: 'list_push_apps',
    path: '/v1/push-apps',
    filters: ['', 'q=page'],
    add: () =>
      app.database.kysely
        .insertInto('push_apps')
        .values({
          id: newId('pushApp'),
          account_id: demo.account_id,
          name: 'Page',
          platform: 'fcm',
          identifier: `page-${made++}`,
          credential: Buffer.alloc(0),
          created_by: ada.id,
        })
        .execute(),
    version: NEWEST_VERSION,
    rows: 6,
  },
  {
    name: 'list_push_devices',
    path: '/v1/messaging/push-devices',
    filters: [''],
    add: async () => {
      const appId = newId('pushApp');
      await app.database.kysely
        .insertInto('push_apps')
        .values({
          id: appId,
          account_id: demo.account_id,
          name: 'Phone',
          platform: 'fcm',
          identifier: 'phone',
          credential: Buffer.alloc(0),
          created_by: ada.id,
        })
        .execute();
      await app.database.kysely
        .insertInto('push_devices')
        .values({
          id: newId('pushDevice'),
          account_id: demo.account_id,
          actor_id: grace.id,
          app_id: appId,
          token: `token ${made++}`,
          origin: '',
        })
        .execute();
    },
    token: grace.access_token,
    version: NEWEST_VERSION,
    rows: 6,
  },
  {
    name: 'list_identity_providers',
    path: '/v1/identity-providers',
    filters: ['', 'q=page'],
    add: addProvider,
    version: NEWEST_VERSION,
    rows: 6,
  },
  {
    name: 'list_widgets',
    path: '/v1/widgets',
    filters: ['', 'q=page'],
    add: () =>
      app.database.kysely
        .insertInto('widgets')
        .values({
          id: newId('widget'),
          account_id: demo.account_id,
          name: 'Page',
          sites: ['https://shop.example'],
          created_by: ada.id,
        })
        .execute(),
    version: NEWEST_VERSION,
    rows: 6,
  },
  {
    name: 'list_imports',
    path: '/v1/imports',
    filters: [''],
    add: () => addImport(),
    version: NEWEST_VERSION,
    rows: 6,
  },
  {
    name: 'list_import_remarks',
    path: `/v1/imports/${busyImport}/remarks`,
    filters: ['', 'type=files', 'type=files&reason=file_unavailable'],
    add: () =>
      app.database.kysely
        .insertInto('import_remarks')
        .values({
          import_id: busyImport,
          record: made,
          item: 0,
          type: 'files',
          reason: 'file_unavailable',
          count: 1,
          detail: 'The file is gone.',
          place: `page ${made++}`,
        })
        .execute(),
    version: NEWEST_VERSION,
    rows: 6,
  },
];

/** Without pages, or with the same rows always. */
const NOT_GROWING = ['list_tools', 'list_presence', 'list_actors'];

t.test('every list that can grow is here', async (t) => {
  const lists = app.routes.filter(({ name }) => name.startsWith('list_') && !NOT_GROWING.includes(name));
  t.strictSame(lists.map(({ name }) => name).sort(), SUBJECTS.map(({ name }) => name).sort());
});

for (const subject of SUBJECTS) {
  t.test(subject.name, async (t) => {
    for (let n = 0; n < subject.rows; n++) await subject.add();
    for (const [seed, filter] of subject.filters.entries()) {
      const random = new Random(seed + 1);
      const initial = (await fetchPage(subject, `${subject.path}?limit=100&${filter}`)).data.map(idOf);
      t.ok(initial.length >= subject.rows, `${filter}: ${initial.length} rows`);
      const limit = 1 + random.below(4);
      const what = `${subject.name} ${filter}, ${limit} a page`;

      let page = await fetchPage(subject, `${subject.path}?limit=${limit}&${filter}`);
      const forth = page.data.map(idOf);
      while (page.page_info.next_page_url !== null) {
        if (random.below(3) === 0) await subject.add();
        page = await fetchPage(subject, page.page_info.next_page_url);
        forth.push(...page.data.map(idOf));
      }
      t.strictSame(only(initial, forth), initial, `${what}, forth`);

      const back = page.data.map(idOf).reverse();
      while (page.page_info.previous_page_url !== null) {
        if (random.below(3) === 0) await subject.add();
        page = await fetchPage(subject, page.page_info.previous_page_url);
        back.push(...page.data.map(idOf).reverse());
      }
      t.strictSame(only(initial, back).reverse(), initial, `${what}, back`);
      t.equal(new Set(back).size, back.length, `${what}: nothing twice`);
    }
  });
}

/**
 * Occurrences, revisions, reactions, pins and remarks have no id: they are identified by their
 * time, number, emoji, message and place.
 */
interface Item {
  readonly id?: string;
  readonly due_at?: string;
  readonly revision?: number;
  readonly emoji?: string;
  readonly message?: { readonly id: string };
  readonly place?: string;
}

function only(initial: readonly string[], ids: readonly string[]): string[] {
  return ids.filter((id) => initial.includes(id));
}

function idOf({ id, message, due_at, emoji, place, revision }: Item): string {
  return id ?? message?.id ?? due_at ?? emoji ?? place ?? String(revision);
}

async function fetchPage(
  { token, version = demo.service_version }: Subject,
  url: string,
): Promise<List<Item>> {
  const { status, body, text } = await app.call<List<Item>>('GET', url, {
    token: token ?? demo.api_key,
    headers: { 'Service-Version': version },
  });
  if (status !== 200) throw new Error(`${url}: ${text}`);
  return body;
}

async function create(path: string, body: object, headers = {}): Promise<string> {
  const answer = await app.call<{ id: string }>('POST', path, { body, headers });
  if (answer.status !== 201) throw new Error(`${path}: ${answer.text}`);
  return answer.body.id;
}

async function addSession(): Promise<void> {
  const { status } = await app.call('POST', '/v1/auth/tokens', { body: { user_id: grace.id } });
  if (status !== 201) throw new Error('grace cannot sign in');
}

async function renameBusy(): Promise<void> {
  const body = { title: `Busy ${made++}` };
  const { status } = await app.call('PATCH', `/v1/messaging/conversations/${busy}`, { body });
  if (status !== 200) throw new Error('the title cannot be changed');
}

/** Disabled, so that nothing is sent to it. */
function addProvider() {
  return app.database.kysely
    .insertInto('identity_providers')
    .values({
      id: newId('identityProvider'),
      account_id: demo.account_id,
      name: 'Page',
      audience: ['page'],
      issuer: `https://login.example.com/${made++}`,
      jwks_url: 'https://login.example.com/keys',
      algorithms: ['RS256'],
      created_by: ada.id,
    })
    .execute();
}

async function addWebhook(): Promise<string> {
  const { id } = await app.database.kysely
    .insertInto('webhooks')
    .values({
      id: newId('webhook'),
      account_id: demo.account_id,
      url: 'https://example.com/',
      version: '1.1.harbor',
      event_types: ['message.created'],
      status: 'disabled',
      secret: Buffer.alloc(24),
      created_by: ada.id,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

async function sendFile(): Promise<void> {
  const filename = `page ${made++}.txt`;
  const { body } = await app.call<{ url: string; headers: Record<string, string>; s3_key: string }>(
    'POST',
    '/v1/messaging/attachments/upload-url',
    { body: { filename, content_type: 'text/plain', size_bytes: 2 } },
  );
  await fetch(body.url, { method: 'PUT', headers: body.headers, body: 'hi' });
  await create(`/v1/messaging/conversations/${held}/messages`, {
    client_message_id: newId('message'),
    attachments: [{ kind: 'file', s3_key: body.s3_key }],
  });
}

/** A run that has ended, of a conversation. */
async function addRun(): Promise<void> {
  const id = newId('agentRun');
  const { actor_id } = await app.database.kysely
    .selectFrom('agent_definitions')
    .select('actor_id')
    .where('id', '=', busyAgent)
    .executeTakeFirstOrThrow();
  await app.database.kysely
    .insertInto('agent_runs')
    .values({
      id,
      account_id: demo.account_id,
      agent_id: busyAgent,
      actor_id,
      trigger_key: id,
      trigger_type: 'chat',
      status: 'completed',
      conversation_id: busy,
      completed_at: new Date().toISOString(),
    })
    .execute();
}

/** A job that has ended, so that no node takes it. */
async function addComplianceJob(
  noun: 'export' | 'erasure',
  kind: 'conversation_export' | 'user_erasure',
): Promise<void> {
  await app.database.kysely
    .insertInto('compliance_jobs')
    .values({
      id: newId(noun),
      account_id: demo.account_id,
      kind,
      subject_id: busy,
      requested_by: ada.id,
      options: JSON.stringify({ messages: 'keep', held_conversations: [] }),
      status: 'failed',
      completed_at: new Date().toISOString(),
    })
    .execute();
}

/** An import that has ended, so that no node takes it. */
async function addImport(): Promise<string> {
  const id = newId('import');
  await app.database.kysely
    .insertInto('imports')
    .values({
      id,
      account_id: demo.account_id,
      source: 'slack',
      status: 'failed',
      size_bytes: 1,
      part_bytes: 1,
      created_by: ada.id,
      completed_at: new Date().toISOString(),
    })
    .execute();
  return id;
}

async function firstRole(): Promise<string> {
  const { body } = await app.call<List<{ id: string }>>('GET', '/v1/roles?q=viewer');
  return body.data[0]!.id;
}

async function notificationsOfGrace(): Promise<number> {
  const rows = await app.database.kysely
    .selectFrom('notifications')
    .select('id')
    .where('recipient_id', '=', grace.id)
    .execute();
  return rows.length;
}
