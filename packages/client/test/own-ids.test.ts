/** Conversations called by ids of the application's own, on each transport. */

import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import { type Client, type ConversationFilter, connect, type Message, type Transport } from '../index.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const TRANSPORTS = ['websocket', 'stream', 'poll'] as const satisfies readonly Transport[];

for (const transport of TRANSPORTS) {
  t.test(`by ${transport}, a conversation is one by both of its names`, async (t) => {
    const own = `order/${transport}/42 ⚓`;
    const id = await named(own);
    const { client, asked } = open(t, transport);
    const byOwn = client.conversation(`ext:${own}`);
    const byId = client.conversation(id);
    const again = client.conversation(`ext:${own}`);
    await Promise.all([byOwn.opened, byId.opened, again.opened]);
    t.strictSame([byOwn.id, byId.id, again.id], [id, id, id]);
    const sent = await byOwn.send('ahoy');
    for (const one of [byOwn, byId, again]) {
      await until(() => one.messages.some((message) => message.id === sent.id), { what: 'the message' });
      t.equal(one.messages.length, 1);
    }
    const seen: Message[] = [];
    const subscription = client.subscribe(`ext:${own}`, {
      afterSequence: sent.sequence!,
      onMessage: (message) => seen.push(message),
    });
    await until(() => client.state === 'live', { what: 'everything to have arrived' });
    t.equal(subscription.conversationId, id);
    const second = await client.send(`ext:${own}`, 'once more');
    await until(() => seen.length > 0, { what: 'the second message' });
    t.strictSame(
      seen.map((message) => message.id),
      [second.id],
    );
    await until(() => subscription.completeThrough === second.sequence, { what: 'its number' });
    await byOwn.markRead();
    byOwn.typing();
    const lookedUp = asked.filter(
      (path) => path === `/v1/messaging/conversations/${encodeURIComponent(`ext:${own}`)}`,
    );
    t.equal(lookedUp.length, 1, 'it was looked up once');
  });

  t.test(`by ${transport}, a name that names nothing ends alone`, async (t) => {
    const { client } = open(t, transport);
    const ends: (ErrorObject | 'revoked')[] = [];
    const absent = client.conversation('ext:nowhere');
    absent.on('end', (why) => ends.push(why as ErrorObject));
    client.subscribe('ext:nowhere', { onMessage, onEnd: (why) => ends.push(why) });
    client.subscribe('ext:nowhere', { onMessage, onEnd: () => t.fail('it was taken back') }).unsubscribe();
    const other = client.conversation(await named(`other/${transport}`));
    await t.rejects(absent.opened, { code: 'resource_not_found', message: 'There is no such conversation.' });
    await t.rejects(absent.send('ahoy'), { name: 'ParleyError', status: 404 });
    await until(() => ends.length === 2, { what: 'both ends' });
    t.match(ends, [{ code: 'resource_not_found' }, { code: 'resource_not_found' }]);
    await other.opened;
    await other.send('still here');
    await until(() => client.state === 'live', { what: 'a live client' });
  });
}

for (const transport of TRANSPORTS) {
  t.test(`by ${transport}, what is malformed ends alone`, async (t) => {
    const { client } = open(t, transport);
    const id = await named(`beside-malformed-${transport}`);
    const errors: string[] = [];
    client.on('error', ({ reason, message }) => errors.push(`${reason} ${message}`));
    const ends: (ErrorObject | 'revoked')[] = [];
    const seen: (string | null)[] = [];
    const refused = (name: string, afterSequence: number) =>
      client.subscribe(name, { afterSequence, onMessage, onEnd: (why) => ends.push(why) });
    refused(`cnv_${'x'.repeat(600)}`, 0);
    client.subscribe(id, {
      onMessage: ({ body }) => seen.push(body),
      onEnd: () => t.fail('it is well formed'),
    });
    refused('cnv_1', -1);
    refused('no id', 0.5);
    await until(() => ends.length === 3, { what: 'the ends' });
    await until(() => client.state === 'live', { what: 'a live client' });
    await client.send(id, 'still here');
    await until(() => seen.length === 1, { what: 'the message' });
    t.ok(ends.every((why) => why !== 'revoked' && why.code !== undefined));
    t.strictSame(errors, []);
  });
}

t.test('a name is looked up again while the server is away', async (t) => {
  const id = await named('away');
  let isAway = true;
  let tries = 0;
  const { client } = open(t, 'websocket', async (...given) => {
    if (!isAway) return fetch(...given);
    tries += 1;
    if (tries === 8) isAway = false;
    throw new TypeError('no network');
  });
  const conversation = client.conversation('ext:away');
  const errors: string[] = [];
  client.on('error', ({ reason }) => errors.push(reason));
  await conversation.opened;
  t.equal(conversation.id, id);
  t.strictSame(new Set(errors), new Set(['network']));
});

t.test('a closed client leaves nothing behind for a name that was being looked up', async (t) => {
  const { client } = open(t, 'websocket', (_, init) => {
    const { promise, reject } = Promise.withResolvers<never>();
    const signal = init!.signal!;
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
    return promise;
  });
  const conversation = client.conversation('ext:never');
  const refused = t.rejects(conversation.opened, { code: 'client_closed' });
  client.subscribe('ext:never', { onMessage, onEnd: () => t.fail('it has no answer') });
  client.close();
  await refused;
});

t.test('lists are filtered by own ids and by metadata', async (t) => {
  const { client } = open(t, 'websocket');
  const id = await named('filtered');
  await named('another');
  await client.conversations.update(id, { metadata: { 'my project': '4 & 2', done: 'no' } });
  const idsOf = async (filter: ConversationFilter) => {
    const ids: string[] = [];
    for await (const page of client.conversations.list(filter)) ids.push(...page.data.map((one) => one.id));
    return ids;
  };
  t.strictSame(await idsOf({ external_id: 'filtered' }), [id]);
  t.strictSame(await idsOf({ metadata: { 'my project': '4 & 2' } }), [id]);
  t.strictSame(await idsOf({ metadata: { 'my project': '4 & 2', done: 'yes' } }), []);
  const inbox = client.inbox({ metadata: { done: 'no' } });
  t.teardown(() => inbox.close());
  await until(() => inbox.snapshot.status === 'ready', { what: 'the list' });
  t.strictSame(
    inbox.snapshot.conversations.map((one) => one.id),
    [id],
  );
});

const onMessage = () => undefined;

async function named(own: string): Promise<string> {
  const path = `/v1/messaging/conversations/${encodeURIComponent(`ext:${own}`)}`;
  const body = { type: 'group', title: own, participants: [{ type: 'user', actor_id: demo.users.ada.id }] };
  const headers = { 'Service-Version': NEWEST_VERSION };
  const { body: made } = await app.call<Conversation>('PUT', path, { body, headers });
  return made.id;
}

function open(
  t: Teardown,
  transport: Transport,
  platformFetch: typeof fetch = fetch,
): { readonly client: Client; readonly asked: string[] } {
  const asked: string[] = [];
  const client = connect({
    url: app.baseUrl,
    account: demo.account_id,
    token: demo.users.ada.access_token,
    transports: [transport],
    mostWaitMs: 200,
    fetch: (input, init) => {
      asked.push(new URL(String(input)).pathname);
      return platformFetch(input, init);
    },
  });
  t.teardown(() => client.close());
  return { client, asked };
}
