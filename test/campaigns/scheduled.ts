import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { type Cluster, checkCluster, startCluster } from '../support/cluster.ts';
import type { TestNode } from '../support/node.ts';
import { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface ScheduledOptions extends Seeded {
  /** Faults, one after the other, each while messages become due. */
  readonly faults: readonly FaultName[];
  /** Number in each round. */
  readonly messages: number;
  /** Default: a cluster of its own. */
  readonly cluster?: Cluster;
}

interface ScheduledFigures extends Found {
  readonly scheduled: number;
  readonly sent: number;
  readonly canceled: number;
  /** Worst milliseconds, by fault, from the requested time to the entry into the timeline. */
  readonly worstLatenessMs: Readonly<Record<string, number>>;
}

/**
 * Two nodes, and messages that become due while a node is killed or stopped, or Redis goes. Some
 * are canceled or put off meanwhile. In the end each was sent once and none before its time, no
 * canceled message was sent, every reader has the timeline in order, and every message has its
 * notifications once.
 */
export const scheduled = campaign({ whole: (seed) => ({ faults: anyFaults(seed, 24), messages: 200 }), run });

async function run(t: Teardown, options: ScheduledOptions, random: Random): Promise<ScheduledFigures> {
  const { faults, messages } = options;
  const cluster = options.cluster ?? (await startCluster(t));
  const postgres = new pg.Pool({ connectionString: cluster.databaseUrl, max: 4 });
  t.teardown(() => postgres.end());
  // Node 1 is stopped but never killed: its sockets live through everything.
  const listener = await cluster.nodes[1].listen(cluster.conversationId);
  const worstLatenessMs: Record<string, number> = {};
  const problems: string[] = [];
  for (const fault of faults) {
    const round = new Round({ cluster, postgres, random, messages });
    await round.plan();
    await Promise.all([FAULTS[fault](cluster, random, round), round.interfere()]);
    await round.finish();
    problems.push(...(await round.problems()));
    worstLatenessMs[fault] = Math.max(worstLatenessMs[fault] ?? 0, await round.worstLatenessMs());
  }
  problems.push(...(await checkCluster(cluster, [listener], [])), ...(await leftovers(postgres)));
  return {
    scheduled: faults.length * messages,
    sent: listener.created().length,
    canceled: await count(postgres, "SELECT FROM messages WHERE status = 'canceled'"),
    worstLatenessMs,
    problems,
  };
}

type Fault = (cluster: Cluster, random: Random, round: Round) => Promise<void>;

const FAULTS = {
  none: async () => {},
  async killed(cluster, _random, round) {
    await round.hasSent(0.1);
    await cluster.nodes[0].kill('SIGKILL');
    await cluster.restart(0);
  },
  async stopped({ nodes }, random, round) {
    await round.hasSent(0.1);
    const node = random.pick(nodes);
    node.signal('SIGSTOP');
    await pause(3_000);
    node.signal('SIGCONT');
  },
  async away({ redis }, random, round) {
    await redis.stop();
    await round.isDue();
    await pause(500 + random.below(1_000));
    await redis.start();
  },
  async hung({ redis }, random, round) {
    await round.hasSent(0.1);
    redis.hang();
    await pause(500 + random.below(2_000));
    redis.resume();
  },
  async flushed({ redis }, _random, round) {
    await round.hasSent(0.3);
    await redis.flushall();
  },
} satisfies Readonly<Record<string, Fault>>;

export type FaultName = keyof typeof FAULTS;

function anyFaults(seed: number, count: number): FaultName[] {
  const random = new Random(seed);
  return Array.from({ length: count }, () => random.pick(Object.keys(FAULTS) as FaultName[]));
}

interface RoundOptions {
  readonly cluster: Cluster;
  readonly postgres: pg.Pool;
  readonly random: Random;
  readonly messages: number;
}

/** Milliseconds from the request to its time; longer if the machine is slow. */
const LEAD_MS = 2_000;
const SPREAD_MS = 500;
const PUT_OFF_MS = 1_000;

/** Some messages that become due within half a second. */
class Round {
  readonly #options: RoundOptions;
  #ids: string[] = [];
  readonly #canceled = new Set<string>();
  #leadMs = LEAD_MS;
  /** Time at which the last message is due. */
  #dueAt = 0;

  constructor(options: RoundOptions) {
    this.#options = options;
  }

  /**
   * Schedules the messages. If that took most of the time until they are due, none could be
   * canceled any more: then it schedules others, twice as far ahead.
   */
  async plan(): Promise<void> {
    const { messages } = this.#options;
    const from = await this.#now();
    this.#ids = await Promise.all(Array.from({ length: messages }, () => this.#schedule()));
    const now = await this.#now();
    this.#dueAt = now + this.#leadMs + SPREAD_MS;
    if (now - from <= this.#leadMs / 2) return;
    this.#leadMs *= 2;
    await this.plan();
  }

  /**
   * Cancels some messages and puts some off, as late as when they are due. The node may be the node
   * that dies.
   */
  async interfere(): Promise<void> {
    const { cluster, random, messages } = this.#options;
    const chosen = Array.from({ length: Math.ceil(messages / 5) }, () => ({
      id: random.pick(this.#ids),
      cancel: random.below(2) === 0,
      node: random.pick(cluster.nodes),
      inMs: random.below(this.#leadMs + SPREAD_MS),
    }));
    await Promise.all(
      chosen.map(async ({ id, cancel, node, inMs }) => {
        await pause(inMs);
        const path = `/v1/messaging/messages/${id}`;
        const later = { scheduled_at: new Date(this.#dueAt + PUT_OFF_MS).toISOString() };
        const answer = await (cancel
          ? node.call('POST', `${path}/actions/cancel`, undefined, tokenOf(node))
          : node.call('PATCH', path, later, tokenOf(node))
        ).catch(() => undefined);
        if (cancel && answer?.status === 200) this.#canceled.add(id);
      }),
    );
  }

  async isDue(): Promise<void> {
    await until(async () => (await this.#now()) > this.#dueAt, { what: 'the time' });
  }

  /** Resolves when this part was sent; canceled messages do not count. */
  async hasSent(part: number): Promise<void> {
    await until(async () => (await this.#countIn(['sent'])) >= part * this.#ids.length, {
      what: `${part} of the messages to be sent`,
    });
  }

  async finish(): Promise<void> {
    await until(async () => (await this.#countIn(['scheduled'])) === 0, {
      what: 'every message to be dealt with',
    });
  }

  async problems(): Promise<string[]> {
    const { rows } = await this.#options.postgres.query<{ id: string; status: string; early: boolean }>(
      'SELECT id, status, sequence IS NOT NULL AND updated_at < scheduled_at AS early FROM messages WHERE id = ANY($1)',
      [this.#ids],
    );
    return rows.flatMap(({ id, status, early }) => {
      if (early) return [`${id} was sent before its time`];
      if (status === 'sent') return this.#canceled.has(id) ? [`${id} was canceled and sent`] : [];
      // A node that died may have canceled it before it could answer.
      return status === 'canceled' ? [] : [`${id} is ${status}`];
    });
  }

  async worstLatenessMs(): Promise<number> {
    const { rows } = await this.#options.postgres.query<{ worst: number }>(
      `SELECT coalesce(max(extract(epoch FROM updated_at - scheduled_at) * 1000), 0)::int AS worst
       FROM messages WHERE id = ANY($1) AND status = 'sent'`,
      [this.#ids],
    );
    return rows[0]!.worst;
  }

  /** Schedules a message, again if a busy machine let its time pass before the request. */
  async #schedule(): Promise<string> {
    const { cluster, random } = this.#options;
    const node = random.pick(cluster.nodes);
    return until(
      async () => {
        const at = (await this.#now()) + this.#leadMs + random.below(SPREAD_MS);
        const fields = { scheduled_at: new Date(at).toISOString() };
        const { status, body } = await node.send(cluster.conversationId, fields, tokenOf(node));
        return status === 201 ? String(body.id) : undefined;
      },
      { what: 'a schedule to be accepted' },
    );
  }

  /** Polls slowly, so that the test does not take the processor from the nodes. */
  async #countIn(statuses: readonly string[]): Promise<number> {
    await pause(25);
    return count(this.#options.postgres, 'SELECT FROM messages WHERE id = ANY($1) AND status = ANY($2)', [
      this.#ids,
      statuses,
    ]);
  }

  /** Returns the time by Postgres' clock, in milliseconds since 1970. */
  async #now(): Promise<number> {
    const { rows } = await this.#options.postgres.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    return rows[0]!.now.getTime();
  }
}

function tokenOf(node: TestNode): string {
  return node.demo.users.ada.access_token;
}

/** Returns work that was not done, and work that was done twice. */
export async function leftovers(postgres: pg.Pool): Promise<string[]> {
  await until(async () => (await count(postgres, 'SELECT FROM outbox')) === 0, {
    what: 'an empty outbox',
  });
  await until(async () => (await count(postgres, 'SELECT FROM jobs')) === 0, { what: 'an empty queue' });
  const notified = await count(
    postgres,
    `SELECT FROM messages m
     JOIN participants p ON p.conversation_id = m.conversation_id AND p.type = 'user' AND p.actor_id <> m.author_id
     LEFT JOIN notifications n ON n.message_id = m.id AND n.recipient_id = p.actor_id
     WHERE m.kind = 'scheduled' GROUP BY m.id, p.actor_id, m.status
     HAVING count(n.id) <> CASE m.status WHEN 'sent' THEN 1 ELSE 0 END`,
  );
  const outcomes = await count(
    postgres,
    `SELECT FROM messages WHERE kind = 'scheduled' AND (status = 'sent') <> (outcome->>'result' = 'sent')`,
  );
  return [
    ...(notified === 0 ? [] : [`${notified} notifications missing or doubled`]),
    ...(outcomes === 0 ? [] : [`${outcomes} outcomes are not what happened`]),
  ];
}

async function count(postgres: pg.Pool, query: string, values: unknown[] = []): Promise<number> {
  return (await postgres.query(query, values)).rowCount ?? 0;
}
