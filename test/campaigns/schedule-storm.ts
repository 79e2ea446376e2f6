import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { type Cluster, createGroup, startCluster } from '../support/cluster.ts';
import type { Listener, TestNode } from '../support/node.ts';
import type { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';
import { leftovers } from './scheduled.ts';

interface ScheduleStormOptions extends Seeded {
  readonly messages: number;
  readonly conversations: number;
  /** Milliseconds from the first requested time to the last. */
  readonly spreadMs: number;
  /** Default: a cluster of its own. */
  readonly cluster?: Cluster;
}

interface ScheduleStormFigures extends Found {
  readonly sent: number;
  /** Messages sent when the node was killed. */
  readonly sentAtKill: number;
  /** Milliseconds from a message's requested time to its entry into the timeline. */
  readonly latenessMs: { readonly p50: number; readonly p99: number; readonly worst: number };
  /** Milliseconds from the first requested time to the entry of the last message. */
  readonly wholeMs: number;
}

/**
 * Many messages that become due within seconds, in several conversations and by two authors, over
 * two nodes, one of which is killed and stays away until all is over. In the end each was sent
 * once, none before its time, in every conversation in the order of the requested times, and the
 * readers have the same.
 */
export const scheduleStorm = campaign({
  whole: () => ({ messages: 5_000, conversations: 50, spreadMs: 10_000 }),
  run,
});

async function run(
  t: Teardown,
  options: ScheduleStormOptions,
  random: Random,
): Promise<ScheduleStormFigures> {
  const { messages, conversations, spreadMs } = options;
  const cluster = options.cluster ?? (await startCluster(t));
  const { nodes } = cluster;
  const postgres = new pg.Pool({ connectionString: cluster.databaseUrl, max: 4 });
  t.teardown(() => postgres.end());
  const groups = await Promise.all(
    Array.from({ length: conversations }, (_, n) => createGroup(nodes[0], `Storm ${n}`)),
  );
  const listeners = await Promise.all(groups.map((id) => nodes[1].listen(id)));

  const ids = await schedule(nodes, random, groups, messages);
  const firstMs = (await now(postgres)) + LEAD_MS;
  await setTimes(postgres, random, { ids, firstMs, spreadMs });
  const sent = () => count(postgres, "SELECT FROM messages WHERE status = 'sent' AND id = ANY($1)", [ids]);
  await until(async () => (await paused(sent)) >= ids.length / 5, { what: 'a fifth of the messages' });
  const sentAtKill = await sent();
  await nodes[0].kill('SIGKILL');
  await until(async () => (await paused(sent)) === ids.length, { what: 'every message to be sent' });
  await until(() => countFrames(listeners) >= ids.length, { what: 'every reader to have its messages' });
  await cluster.restart(0);

  const rows = await readStored(postgres, ids);
  const lateness = rows.map(({ late_ms }) => late_ms).sort((a, b) => a - b);
  return {
    sent: rows.length,
    sentAtKill,
    latenessMs: {
      p50: lateness[Math.floor(lateness.length * 0.5)]!,
      p99: lateness[Math.floor(lateness.length * 0.99)]!,
      worst: lateness.at(-1)!,
    },
    wholeMs: Math.round(Math.max(...rows.map(({ entered_ms }) => entered_ms)) - firstMs),
    problems: [
      ...problemsOf(rows),
      ...readerProblems(groups, rows, listeners),
      ...(await leftovers(postgres)),
    ],
  };
}

const WIDTH = 16;

/** Schedules the messages for later. Returns their ids. */
async function schedule(
  nodes: Cluster['nodes'],
  random: Random,
  groups: readonly string[],
  messages: number,
): Promise<string[]> {
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const ids: string[] = [];
  let left = messages;
  const work = async (node: TestNode) => {
    while (left > 0) {
      left -= 1;
      const { ada, grace } = node.demo.users;
      const { access_token } = random.pick([ada, grace]);
      const { status, body } = await node.send(random.pick(groups), { scheduled_at: later }, access_token);
      if (status !== 201) throw new Error(`a schedule was refused: ${status} ${JSON.stringify(body)}`);
      ids.push(String(body.id));
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, (_, n) => work(nodes[n % 2 === 0 ? 0 : 1])));
  return ids;
}

/** Longer than nodes take to notice times that were changed behind their backs. */
const LEAD_MS = 3_000;

/**
 * Sets all times in one statement as the requested ones: the requests take longer than the times
 * may be apart. Some are equal, since they are whole milliseconds.
 */
async function setTimes(
  postgres: pg.Pool,
  random: Random,
  { ids, firstMs, spreadMs }: { ids: readonly string[]; firstMs: number; spreadMs: number },
): Promise<void> {
  await postgres.query(
    `WITH moved AS (
       UPDATE messages m SET scheduled_at = to_timestamp(t.ms / 1000.0)
       FROM unnest($1::text[], $2::bigint[]) AS t(id, ms) WHERE m.id = t.id
       RETURNING m.conversation_id, m.scheduled_at
     ), firsts AS (
       SELECT conversation_id, min(scheduled_at) AS scheduled_at FROM moved GROUP BY conversation_id
     )
     UPDATE jobs j SET due_at = firsts.scheduled_at FROM firsts WHERE j.key = firsts.conversation_id`,
    [ids, ids.map(() => firstMs + random.below(spreadMs))],
  );
}

interface StoredRow {
  readonly id: string;
  readonly conversation_id: string;
  readonly sequence: number;
  readonly late_ms: number;
  readonly entered_ms: number;
  /** Its place in the order of times and creation, and by number, in its conversation. */
  readonly due_place: number;
  readonly sent_place: number;
}

async function readStored(postgres: pg.Pool, ids: readonly string[]): Promise<StoredRow[]> {
  const { rows } = await postgres.query<StoredRow>(
    `SELECT id, conversation_id, sequence::int AS sequence,
       (extract(epoch FROM updated_at - scheduled_at) * 1000)::float8 AS late_ms,
       (extract(epoch FROM updated_at) * 1000)::float8 AS entered_ms,
       row_number() OVER (PARTITION BY conversation_id ORDER BY scheduled_at, created_at, id)::int AS due_place,
       row_number() OVER (PARTITION BY conversation_id ORDER BY sequence)::int AS sent_place
     FROM messages WHERE id = ANY($1) AND status = 'sent' ORDER BY conversation_id, sequence`,
    [ids],
  );
  return rows;
}

function problemsOf(rows: readonly StoredRow[]): string[] {
  const early = rows.filter(({ late_ms }) => late_ms < 0);
  const misplaced = rows.filter(({ due_place, sent_place }) => due_place !== sent_place);
  return [
    ...(early.length === 0 ? [] : [`${early.length} were sent before their time, such as ${early[0]!.id}`]),
    ...(misplaced.length === 0
      ? []
      : [`${misplaced.length} are not in the order of their times, such as ${misplaced[0]!.id}`]),
  ];
}

/** Returns problems of listeners that lack their messages, or have them twice or unordered. */
function readerProblems(
  groups: readonly string[],
  rows: readonly StoredRow[],
  listeners: readonly Listener[],
): string[] {
  const stored = Map.groupBy(rows, (row) => row.conversation_id);
  return groups.flatMap((id, index) => {
    const expected = (stored.get(id) ?? []).map((row) => row.sequence);
    const got = listeners[index]!.sequences();
    return got.join() === expected.join() ? [] : [`the reader of ${id} got ${got}, not ${expected}`];
  });
}

function countFrames(listeners: readonly Listener[]): number {
  return listeners.reduce((sum, listener) => sum + listener.created().length, 0);
}

/** Polls slowly, so that the test does not take the processor from the nodes. */
async function paused<T>(read: () => Promise<T>): Promise<T> {
  await pause(100);
  return read();
}

/** Returns the time by Postgres' clock, in milliseconds since 1970. */
async function now(postgres: pg.Pool): Promise<number> {
  const { rows } = await postgres.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  return rows[0]!.now.getTime();
}

async function count(postgres: pg.Pool, query: string, values: unknown[]): Promise<number> {
  return (await postgres.query(query, values)).rowCount ?? 0;
}
