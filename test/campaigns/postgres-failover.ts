import { setTimeout as pause } from 'node:timers/promises';
import { CLOSE_CODES } from '@parley/protocol/socket/close-codes.ts';
import { createGroup } from '../support/cluster.ts';
import { type Listener, startNode, type TestNode } from '../support/node.ts';
import type { Random } from '../support/random.ts';
import { startRedis } from '../support/redis.ts';
import { type PostgresFault, PostgresPair } from '../support/standby.ts';
import { SteadyLoad } from '../support/steady-load.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface PostgresFailoverOptions extends Seeded {
  readonly failovers: number;
  /** Messages a second, each to a random one of two nodes, into three conversations. */
  readonly perSecond: number;
  /** Milliseconds of load before a failover, and of a former primary that goes on after it. */
  readonly betweenMs: number;
  /** Milliseconds from a promotion within which both nodes are to answer a send with 201. */
  readonly backWithinMs: number;
}

interface PostgresFailoverFigures extends Found {
  readonly failovers: Readonly<Record<PostgresFault, number>>;
  readonly acknowledged: number;
  /** Attempts that were refused or not answered, and repeated. */
  readonly retried: number;
  readonly lost: number;
  /** Messages that readers saw, over sockets and REST. */
  readonly seen: number;
  /** Milliseconds from the promotion until each node answered a send with 201, by failover. */
  readonly backMs: readonly number[];
  /** Milliseconds that each promotion took. */
  readonly promotionMs: readonly number[];
  /** Sessions that nodes opened on a former primary after it went on. */
  readonly onFormer: number;
}

/**
 * Two nodes write while their Postgres is killed or hangs and its synchronous standby is promoted,
 * repeatedly. A server that hung goes on afterwards, beside its successor. Nothing acknowledged is
 * lost, no reader sees two contents under one number on either node, and both serve within five
 * seconds of the promotion.
 */
export const postgresFailover = campaign({
  whole: () => ({ failovers: 10, perSecond: 100, betweenMs: 4_000, backWithinMs: 5_000 }),
  run,
});

async function run(
  t: Teardown,
  { failovers, perSecond, betweenMs, backWithinMs }: PostgresFailoverOptions,
  random: Random,
): Promise<PostgresFailoverFigures> {
  const pair = await PostgresPair.start(t);
  const redis = await startRedis(t);
  const start = () => startNode(t, { databaseUrl: pair.url, redisUrl: redis.url });
  const nodes = [await start(), await start()] as const;
  const conversationIds = [await createGroup(nodes[0], 'one'), await createGroup(nodes[0], 'two')];
  conversationIds.push(await createGroup(nodes[0], 'probes'));
  const readers = new Readers(t, nodes, conversationIds);
  await readers.listen();
  const load = new SteadyLoad(t, {
    node: () => random.pick(nodes),
    conversationIds: conversationIds.slice(0, 2),
    perSecond,
    random,
  });

  const problems: string[] = [];
  const counts = { killed: 0, hung: 0 };
  const backMs: number[] = [];
  const promotionMs: number[] = [];
  let onFormer = 0;
  for (let n = 0; n < failovers; n++) {
    await load.sends(perSecond);
    await pause(betweenMs + random.below(500));
    readers.keepCursors();
    const fault: PostgresFault = n % 2 === 0 ? 'hung' : 'killed';
    const { askedMs, promotedMs } = await pair.failOver(fault);
    counts[fault] += 1;
    promotionMs.push(Math.round(promotedMs - askedMs));
    const back = await Promise.all(
      nodes.map((node) => isBack(node, conversationIds[2]!).then((atMs) => Math.round(atMs - promotedMs))),
    );
    backMs.push(...back);
    if (Math.max(...back) > backWithinMs) problems.push(`back after ${back} ms when it was ${fault}`);
    await readers.requireRefusedCursors();
    if (fault === 'hung') {
      await pair.other.resume();
      const sessions = () => pair.other.query(SESSIONS);
      await until(async () => (await sessions()).length === 0, { what: 'the sessions of before to end' });
      await pause(betweenMs);
      const used = await sessions();
      onFormer += used.length;
      if (used.length > 0) problems.push(`the former primary is used: ${JSON.stringify(used[0])}`);
    }
    await pair.restore();
  }
  await load.sends(perSecond);
  await load.stop();

  const stored = await readers.compareWithStored();
  const lost = load.acknowledged.filter((id) => !stored.has(id)).length;
  if (lost > 0) problems.push(`acknowledged and lost: ${lost}`);
  return {
    failovers: counts,
    acknowledged: load.acknowledged.length,
    retried: load.retried,
    lost,
    seen: readers.seen,
    backMs,
    promotionMs,
    onFormer,
    problems: [...problems, ...readers.problems],
  };
}

/** Sessions of nodes, except those left waiting for a standby without end. */
const SESSIONS = `
  SELECT query, state FROM pg_stat_activity
  WHERE application_name = 'parley' AND wait_event IS DISTINCT FROM 'SyncRep'`;

/** Asks the node continuously. Resolves with the time at which it answered a send with 201. */
function isBack(node: TestNode, conversationId: string): Promise<number> {
  return until(
    async () => {
      const answer = await node.send(conversationId).catch(() => undefined);
      return answer?.status === 201 ? performance.now() : undefined;
    },
    { what: 'a node to accept sends again' },
  );
}

/** Sockets and pages of both nodes, each of which must always show the same under a number. */
class Readers {
  readonly problems: string[] = [];
  readonly #nodes: readonly TestNode[];
  readonly #conversationIds: readonly string[];
  readonly #listeners: Listener[] = [];
  /** The content seen first, by conversation and number. */
  readonly #shown = new Map<string, string>();
  #cursors: string[] = [];
  #isStopped = false;
  #polling: Promise<void> | undefined;

  constructor(t: Teardown, nodes: readonly TestNode[], conversationIds: readonly string[]) {
    this.#nodes = nodes;
    this.#conversationIds = conversationIds;
    t.teardown(() => {
      this.#isStopped = true;
    });
  }

  get seen(): number {
    return this.#shown.size;
  }

  async listen(): Promise<void> {
    for (const node of this.#nodes) {
      for (const id of this.#conversationIds) this.#listeners.push(await node.listen(id));
    }
    this.#polling = this.#poll();
  }

  /** Keeps cursors from before a failover. */
  keepCursors(): void {
    this.#cursors = this.#nodes.map(
      (_, node) => this.#listeners[node * this.#conversationIds.length]!.cursor,
    );
  }

  /** Resolves when every node makes a client that resumes from such a cursor load everything. */
  async requireRefusedCursors(): Promise<void> {
    for (const [index, node] of this.#nodes.entries()) {
      const [id, cursor] = [this.#conversationIds[0]!, this.#cursors[index]!];
      const resume = async () => {
        const listener = await node.listen(id);
        listener.socket.send(JSON.stringify({ id: 'r', type: 'resume', cursor, conversations: {} }));
        const isResumed = () => listener.frames.some(({ type }) => type === 'resumed');
        await until(() => listener.closeCode !== undefined || isResumed(), { what: 'an answer' });
        listener.socket.terminate();
        return listener.closeCode === CLOSE_CODES.cursor_invalid.code;
      };
      await until(resume, { what: 'an earlier cursor to be refused' });
    }
  }

  /** Waits until the sockets have everything; returns the ids of all stored messages. */
  async compareWithStored(): Promise<Set<string>> {
    this.#isStopped = true;
    await this.#polling;
    const ids = new Set<string>();
    for (const [index, id] of this.#conversationIds.entries()) {
      const pages = await Promise.all(this.#nodes.map((node) => node.page(id)));
      for (const page of pages) for (const message of page) this.#note(id, message, 'a page of the end');
      for (const message of pages[0]!) ids.add(message.id);
      const numbers = pages[0]!.map(({ sequence }) => sequence);
      for (const node of this.#nodes.keys()) {
        const listener = this.#listeners[node * this.#conversationIds.length + index]!;
        await until(() => (listener.sequences().at(-1) ?? 0) >= numbers.at(-1)!, {
          what: `the end of ${id}`,
        });
        if (listener.closeCode !== undefined)
          this.problems.push(`a socket was closed: ${listener.closeCode}`);
        const got = listener.sequences();
        // It began to listen to an empty group.
        if (JSON.stringify(got) !== JSON.stringify(numbers)) {
          this.problems.push(
            `a socket of node ${node} got ${got.length} of ${numbers.length}, or in disorder`,
          );
        }
        for (const { data } of listener.created()) this.#note(id, data as unknown as Shown, 'a socket');
      }
    }
    return ids;
  }

  async #poll(): Promise<void> {
    while (!this.#isStopped) {
      for (const node of this.#nodes) {
        for (const id of this.#conversationIds) {
          const path = `/v1/messaging/conversations/${id}/messages?limit=50`;
          const answer = await node.call('GET', path).catch(() => undefined);
          if (answer?.status !== 200) continue;
          for (const message of answer.body.data as Shown[]) this.#note(id, message, 'a page');
        }
      }
      await pause(100);
    }
  }

  #note(conversationId: string, { sequence, id, body }: Shown, where: string): void {
    const key = `${conversationId} ${sequence}`;
    const shown = `${id} ${body}`;
    const before = this.#shown.get(key) ?? shown;
    this.#shown.set(key, before);
    if (before !== shown) this.problems.push(`${key} was ${before}, and is ${shown} in ${where}`);
  }
}

interface Shown {
  readonly sequence: number;
  readonly id: string;
  readonly body: string | null;
}
