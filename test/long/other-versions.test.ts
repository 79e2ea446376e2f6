/**
 * Nodes of the previous, this and a later release beside each other, over one Postgres and one
 * Redis, as during an upgrade and after a return to a release (docs/operations.md#upgrading).
 *
 * Without influence: ASIDE, PAGES, ANSWERS, src/app/demo, src/app/supervise.ts, src/app/supervisor,
 * src/app/tail.ts, packages/client/ai, packages/client/react, src/core/registration,
 * src/features/mail.
 */

import { promises as fs, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { NEWEST_VERSION, VERSIONS } from '@parley/protocol/versions.ts';
import { sql } from 'kysely';
import { FileMigrationProvider } from 'kysely/migration';
import t from 'tap';
import type { DurableFrame } from '../../src/core/frames/frame.ts';
import { FRAME_CODEC as codec } from '../../src/core/frames/frame-codec.ts';
import { INDEXES } from '../../src/core/tables/indexes.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { migrate } from '../../src/platform/db/migration/migrate.ts';
import { MIGRATIONS_DIR } from '../../src/platform/db/migration/migrated.ts';
import { RedisEngine } from '../../src/platform/engine/redis/redis-engine.ts';
import { ROOT, runParley, UNSAFE_POSTGRES } from '../start/parley.ts';
import { builtClient } from '../support/built-client.ts';
import { checkCluster, createGroup, Load } from '../support/cluster.ts';
import { checkOutEarlier } from '../support/earlier-checkout.ts';
import { type Listener, startNode, type TestNode } from '../support/node.ts';
import { startPostgres } from '../support/postgres.ts';
import { startRedis } from '../support/redis.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';

/** The last commit before 1.4.harbor was promoted, with its name of that version. */
const EARLIER = '3771c3ce';
const FORMER = '1.4.harbor-preview.1';
/** Where it has the SDK. */
const EARLIER_SDK = 'packages/client/index.ts';

const checkout = await checkOutEarlier(t, EARLIER);
const { url: databaseUrl } = await startPostgres(t);
const redis = await startRedis(t);
// Nodes stop while sockets are open: in a moment, not in ten seconds.
const env = { PARLEY_FETCH_ALLOW: '127.0.0.1', PARLEY_DRAIN_MS: '500', ...UNSAFE_POSTGRES };
const options = { databaseUrl, redisUrl: redis.url, env };
const { code, stderr } = await runParley(['admin', 'migrate'], { DATABASE_URL: databaseUrl });
if (code !== 0) throw new Error(stderr);
const earlier = await startNode(t, { ...options, earlier: checkout });
const conversationId = earlier.demo.conversations.group;

t.test('nodes of the release before go on while this one starts', async (t) => {
  const listener = await earlier.listen(conversationId);
  const load = new Load(t, () => earlier, conversationId, { label: 'before', width: 4 });
  const sentMore = async (than: number) => {
    await until(() => load.acknowledged.length > than + 20, { what: 'sends to the earlier node' });
    return load.acknowledged.length;
  };
  const before = await sentMore(0);

  const current = await startNode(t, options);
  const other = await current.listen(conversationId);
  const beside = new Load(t, () => current, conversationId, { label: 'beside', width: 4 });
  await until(() => beside.acknowledged.length > 20, { what: 'sends to the new node' });
  await sentMore(before);
  await Promise.all([load.stop(), beside.stop()]);

  const sent = [...load.sent, ...beside.sent];
  t.strictSame(
    sent.filter(({ status }) => status !== 201),
    [],
    'none refused',
  );
  const cluster = { nodes: [current, earlier], conversationId } as const;
  t.strictSame(await checkCluster(cluster, [listener], sent), []);
  const last = listener.sequences().at(-1);
  await until(() => other.sequences().at(-1) === last, { what: 'the last message on the new node' });
  t.strictSame(other.sequences(), listener.sequences().slice(-other.sequences().length));
  t.strictSame([listener.closeCode, other.closeCode], [undefined, undefined], 'no socket was closed');

  await current.kill('SIGTERM');
  t.equal((await earlier.send(conversationId)).status, 201, 'the earlier node goes on without the new one');
});

t.test('every socket and webhook gets what its version has, whichever node it comes from', async (t) => {
  const current = await startNode(t, options);
  const group = await createGroup(current, 'Two releases');
  const sockets: [node: TestNode, version: string][] = [
    [earlier, '1.1.harbor'],
    [earlier, FORMER],
    [current, '1.1.harbor'],
    [current, FORMER],
    [current, '1.4.harbor'],
  ];
  const listeners = await Promise.all(
    sockets.map(async ([node, version]) => ({
      version,
      listener: await node.at(version).listen(group),
    })),
  );
  const receiver = await WebhookReceiver.start(t);
  const webhooks: string[] = [];
  for (const node of [earlier.at(FORMER), current.at(FORMER), current.at('1.4.harbor')]) {
    const url = `${receiver.url}/${webhooks.length}`;
    const { status, body } = await node.call('POST', '/v1/webhooks', { url, event_types: ['message.*'] });
    t.equal(status, 201);
    webhooks.push(String(body.id));
    if (node.baseUrl === current.baseUrl) t.equal(body.version, '1.4.harbor');
  }

  for (const [node, root, name] of [
    [earlier, checkout.root, FORMER],
    [current, ROOT, '1.4.harbor'],
  ] as const) {
    const sender = node.at(FORMER);
    const id = String((await sender.send(group)).body.id);
    const ofMessage = `/v1/messaging/messages/${id}`;
    const { status } = await sender.call('PUT', `${ofMessage}/reactions/${encodeURIComponent('👍')}`);
    t.ok(status < 300, `a reaction: ${status}`);
    t.equal((await sender.call('POST', `${ofMessage}/actions/pin`, {})).status, 200);
    const isOf = ({ data }: { data?: Record<string, unknown> }) => data?.id === id || data?.message_id === id;
    const newer = ({ frames }: Listener) =>
      frames.filter((frame) => isOf(frame) && /reacted|pinned/.test(String(frame.event)));
    await until(
      () =>
        listeners.every(({ version, listener }) => version === '1.1.harbor' || newer(listener).length >= 2),
      { what: 'the events that 1.1 does not have' },
    );
    const last = (await sender.send(group)).body.id;
    await until(
      () => listeners.every(({ listener }) => listener.created().some(({ data }) => data?.id === last)),
      { what: 'the last message' },
    );

    for (const { version, listener } of listeners) {
      const of = `sent by ${name}, received at ${version}`;
      const created = listener.created().find(isOf)!;
      const spoken = version === '1.1.harbor' ? version : name;
      t.strictSame(fieldsOf(created.data!), goldenFields(root, spoken), of);
      const events = version === '1.1.harbor' ? [] : ['message.pinned', 'message.reacted'];
      t.strictSame([...new Set(newer(listener).map(({ event }) => event))].sort(), events, of);
    }
    const deliveries = () =>
      webhooks.map((_, index) =>
        receiver.received.find(
          ({ path, event }) =>
            path === `/hook/${index}` && event.type === 'message.created' && event.data.id === id,
        ),
      );
    await until(() => deliveries().every((one) => one !== undefined), { what: 'deliveries of the message' });
    for (const delivery of deliveries()) {
      const by = String(delivery?.headers['service-version']);
      t.ok([FORMER, '1.4.harbor'].includes(by), by);
      // Either node may have made it.
      const fields = goldenFields(by === FORMER ? checkout.root : ROOT, by);
      t.strictSame(fieldsOf(delivery!.event.data), fields, `sent by ${name}, delivered as ${by}`);
    }
  }
  for (const id of webhooks) {
    const { body } = await current.at('1.4.harbor').call('GET', `/v1/webhooks/${id}`);
    t.equal(body.version, '1.4.harbor', 'it has one name here');
  }
  await current.kill('SIGTERM');
});

t.test('callbacks of questions wait for a node that knows them', async (t) => {
  const current = (await startNode(t, options)).at(NEWEST_VERSION);
  const database = await openDatabase({ url: databaseUrl, log });
  t.teardown(() => database.close());
  const receiver = await WebhookReceiver.start(t);
  receiver.answer = () => 500;
  const url = receiver.url;
  await earlier.call('POST', '/v1/webhooks', { url: `${url}/plain`, event_types: ['message.created'] });
  await current.call('POST', '/v1/account/question-callbacks/actions/rotate-secret', {});
  const { body } = await current.send(conversationId, {
    question: {
      text: 'Sail?',
      type: 'buttons',
      options: [{ value: 'yes' }],
      callback_url: `${url}/callback`,
    },
  });
  const { access_token: token } = current.demo.users.ada;
  const answer = { revision: 1, option: 'yes' };
  const path = `/v1/messaging/messages/${body.id}/actions/answer`;
  t.equal((await current.call('POST', path, answer, token)).status, 200);
  const deliveries = database.kysely
    .selectFrom('webhook_deliveries')
    .select(['event_type', 'url', 'attempts', 'status', 'next_try_at'])
    .where('resource_id', '=', String(body.id))
    .orderBy('event_type');
  const callback = async () => (await deliveries.execute()).find(({ url: own }) => own !== null);
  const plain = async () => (await deliveries.execute()).filter(({ url: own }) => own === null);
  await until(async () => (await plain()).some(({ attempts }) => attempts > 0), {
    what: 'the first try of an event',
  });
  await until(async () => ((await callback())?.attempts ?? 0) > 0, { what: 'the first try of the callback' });
  await current.kill('SIGKILL');

  const due = '2020-01-01T00:00:00.000000Z';
  await database.kysely
    .updateTable('webhook_deliveries')
    .set({ next_try_at: due })
    .where('resource_id', '=', String(body.id))
    .where('status', '=', 'pending')
    .execute();
  await until(async () => (await plain()).every(({ next_try_at: at }) => at !== due), {
    what: 'the earlier node to take what goes to webhooks',
  });
  t.match(await callback(), { status: 'pending', next_try_at: due }, 'and not the callback');
  receiver.answer = () => 200;
  const next = await startNode(t, options);
  await until(async () => (await callback())?.status === 'delivered', { what: 'the callback' });
  await next.kill('SIGTERM');
});

t.test('an SDK works with nodes of the release before its own, and of the one after', async (t) => {
  const current = await startNode(t, options);
  const ours = path.join(builtClient(), 'dist/index.js');
  const theirs = path.join(checkout.root, EARLIER_SDK);
  for (const [what, sdk, node, version] of [
    ['this SDK and the earlier node', ours, earlier, FORMER],
    ['the earlier SDK and this node, with the version that it speaks by default', theirs, current, undefined],
  ] as const) {
    const { connect }: typeof import('@parley/client') = await import(pathToFileURL(sdk).href);
    const { account_id: account, users } = node.demo;
    const client = connect({
      url: node.baseUrl,
      account,
      token: users.ada.access_token,
      ...(version === undefined ? {} : { version }),
    });
    t.teardown(() => client.close());
    const conversation = client.conversation(await createGroup(node, what));
    await conversation.opened;
    const { body } = await node.send(conversation.id);
    await until(() => conversation.messages.some(({ id }) => id === body.id), {
      what: 'the message of another',
    });
    const sent = await conversation.send('ahoy');
    await conversation.markRead();
    t.strictSame(
      conversation.messages.map(({ id }) => id),
      [body.id, sent.id],
      what,
    );
    const found = await client.conversations.get(conversation.id);
    t.equal(found.unread, 0, what);
  }
  await current.kill('SIGTERM');
});

t.test('what a later release has added reaches no socket of this one', async (t) => {
  const current = await startNode(t, options);
  const group = await createGroup(current, 'A later release');
  const listeners = await Promise.all(
    ['1.1.harbor', FORMER, '1.4.harbor', NEWEST_VERSION].map((version) => current.at(version).listen(group)),
  );
  const later = await RedisEngine.connect({ codec, url: redis.url, log });
  t.teardown(() => later.close());
  const since = (age: number, text: string) => `\t${' '.repeat(age)}${text}\t`;
  const [known, unknown] = [VERSIONS.length - 1, VERSIONS.length];
  const frame = (resource: string, text: string): DurableFrame => ({
    kind: 'durable',
    stream: group,
    resource,
    sequence: 0,
    updatedAtUs: Date.now() * 1_000,
    streaming: false,
    erases: false,
    team: Buffer.from(text),
    customer: undefined,
  });
  const event = (name: string, data: string) =>
    `{"type":"event","event":"${name}","conversation_id":"${group}","at":"2026-01-01T00:00:00Z","data":{${data}}}`;
  for (const sent of [
    frame('x_1', since(unknown, event('conversation.teleported', '"id":"x_1"'))),
    frame('x_2', since(unknown + 1, event('conversation.updated', '"id":"x_2"'))),
    frame(
      'x_3',
      event(
        'conversation.updated',
        `"id":"x_3"${since(known, `,"newest":{"old":1${since(unknown, ',"later":1')}}`)}` +
          since(unknown, `,"later":{"id":"y"${since(unknown + 1, ',"last":[]')}}`),
      ),
    ),
    frame('x_4', event('conversation.updated', '"id":"x_4"')),
  ]) {
    await later.publish(group, sent);
  }
  const invented = (listener: Listener) =>
    listener.frames.flatMap(({ data }) => (String(data?.id).startsWith('x_') ? [data] : []));
  await until(() => listeners.every((one) => invented(one).some((data) => data?.id === 'x_4')), {
    what: 'the last event',
  });
  const plain = [{ id: 'x_3' }, { id: 'x_4' }];
  t.strictSame(listeners.map(invented), [
    plain,
    plain,
    plain,
    [{ id: 'x_3', newest: { old: 1 } }, { id: 'x_4' }],
  ]);
  await current.kill('SIGTERM');
});

t.test('a node of this release starts where a later one has migrated, if that one allows it', async (t) => {
  const database = await openDatabase({ url: databaseUrl, log });
  t.teardown(() => database.close());
  const provider = new FileMigrationProvider({ fs, path, migrationFolder: MIGRATIONS_DIR });
  const today = await provider.getMigrations();
  const next = {
    up: async () => void (await sql`ALTER TABLE messages ADD COLUMN later text`.execute(database.kysely)),
    usableFrom: Object.keys(today).sort().at(-1),
  };
  await migrate(database, INDEXES, log, { getMigrations: async () => ({ ...today, '9999_next': next }) });

  const current = await startNode(t, options);
  const listener = await earlier.listen(conversationId);
  const { status, body } = await current.send(conversationId);
  t.equal(status, 201);
  await until(() => listener.created().some(({ data }) => data?.id === body.id), { what: 'the message' });
  const { code, stdout } = await runParley(['admin', 'account', 'list'], { DATABASE_URL: databaseUrl });
  t.equal(code, 0, stdout);
});

function fieldsOf(message: Readonly<Record<string, unknown>>): object {
  return { message: Object.keys(message).sort(), sender: Object.keys(message.sender as object).sort() };
}

/** Returns the fields of a message at a version, as the golden answers of a checkout have them. */
function goldenFields(root: string, version: string): object {
  const golden = JSON.parse(readFileSync(path.join(root, 'test/http/golden/send_message.json'), 'utf8'));
  return fieldsOf(golden[version].expanded);
}
