import type { AgentDefinition } from '@parley/protocol/resources/agent-definition.ts';
import type { Question } from '@parley/protocol/resources/question.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import pg from 'pg';
import { answered } from '../support/answered.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { type ModelRequest, ModelServer, type Script } from '../support/model-server.ts';
import type { TestNode } from '../support/node.ts';
import type { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface QuestionsOptions extends Seeded {
  /** Number of kills. */
  readonly rounds: number;
  /** Runs that ask in each round, and as many questions of a workflow with a callback. */
  readonly runs: number;
}

interface QuestionsFigures extends Found {
  readonly kills: number;
  /** Answers by their status; `lost`: the node died before it. */
  readonly answers: Readonly<Record<string, number>>;
  readonly runs: Readonly<Record<string, number>>;
  readonly callbacks: number;
}

/**
 * Two nodes. Agents and a workflow ask, people answer each question on both nodes at the same
 * moment, and a node is killed at random: while runs begin, while they wait, or between answers. In
 * the end one answer of each question counts and is the one that was acknowledged, its callback has
 * come, its run has gone on with it, and what a dead run had asked is withdrawn.
 */
export const questions = campaign({ whole: () => ({ rounds: 40, runs: 8 }), run });

async function run(t: Teardown, options: QuestionsOptions, random: Random): Promise<QuestionsFigures> {
  const ground = await Ground.start(t, random);
  for (let round = 0; round < options.rounds; round++) await ground.round(options.runs, round);
  return ground.figures(options.rounds);
}

type Agent = Pick<AgentDefinition, 'id' | 'actor_id'>;

interface Asked {
  readonly messageId: string;
  /** The options that nodes have acknowledged. */
  readonly acknowledged: string[];
}

const OPTIONS = ['one', 'two', 'three'];
const QUESTION = { text: 'Which?', type: 'buttons', options: OPTIONS.map((value) => ({ value })) };

class Ground {
  readonly #cluster: Cluster;
  readonly #random: Random;
  readonly #database: pg.Client;
  readonly #receiver: WebhookReceiver;
  readonly #agent: Agent;
  readonly #problems: string[] = [];
  readonly #answers: Record<string, number> = {};
  readonly #asked: Asked[] = [];

  static async start(t: Teardown, random: Random): Promise<Ground> {
    const models = await ModelServer.start(t);
    models.otherwise(asksOnce);
    const cluster = await startCluster(t, { ...models.env(), PARLEY_FETCH_ALLOW: '127.0.0.1' });
    const database = new pg.Client({ connectionString: cluster.databaseUrl });
    await database.connect();
    t.teardown(() => database.end());
    const node = cluster.nodes[0].at(NEWEST_VERSION);
    await node.call('POST', '/v1/account/question-callbacks/actions/rotate-secret', {});
    const roles = await node.call('GET', '/v1/roles?limit=100');
    const role = (roles.body.data as { id: string; type: string }[]).find(({ type }) => type === 'agent');
    const { body } = await node.call('POST', '/v1/ai/agents', {
      name: 'Asker',
      slug: 'asker',
      category_code: 'ops',
      trigger_type: 'manual',
      role_id: role?.id,
      config: { tools: [{ tool: 'ask_person' }] },
    });
    const receiver = await WebhookReceiver.start(t);
    return new Ground(cluster, random, database, receiver, body as unknown as Agent);
  }

  private constructor(
    cluster: Cluster,
    random: Random,
    database: pg.Client,
    receiver: WebhookReceiver,
    agent: Agent,
  ) {
    this.#cluster = cluster;
    this.#random = random;
    this.#database = database;
    this.#receiver = receiver;
    this.#agent = agent;
  }

  async round(runs: number, round: number): Promise<void> {
    const place = await this.#conversation(round);
    const ids = await this.#trigger(place, runs);
    const phase = this.#random.pick(['beginning', 'waiting', 'answering'] as const);
    const victim = this.#random.below(2) as 0 | 1;
    if (phase === 'beginning') await this.#kill(victim);
    await this.#askWithCallbacks(place, runs);
    await until(async () => (await this.#count(ids, ['pending', 'running'])) === 0, {
      what: `round ${round}: every run to wait or to end`,
      timeoutMs: 60_000,
    });
    if (phase === 'waiting') await this.#kill(victim);
    const open = await this.#openIn(place);
    const first = phase === 'answering' ? this.#random.below(open.length) : open.length;
    await Promise.all(open.slice(0, first).map((one) => this.#answer(one)));
    if (phase === 'answering') {
      const rest = open.slice(first).map((one) => this.#answer(one));
      await this.#kill(victim);
      await Promise.all(rest);
    }
    await this.#cluster.restart(victim);
    // What no node has answered, because it died, is answered now.
    for (const one of await this.#openIn(place)) await this.#answer(one);
    await until(async () => (await this.#count(ids, ['pending', 'running', 'awaiting_input'])) === 0, {
      what: `round ${round}: every run to end`,
      timeoutMs: 60_000,
    }).catch((error: Error) => this.#problems.push(error.message));
    await this.#check(place, round);
  }

  async figures(kills: number): Promise<QuestionsFigures> {
    const { rows } = await this.#database.query<{ status: string; count: string }>(
      'SELECT status, count(*) FROM agent_runs WHERE agent_id = $1 GROUP BY status',
      [this.#agent.id],
    );
    const waiting = 'SELECT run_id FROM agent_run_actions WHERE awaits IS NOT NULL';
    const left = (await this.#database.query<{ run_id: string }>(waiting)).rows;
    this.#problems.push(...left.map(({ run_id }) => `a call of ${run_id} waits for nothing`));
    return {
      problems: this.#problems,
      kills,
      answers: this.#answers,
      runs: Object.fromEntries(rows.map(({ status, count }) => [status, Number(count)])),
      callbacks: this.#receiver.received.length,
    };
  }

  #node(): TestNode {
    return this.#random.pick(this.#cluster.nodes).at(NEWEST_VERSION);
  }

  async #conversation(round: number): Promise<string> {
    const { users } = this.#cluster.nodes[0].demo;
    const participants = [
      ...[users.ada, users.grace].map(({ id }) => ({ type: 'user', actor_id: id })),
      { type: 'agent', actor_id: this.#agent.actor_id },
    ];
    const body = { type: 'group', title: `Round ${round}`, participants };
    const { id } = await answered(() => this.#node(), {
      method: 'POST',
      path: '/v1/messaging/conversations',
      body,
    });
    return String(id);
  }

  async #trigger(place: string, runs: number): Promise<string[]> {
    const path = `/v1/ai/agents/${this.#agent.id}/runs`;
    return Promise.all(
      Array.from({ length: runs }, async () => {
        const { id } = await answered(() => this.#node(), { method: 'POST', path, body: { input: place } });
        return String(id);
      }),
    );
  }

  async #askWithCallbacks(place: string, count: number): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, () =>
        answered(() => this.#node(), {
          method: 'POST',
          path: `/v1/messaging/conversations/${place}/messages`,
          body: {
            client_message_id: crypto.randomUUID(),
            question: { ...QUESTION, callback_url: this.#receiver.url },
          },
        }),
      ),
    );
  }

  async #openIn(place: string): Promise<Asked[]> {
    const { rows } = await this.#database.query<{ id: string }>(
      `SELECT id FROM messages WHERE conversation_id = $1 AND question->>'status' = 'open' ORDER BY id`,
      [place],
    );
    return rows.map(({ id }) => {
      const known = this.#asked.find(({ messageId }) => messageId === id);
      const one = known ?? { messageId: id, acknowledged: [] };
      if (known === undefined) this.#asked.push(one);
      return one;
    });
  }

  /** Answers on both nodes at the same moment, with another option on each. */
  async #answer(asked: Asked): Promise<void> {
    const { ada, grace } = this.#cluster.nodes[0].demo.users;
    const path = `/v1/messaging/messages/${asked.messageId}/actions/answer`;
    await Promise.all(
      [ada, grace, ada, grace].map(async ({ access_token: token }, index) => {
        const option = OPTIONS[(index + this.#random.below(OPTIONS.length)) % OPTIONS.length]!;
        const node = this.#cluster.nodes[index % 2]!.at(NEWEST_VERSION);
        const answer = await node
          .call('POST', path, { revision: 1, option }, token)
          .catch(() => ({ status: 'lost' as const }));
        this.#answers[answer.status] = (this.#answers[answer.status] ?? 0) + 1;
        if (answer.status === 200) asked.acknowledged.push(option);
      }),
    );
  }

  async #kill(victim: 0 | 1): Promise<void> {
    await this.#cluster.nodes[victim].kill('SIGKILL');
  }

  async #count(ids: readonly string[], statuses: readonly string[]): Promise<number> {
    const { rows } = await this.#database.query<{ count: string }>(
      'SELECT count(*) FROM agent_runs WHERE id = ANY($1) AND status = ANY($2)',
      [ids, statuses],
    );
    return Number(rows[0]!.count);
  }

  async #check(place: string, round: number): Promise<void> {
    const note = (text: string) => this.#problems.push(`round ${round}: ${text}`);
    const read = async () =>
      (
        await this.#database.query<{
          id: string;
          question: Question;
          callback_url: string | null;
          run_status: string | null;
          result: Partial<{ status: string; option: string | null }> | null;
        }>(
          `SELECT m.id, m.question, q.callback_url, r.status AS run_status, a.result
           FROM messages m JOIN questions q ON q.message_id = m.id
             LEFT JOIN agent_run_actions a ON a.id = m.client_message_id LEFT JOIN agent_runs r ON r.id = a.run_id
           WHERE m.conversation_id = $1`,
          [place],
        )
      ).rows;
    // What a dead run had asked is withdrawn after its end.
    await until(async () => (await read()).every(({ question }) => question.status !== 'open'), {
      what: 'no open question',
    }).catch((error: Error) => note(error.message));
    for (const { id, question, callback_url, run_status, result } of await read()) {
      const option = question.answer?.option ?? null;
      const { acknowledged = [] } = this.#asked.find(({ messageId }) => messageId === id) ?? {};
      if (acknowledged.length > 1) note(`${id} was answered ${acknowledged.length} times`);
      if (acknowledged.some((one) => one !== option)) note(`${id} has ${option} and not ${acknowledged}`);
      if (run_status === 'completed' && result?.option !== option) {
        note(`the run of ${id} went on with ${JSON.stringify(result)}, not with ${option}`);
      }
      if (callback_url === null) continue;
      const calls = () => this.#receiver.received.filter(({ event }) => event.data.message_id === id);
      await until(() => calls().length > 0, { what: `the callback of ${id}`, timeoutMs: 60_000 }).catch(
        (error: Error) => note(error.message),
      );
      if (new Set(calls().map(({ headers }) => headers['webhook-id'])).size > 1) note(`${id} has two ends`);
      for (const { event } of calls()) {
        const { answer } = event.data as Pick<Question, 'answer'>;
        if (answer?.option !== option) note(`the callback of ${id} says ${answer?.option}`);
      }
    }
  }
}

/** Asks where the input says, and ends once there is an answer. */
function asksOnce({ body, lastUserText }: ModelRequest): Script {
  if (body.messages.at(-1)?.role === 'tool') return 'So be it.';
  const [conversation_id] = /cnv_[\w-]+/.exec(lastUserText) ?? [];
  return { calls: [{ name: 'ask_person', arguments: { ...QUESTION, conversation_id } }] };
}
