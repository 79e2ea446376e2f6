import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { AgentCluster, differences, ReplyReader } from '../support/agent-cluster.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { disorder, heal, linkFaults } from '../support/link-faults.ts';
import type { ModelReply } from '../support/model-server.ts';
import { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface StreamsOptions extends Seeded {
  readonly conversations: number;
  /** Questions in each conversation, each after the end of the previous reply. */
  readonly questions: number;
  /**
   * Readers of each conversation: half of them from the start; the others arrive later, one in each
   * of the first replies.
   */
  readonly readers: number;
  /** Default: a cluster of its own. Its agents have the models `first` and `second`. */
  readonly cluster?: AgentCluster;
}

interface StreamsFigures extends Found {
  /** Replies in Postgres, written to their ends. */
  readonly replies: number;
  readonly runs: Readonly<Record<string, number>>;
  readonly failovers: number;
  readonly readers: number;
  /** Ends of texts whose writing a reader saw, and those whose pieces made the text. */
  readonly watched: number;
  readonly whole: number;
  /** Frames between nodes that were overtaken by later ones. */
  readonly overtaken: number;
  readonly faults: Readonly<Record<string, number>>;
}

const TOKENS = 60;
/**
 * Tokens of the last reply: at the first everything is cut, at the second it waits until all
 * readers have the text so far.
 */
const [CUT_AT, HELD_AT] = [15, 54];
const TOKENS_PER_SECOND = 50;

/**
 * Agents answer on two nodes while the nodes' links to Redis and the readers' links to the nodes
 * are cut, delayed, hung and put out of order, and models fail over. Every reader ends with the
 * text in Postgres, and each reply has its notification once. Then in one more reply each,
 * everything is cut in the middle and other readers join: all have the text again before it ends,
 * and for each the pieces make exactly the sealed text.
 */
export const streams = campaign({ whole: () => ({ conversations: 8, questions: 12, readers: 6 }), run });

async function run(t: Teardown, options: StreamsOptions): Promise<StreamsFigures> {
  const ground = await Ground.start(t, options);
  const breaking = ground.breakThings();
  await ground.talk().finally(() => ground.stopBreaking());
  await breaking;
  const problems = await ground.differences();
  const matched = ground.readers.flatMap((reader) => reader.matched.splice(0));

  await ground.talkOnce();
  problems.push(...(await ground.differences()));
  for (const [index, reader] of ground.readers.entries()) {
    const isWhole = reader.matched.length === 1 && reader.matched[0] === true;
    if (!isWhole) problems.push(`reader ${index}: cut off once, its pieces matched ${reader.matched}`);
  }
  problems.push(...(await ground.notificationProblems()));
  return {
    ...(await ground.counts()),
    readers: ground.readers.length,
    watched: matched.length,
    whole: matched.filter((one) => one).length,
    overtaken: ground.overtaken,
    faults: ground.faults,
    problems: problems,
  };
}

class Ground {
  readonly readers: ReplyReader[] = [];
  readonly faults: Record<string, number> = {};
  readonly #t: Teardown;
  readonly #options: StreamsOptions;
  readonly #random: Random;
  readonly #cluster: AgentCluster;
  /** The links of readers to the nodes. */
  readonly #doors: readonly FaultProxy[];
  readonly #database: pg.Pool;
  readonly #conversationIds: string[] = [];
  #isCalm = false;
  /** The token at which replies wait for their readers. */
  #hold: ModelReply['hold'];

  static async start(t: Teardown, options: StreamsOptions): Promise<Ground> {
    const { seed } = options;
    const cluster = options.cluster ?? (await AgentCluster.startBehindLinks(t, seed, 'first', 'second'));
    const doors: FaultProxy[] = [];
    for (const { baseUrl } of cluster.nodes) {
      const door = await FaultProxy.start({ target: { port: Number(new URL(baseUrl).port) } });
      t.teardown(() => door.close());
      doors.push(door);
    }
    const database = new pg.Pool({ connectionString: cluster.databaseUrl, max: 2 });
    t.teardown(() => database.end());
    const ground = new Ground(t, options, { cluster, doors, database });
    await ground.#open();
    return ground;
  }

  private constructor(
    t: Teardown,
    options: StreamsOptions,
    parts: { cluster: AgentCluster; doors: readonly FaultProxy[]; database: pg.Pool },
  ) {
    this.#t = t;
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#cluster = parts.cluster;
    this.#doors = parts.doors;
    this.#database = parts.database;
    this.#cluster.models.otherwise(({ model }) => this.#reply(model));
  }

  get overtaken(): number {
    return this.#cluster.links.reduce((sum, { counts }) => sum + counts.held, 0);
  }

  /** Talks in all conversations at once, until each has its questions answered. */
  async talk(): Promise<void> {
    const { questions, readers } = this.#options;
    await Promise.all(
      this.#conversationIds.map(async (id, index) => {
        const random = new Random(this.#options.seed * 1_000 + index);
        for (let question = 0; question < questions; question++) {
          const joining = pause(random.below(1_500)).then(() => {
            if (question < Math.floor(readers / 2)) this.#join(id, 1);
          });
          await this.#askOne(id);
          await joining;
        }
      }),
    );
  }

  /**
   * Asks one question in each conversation; everything is cut in the middle of the reply, and some
   * readers join there.
   */
  async talkOnce(): Promise<void> {
    const restored = Promise.withResolvers<void>();
    this.#hold = { at: HELD_AT, until: restored.promise };
    for (const reader of this.readers) reader.writing = '';
    const answered = Promise.all(this.#conversationIds.map((id) => this.#askOne(id)));
    const has = (token: number) => (reader: ReplyReader) => reader.writing.includes(` ${token} `);
    try {
      await this.#untilEvery(has(CUT_AT), 'to have the beginning');
      const before = new Map(this.readers.map((reader) => [reader, reader.timesLive]));
      for (const proxy of [...this.#doors, ...this.#cluster.links]) proxy.cut();
      for (const id of this.#conversationIds) this.#join(id, 1);
      await this.#untilEvery((reader) => reader.timesLive > (before.get(reader) ?? 0), 'to be back');
      await this.#untilEvery(has(HELD_AT - 1), 'to have all but the end');
    } finally {
      restored.resolve();
      await answered;
    }
  }

  async breakThings(): Promise<void> {
    const random = new Random(this.#options.seed + 7);
    const { links } = this.#cluster;
    disorder(links);
    const faults = {
      ...linkFaults(links, random),
      'readers cut': () => random.pick(this.#doors).cut(),
      'reader cut': () => random.pick(this.#doors).cutOne(),
      'readers hung': async () => {
        const door = random.pick(this.#doors);
        door.pause(['down']);
        await pause(100 + random.below(900));
        door.resume();
      },
    };
    while (!this.#isCalm) {
      const name = random.pick(Object.keys(faults)) as keyof typeof faults;
      this.faults[name] = (this.faults[name] ?? 0) + 1;
      await faults[name]?.();
      await pause(200 + random.below(600));
    }
    heal([...links, ...this.#doors]);
  }

  stopBreaking(): void {
    this.#isCalm = true;
  }

  differences(): Promise<string[]> {
    return differences(this.#database, this.readers);
  }

  /** Returns replies of which ada was not notified exactly once. */
  async notificationProblems(): Promise<string[]> {
    const wrong = async () => {
      const { rows } = await this.#database.query<{ id: string; count: string }>(
        `SELECT m.id, count(n.id) FROM messages m
           LEFT JOIN notifications n ON n.message_id = m.id AND n.recipient_id = $1
         WHERE m.agent_run_id IS NOT NULL AND m.status = 'sent' AND m.conversation_id = ANY($2)
         GROUP BY m.id HAVING count(n.id) <> 1`,
        [this.#cluster.nodes[0]!.demo.users.ada.id, this.#conversationIds],
      );
      return rows;
    };
    await until(async () => (await wrong()).length === 0, { what: 'notifications' }).catch(() => {});
    return (await wrong()).map(({ id, count }) => `${id} has ${count} notifications`);
  }

  async counts(): Promise<Pick<StreamsFigures, 'replies' | 'runs' | 'failovers'>> {
    const { rows } = await this.#database.query<{ status: string; count: string; failovers: string }>(
      `SELECT status, count(*), sum(
         (SELECT sum(jsonb_array_length(s.failovers)) FROM agent_run_steps s WHERE s.run_id = r.id)) AS failovers
       FROM agent_runs r WHERE r.conversation_id = ANY($1) GROUP BY status`,
      [this.#conversationIds],
    );
    const { rows: replies } = await this.#database.query<{ count: string }>(
      `SELECT count(*) FROM messages
       WHERE agent_run_id IS NOT NULL AND streaming_state = 'complete' AND conversation_id = ANY($1)`,
      [this.#conversationIds],
    );
    return {
      replies: Number(replies[0]!.count),
      runs: Object.fromEntries(rows.map(({ status, count }) => [status, Number(count)])),
      failovers: rows.reduce((sum, { failovers }) => sum + Number(failovers), 0),
    };
  }

  /** Returns a reply; the first model breaks down in every third. */
  #reply(model: string): ModelReply {
    const text = Array.from({ length: TOKENS }, (_, n) => `${model} ${n} ${n % 7 === 0 ? '🚢 ' : ''}`);
    const reply = { text, tokensPerSecond: TOKENS_PER_SECOND, ...(this.#hold && { hold: this.#hold }) };
    if (model !== 'first' || this.#random.below(3) > 0) return reply;
    const how = this.#random.pick(['error', 'malformed', 'cut'] as const);
    return { ...reply, breaks: { after: 1 + this.#random.below(TOKENS - 1), how } };
  }

  async #untilEvery(holds: (reader: ReplyReader) => boolean, what: string): Promise<void> {
    let late: readonly ReplyReader[] = this.readers;
    await until(
      () => {
        late = late.filter((reader) => !holds(reader));
        return late.length === 0;
      },
      { what: `every reader ${what}` },
    );
  }

  async #open(): Promise<void> {
    const { conversations, readers } = this.#options;
    for (let n = 0; n < conversations; n++) {
      const id = await this.#cluster.createConversation(`Watch ${n}`);
      this.#conversationIds.push(id);
      this.#join(id, Math.ceil(readers / 2));
    }
  }

  #join(conversationId: string, count: number): void {
    for (let n = 0; n < count; n++) {
      const random = new Random(this.#options.seed * 10_000 + this.readers.length);
      const node = () => random.pick(this.#cluster.nodes);
      const url = () => `http://127.0.0.1:${random.pick(this.#doors).port}`;
      this.readers.push(new ReplyReader(this.#t, node, conversationId, url));
    }
  }

  /** Resolves after the end of the reply. Rejects if there is none in time. */
  async #askOne(conversationId: string): Promise<void> {
    const client_message_id = randomUUID();
    await until(
      async () => {
        const node = this.#random.pick(this.#cluster.nodes);
        // Uses one author on both nodes: a client id belongs to an author.
        const answer = await node.send(
          conversationId,
          { body: 'question', client_message_id },
          node.demo.users.ada.access_token,
        );
        return answer.status === 201;
      },
      { what: 'a question to be taken' },
    );
    await until(() => this.#isAnswered(conversationId, client_message_id), {
      what: `a reply in ${conversationId}`,
    });
  }

  async #isAnswered(conversationId: string, clientMessageId: string): Promise<boolean> {
    await pause(50);
    const { rows } = await this.#database.query(
      `SELECT FROM messages q JOIN agent_runs r ON r.trigger_message_id = q.id AND r.completed_at IS NOT NULL
       WHERE q.conversation_id = $1 AND q.client_message_id = $2 AND NOT EXISTS (
         SELECT FROM messages m WHERE m.conversation_id = $1 AND m.streaming_state = 'streaming')`,
      [conversationId, clientMessageId],
    );
    return rows.length > 0;
  }
}
