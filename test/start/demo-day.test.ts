/**
 * The day of conversations that `npm start` gives the demo account: for every reader it looks like
 * a day that took place.
 */

import { join } from 'node:path';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Email } from '@parley/protocol/resources/email.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import { CURRENT_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { Tokens } from '../../src/api/access/tokens.ts';
import { seedDay } from '../../src/app/demo/day.ts';
import { DAY, LAUNCH } from '../../src/app/demo/day-content.ts';
import { openShop } from '../../src/app/demo/shop.ts';
import { demoFilePath, seedDemo } from '../../src/app/demo.ts';
import { HOOKS } from '../../src/app/features.ts';
import { openObjectStore } from '../../src/core/attachments/open-store.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { createLog } from '../../src/platform/log.ts';
import { callsAt, startTestApp, type TestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { visitorsOf } from '../widgets/fixture.ts';

const app = await startTestApp(t, { PARLEY_DEMO_DAY: 'on' });
const { call } = callsAt(app, CURRENT_VERSION);
const { ada, grace } = app.demo.users;
const TITLES = DAY.map(({ title }) => title).sort();

await until(async () => (await conversationsOf(ada.access_token)).has(LAUNCH), { what: 'the day' });
await until(async () => (await effectsOf(app)) === 0, { what: 'its effects' });
const conversations = await conversationsOf(ada.access_token);

t.test('conversations of their own, beside those of demo.json, which stay empty', async (t) => {
  t.strictSame([...conversations.keys()].filter((title) => TITLES.includes(title)).sort(), TITLES);
  const { group, direct, case: supportCase } = app.demo.conversations;
  for (const id of [group, direct, supportCase, app.demo.inbox.conversation]) {
    const { body } = await call<Conversation>(
      'GET',
      `/v1/messaging/conversations/${id}?include[]=last_message`,
    );
    t.match(body, { last_message: null, last_message_at: null, unread: 0 });
    t.notOk(TITLES.includes(body.title ?? ''));
  }
  const customers = await call<List<Conversation>>('GET', '/v1/messaging/conversations', {
    token: app.demo.customer.access_token,
  });
  t.strictSame(
    customers.body.data.map(({ id }) => id),
    [supportCase],
  );
});

t.test(
  'the list begins with the conversations of the day, and those without a message are last',
  async (t) => {
    for (const { access_token } of [ada, grace]) {
      const listed = [...(await conversationsOf(access_token)).values()];
      t.strictSame(
        listed.map(({ title }) => TITLES.includes(title ?? '')),
        [...TITLES.map(() => true), ...listed.slice(TITLES.length).map(() => false)],
      );
      t.ok(listed.length > TITLES.length);
    }
  },
);

t.test(
  'about forty messages of one day, numbered without a gap and in the order of their times',
  async (t) => {
    let total = 0;
    for (const { title, messages: said } of DAY) {
      const messages = await messagesIn(title);
      t.strictSame(
        messages.map(({ sequence, body }) => [sequence, body]),
        said.map(({ text }, index) => [index + 1, text]),
        title,
      );
      const times = messages.map(({ created_at: at }) => at);
      t.strictSame(times, times.toSorted(), 'older ones first');
      const ageMs = Date.now() - Date.parse(times[0]!);
      t.ok(ageMs > 3_600_000 && ageMs < 86_400_000, 'within the last day');
      const { last_message_at: last, created_at: began } = conversations.get(title)!;
      t.equal(last, times.at(-1));
      t.ok(began < times[0]!, 'the conversation is older than its first message');
      total += messages.length;
    }
    t.ok(total >= 35 && total <= 50, String(total));
  },
);

t.test('a thread, reactions, a pin and pictures', async (t) => {
  const messages = await messagesIn(LAUNCH);
  const plan = messages.find(({ body }) => body?.startsWith('Plan for the week'))!;
  const replies = await call<List<ChatMessage>>('GET', `/v1/messaging/messages/${plan.id}/replies`);
  t.equal(replies.body.data.length, 3);
  t.match(plan.reactions, [{ emoji: '👍', count: 1 }]);
  const pins = await call<List<object>>(
    'GET',
    `/v1/messaging/conversations/${conversations.get(LAUNCH)!.id}/pins`,
  );
  t.match(pins.body.data, [{ message_id: plan.id, pinned_by: ada.id }]);

  const pictures = (await Promise.all(TITLES.map(messagesIn)))
    .flat()
    .flatMap(({ attachments }) => attachments ?? []);
  t.equal(pictures.length, 3);
  for (const { kind, url, size_bytes: size } of pictures) {
    const response = await fetch(url!);
    t.equal(kind, 'image');
    t.equal(response.headers.get('content-type'), 'image/png');
    t.equal((await response.arrayBuffer()).byteLength, size);
  }
});

t.test('an answer of the agent with its run, which no effect starts again', async (t) => {
  const answer = (await messagesIn(LAUNCH)).find(({ kind }) => kind === 'agent')!;
  t.match(answer, {
    sender: { id: app.demo.agent.actor_id },
    streaming_state: 'complete',
    agent_run: { status: 'completed', trigger_type: 'chat' },
  });
  const runs = await call<List<{ id: string }>>('GET', `/v1/ai/agents/${app.demo.agent.id}/runs`);
  t.strictSame(
    runs.body.data.map(({ id }) => id),
    [answer.agent_run!.id],
  );
  const run = await call<object>('GET', `/v1/ai/runs/${answer.agent_run!.id}?include[]=steps`);
  t.match(run.body, {
    output: { message_id: answer.id },
    steps: [{ status: 'completed', text: answer.body }],
  });
});

t.test('a case by mail, with HTML, and the lanes that follow from what was said', async (t) => {
  const [mail, ...rest] = await messagesIn('VAT number on invoice 2214');
  t.match(mail, { kind: 'email', channel: 'email', visibility: 'external' });
  const { body } = await call<Email>('GET', `/v1/messaging/messages/${mail!.id}/email`);
  t.match(body, { direction: 'in', status: 'accepted', html: /<b>VAT number is missing<\/b>/ });
  const reply = rest.find(({ channel }) => channel === 'email')!;
  t.match(reply, { email_status: 'sent', sender: { name: 'Customer Service' }, author_id: ada.id });
  t.match(conversations.get('VAT number on invoice 2214'), {
    workflow_status: 'open',
    inbox_id: app.demo.inbox.id,
    assignee: { id: ada.id },
  });
  t.match(conversations.get('Chair wobbles after assembly'), {
    workflow_status: 'waiting_external',
    assignee: { id: grace.id },
  });
  const notes = (await messagesIn('Chair wobbles after assembly')).filter(
    ({ visibility }) => visibility === 'internal',
  );
  t.equal(notes.length, 3);
});

t.test(
  'what is unread is unread in the list, the counts and the notifications, and nothing else is',
  async (t) => {
    for (const [name, { access_token: token }] of Object.entries({ ada, grace })) {
      const expected = DAY.flatMap(({ title, unread }) => {
        const count = unread[name as 'ada' | 'grace'] ?? 0;
        return count === 0 ? [] : [[title, count]];
      }).sort();
      const listed = [...(await conversationsOf(token, '&filter=unread')).values()];
      t.strictSame(listed.map(({ title, unread }) => [title, unread]).sort(), expected, name);

      const { body } = await call<List<Notification>>(
        'GET',
        '/v1/messaging/notifications?limit=100&include[]=resource',
        { token },
      );
      const messages = body.data.filter(({ message_id: id }) => id !== null);
      const unread = messages.filter(({ read_at: readAt }) => readAt === null);
      t.strictSame(
        [...Map.groupBy(unread, ({ resource }) => resource!.id)]
          .map(([id, { length }]) => [id, length])
          .sort(),
        expected.map(([title, count]) => [conversations.get(String(title))!.id, count]).sort(),
        `${name}: notifications`,
      );
      t.ok(messages.length > unread.length);
      const times = body.data.map(({ created_at: at }) => at);
      t.strictSame(times, times.toSorted().reverse(), 'the feed is in the order of its times');
    }
    const { body } = await call<List<Notification>>(
      'GET',
      '/v1/messaging/notifications?limit=100&category=chat.mention&status=unseen',
      { token: grace.access_token },
    );
    t.equal(body.data.length, 1, 'Grace is mentioned in what she has not read');
  },
);

t.test('the search finds it, and the next message has the next number', async (t) => {
  const found = await until(
    async () => {
      const { body } = await call<List<object>>('GET', '/v1/messaging/search?q=screw', {
        token: ada.access_token,
      });
      return body.data.length >= 4 ? body.data : undefined;
    },
    { what: 'messages about a screw' },
  );
  t.ok(found.length >= 4);
  const { id } = conversations.get(LAUNCH)!;
  const { body } = await call<ChatMessage>('POST', `/v1/messaging/conversations/${id}/messages`, {
    token: ada.access_token,
    body: { body: 'And on it goes.', client_message_id: 'next' },
  });
  t.equal(body.sequence, DAY.find(({ title }) => title === LAUNCH)!.messages.length + 1);
  t.equal(await holesIn(app), 0);
});

t.test('a stranger who writes in the shop reaches Ada and Grace', async () => {
  const { widget } = (await openShop(app.database, 'http://127.0.0.1'))!;
  const { need, visitor, openCase, send } = visitorsOf(app);
  const { access_token: token } = await visitor({ id: widget });
  const { id } = await openCase(token);
  await send(token, id, 'Is anybody there?');
  for (const { access_token } of [ada, grace]) {
    const path = '/v1/messaging/notifications?include[]=resource';
    await until(
      async () => {
        const { data } = await need<List<Notification>>('GET', path, { token: access_token });
        return data.some(({ resource }) => resource?.id === id);
      },
      { what: 'the notification' },
    );
  }
});

t.test('once in a database, however many nodes write it', async (t) => {
  const { url } = await createTestDatabase(t);
  const directory = t.testdir();
  const nodes = await Promise.all(
    [1, 2].map(async () => {
      const database = await openDatabase({ url, log: createLog('silent'), hooks: HOOKS });
      t.teardown(() => database.close());
      const { store } = await openObjectStore({
        database,
        s3: null,
        dataDir: join(directory, 'files'),
        accountBytes: 1_000_000,
        baseUrl: () => 'http://127.0.0.1',
      });
      t.teardown(() => store.close());
      return { database, store };
    }),
  );
  const [{ database }] = nodes as [(typeof nodes)[0]];
  const count = async () => {
    const { rows } = await database.kysely
      .selectFrom('messages')
      .select(({ fn }) => fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow();
    return rows;
  };
  await Promise.all(nodes.map(seedDay));
  t.equal(await count(), 0, 'without a demo account there is nothing to write into');

  const path = demoFilePath(directory);
  const tokens = await Tokens.open({ database });
  const first = await seedDemo({ database, tokens, path });
  await Promise.all(nodes.map(seedDay));
  const once = await count();
  t.equal(
    once,
    DAY.reduce((sum, { messages }) => sum + messages.length, 0),
  );
  const second = await seedDemo({ database, tokens, path });
  t.strictSame(second.conversations, first.conversations);
  await Promise.all(nodes.map(seedDay));
  t.equal(await count(), once, 'a later start writes nothing');
});

t.test('only where it is asked for: a demo account in a database of its own has none', async (t) => {
  const other = await startTestApp(t);
  const { body } = await other.call<List<Conversation>>('GET', '/v1/messaging/conversations');
  t.strictSame(
    body.data.filter(({ title }) => TITLES.includes(title ?? '')),
    [],
  );
});

async function conversationsOf(token: string, query = ''): Promise<ReadonlyMap<string, Conversation>> {
  const { body } = await call<List<Conversation>>(
    'GET',
    `/v1/messaging/conversations?order=activity&limit=50&include[]=assignee${query}`,
    { token },
  );
  return new Map(body.data.map((conversation) => [conversation.title ?? conversation.id, conversation]));
}

async function messagesIn(title: string): Promise<readonly ChatMessage[]> {
  const { id } = conversations.get(title)!;
  const includes = ['sender', 'attachments', 'reactions', 'agent_run']
    .map((name) => `include[]=${name}`)
    .join('&');
  const { body } = await call<List<ChatMessage>>(
    'GET',
    `/v1/messaging/conversations/${id}/messages?after_sequence=0&limit=100&${includes}`,
  );
  return body.data;
}

/** Rows that stand for effects of commits that are still to come. */
async function effectsOf({ database }: TestApp): Promise<number> {
  const counts = await Promise.all(
    (['outbox', 'inbox_due', 'search_notes'] as const).map((table) =>
      database.kysely
        .selectFrom(table)
        .select(({ fn }) => fn.countAll<number>().as('rows'))
        .executeTakeFirstOrThrow(),
    ),
  );
  return counts.reduce((sum, { rows }) => sum + rows, 0);
}

/** Numbers below the head of a conversation that are neither a message nor a void. */
async function holesIn({ database }: TestApp): Promise<number> {
  const heads = await database.kysely
    .selectFrom('messages')
    .select(({ fn }) => [fn.max('sequence').as('head'), fn.countAll<number>().as('rows')])
    .where('sequence', 'is not', null)
    .groupBy('conversation_id')
    .execute();
  return heads.reduce((sum, { head, rows }) => sum + (head ?? 0) - rows, 0);
}
