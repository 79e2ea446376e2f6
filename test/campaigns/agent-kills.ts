import pg from 'pg';
import type { Message } from '../../src/client/index.ts';
import { AgentCluster, ReplyReader, transcript } from '../support/agent-cluster.ts';
import { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

export interface AgentKillsOptions {
  readonly seed: number;
  /** Each is a kill. */
  readonly rounds: number;
  /** Runs under way when the node is killed, at different tokens of theirs. */
  readonly runs: number;
}

export interface AgentKillsFigures {
  readonly seed: number;
  readonly kills: number;
  /** Runs that the kills met, and how they ended. */
  readonly runs: Readonly<Record<string, number>>;
  /** From the kill to the last `complete` of its messages, the longest. */
  readonly slowestEndMs: number;
  readonly readers: number;
  readonly seconds: number;
  /** Empty: everything held. */
  readonly problems: readonly string[];
}

/** No message may be `streaming` for longer than this after a kill. */
const END_MS = 15_000;
const TOKENS = 120;
const TOKENS_PER_SECOND = 40;
const READERS = 3;

/**
 * Two nodes, agents that answer on one of them, and that one killed at a random token: every message ends, with the
 * text that was kept of it, and every reader, whichever node it was on, ends with what Postgres has.
 */
export async function agentKills(t: Teardown, options: AgentKillsOptions): Promise<AgentKillsFigures> {
  const startedAt = performance.now();
  const ground = await Ground.start(t, options);
  const figures = { slowestEndMs: 0, runs: {} as Record<string, number>, problems: [] as string[] };
  for (let round = 0; round < options.rounds; round++) {
    figures.slowestEndMs = Math.max(figures.slowestEndMs, await ground.kill(figures.problems));
  }
  for (const status of await ground.statuses()) figures.runs[status] = (figures.runs[status] ?? 0) + 1;
  return {
    seed: options.seed,
    kills: options.rounds,
    ...figures,
    readers: READERS * options.runs,
    seconds: Math.round((performance.now() - startedAt) / 1_000),
  };
}

class Ground {
  readonly #random: Random;
  readonly #cluster: AgentCluster;
  readonly #database: pg.Client;
  readonly #conversationIds: string[] = [];
  readonly #readers: ReplyReader[] = [];

  static async start(t: Teardown, { seed, runs }: AgentKillsOptions): Promise<Ground> {
    const cluster = await AgentCluster.start(t);
    const text = Array.from({ length: TOKENS }, (_, n) => `token ${n} `);
    cluster.models.otherwise({ text, tokensPerSecond: TOKENS_PER_SECOND });
    const database = new pg.Client({ connectionString: cluster.databaseUrl });
    await database.connect();
    t.teardown(() => database.end());
    const ground = new Ground(new Random(seed), cluster, database);
    for (let n = 0; n < runs; n++) await ground.#open(t, n);
    return ground;
  }

  private constructor(random: Random, cluster: AgentCluster, database: pg.Client) {
    this.#random = random;
    this.#cluster = cluster;
    this.#database = database;
  }

  /** One kill; answers how long the last message took to end, in milliseconds. */
  async kill(problems: string[]): Promise<number> {
    const { nodes } = this.#cluster;
    const victim = this.#random.below(nodes.length);
    const token = 1 + this.#random.below(TOKENS - 20);
    for (const reader of this.#readers) reader.writing = '';
    // The node that takes a message runs what it starts.
    for (const id of this.#conversationIds) {
      const { status } = await nodes[victim]!.send(id, { body: 'question' });
      if (status !== 201) throw new Error(`a question was answered ${status}`);
    }
    const watched = this.#readers[0]!;
    await until(() => watched.writing.includes(`token ${token} `), {
      what: `token ${token} to be read`,
      timeoutMs: 30_000,
    });
    await nodes[victim]!.kill('SIGKILL');
    const killedAt = performance.now();
    await until(async () => (await this.#unfinished()) === 0, {
      what: 'every message to end',
      timeoutMs: END_MS,
    }).catch((error: Error) => problems.push(`token ${token}: ${error.message}`));
    const tookMs = Math.round(performance.now() - killedAt);
    await this.#cluster.restart(victim);
    problems.push(...(await this.#differences()));
    return tookMs;
  }

  async statuses(): Promise<string[]> {
    const { rows } = await this.#database.query<{ status: string }>('SELECT status FROM agent_runs');
    return rows.map(({ status }) => status);
  }

  /** Messages that are written, and runs that go on. */
  async #unfinished(): Promise<number> {
    const { rows } = await this.#database.query<{ count: string }>(
      `SELECT (SELECT count(*) FROM messages WHERE streaming_state = 'streaming')
        + (SELECT count(*) FROM agent_runs WHERE status IN ('pending', 'running')) AS count`,
    );
    return Number(rows[0]!.count);
  }

  /** Where readers end with something else than Postgres, given the time to catch up. */
  async #differences(): Promise<string[]> {
    const { rows } = await this.#database.query<Row>(
      `SELECT conversation_id, sequence::int, body, streaming_state FROM messages
       WHERE status = 'sent' AND conversation_id = ANY($1) ORDER BY sequence`,
      [this.#conversationIds],
    );
    const stored = Map.groupBy(rows, ({ conversation_id }) => conversation_id);
    const expected = ({ conversationId }: ReplyReader) => transcript(stored.get(conversationId) ?? []);
    const differing = () => this.#readers.filter((reader) => reader.view() !== expected(reader));
    await until(() => differing().length === 0, { what: 'all views', timeoutMs: 20_000 }).catch(() => {});
    return differing().map((reader) => `a reader has ${reader.view()} instead of ${expected(reader)}`);
  }

  async #open(t: Teardown, n: number): Promise<void> {
    const id = await this.#cluster.createConversation(`Watch ${n}`);
    this.#conversationIds.push(id);
    for (let reader = 0; reader < READERS; reader++) {
      this.#readers.push(new ReplyReader(t, () => this.#random.pick(this.#cluster.nodes), id));
    }
  }
}

interface Row extends Pick<Message, 'sequence' | 'body' | 'streaming_state'> {
  readonly conversation_id: string;
}
