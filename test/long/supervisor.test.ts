/**
 * Several nodes on one port, under one supervisor, as real processes.
 *
 * Without influence: ASIDE, PAGES, ANSWERS, src/app/admin, src/app/demo, src/app/tail.ts,
 * packages/client/ai, packages/client/react, src/core/registration, src/features/mail,
 * src/platform/outbound.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { freshDirectory, runParley, startParley } from '../start/parley.ts';
import { deliveryProblems, historyProblems } from '../support/check-delivery.ts';
import { freePort } from '../support/free-port.ts';
import type { Listener, TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { startRedis } from '../support/redis.ts';
import { SdkReader } from '../support/sdk-reader.ts';
import { SteadyLoad } from '../support/steady-load.ts';
import { allEnd, isRunning, Supervised } from '../support/supervised.ts';
import { until } from '../support/until.ts';

const PROCESSES = 2;
/** Sockets of one actor at all nodes. */
const MOST = 9;

t.test('nodes of one supervisor', async (t) => {
  const supervised = await Supervised.start(t, {
    processes: PROCESSES,
    env: { PARLEY_SOCKET_SOCKETS_PER_ACTOR: String(MOST), PARLEY_SOCKET_POLLS_PER_SECOND: '2' },
  });
  const { node } = supervised;
  migrateRequests(t);
  const group = node.demo.conversations.group;
  const { ada, vera } = node.demo.users;

  t.test('one probe, one welcome, one log', async (t) => {
    const { body } = await get(node, '/readyz');
    t.match(JSON.parse(body), { status: 'ready', processes: { ready: PROCESSES, of: PROCESSES } });
    t.equal(node.running.stdout.match(/Parley is ready/g)?.length, 1);
    t.strictSame(new Set(supervised.log.map(({ process }) => process)), new Set([undefined, 1, 2]));
  });

  t.test('the kernel spreads connections over them', async (t) => {
    const sockets = await Promise.all(Array.from({ length: SPREAD }, () => opened(node)));
    const accepted = await until(
      () => {
        const counts = supervised.accepted(supervised.pids());
        return counts.reduce((sum, count) => sum + count, 0) >= SPREAD ? counts : undefined;
      },
      { what: 'accepted connections' },
    );
    for (const socket of sockets) socket.destroy();
    for (const count of accepted) t.ok(Math.abs(count / (SPREAD / PROCESSES) - 1) < 0.2, String(accepted));
  });

  t.test('what one of them is sent, sockets of all receive in the same order', async (t) => {
    const listeners = await Promise.all(
      Array.from({ length: MOST }, () => node.listen(group, { token: ada.access_token })),
    );
    const sent = await Promise.all(Array.from({ length: 30 }, () => node.send(group)));
    const stored = (await node.page(group)).map(({ sequence }) => sequence);
    t.equal(stored.length, sent.length);
    for (const listener of listeners) {
      await until(() => listener.sequences().length >= stored.length, { what: 'every message' });
      t.strictSame(deliveryProblems(listener.sequences(), stored), []);
    }

    t.comment('the limit of sockets is that of all of them');
    const isRefused = async () => (await tryOpen(node, ada.access_token)).closeCode !== undefined;
    await until(isRefused, { what: 'a refusal' });
    t.equal((await tryOpen(node, vera.access_token)).closeCode, undefined, 'of each actor');
    listeners[0]!.socket.close();
    const another = await until(
      async () => {
        const listener = await tryOpen(node, ada.access_token);
        return listener.closeCode === undefined ? listener : undefined;
      },
      { what: 'room for another socket' },
    );
    for (const { socket } of [...listeners, another]) socket.close();
  });

  t.test('polls are limited at all of them together', async (t) => {
    const beganMs = performance.now();
    const headers = { ...node.at(NEWEST_VERSION).headers(vera.access_token), Connection: 'close' };
    const url = `${node.baseUrl}/v1/realtime/poll`;
    const answers = await Promise.all(
      Array.from({ length: 24 }, () => fetch(url, { method: 'POST', headers, body: '{"wait_ms":0}' })),
    );
    const taken = answers.filter(({ status }) => status !== 429).length;
    const windows = Math.ceil((performance.now() - beganMs) / 1_000) + 1;
    t.ok(taken >= 1 && taken <= 2 * windows, `${taken} of 24 in ${windows} windows`);
  });

  t.test('metrics are those of all, and what an ended node has counted stays', async (t) => {
    const sends = await node.metric('parley_sends_total');
    t.equal(sends, 30);
    t.equal(await node.metric('parley_engine_healthy{process="2"}'), 1);
    t.equal(await node.metric('parley_outbox_dead'), 0);
    const [victim] = supervised.pids();
    // It accepts nothing, and the kernel goes on to assign connections to it.
    process.kill(victim!, 'SIGSTOP');
    const asked = Array.from({ length: 40 }, () => get(node, '/healthz'));
    await Promise.any(asked);
    process.kill(victim!, 'SIGKILL');
    t.equal((await Promise.all(asked)).length, 40, 'another node answers what it had not accepted');
    await until(() => !supervised.pids().includes(victim!), { what: 'another node in its slot' });
    await until(async () => JSON.parse((await get(node, '/readyz')).body).processes.ready === PROCESSES, {
      what: 'all nodes serve again',
    });
    t.match(
      supervised.log.find(({ pid, signal }) => pid === victim && signal === 'SIGKILL'),
      { process: 1, level: 50 },
    );
    t.equal(await node.metric('parley_sends_total'), sends);
    t.equal((await node.send(group)).status, 201);
    t.equal(await node.metric('parley_sends_total'), sends + 1);
  });

  t.test('a roll replaces every process, and nothing of a client is lost', async (t) => {
    const before = supervised.pids();
    const reader = new SdkReader({
      url: () => node.baseUrl,
      account: node.demo.account_id,
      token: ada.access_token,
      conversationIds: [group],
    });
    const load = new SteadyLoad(t, {
      node: () => node,
      conversationIds: [group],
      perSecond: 20,
      random: new Random(1),
    });
    const visitors = new Visitors(node);
    await load.sends(20);
    node.signal('SIGHUP');
    await node.running.logs(/each node is a new process/);
    await load.sends(20);
    await load.stop();
    t.strictSame(await visitors.stop(), [], 'no connection was reset or refused');
    t.comment(`${visitors.served} connections, ${load.retried} sends repeated`);
    const after = supervised.pids();
    t.equal(new Set([...before, ...after]).size, 2 * PROCESSES, 'all are new');
    await allEnd(before);
    const stored = await node.page(group);
    const history = reader.history.get(group)!;
    await until(() => history.length >= stored.length, { what: 'every message' });
    t.strictSame([...reader.problems, ...historyProblems(history, stored)], []);
    const ids = new Set(stored.map(({ id }) => id));
    t.strictSame(
      load.acknowledged.filter((id) => !ids.has(id)),
      [],
    );
    reader.client.close();
  });

  t.test('nodes end when their supervisor was killed, and another one takes over at once', async (t) => {
    const orphans = supervised.pids();
    node.signal('SIGKILL');
    const another = await supervised.again(t);
    t.equal(another.node.baseUrl, node.baseUrl);
    t.strictSame(orphans.filter(isRunning), []);
    t.equal((await another.node.send(group)).status, 201);

    t.comment('a stop ends one after another');
    const nodes = another.pids();
    another.node.signal('SIGTERM');
    t.equal((await another.node.running.ended).code, 0);
    await allEnd(nodes);
    const steps = another.log.flatMap(({ process, msg }) =>
      process !== undefined && (msg === 'stopping' || msg === 'stopped') ? [`${process} ${msg}`] : [],
    );
    t.strictSame(
      steps,
      [1, 2].flatMap((slot) => [`${slot} stopping`, `${slot} stopped`]),
    );
  });
});

t.test('a stop during the start starts no more of them', async (t) => {
  const { url: DATABASE_URL } = await createTestDatabase(t);
  const { url: REDIS_URL } = await startRedis(t);
  const env = { DATABASE_URL, REDIS_URL, PARLEY_PROCESSES: '2', PORT: '0', PARLEY_DRAIN_DELAY_MS: '0' };
  const running = startParley(t, { ...env, PARLEY_DATA_DIR: freshDirectory(t) });
  await running.logs(/"process":1/);
  running.child.kill('SIGTERM');
  const { code, stderr } = await running.ended;
  t.equal(code, 0, stderr);
  t.notMatch(stderr, /"process":2/);
});

t.test('what keeps them from starting is said in one line', async (t) => {
  const REDIS_URL = 'redis://127.0.0.1:1';
  const env = { PARLEY_PROCESSES: '2', REDIS_URL, PORT: String(await freePort()) };
  const failed = await runParley(['start'], { ...env, DATABASE_URL: 'postgres://127.0.0.1:1/none' });
  t.equal(failed.code, 1);
  t.equal(failed.stderr.match(/"msg":"cannot reach Postgres/g)?.length, 1, failed.stderr);
  const alone = await runParley(['node'], {});
  t.match(alone, { code: 1, stderr: /"msg":"this command is for the processes of a supervisor"\}\n$/ });
});

const SPREAD = 800;

/** Asks on a connection of its own. */
function get({ baseUrl }: TestNode, path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(baseUrl + path, { agent: false }, async (response) => {
      resolve({ status: response.statusCode!, body: await text(response) });
    });
    asked.on('error', reject).end();
  });
}

function opened({ baseUrl }: TestNode): Promise<Socket> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => resolve(socket));
    socket.on('error', reject);
  });
}

function tryOpen(node: TestNode, token: string): Promise<Listener> {
  return node.tryListen(node.demo.conversations.group, { token });
}

/** Has the kernel move connections that a closing listener has not accepted to another one. */
function migrateRequests(t: { teardown(undo: () => void): void }): void {
  const setting = '/proc/sys/net/ipv4/tcp_migrate_req';
  const before = readFileSync(setting, 'utf8');
  writeFileSync(setting, '1');
  t.teardown(() => writeFileSync(setting, before));
}

/** Clients that connect, ask once, and go, all the time. */
class Visitors {
  served = 0;
  readonly #problems: string[] = [];
  readonly #node: TestNode;
  readonly #runs: Promise<void>[];
  #isStopped = false;

  constructor(node: TestNode) {
    this.#node = node;
    this.#runs = Array.from({ length: 4 }, () => this.#run());
  }

  async stop(): Promise<string[]> {
    this.#isStopped = true;
    await Promise.all(this.#runs);
    return this.#problems;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        const { status } = await get(this.#node, '/healthz');
        if (status !== 200) this.#problems.push(String(status));
        this.served += 1;
      } catch (error) {
        this.#problems.push((error as Error).message);
      }
      await pause(5);
    }
  }
}
