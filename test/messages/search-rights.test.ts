/**
 * Readers × messages × states: a search finds exactly what the reader may read message by message.
 * Get Message, which has its own statements and rules, decides what a reader may read.
 */

import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { SearchHit } from '@parley/protocol/resources/search-hit.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t, { type Test } from 'tap';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import { createApiKey } from '../../src/core/accounts/keys/keys.ts';
import { findRole } from '../../src/core/accounts/rights/roles.ts';
import { purgePrefix } from '../../src/features/compliance/purge.ts';
import { borrowTestApp, type CallAnswer } from '../support/app.ts';
import { Random } from '../support/random.ts';
import { until } from '../support/until.ts';
import { Cases } from './cases.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
Object.assign(demo, { service_version: NEWEST_VERSION });
const { ada, grace, vera } = demo.users;
const cases = new Cases(app);
const random = new Random(29);

/** Every message has it. */
const WORD = 'quinquereme';

interface Reader {
  readonly name: string;
  readonly token: string;
  readonly account?: string;
  /**
   * The reader reads conversations that it is not in, but finds direct messages of others only
   * where it names them.
   */
  readonly isWhole?: true;
}

interface Written {
  readonly id: string;
  readonly conversationId: string;
}

const member = async (name: string, slug: 'admin' | 'member' = 'member') => {
  const accountId = demo.account_id;
  const role = await findRole(database, accountId, slug);
  const email = `${name}@example.com`;
  const { user } = await database.transaction((tx) =>
    createUser(tx, { accountId, name, email, roleId: role.id }),
  );
  return { id: user.id, token: await app.tokenOf(user.id) };
};
const [nina, otto] = [await member('nina'), await member('otto')];
const olga = await member('olga', 'admin');
const viewer = await findRole(database, demo.account_id, 'viewer');
const { key: viewerKey } = await database.transaction((tx) =>
  createApiKey(tx, { accountId: demo.account_id, name: 'Viewer', roleId: viewer.id }),
);
const [first, second] = [
  await cases.open({ type: 'user', actorId: nina.id }),
  await cases.open({ type: 'user', actorId: vera.id, role: 'viewer' }),
];

const READERS: readonly Reader[] = [
  { name: 'an API key', token: demo.api_key, isWhole: true },
  { name: 'an API key with the role viewer', token: viewerKey, isWhole: true },
  { name: 'an admin', token: ada.access_token, isWhole: true },
  { name: 'an admin that is in none', token: olga.token, isWhole: true },
  { name: 'a member', token: grace.access_token },
  { name: 'a viewer', token: vera.access_token },
  { name: 'a user of some', token: nina.token },
  { name: 'a user of none', token: otto.token },
  { name: 'the customer of the first case', token: first.customerToken },
  { name: 'the customer of the second case', token: second.customerToken },
  { name: 'the customer of the demo', token: demo.customer.access_token },
  { name: 'an agent', token: await app.tokenOf(demo.agent.actor_id) },
  {
    name: 'a key of another account',
    token: demo.other_account.api_key,
    account: demo.other_account.account_id,
  },
];

const DIRECT = await directOf(grace.access_token, nina.id);
const CONVERSATIONS = [
  await cases.conversation(
    'internal',
    { type: 'user', actorId: nina.id },
    { type: 'user', actorId: vera.id },
  ),
  await cases.conversation('internal', { type: 'agent', actorId: demo.agent.actor_id }),
  DIRECT,
  first.id,
  second.id,
  demo.conversations.case,
];

t.test('what is found is what may be read, in each state', async (t) => {
  const written: Written[] = [];
  for (const conversationId of CONVERSATIONS) written.push(...(await writeInto(conversationId)));
  let cells = await compare(t, written, 'at once');
  await indexed();
  cells += await compare(t, written, 'indexed');

  const sent = await Promise.all(written.map(({ id }) => stateOf(id)));
  const changing = written.filter((_, index) => sent[index] === 'sent');
  for (const [index, { id, conversationId }] of changing.entries()) {
    if (index % 3 !== 0) continue;
    const path = `/v1/messaging/messages/${id}`;
    const act = random.below(4);
    const as = conversationId === DIRECT ? grace.access_token : demo.api_key;
    if (act === 0) await app.call('DELETE', path, { token: as });
    else if (act === 1) await app.call('POST', `${path}/actions/redact`, { body: { reason: 'spam' } });
    else await app.call('PATCH', path, { token: grace.access_token, body: { body: `other words ${index}` } });
  }
  const [open, withAgent] = CONVERSATIONS;
  await database.transaction((tx) => purgePrefix(tx, open!, 4));
  await app.call('DELETE', `/v1/messaging/conversations/${withAgent}`);
  await leave(open!, nina.id);
  await leave(second.id, vera.id);
  await app.call('POST', `/v1/messaging/conversations/${first.id}/actions/hide`, { token: nina.token });
  cells += await compare(t, written, 'changed');
  await indexed();
  cells += await compare(t, written, 'changed and indexed');
  await app.call('POST', `/v1/messaging/conversations/${withAgent}/actions/restore`);
  cells += await compare(t, written, 'restored');
  t.ok(cells >= 2_000, `${cells} cells`);
});

t.test('no filter by author tells a customer which person is behind the persona', async (t) => {
  const authors = [ada.id, grace.id, nina.id, vera.id, demo.agent.actor_id, demo.agent.id];
  for (const reader of READERS.filter(({ name }) => name.startsWith('the customer'))) {
    const whole = await found(reader);
    for (const author of authors) t.strictSame([...(await found(reader, { author_id: author })).keys()], []);
    const senders = new Set([...whole.values()].map(({ message }) => message!.sender_id!));
    const bySender = await Promise.all([...senders].map((id) => found(reader, { author_id: id })));
    t.same(new Set(bySender.flatMap((hits) => [...hits.keys()])), new Set(whole.keys()));
    const shown = JSON.stringify([...whole.values()]);
    for (const author of authors) t.notOk(shown.includes(author), `${reader.name} sees ${author}`);
  }
});

/** Returns how many cells were compared. */
async function compare(t: Test, written: readonly Written[], when: string): Promise<number> {
  for (const reader of READERS) {
    const expected: string[] = [];
    await inParallel(written, async ({ id, conversationId }) => {
      if (reader.isWhole && conversationId === DIRECT) return;
      const { status, body } = await call<ChatMessage>(reader, `/v1/messaging/messages/${id}`);
      if (status === 200 && body.status === 'sent' && body.body?.includes(WORD)) expected.push(id);
    });
    const hits = await found(reader);
    t.strictSame([...hits.keys()].sort(), expected.sort(), `${reader.name}, ${when}`);
    for (const { message, highlights } of hits.values()) {
      const [{ text, ranges }] = highlights as [SearchHit['highlights'][number]];
      const marked = ranges.map(({ start, end }) => text.slice(start, end));
      if (!marked.includes(WORD) || !message!.body!.includes(text)) t.fail(`highlights of ${message!.id}`);
    }
  }
  return READERS.length * written.length;
}

/** Messages of every kind and state that Get Message may show. */
async function writeInto(conversationId: string): Promise<Written[]> {
  const isCase = [first.id, second.id, demo.conversations.case].includes(conversationId);
  const to = { audience: 'customer', channel: 'message' };
  const write = (fields: object = {}, token = grace.access_token) =>
    cases.send(
      conversationId,
      { body: `${WORD} ${newId('message')}`, client_message_id: newId('message'), ...fields },
      { token },
    );
  const future = new Date(Date.now() + 86_400_000).toISOString();
  const answers = [
    ...(await Promise.all(Array.from({ length: 5 }, () => write()))),
    await write({ scheduled_at: future }),
    ...(isCase ? [await write(to), await write({ ...to, mode: 'draft' })] : []),
    ...(conversationId === first.id ? [await write({}, first.customerToken)] : []),
    ...(conversationId === DIRECT ? [await write({}, nina.token)] : [await write({}, ada.access_token)]),
  ];
  return answers.flatMap(({ status, body }) => {
    const { id } = body as unknown as ChatMessage;
    return status === 201 ? [{ id, conversationId }] : [];
  });
}

async function found(
  reader: Reader,
  filters: Readonly<Record<string, string>> = {},
): Promise<ReadonlyMap<string, SearchHit>> {
  const hits = new Map<string, SearchHit>();
  let path: string | null =
    `/v1/messaging/search?${new URLSearchParams({ q: WORD, limit: '20', ...filters })}`;
  while (path !== null) {
    const answer: CallAnswer<List<SearchHit>> = await call(reader, path);
    const { body } = answer;
    if (answer.status !== 200) throw new Error(answer.text);
    for (const hit of body.data) {
      if (hits.has(hit.message!.id)) throw new Error(`${hit.message!.id} comes twice`);
      hits.set(hit.message!.id, hit);
    }
    path = body.page_info.next_page_url;
  }
  return hits;
}

function call<Body>({ token, account = demo.account_id }: Reader, path: string): Promise<CallAnswer<Body>> {
  return app.call<Body>('GET', path, { token, headers: { 'Service-Account': account } });
}

async function stateOf(id: string): Promise<string> {
  const { body } = await app.call<ChatMessage>('GET', `/v1/messaging/messages/${id}`);
  return body.status;
}

async function directOf(token: string, other: string): Promise<string> {
  const { status, body, text } = await app.call<{ id: string }>('POST', '/v1/messaging/conversations', {
    token,
    body: { type: 'direct_message', participants: [{ type: 'user', actor_id: other }] },
  });
  if (status !== 201) throw new Error(text);
  return body.id;
}

async function leave(conversationId: string, actorId: string): Promise<void> {
  const { rows } = await database.pool.query<{ id: string }>(
    'SELECT id FROM participants WHERE conversation_id = $1 AND actor_id = $2',
    [conversationId, actorId],
  );
  const path = `/v1/messaging/conversations/${conversationId}/participants/${rows[0]!.id}`;
  const { status, text } = await app.call<unknown>('DELETE', path);
  if (status >= 300) throw new Error(text);
}

async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  const lane = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}

async function indexed(): Promise<void> {
  const waiting = 'SELECT FROM outbox UNION ALL SELECT FROM search_notes';
  await until(async () => (await database.pool.query(waiting)).rowCount === 0, { what: 'all is indexed' });
}
