/**
 * A message's fields about its author and times, since 1.2.harbor and before, for each reader: over
 * REST and sockets alike.
 */

import { randomUUID } from 'node:crypto';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { Client } from '../gateway/fixture.ts';
import { borrowTestApp, type CallOptions } from '../support/app.ts';
import { Cases } from './cases.ts';

const [OLDER, NEWEST] = ['1.1.harbor', '1.2.harbor'] as const;
const NEWER_FIELDS = ['sender_id', 'author_id', 'edited_by', 'sent_at', 'cc'] as const;

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace } = demo.users;
const cases = new Cases(app);

t.test('a draft that another person edited, before and after its approval', async (t) => {
  const { id, customerToken } = await cases.open();
  const sockets = await everySocket(id, customerToken);
  const draft = await cases.draft(id, { body: 'first' });
  const of = `/v1/messaging/messages/${draft.id}`;
  await app.call('PATCH', of, { body: { body: 'second' }, token: ada.access_token });
  const open = await read(draft.id, NEWEST, ada.access_token);
  t.match(open, { author_id: grace.id, edited_by: ada.id, sent_at: null, body: 'second' });
  t.match(await cases.audited(id), [
    { action: 'draft.edited', actor_id: ada.id, details: { message_id: draft.id, fields: ['body'] } },
  ]);
  // Not through the API: the case has no inbox, and no agent wrote the draft.
  await database.kysely
    .updateTable('messages')
    .set({ kind: 'agent', streaming_state: 'complete', cc: ['copy@example.net'] })
    .where('id', '=', draft.id)
    .execute();
  await app.call('POST', `${of}/actions/approve`, { token: ada.access_token });

  const team = await read(draft.id, NEWEST, grace.access_token);
  t.match(team, { kind: 'agent', author_id: grace.id, edited_by: ada.id, cc: ['copy@example.net'] });
  t.equal(team.created_at, draft.created_at);
  const approvedBy = async (version: string, token: string) =>
    (await read(draft.id, version, token)).approved_by;
  t.equal(await approvedBy(NEWEST_VERSION, grace.access_token), ada.id);
  t.equal(await approvedBy(NEWEST_VERSION, customerToken), null);
  t.equal(await approvedBy('1.3.harbor', grace.access_token), undefined);
  const sent = await cases.sent(id, {}, { headers: { 'Service-Version': NEWEST_VERSION } });
  t.equal(sent.approved_by, null, 'a message that was no draft');
  t.ok(team.sent_at! > team.edited_at! && team.edited_at! > team.created_at);
  const customer = await read(draft.id, NEWEST, customerToken);
  t.strictSame(customer, {
    ...team,
    kind: 'chat',
    streaming_state: null,
    created_at: team.sent_at,
    edited_at: null,
    mentions: null,
    author_id: null,
    edited_by: null,
    cc: null,
  });
  await agree(t, sockets, draft.id, { team: grace.access_token, customer: customerToken });

  await app.call('PATCH', of, { body: { body: 'third' }, token: grace.access_token });
  const edited = await read(draft.id, NEWEST, customerToken);
  t.ok(edited.edited_at! > edited.sent_at!, 'an edit behind the sending is shown to customers');
});

t.test('a plain send, at once and at its time', async (t) => {
  const { id, customerToken } = await cases.open();
  const sockets = await everySocket(id, customerToken);
  const key = randomUUID();
  const sent = await cases.sent(id, { audience: 'customer', client_message_id: key });
  t.equal(sent.client_message_id, key);
  const mine = await read(sent.id, NEWEST, grace.access_token);
  t.match(mine, { client_message_id: key, author_id: grace.id, edited_by: null, cc: null });
  t.equal(mine.sent_at, mine.created_at);
  t.not(mine.sender_id, grace.id, 'the persona');
  for (const [reader, token] of Object.entries({ ada: ada.access_token, key: demo.api_key, customerToken })) {
    t.equal((await read(sent.id, NEWEST, token)).client_message_id, null, reader);
  }
  await agree(t, sockets, sent.id, { team: ada.access_token, customer: customerToken });

  const question = await cases.sent(id, { body: 'Where?' }, { token: customerToken });
  const own = await read(question.id, NEWEST, customerToken);
  t.match(own, { client_message_id: question.client_message_id, kind: 'chat' });
  t.match(await read(question.id, NEWEST, grace.access_token), { client_message_id: null });

  const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
  const scheduled = await cases.sent(id, { audience: 'customer', scheduled_at: inAnHour });
  const at = new Date(Date.now() + 2_000).toISOString();
  const of = `/v1/messaging/messages/${scheduled.id}`;
  await app.call('PATCH', of, { body: { body: 'later', scheduled_at: at }, token: grace.access_token });
  const fields = { message_id: scheduled.id };
  t.match(await cases.audited(id), [
    { action: 'scheduled.edited', details: { ...fields, fields: ['body'] } },
    { action: 'scheduled.edited', details: { ...fields, fields: ['scheduled_at'] } },
  ]);
  await sockets.team.newest.frame(
    ({ event, data }) => event === 'message.created' && data?.id === scheduled.id,
  );
  const delivered = await read(scheduled.id, NEWEST, grace.access_token);
  t.match(delivered, { edited_by: grace.id, created_at: scheduled.created_at });
  t.ok(delivered.sent_at! > delivered.created_at);
  const shown = await read(scheduled.id, NEWEST, customerToken);
  t.match(shown, { kind: 'chat', scheduled_at: null, created_at: delivered.sent_at });
  await agree(t, sockets, scheduled.id, { team: ada.access_token, customer: customerToken });
});

t.test('rows from before the column show only what is certain about their edits', async (t) => {
  const { id } = await cases.open();
  const [sent, draft] = [await cases.sent(id), await cases.draft(id)];
  for (const row of [sent, draft]) {
    await app.call('PATCH', `/v1/messaging/messages/${row.id}`, {
      body: { body: 'again' },
      token: grace.access_token,
    });
    await database.kysely.updateTable('messages').set({ edited_by: null }).where('id', '=', row.id).execute();
  }
  t.equal((await read(sent.id, NEWEST, grace.access_token)).edited_by, grace.id, 'only its author could');
  t.equal((await read(draft.id, NEWEST, grace.access_token)).edited_by, null, 'it may have been anybody');
});

t.test('nested messages, pages and replays have the form of the version too', async (t) => {
  const { id } = await cases.open();
  const path = `/v1/messaging/conversations/${id}`;
  const [first] = [await cases.sent(id)];
  const body = { body: 'answer', client_message_id: randomUUID(), reply_to_message_id: first.id };
  const post = (version: string) =>
    app.call<ChatMessage>('POST', `${path}/messages`, {
      body,
      token: grace.access_token,
      headers: { 'Service-Version': version, 'Idempotency-Key': body.client_message_id },
    });
  const answered = await post(OLDER);
  const replayed = await post(NEWEST);
  t.equal(replayed.headers.get('Idempotent-Replayed'), 'true');
  t.match(replayed.body, answered.body);
  t.ok('sender_id' in replayed.body && !('sender_id' in answered.body), 'each in the form of its version');
  t.equal((await post(OLDER)).text, answered.text, 'byte for byte where the version is the same');
  for (const version of [OLDER, NEWEST] as const) {
    const get = async <T>(query: string) =>
      (await app.call<T>('GET', `${path}${query}`, asOf(version, grace.access_token))).body;
    const page = await get<List<ChatMessage>>('/messages?include[]=reply_to&include[]=conversation');
    const { last_message } = await get<Conversation>('?include[]=last_message');
    const shown = [...page.data, page.data[0]!.reply_to as ChatMessage, last_message as ChatMessage];
    t.equal(shown.length, 4);
    for (const message of shown) {
      t.strictSame(
        NEWER_FIELDS.filter((field) => field in message),
        version === NEWEST ? NEWER_FIELDS : [],
        version,
      );
    }
  }
});

t.test('replays over sockets have the form of the version too', async (t) => {
  const { id, customerToken } = await cases.open();
  const sent = await cases.sent(id, { audience: 'customer' });
  const { team, customer } = await everySocket(id, customerToken, 0);
  await agree(t, { team, customer }, sent.id, { team: ada.access_token, customer: customerToken });
});

function asOf(version: string, token: string): CallOptions {
  return { token, headers: { 'Service-Version': version } };
}

async function read(id: string, version: string, token: string, query = ''): Promise<ChatMessage> {
  const { status, text, body } = await app.call<ChatMessage>(
    'GET',
    `/v1/messaging/messages/${id}?${query}`,
    asOf(version, token),
  );
  if (status !== 200) throw new Error(text);
  return body;
}

interface Pair {
  readonly older: Client;
  readonly newest: Client;
}

/** Sockets of both versions that are subscribed, for the team (ada) and for the customer. */
async function everySocket(conversationId: string, customerToken: string, after?: number) {
  const open = async (token: string, version: string): Promise<Client> => {
    const socket = new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, {
      headers: {
        Authorization: `Bearer ${token}`,
        'Service-Version': version,
        'Service-Account': demo.account_id,
      },
    });
    t.teardown(() => socket.terminate());
    const client = new Client(socket);
    await client.frame('ready');
    await client.request('subscribe', { conversation_id: conversationId, after_sequence: after });
    await client.frame('caught_up');
    return client;
  };
  const pair = async (token: string): Promise<Pair> => ({
    older: await open(token, OLDER),
    newest: await open(token, NEWEST),
  });
  return { team: await pair(ada.access_token), customer: await pair(customerToken) };
}

/**
 * Checks that the events of a message equal what REST returns to the same reader in the same
 * version.
 */
async function agree(
  t: Test,
  sockets: Readonly<Record<'team' | 'customer', Pair>>,
  id: string,
  tokens: Readonly<Record<'team' | 'customer', string>>,
): Promise<void> {
  for (const audience of ['team', 'customer'] as const) {
    const versions = { older: OLDER, newest: NEWEST } as const;
    for (const [form, version] of Object.entries(versions) as [keyof Pair, string][]) {
      const { data } = await sockets[audience][form].frame(
        ({ event, data }) => event === 'message.created' && data?.id === id,
      );
      const query = 'include[]=sender&include[]=attachments';
      const shown = await read(id, version, tokens[audience], query);
      // A frame goes to the whole audience, the author included.
      t.strictSame(data, { ...shown, client_message_id: null }, `${audience}, ${version}`);
    }
  }
}
