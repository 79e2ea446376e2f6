import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { type Cluster, startCluster } from '../support/cluster.ts';
import type { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface IdempotencyOptions extends Seeded {
  readonly keys: number;
  /** Default: a cluster of its own. */
  readonly cluster?: Cluster;
}

interface IdempotencyFigures extends Found {
  readonly keys: number;
  readonly requests: number;
  /** Answers that a request with the key was in progress. */
  readonly inProgress: number;
  /** Requests without an answer, or with 5xx, because the node was killed. */
  readonly interrupted: number;
  readonly replayed: number;
}

/**
 * Keyed requests on two nodes, a third of them made by several callers at once, while one node is
 * killed in the middle. Each key makes one row, whichever node answered; all answers to it are the
 * same, byte for byte; the key with another request is refused. Half of the requests are drafts,
 * which differ only in the key.
 */
export const idempotency = campaign({ whole: () => ({ keys: 1_000 }), run });

async function run(t: Teardown, options: IdempotencyOptions, random: Random): Promise<IdempotencyFigures> {
  const { keys } = options;
  const cluster = options.cluster ?? (await startCluster(t));
  const run = new Run(cluster, random);
  const tasks = Array.from({ length: keys }, (_, n) => run.task(n, random.below(3) === 0 ? 3 : 1));
  const width = 12;
  let next = 0;
  let killed: Promise<void> | undefined;
  const work = async () => {
    while (next < tasks.length) {
      const task = tasks[next++]!;
      if (next > keys / 2) killed ??= kill(cluster);
      await Promise.all(Array.from({ length: task.callers }, () => run.finish(task)));
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  await killed;

  const problems = [...run.differences(tasks)];
  for (const task of tasks) problems.push(...(await run.replay(task)));
  for (const task of tasks.slice(0, 50)) problems.push(...(await run.reuse(task)));
  problems.push(...(await rowProblems(cluster, keys)));
  const { requests, inProgress, interrupted, replayed } = run;
  return { keys, requests, inProgress, interrupted, replayed, problems };
}

interface Task {
  readonly key: string;
  readonly path: string;
  readonly body: object;
  /** Number of callers that make the request at once. */
  readonly callers: number;
  readonly answers: string[];
}

class Run {
  requests = 0;
  inProgress = 0;
  interrupted = 0;
  replayed = 0;
  readonly #cluster: Cluster;
  readonly #random: Random;

  constructor(cluster: Cluster, random: Random) {
    this.#cluster = cluster;
    this.#random = random;
  }

  task(n: number, callers: number): Task {
    const { conversations } = this.#cluster.nodes[0].demo;
    const isDraft = n % 2 === 1;
    return {
      key: `key ${n}`,
      path: `/v1/messaging/conversations/${isDraft ? conversations.case : conversations.group}/messages`,
      body: isDraft
        ? { body: `under fire ${n}`, mode: 'draft', channel: 'message' }
        : { body: `under fire ${n}`, client_message_id: `under-fire-${n}` },
      callers,
      answers: [],
    };
  }

  /** Repeats the same request on any node until it is answered, as a client does. */
  async finish(task: Task): Promise<void> {
    const deadline = Date.now() + 60_000;
    while (Date.now() < deadline) {
      const answer = await this.#request(task);
      if (answer?.status === 201) {
        task.answers.push(answer.text);
        return;
      }
      if (answer?.status === 409) this.inProgress += 1;
      else if (answer === undefined || answer.status >= 500) this.interrupted += 1;
      else throw new Error(`${task.key}: ${answer.status} ${answer.text}`);
      await pause(20 + this.#random.below(30));
    }
    throw new Error(`${task.key} was not answered within a minute`);
  }

  differences(tasks: readonly Task[]): string[] {
    return tasks
      .filter(({ answers }) => new Set(answers).size !== 1)
      .map(({ key, answers }) => `${key} had ${new Set(answers).size} different answers`);
  }

  async replay(task: Task): Promise<string[]> {
    const answer = await this.#request(task);
    this.replayed += 1;
    const same = answer?.status === 201 && answer.text === task.answers[0];
    if (same && answer.headers.get('idempotent-replayed') === 'true') return [];
    return [`${task.key} is not replayed: ${answer?.status} ${answer?.text}`];
  }

  async reuse(task: Task): Promise<string[]> {
    const answer = await this.#request({ ...task, body: { ...task.body, body: 'something else' } });
    const { code, type } = JSON.parse(answer?.text ?? '{}').error ?? {};
    if (answer?.status === 422 && code === 'validation_failed' && type === 'idempotency_error') return [];
    return [`${task.key} takes another request: ${answer?.status} ${answer?.text}`];
  }

  async #request(task: Task): Promise<{ status: number; text: string; headers: Headers } | undefined> {
    const node = this.#random.pick(this.#cluster.nodes);
    this.requests += 1;
    try {
      const response = await fetch(`${node.baseUrl}${task.path}`, {
        method: 'POST',
        headers: {
          ...node.headers(this.#cluster.nodes[0].demo.users.ada.access_token),
          'Idempotency-Key': task.key,
        },
        body: JSON.stringify(task.body),
        signal: AbortSignal.timeout(10_000),
      });
      return { status: response.status, text: await response.text(), headers: response.headers };
    } catch {
      return undefined;
    }
  }
}

/** Kills a node, and ages its claims, which would lapse after 30 s. */
async function kill(cluster: Cluster): Promise<void> {
  await cluster.nodes[0].kill('SIGKILL');
  await query(cluster, 'UPDATE idempotency_keys SET claimed_until = now() WHERE status IS NULL');
  await cluster.restart(0);
}

async function rowProblems(cluster: Cluster, keys: number): Promise<string[]> {
  const rows = await query<{ body: string; count: number }>(
    cluster,
    `SELECT body, count(*)::int AS count FROM messages WHERE body LIKE 'under fire %' GROUP BY body`,
  );
  const problems = rows
    .filter(({ count }) => count !== 1)
    .map(({ body, count }) => `"${body}" is there ${count} times`);
  if (rows.length !== keys) problems.push(`${keys} keys made ${rows.length} rows`);
  return problems;
}

async function query<Row>({ databaseUrl }: Cluster, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
