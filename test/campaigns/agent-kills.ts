import pg from 'pg';
import { AgentCluster, differences, ReplyReader } from '../support/agent-cluster.ts';
import { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface AgentKillsOptions extends Seeded {
  /** Number of kills. */
  readonly rounds: number;
  /** Runs under way when the node is killed, each at another token. */
  readonly runs: number;
  /** Default: a cluster of its own. */
  readonly cluster?: AgentCluster;
  /** Whether the leases of the killed node run out at once, not in their time. */
  readonly endsLeases?: boolean;
}

interface AgentKillsFigures extends Found {
  readonly kills: number;
  /** Runs that the kills met, and how they ended. */
  readonly runs: Readonly<Record<string, number>>;
  /** The longest time from a kill to the last `complete` of its messages. */
  readonly slowestEndMs: number;
  readonly readers: number;
}

const TOKENS = 120;
const TOKENS_PER_SECOND = 40;
const READERS = 3;

/**
 * Two nodes, with agents that answer on one node, which is killed at a random token. Every message
 * ends with the text that was kept of it, and every reader, on either node, ends with the state in
 * Postgres.
 */
export const agentKills = campaign({ whole: () => ({ rounds: 50, runs: 3 }), run });

async function run(t: Teardown, options: AgentKillsOptions): Promise<AgentKillsFigures> {
  const ground = await Ground.start(t, options);
  const figures = { slowestEndMs: 0, runs: {} as Record<string, number>, problems: [] as string[] };
  for (let round = 0; round < options.rounds; round++) {
    if (round > 0) await ground.restart();
    figures.slowestEndMs = Math.max(figures.slowestEndMs, await ground.kill(figures.problems, options));
  }
  for (const status of await ground.statuses()) figures.runs[status] = (figures.runs[status] ?? 0) + 1;
  return {
    kills: options.rounds,
    ...figures,
    readers: READERS * options.runs,
  };
}

class Ground {
  readonly #random: Random;
  readonly #cluster: AgentCluster;
  readonly #database: pg.Client;
  readonly #conversationIds: string[] = [];
  readonly #readers: ReplyReader[] = [];
  #victim = 0;

  static async start(t: Teardown, { seed, runs, ...options }: AgentKillsOptions): Promise<Ground> {
    const cluster = options.cluster ?? (await AgentCluster.start(t));
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

  /** Kills once. Returns the milliseconds until the last message ended. */
  async kill(problems: string[], { endsLeases = false }: AgentKillsOptions): Promise<number> {
    const { nodes } = this.#cluster;
    const victim = this.#random.below(nodes.length);
    this.#victim = victim;
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
    });
    await nodes[victim]!.kill('SIGKILL');
    const killedAt = performance.now();
    if (endsLeases) await this.#database.query('UPDATE agent_runs SET lease_until = clock_timestamp()');
    await until(async () => (await this.#unfinished()) === 0, {
      what: 'every message to end',
    }).catch((error: Error) => problems.push(`token ${token}: ${error.message}`));
    const tookMs = Math.round(performance.now() - killedAt);
    problems.push(...(await differences(this.#database, this.#readers)));
    return tookMs;
  }

  /** Restarts the node that was killed last. */
  restart(): Promise<void> {
    return this.#cluster.restart(this.#victim);
  }

  async statuses(): Promise<string[]> {
    const { rows } = await this.#database.query<{ status: string }>(
      'SELECT status FROM agent_runs WHERE conversation_id = ANY($1)',
      [this.#conversationIds],
    );
    return rows.map(({ status }) => status);
  }

  /** Returns the number of messages being written and of runs that go on. */
  async #unfinished(): Promise<number> {
    const { rows } = await this.#database.query<{ count: string }>(
      `SELECT (SELECT count(*) FROM messages WHERE streaming_state = 'streaming')
        + (SELECT count(*) FROM agent_runs WHERE status IN ('pending', 'running')) AS count`,
    );
    return Number(rows[0]!.count);
  }

  async #open(t: Teardown, n: number): Promise<void> {
    const id = await this.#cluster.createConversation(`Watch ${n}`);
    this.#conversationIds.push(id);
    for (let reader = 0; reader < READERS; reader++) {
      this.#readers.push(new ReplyReader(t, () => this.#random.pick(this.#cluster.nodes), id));
    }
  }
}
