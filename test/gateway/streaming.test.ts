/**
 * Texts while they are written, over two nodes (docs/realtime.md#streamed-replies): readers that
 * join at different times, and miss different pieces.
 */

import { connect, type Message } from '@parley/client';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { publish } from '../../src/core/frames/publish.ts';
import { type Reader, topics } from '../../src/edge/gateway/stream/reader.ts';
import { completeAbandoned } from '../../src/features/agents/replies/complete-reply.ts';
import type { AgentReply } from '../../src/features/agents/replies/reply.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { testRedisUrl } from '../support/redis.ts';
import { ReplyNode } from '../support/reply-node.ts';
import { sealOf, streamedText } from '../support/streamed-text.ts';
import { until } from '../support/until.ts';
import { type Client, Ground, type ReceivedFrame } from './fixture.ts';

const redis = new URL(await testRedisUrl(t));
const link = await FaultProxy.start({ target: { host: redis.hostname, port: Number(redis.port || 6379) } });
t.teardown(() => link.close());
const near = await Ground.start(t, { redisUrl: redis.href });
redis.hostname = '127.0.0.1';
redis.port = String(link.port);
const far = await Ground.start(t, { redisUrl: redis.href, beside: near });
const node = ReplyNode.start(t, near);
const { demo } = near;

t.test('early, late and coming back, on both nodes: all end with the text of the row', async (t) => {
  const id = await node.conversation();
  const early = await Promise.all([follower(near, id), follower(far, id)]);
  const sdk = { early: followBySdk(far, id), late: undefined as ReturnType<typeof followBySdk> | undefined };
  await until(() => sdk.early.client.state === 'live', { what: 'the SDK' });
  const { run, reply } = await begin(id, 'Good evening, ');
  await Promise.all(early.map((client) => client.frame(isText('delta'))));
  const leaving = await follower(near, id);
  const { cursor } = leaving.frames.find(({ type }) => type === 'ready')!;
  leaving.close();
  reply.reset(5, 'stalled');
  await appendText(reply, early[1]!, 'morning 🚢 ');

  const late = await Promise.all([follower(near, id), follower(far, id, 0)]);
  const back = await far.ready();
  await back.request('resume', { cursor, conversations: { [id]: 1 } });
  await back.frame('resumed');
  sdk.late = followBySdk(near, id);
  for (const client of [...late, back]) {
    const first = await client.frame(isText());
    t.match(first, { event: 'message.snapshot', sequence: 1, data: { attempt: 2 } });
    t.ok(client.frames.findIndex(isText()) > client.frames.findIndex(({ type }) => type === 'caught_up'));
  }
  await until(() => sdk.late?.client.state === 'live', { what: 'the late SDK' });
  for (let word = 0; word < 6; word++) await appendText(reply, late[1]!, `word ${word} `);
  await node.finish(run, reply);

  const row = await node.row(reply.messageId!);
  t.equal(row.body, reply.body);
  for (const client of [...early, ...late, back]) {
    const { data } = await client.frame(({ event }) => event === 'message.updated');
    t.strictSame(streamedText(client.frames, row.id), { attempt: 2, body: row.body });
    t.match(data, { body: row.body, stream: sealOf(row.body!, 2), streaming_state: 'complete' });
    client.close();
  }
  for (const { client, written, updates, writing } of [sdk.early, sdk.late]) {
    await until(() => updates.length === 1, { what: 'the end' });
    t.match(updates, [{ body: row.body }]);
    t.strictSame(written, [true], 'its pieces made the text');
    t.equal(writing.at(-1), row.body);
    client.close();
  }
});

t.test('a piece that is lost: all readers on that node get a snapshot, once', async (t) => {
  const id = await node.conversation();
  const readers = await Promise.all([follower(near, id), follower(far, id), follower(far, id)]);
  const { run, reply } = await begin(id, 'Good ');
  await Promise.all(readers.map((client) => client.frame(isText('delta'))));
  // As if what came before it had been lost.
  await publish(far.engine, {
    event: 'message.delta',
    stream: id,
    conversationId: id,
    sequence: 1,
    resource: reply.messageId!,
    at: new Date().toISOString(),
    team: { text: 'nobody wrote this' },
    customer: undefined,
    position: { attempt: 1, from: 400, to: 417 },
  });
  for (const client of readers) await client.frame(isText('snapshot'));
  await appendText(reply, readers[2]!, 'morning');
  await node.finish(run, reply);
  for (const client of readers) {
    await client.frame(({ event }) => event === 'message.updated');
    t.strictSame(streamedText(client.frames, reply.messageId!), { attempt: 1, body: 'Good morning' });
    t.notMatch(JSON.stringify(client.frames), 'nobody wrote this');
    t.equal(client.frames.filter(isText('snapshot')).length, 1);
    client.close();
  }
});

t.test('a message that waits for the one before it: its text waits too', async (t) => {
  const id = await node.conversation();
  const reader = await follower(far, id);
  await near.engine.reserve([{ stream: id, count: 1, floor: 0 }]);
  const { run, reply } = await begin(id, 'Good ');
  await reader.frame(isText('snapshot'));
  t.ok(
    reader.frames.findIndex(({ event }) => event === 'message.created') < reader.frames.findIndex(isText()),
  );
  t.equal(
    streamedText(reader.frames, reply.messageId!).body,
    'Good ',
    'and does not wait for the next piece',
  );
  await appendText(reply, reader, 'morning');
  await node.finish(run, reply);
  await reader.frame(({ event }) => event === 'message.updated');
  t.strictSame(streamedText(reader.frames, reply.messageId!), { attempt: 1, body: 'Good morning' });
  reader.close();
});

t.test('pieces lost by a broken link arrive when the link is back, without another piece', async (t) => {
  const id = await node.conversation();
  const writers = [node, ReplyNode.start(t, far)];
  for (const [writer, reader] of [
    [writers[0]!, await follower(far, id)],
    [writers[1]!, await follower(near, id)],
  ] as const) {
    const { run, reply } = await begin(id, 'Good ', { writer });
    await appendText(reply, reader, 'even');
    link.refuse();
    reply.append('ing, and then nothing for long');
    await until(() => !far.engine.healthy, { what: 'the link to break' });
    await until(() => bodyOf(reader, reply) !== reply.body, { what: 'the piece to be lost' });
    link.accept();
    await until(() => bodyOf(reader, reply) === reply.body, { what: 'the piece' });
    await writer.finish(run, reply);
    await reader.frame(({ event }) => event === 'message.updated');
    t.strictSame(streamedText(reader.frames, reply.messageId!), { attempt: 1, body: reply.body });
    reader.close();
  }
});

t.test('a reply that begins while the link is away: its text is there once the link is', async (t) => {
  const id = await node.conversation('customer');
  const writer = ReplyNode.start(t, far);
  link.refuse();
  await until(() => !far.engine.healthy, { what: 'the link to break' });
  const { run, reply } = await begin(id, 'Good ', { writer });
  link.accept();
  await until(() => far.engine.healthy, { what: 'the link' });
  const reader = await follower(near, id);
  await until(() => bodyOf(reader, reply) === reply.body, { what: 'the text so far' });
  await writer.finish(run, reply);
  reader.close();
});

t.test(
  'two at once, one superseded while it is written, the case archived: each ends with its text',
  async (t) => {
    const id = await node.conversation('customer');
    const reader = await follower(far, id);
    const question = await node.external(id, demo.users.ada.id);
    const drafts = [
      await begin(id, 'The older ', { questionId: question.id }),
      await begin(id, 'The newer ', { questionId: question.id }),
    ];
    for (const { reply } of drafts) await appendText(reply, reader, 'half');
    await near.database.kysely
      .updateTable('conversations')
      .set({ status: 'archived' })
      .where('id', '=', id)
      .execute();
    const late = await follower(near, id);
    for (const { run, reply } of drafts) {
      await appendText(reply, reader, ' and the other');
      await node.finish(run, reply);
      await node.replies.deliver(run, await node.principal('messaging:send_external'));
    }
    for (const [index, status] of ['superseded', 'draft'].entries()) {
      const { reply } = drafts[index]!;
      const row = await node.row(reply.messageId!);
      t.match(row, { status, body: reply.body, streaming_state: 'complete' });
      for (const client of [reader, late]) {
        const { data } = await client.frame(({ data }) => data?.id === row.id && data.stream !== undefined);
        t.match(data, { stream: sealOf(row.body!, 1) });
        t.strictSame(streamedText(client.frames, row.id), { attempt: 1, body: row.body });
      }
    }
    for (const client of [reader, late]) client.close();
  },
);

t.test('a writer that does not answer delays readers by a second at most', async (t) => {
  const id = await node.conversation();
  const { run, reply } = await begin(id, 'Good ');
  reply.abandon();
  const reader = await follower(far, id);
  await until(
    async () => {
      await near.publish(id, { event: 'typing', team: { actor_id: demo.users.grace.id, state: 'start' } });
      return reader.frames.some(({ event }) => event === 'typing');
    },
    { what: 'ephemeral events' },
  );
  t.notOk(reader.frames.some(isText()));
  await near.database.transaction((tx) => completeAbandoned(tx, run));
  await reader.frame(({ event }) => event === 'message.updated');
  const later = await follower(far, id);
  await later.request('ping');
  t.notOk(later.frames.some(isText()), 'what has ended is asked for no more');
  for (const client of [reader, later]) client.close();
});

t.test('a reader that is too slow gets one snapshot in place of what it missed', async (t) => {
  const id = await node.conversation();
  const bystander = await follower(near, id);
  const slow = new SlowReader(id);
  await (await near.gateway.streams.join(id, slow, undefined)).run();
  const { run, reply } = await begin(id, 'Good ');
  await bystander.frame(isText('delta'));
  slow.bufferedBytes = 100_000;
  await until(
    async () => {
      await appendText(reply, bystander, 'and good ');
      return !slow.isOn(topics.ephemeral(id, slow));
    },
    { what: 'withheld' },
  );
  reply.reset(5, 'stalled');
  await appendText(reply, bystander, 'morning');
  t.strictSame(slow.events(), []);
  slow.drain();
  await until(() => slow.isOn(topics.ephemeral(id, slow)), { what: 'restored' });
  t.match(slow.events(), [{ event: 'message.snapshot', data: { attempt: 2, body: 'Good morning' } }]);
  await node.finish(run, reply);
  near.gateway.streams.leave(id, slow);
  bystander.close();
});

t.test('a customer sees nothing of it', async (t) => {
  const id = await node.conversation('customer');
  const { actor_id: actorId } = await near.database.kysely
    .selectFrom('participants')
    .select('actor_id')
    .where('conversation_id', '=', id)
    .where('type', '=', 'customer')
    .executeTakeFirstOrThrow();
  const { token } = await near.tokens.issueAccess({ accountId: demo.account_id, actorId: actorId! });
  const [early, team] = [await follower(far, id, undefined, token), await follower(far, id)];
  const { run, reply } = await begin(id, 'between ourselves');
  await team.frame(isText('delta'));
  const late = await follower(near, id, undefined, token);
  await node.finish(run, reply);
  await team.frame(({ event, data }) => event === 'draft.updated' && data?.stream !== undefined);
  const { id: last } = await node.external(id, demo.users.ada.id);
  for (const client of [early, late]) {
    await client.frame(({ data }) => data?.id === last);
    t.strictSame(
      client.frames.flatMap(({ event }) => event ?? []),
      ['message.created'],
    );
    client.close();
  }
  team.close();
});

/** Starts a run's reply with some text. */
async function begin(
  conversationId: string,
  text: string,
  { writer = node, questionId }: { readonly writer?: ReplyNode; readonly questionId?: string } = {},
) {
  const run = await writer.claim(conversationId, questionId);
  const reply = await writer.open(run);
  reply.append(text);
  await until(() => reply.messageId, { what: 'the message' });
  return { run, reply };
}

/** Appends text, and waits until this reader has it. */
async function appendText(reply: AgentReply, reader: Client, text: string): Promise<void> {
  reply.append(text);
  await until(() => bodyOf(reader, reply) === reply.body, { what: text });
}

function bodyOf(reader: Client, reply: AgentReply): string {
  return streamedText(reader.frames, reply.messageId!).body;
}

async function follower(ground: Ground, id: string, after?: number, token?: string): Promise<Client> {
  const client = await ground.ready(token);
  await client.request('subscribe', { conversation_id: id, after_sequence: after });
  await client.frame('caught_up');
  return client;
}

function followBySdk(ground: Ground, conversationId: string) {
  const client = connect({
    url: `http://127.0.0.1:${ground.port}`,
    account: demo.account_id,
    token: demo.users.ada.access_token,
  });
  t.teardown(() => client.close());
  const [updates, written, writing]: [Message[], boolean[], string[]] = [[], [], []];
  client.subscribe(conversationId, {
    afterSequence: 0,
    onMessage: () => undefined,
    onUpdate: (message) => updates.push(message),
    onStreaming: ({ body }) => writing.push(body),
    onStreamEnd: ({ matched }) => written.push(matched),
  });
  return { client, updates, written, writing };
}

function isText(kind?: 'delta' | 'reset' | 'snapshot') {
  const names =
    kind === undefined ? ['message.delta', 'message.reset', 'message.snapshot'] : [`message.${kind}`];
  return ({ event }: ReceivedFrame) => event !== undefined && names.includes(event);
}

/**
 * Accepts nothing until it is released. Published frames never reach it: only frames sent to it
 * alone count here.
 */
class SlowReader implements Reader {
  readonly audience = 'team';
  readonly version = NEWEST_VERSION;
  readonly hidden = [];
  readonly closed = false;
  bufferedBytes = 0;
  readonly #sent: ReceivedFrame[] = [];
  readonly #topics = new Set<string>();
  #drained: (() => void)[] = [];
  readonly #conversationId: string;

  constructor(conversationId: string) {
    this.#conversationId = conversationId;
  }

  send(bytes: Buffer): void {
    this.#sent.push(JSON.parse(bytes.toString()));
  }

  sendAll(frames: readonly Buffer[]): void {
    for (const bytes of frames) this.send(bytes);
  }

  get heldBytes(): number {
    return this.bufferedBytes;
  }

  forget(): void {}
  giveUp(): void {}

  drained(): Promise<void> {
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  drain(): void {
    this.bufferedBytes = 0;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  join(topic: string): void {
    this.#topics.add(topic);
  }

  leave(topic: string): void {
    this.#topics.delete(topic);
  }

  isOn(topic: string): boolean {
    return this.#topics.has(topic);
  }

  events(): ReceivedFrame[] {
    return this.#sent.filter(
      ({ event, conversation_id }) => event && conversation_id === this.#conversationId,
    );
  }
}
