/**
 * Readers × conversations × ways in: whichever endpoint shows messages or conversations, a reader
 * gets the same ones. Get Message and Get Conversation decide what a reader may read. Every
 * endpoint that shows either is classified here.
 */

import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import { PERMISSIONS } from '@parley/protocol/permissions.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { InboxSummary } from '@parley/protocol/resources/inbox.ts';
import type { SearchHit } from '@parley/protocol/resources/search-hit.ts';
import type { Work } from '@parley/protocol/resources/work.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { bodyExampleOf } from '../../src/api/documents/openapi/examples.ts';
import type { Route } from '../../src/api/pipeline/route.ts';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import { createApiKey } from '../../src/core/accounts/keys/keys.ts';
import { findRole } from '../../src/core/accounts/rights/roles.ts';
import { personWith } from '../accounts/fixture.ts';
import { Client } from '../gateway/fixture.ts';
import { Cases } from '../messages/cases.ts';
import { borrowTestApp, type CallAnswer, type CallOptions } from '../support/app.ts';
import { newAddress } from '../support/new-address.ts';
import { until } from '../support/until.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const cases = new Cases(app);

interface Reader {
  readonly name: string;
  readonly token: string;
  readonly account?: string;
  /** Without a role of the team: endpoints of the team refuse it. */
  readonly isCustomer?: true;
  /** It reads every conversation of the account by its id. It is in no direct message. */
  readonly isWhole?: true;
}

/** A word of every message. */
const WORD = 'quinquereme';
/** A word of what was written after a member was removed. */
const EDITED = 'trireme';
/** A word of the titles that Cases gives, and of the names of the users in the direct message. */
const NAME = 'pier';

const [nina, otto] = [await user('Pier Nina', 'member'), await user('Pier Otto', 'member')];
const [olga, pete, gone] = [
  await user('Olga', 'admin'),
  await user('Pete', 'member'),
  await user('Gone', 'member'),
];
const wide = await personWith(app, PERMISSIONS);
const [first, second] = [
  await cases.open({ type: 'user', actorId: nina.id }),
  await cases.open({ type: 'user', actorId: vera.id, role: 'viewer' }),
];
const [group, closed] = [
  await cases.conversation(
    'internal',
    { type: 'user', actorId: nina.id },
    { type: 'user', actorId: gone.id },
    { type: 'agent', actorId: demo.agent.actor_id },
  ),
  await cases.conversation('internal', { type: 'user', actorId: otto.id }),
];
const direct = await directOf(nina, otto);
const CONVERSATIONS = [group, closed, direct, first.id, second.id];

const READERS: readonly Reader[] = [
  { name: 'an API key', token: demo.api_key, isWhole: true },
  { name: 'an API key with the role viewer', token: await viewerKey(), isWhole: true },
  { name: 'an admin', token: ada.access_token, isWhole: true },
  { name: 'an admin that is in none', token: olga.token, isWhole: true },
  { name: 'a member', token: grace.access_token },
  { name: 'a viewer', token: vera.access_token },
  { name: 'a user of the direct message', token: nina.token },
  { name: 'a user of none', token: pete.token },
  { name: 'a user of none with every permission', token: wide.token },
  { name: 'a removed member', token: gone.token },
  { name: 'an agent', token: await app.tokenOf(demo.agent.actor_id) },
  { name: 'the customer of the first case', token: first.customerToken, isCustomer: true },
  { name: 'the customer of the second case', token: second.customerToken, isCustomer: true },
  {
    name: 'a key of another account',
    token: demo.other_account.api_key,
    account: demo.other_account.account_id,
  },
];

interface Written {
  readonly id: string;
  readonly conversationId: string;
  readonly isReply: boolean;
  readonly isPinned: boolean;
  readonly hasFile: boolean;
  /** A reply belongs to it. */
  readonly root: string;
}

const written = (await Promise.all(CONVERSATIONS.map(writeInto))).flat();
await removeMember(group, gone.id);
for (const { id, conversationId } of written) {
  if (conversationId !== group) continue;
  const body = { body: `${WORD} ${EDITED}` };
  await app.call('PATCH', `/v1/messaging/messages/${id}`, { token: grace.access_token, body });
}
await until(
  async () =>
    (await database.pool.query("SELECT FROM outbox WHERE topic = 'messages.edited'")).rowCount === 0,
  { what: 'the edits' },
);

/** What a reader may read, by the ids of conversations and of sent messages. */
interface Readable {
  readonly reader: Reader;
  readonly conversations: ReadonlySet<string>;
  readonly messages: ReadonlySet<string>;
  /**
   * The same without direct messages of others that a caller of the whole account may read by their
   * ids.
   */
  readonly listed: ReadonlySet<string>;
}

/** Looks through one way in: `t` fails where it shows something else than the reader may read. */
type Way = (t: Test, readable: Readable) => Promise<void>;

const ids = (messages: readonly Written[]) => messages.map(({ id }) => id).sort();
const own = new Set(written.map(({ id }) => id));

/**
 * Of every readable conversation, the messages that fit; where it is not readable, the endpoint
 * refuses.
 */
function ofConversations(
  pathOf: (id: string) => string,
  fits: (message: Written) => boolean,
  team = false,
): Way {
  return async (t, { reader, conversations, messages }) => {
    if (team && reader.isCustomer) return;
    for (const conversationId of CONVERSATIONS) {
      const path = pathOf(conversationId);
      if (!conversations.has(conversationId)) {
        t.equal((await call(reader, path)).status, 404, `${reader.name}: ${path}`);
        continue;
      }
      const rows = await walk<{ id?: string; message_id?: string; kind?: string }>(reader, path);
      const shown = rows.map(({ id, message_id }) => message_id ?? id!).filter((id) => own.has(id));
      const wanted = written.filter(
        (one) => one.conversationId === conversationId && messages.has(one.id) && fits(one),
      );
      t.strictSame(shown.sort(), ids(wanted), `${reader.name}: ${path}`);
    }
  };
}

const replies: Way = async (t, { reader, messages }) => {
  for (const root of new Set(written.map((one) => one.root))) {
    const path = `/v1/messaging/messages/${root}/replies`;
    if (!messages.has(root)) {
      t.equal((await call(reader, path)).status, 404, `${reader.name}: ${path}`);
      continue;
    }
    const shown = (await walk<ChatMessage>(reader, path)).map(({ id }) => id);
    const wanted = written.filter((one) => one.isReply && one.root === root && messages.has(one.id));
    t.strictSame(shown.sort(), ids(wanted), `${reader.name}: ${path}`);
  }
};

const inbox: Way = async (t, { reader, conversations, listed, messages }) => {
  const shownBy = async (query: string) => {
    const rows = await walk<Conversation>(reader, `/v1/messaging/conversations?${query}`);
    for (const { id, last_message } of rows) {
      const last = last_message as ChatMessage | null | undefined;
      if (last && own.has(last.id)) t.ok(messages.has(last.id), `${reader.name}: last message of ${id}`);
    }
    return rows.map(({ id }) => id).filter((id) => CONVERSATIONS.includes(id));
  };
  const wanted = [...listed].sort();
  for (const query of [
    'include[]=last_message',
    'order=activity&include[]=last_message',
    'order=activity&filter=unread',
  ]) {
    const shown = (await shownBy(query)).sort();
    if (query.endsWith('unread'))
      t.ok(
        shown.every((id) => listed.has(id)),
        `${reader.name}: ${query}`,
      );
    else t.strictSame(shown, wanted, `${reader.name}: ${query}`);
  }
  if (conversations.size === listed.size) return;
  t.strictSame((await shownBy('direct=all')).sort(), [...conversations].sort(), `${reader.name}: direct=all`);
};

const summary: Way = async (t, { reader, listed }) => {
  const { body } = await call<InboxSummary>(reader, '/v1/messaging/conversations/summary');
  const shown = (body.latest ?? [])
    .map(({ conversation_id: id }) => id)
    .filter((id) => CONVERSATIONS.includes(id));
  t.ok(
    shown.every((id) => listed.has(id)),
    `${reader.name}: the summary`,
  );
};

const work: Way = async (t, { reader, listed }) => {
  const { body } = await call<Partial<Work>>(reader, '/v1/messaging/work');
  const shown = [...(body.unassigned ?? []), ...(body.mine ?? [])].map(({ id }) => id);
  t.ok(
    shown.every((id) => listed.has(id) || !CONVERSATIONS.includes(id)),
    `${reader.name}: the work`,
  );
};

const search: Way = async (t, { reader, conversations, listed, messages }) => {
  const found = async (query: string) =>
    (await walk<SearchHit>(reader, `/v1/messaging/search?${query}`))
      .map(({ message, conversation }) => message?.id ?? conversation!.id)
      .filter((id) => own.has(id) || CONVERSATIONS.includes(id))
      .sort();
  const readable = written.filter(({ id }) => messages.has(id));
  const inLists = readable.filter(({ conversationId }) => listed.has(conversationId));
  t.strictSame(await found(`q=${WORD}`), ids(inLists), `${reader.name}: search`);
  const withFile = inLists.filter(({ hasFile }) => hasFile);
  t.strictSame(await found(`q=${WORD}&has=file`), ids(withFile), `${reader.name}: search for files`);
  // Customers find no conversation by the names of its members.
  const byName = await found(`q=${NAME}&type=conversations`);
  t.strictSame(byName, [...listed].sort(), `${reader.name}: search for conversations`);
  for (const id of CONVERSATIONS) {
    const query = `q=${WORD}&conversation_id=${id}`;
    if (!conversations.has(id)) {
      t.equal((await call(reader, `/v1/messaging/search?${query}`)).status, 400, `${reader.name}: ${query}`);
      continue;
    }
    const wanted = readable.filter(({ conversationId }) => conversationId === id);
    t.strictSame(await found(query), ids(wanted), `${reader.name}: ${query}`);
  }
};

const notifications: Way = async (t, { reader, messages }) => {
  if (reader.isCustomer) return;
  const rows = await walk<{ message_id: string | null }>(reader, '/v1/messaging/notifications');
  const shown = rows.flatMap(({ message_id: id }) => (id !== null && own.has(id) ? [id] : []));
  // Its feed keeps what it was notified of as a member.
  if (reader.token === gone.token) {
    t.ok(shown.length > 0);
    t.notOk(JSON.stringify(rows).includes(EDITED), 'not what was written since');
    return;
  }
  t.strictSame(
    shown.filter((id) => !messages.has(id)),
    [],
    `${reader.name}: notifications`,
  );
};

/** Not only endpoints show messages. */
const socket: Way = async (t, { reader, conversations, messages }) => {
  const headers = {
    Authorization: `Bearer ${reader.token}`,
    'Service-Version': NEWEST_VERSION,
    'Service-Account': reader.account ?? demo.account_id,
  };
  const client = new Client(new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
  await client.frame('ready');
  for (const id of CONVERSATIONS) {
    client.send({ type: 'subscribe', id, conversation_id: id, after_sequence: 0 });
    const reply = await client.frame((frame) => frame.type === 'reply' && frame.id === id);
    t.equal(reply.ok, conversations.has(id), `${reader.name}: subscribe`);
    if (reply.ok) await client.frame((frame) => frame.type === 'caught_up' && frame.conversation_id === id);
  }
  const shown = client.frames
    .flatMap(({ event, data }) => (event === 'message.created' ? [String(data?.id)] : []))
    .filter((id) => own.has(id));
  t.strictSame(shown.sort(), ids(written.filter(({ id }) => messages.has(id))), `${reader.name}: replay`);
  client.close();
};

const BY_ID =
  'It names a conversation or message, which is refused like an absent one where it may not be read.';
const OWN = 'It names the caller’s own notification, which the list shows.';
const RUN =
  'A run names its conversation, and only readers of that see it (test/agents/runs-contract.test.ts).';
const COMPLAINTS = 'It is about an address, for those who read customers, and has the id of a case alone.';
const WEBHOOKS =
  'It is for those that may have every event of the account sent, with include_direct where they want it.';

/**
 * Endpoints that show messages or conversations, or name them: how they are looked through, or why
 * they are not.
 */
const ENDPOINTS: Readonly<Record<string, Way | string>> = {
  list_conversations: inbox,
  get_inbox_summary: summary,
  get_work: work,
  search,
  list_messages: ofConversations(
    (id) => `/v1/messaging/conversations/${id}/messages`,
    () => true,
  ),
  list_replies: replies,
  list_pins: ofConversations(
    (id) => `/v1/messaging/conversations/${id}/pins`,
    ({ isPinned }) => isPinned,
    true,
  ),
  list_conversation_files: ofConversations(
    (id) => `/v1/messaging/conversations/${id}/files`,
    ({ hasFile }) => hasFile,
  ),
  list_notifications: notifications,
  list_conversation_audit: BY_ID,
  list_message_revisions: BY_ID,
  list_reactions: BY_ID,
  get_message_outcome: BY_ID,
  get_conversation_email: BY_ID,
  get_message_email: BY_ID,
  get_conversation: 'It says what is readable.',
  get_message: 'It says what is readable.',
  create_conversation: 'It shows what it has made, or the direct message of the caller.',
  create_alert: 'It shows what it has sent; a conversation in its body is one that the caller names.',
  create_notifications: 'They are about no message.',
  mark_all_conversations_read: 'It answers with the summary, which has an endpoint of its own.',
  list_account_audit: 'It is for admins, and names all conversations of the account.',
  list_email_complaints: COMPLAINTS,
  get_email_complaint: COMPLAINTS,
  delete_email_complaint: COMPLAINTS,
  trigger_agent_run: RUN,
  list_agent_runs: RUN,
  list_runs: RUN,
  get_agent_run: RUN,
  continue_agent_run: RUN,
  cancel_agent_run: RUN,
  list_webhook_deliveries: WEBHOOKS,
  get_webhook_delivery: WEBHOOKS,
  redeliver_webhook_delivery: WEBHOOKS,
  test_webhook: WEBHOOKS,
  get_webhook_completeness: WEBHOOKS,
  get_unread_answers: 'It is for customers, about their own conversations.',
  get_notification: OWN,
  see_notification: OWN,
  read_notification: OWN,
  dismiss_notification: OWN,
};

/** Endpoints that show nothing unless the one that their path names may be read. */
const NAMES_ONE = /\/v1\/messaging\/(conversations|messages)\/:id(\/|$)/;

t.test('every endpoint that shows messages or conversations is classified', async (t) => {
  const showing = app.routes.filter(({ response }) => isShown(response));
  const isKnown = ({ name, method, path }: Route) =>
    ENDPOINTS[name] !== undefined || (method !== 'GET' && NAMES_ONE.test(path));
  const unknown = showing.filter((route) => !isKnown(route));
  t.strictSame(
    unknown.map(({ name }) => name),
    [],
  );
  const names = new Set(showing.map(({ name }) => name));
  t.strictSame(
    Object.keys(ENDPOINTS).filter((name) => !names.has(name)),
    [],
    'and no other',
  );
});

t.test('what may not be read is refused like what is absent, by every endpoint that names it', async (t) => {
  const routes = app.routes.filter(({ path }) => NAMES_ONE.test(path));
  t.ok(routes.length > 30, `${routes.length} endpoints`);
  for (const { reader, conversations, messages } of await readable()) {
    const hidden = {
      conversations: CONVERSATIONS.find((id) => !conversations.has(id)),
      messages: written.find(({ id }) => !messages.has(id))?.id,
    };
    const different: string[] = [];
    for (const route of routes) {
      const kind = NAMES_ONE.exec(route.path)![1] as keyof typeof hidden;
      const id = hidden[kind];
      if (id === undefined) continue;
      const absent = newId(kind === 'conversations' ? 'conversation' : 'message');
      const told = async (named: string) => {
        const path = route.path
          .replace(':id', named)
          .replace(':participant_id', newId('participant'))
          .replace(':emoji', encodeURIComponent('👍'));
        const options =
          route.body === undefined ? {} : { body: bodyExampleOf(route.body, () => undefined, '') };
        const { status, text } = await call(reader, path, { method: route.method, ...options });
        return `${status} ${text.replaceAll(named, 'ID')}`;
      };
      const [of, none] = [await told(id), await told(absent)];
      if (of !== none || of.startsWith('2')) different.push(`${route.name}: ${of} in place of ${none}`);
    }
    t.strictSame(different, [], reader.name);
  }
});

t.test('each way in shows a reader what it may read', async (t) => {
  const all = await readable();
  const sizes = all.map(({ messages }) => messages.size);
  t.ok(new Set(sizes).size > 5, `readers differ: ${sizes}`);
  t.ok(
    all.some(({ conversations, listed }) => conversations.size > listed.size),
    'direct messages of others',
  );
  const ways = Object.entries(ENDPOINTS).flatMap(([name, way]) =>
    typeof way === 'string' ? [] : [{ name, way }],
  );
  for (const { name, way } of [...ways, { name: 'the socket', way: socket }]) {
    await t.test(name, async (t) => {
      for (const one of all) await way(t, one);
    });
  }
});

/** Asks for each conversation and message by its id. */
function readable(): Promise<readonly Readable[]> {
  known ??= Promise.all(
    READERS.map(async (reader) => {
      const conversations = new Set<string>();
      for (const id of CONVERSATIONS) {
        if ((await call(reader, `/v1/messaging/conversations/${id}`)).status === 200) conversations.add(id);
      }
      const messages = new Set<string>();
      for (const { id } of written) {
        if ((await call(reader, `/v1/messaging/messages/${id}`)).status === 200) messages.add(id);
      }
      const listed = new Set([...conversations].filter((id) => id !== direct || !reader.isWhole));
      return { reader, conversations, messages, listed };
    }),
  );
  return known;
}

let known: Promise<readonly Readable[]> | undefined;

/** Whether a schema has a message or a conversation somewhere, or names one. */
function isShown(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  const { properties, title } = schema as {
    properties?: Record<string, { const?: unknown }>;
    title?: string;
  };
  const object = properties?.object?.const ?? title;
  if (object === 'chat_message' || object === 'conversation') return true;
  if (properties?.conversation_id !== undefined || properties?.message_id !== undefined) return true;
  return Object.values(schema).some(isShown);
}

async function writeInto(conversationId: string): Promise<Written[]> {
  const isCase = conversationId === first.id || conversationId === second.id;
  const token = conversationId === direct ? nina.token : grace.access_token;
  const send = async (fields: object, as = token): Promise<string> =>
    (await cases.sent(conversationId, { body: `${WORD} ${newId('message')}`, ...fields }, { token: as })).id;
  const s3_key = await cases.upload('plan.txt');
  const file = { attachments: [{ kind: 'file', s3_key, filename: 'plan.txt', content_type: 'text/plain' }] };
  const root = await send({});
  const found: Written[] = [];
  const add = (id: string, fields: Partial<Written> = {}) =>
    found.push({ id, conversationId, isReply: false, isPinned: false, hasFile: false, root: id, ...fields });
  add(root, { isPinned: true });
  await call(READERS[0]!, `/v1/messaging/messages/${root}/actions/pin`, { method: 'POST' });
  add(await send({ reply_to_message_id: root }), { isReply: true, root });
  // The file was uploaded by grace.
  if (conversationId !== direct) add(await send(file, grace.access_token), { hasFile: true });
  if (!isCase) return found;
  const shown = await send({ audience: 'customer', channel: 'message' });
  add(shown);
  add(await send({ audience: 'customer', channel: 'message', reply_to_message_id: shown }), {
    isReply: true,
    root: shown,
  });
  return found;
}

async function walk<Row>(reader: Reader, path: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (let next: string | null = `${path}${path.includes('?') ? '&' : '?'}limit=20`; next !== null; ) {
    const answer: CallAnswer<List<Row>> = await call(reader, next);
    const { status, body, text } = answer;
    if (status !== 200) throw new Error(`${reader.name}: ${path}: ${text}`);
    rows.push(...body.data);
    next = body.page_info.next_page_url;
  }
  return rows;
}

function call<Body>(
  { token, account = demo.account_id }: Reader,
  path: string,
  { method = 'GET', ...options }: CallOptions & { readonly method?: string } = {},
) {
  const headers = { 'Service-Account': account, 'Service-Version': NEWEST_VERSION };
  return app.call<Body>(method, path, { ...options, token, headers });
}

async function user(name: string, role: 'admin' | 'member') {
  const accountId = demo.account_id;
  const { id: roleId } = await findRole(database, accountId, role);
  const email = newAddress();
  const made = await database.transaction((tx) => createUser(tx, { accountId, name, email, roleId }));
  return { id: made.user.id, token: await app.tokenOf(made.user.id) };
}

async function viewerKey(): Promise<string> {
  const accountId = demo.account_id;
  const { id: roleId } = await findRole(database, accountId, 'viewer');
  return (await database.transaction((tx) => createApiKey(tx, { accountId, name: 'Viewer', roleId }))).key;
}

async function directOf(one: { readonly token: string }, other: { readonly id: string }): Promise<string> {
  const { status, body, text } = await app.call<Conversation>('POST', '/v1/messaging/conversations', {
    token: one.token,
    body: { type: 'direct_message', participants: [{ type: 'user', actor_id: other.id }] },
  });
  if (status !== 201) throw new Error(text);
  return body.id;
}

async function removeMember(conversationId: string, actorId: string): Promise<void> {
  const { id } = await database.kysely
    .selectFrom('participants')
    .select('id')
    .where('conversation_id', '=', conversationId)
    .where('actor_id', '=', actorId)
    .executeTakeFirstOrThrow();
  const path = `/v1/messaging/conversations/${conversationId}/participants/${id}`;
  const { status, text } = await app.call('DELETE', path);
  if (status !== 200) throw new Error(text);
}
