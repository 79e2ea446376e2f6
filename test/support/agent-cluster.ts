import type { Message } from '@parley/client';
import { connect } from '@parley/client';
import type pg from 'pg';
import type { FaultProxy } from './fault-proxy.ts';
import { startLinks } from './link-faults.ts';
import { ModelServer } from './model-server.ts';
import { startNode, type TestNode } from './node.ts';
import { createTestDatabase } from './postgres.ts';
import { startRedis } from './redis.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

/** Two nodes over one Postgres and one Redis, whose agents use a model provider of the test. */
export class AgentCluster {
  readonly databaseUrl: string;
  readonly models: ModelServer;
  readonly nodes: TestNode[] = [];
  /** The link of each node to Redis; empty if nodes have no links of their own. */
  readonly links: readonly FaultProxy[];
  readonly #start: (index: number) => Promise<TestNode>;

  /** Starts a cluster. `chain`: the models of every tier. */
  static start(t: Teardown, ...chain: readonly string[]): Promise<AgentCluster> {
    return AgentCluster.#startOver(t, undefined, chain);
  }

  /** Starts the cluster with a separate link to Redis for each node. */
  static startBehindLinks(t: Teardown, seed: number, ...chain: readonly string[]): Promise<AgentCluster> {
    return AgentCluster.#startOver(t, seed, chain);
  }

  static async #startOver(t: Teardown, seed: number | undefined, chain: readonly string[]) {
    const { url: databaseUrl } = await createTestDatabase(t);
    const redis = await startRedis(t);
    const links = seed === undefined ? [] : await startLinks(t, { redis, seed, count: 2 });
    const models = await ModelServer.start(t);
    const env = { ...models.env(...chain), PARLEY_SOCKET_SOCKETS_PER_ACTOR: '10000' };
    const cluster = new AgentCluster({ databaseUrl, models, links }, (index) => {
      const link = links[index];
      const dataDir = cluster.nodes[index]?.dataDir;
      return startNode(t, {
        databaseUrl,
        env,
        redisUrl: link === undefined ? redis.url : `redis://127.0.0.1:${link.port}`,
        ...(dataDir !== undefined && { dataDir }),
      });
    });
    // Starts the nodes one after the other: the first makes the demo account.
    for (let n = 0; n < 2; n++) cluster.nodes.push(await cluster.#start(n));
    return cluster;
  }

  private constructor(
    { databaseUrl, models, links }: Pick<AgentCluster, 'databaseUrl' | 'models' | 'links'>,
    start: (index: number) => Promise<TestNode>,
  ) {
    this.databaseUrl = databaseUrl;
    this.models = models;
    this.links = links;
    this.#start = start;
  }

  /** Replaces a node that was killed. */
  async restart(index: number): Promise<void> {
    this.nodes[index] = await this.#start(index);
  }

  /** Creates a conversation of ada and the demo agent, which answers every message there. */
  async createConversation(title: string): Promise<string> {
    const [node] = this.nodes;
    const { users, agent } = node!.demo;
    const { body } = await node!.call('POST', '/v1/messaging/conversations', {
      type: 'group',
      title,
      participants: [
        { type: 'user', actor_id: users.ada.id },
        { type: 'agent', actor_id: agent.actor_id, agent_trigger_policy: 'always' },
      ],
    });
    return String(body.id);
  }
}

/** A client of the SDK with the state that it shows of one conversation. */
export class ReplyReader {
  readonly conversationId: string;
  /** The streaming text, as read so far. */
  writing = '';
  /** For each text streamed while it read: whether the pieces matched the seal. */
  readonly matched: boolean[] = [];
  /** Number of times it was caught up after a subscription or a reconnect. */
  timesLive = 0;
  readonly #messages = new Map<number, Message>();

  /** `url` is called before each connection. */
  constructor(t: Teardown, node: () => TestNode, conversationId: string, url = () => node().baseUrl) {
    this.conversationId = conversationId;
    const client = connect({
      url,
      account: node().demo.account_id,
      getToken: () => node().demo.users.ada.access_token,
      mostWaitMs: 1_000,
    });
    t.teardown(() => client.close());
    client.on('state', (state) => {
      if (state === 'live') this.timesLive += 1;
    });
    const show = (message: Message) => void this.#messages.set(message.sequence!, message);
    client.subscribe(conversationId, {
      afterSequence: 0,
      onMessage: (message) => {
        show(message);
        if (message.streaming_state === 'streaming') this.writing = message.body ?? '';
      },
      onUpdate: show,
      onStreaming: ({ body }) => {
        this.writing = body;
      },
      onStreamEnd: ({ matched }) => this.matched.push(matched),
    });
  }

  /** Returns each message on a line, in the form that `transcript` has for Postgres. */
  view(): string {
    return transcript([...this.#messages.values()]);
  }
}

/** Returns where readers still differ from Postgres after they had time to catch up. */
export async function differences(
  database: Pick<pg.Pool, 'query'>,
  readers: readonly ReplyReader[],
): Promise<string[]> {
  const { rows } = await database.query<StoredMessage>(
    `SELECT conversation_id, sequence::int, body, streaming_state FROM messages
     WHERE status = 'sent' AND conversation_id = ANY($1) ORDER BY sequence`,
    [[...new Set(readers.map(({ conversationId }) => conversationId))]],
  );
  const stored = Map.groupBy(rows, ({ conversation_id }) => conversation_id);
  const expected = ({ conversationId }: ReplyReader) => transcript(stored.get(conversationId) ?? []);
  const differing = () => readers.filter((reader) => reader.view() !== expected(reader));
  await until(() => differing().length === 0, { what: 'all views' }).catch(() => {});
  return differing().map((reader) => `a reader has ${reader.view()} instead of ${expected(reader)}`);
}

type ShownMessage = Pick<Message, 'sequence' | 'body' | 'streaming_state'>;

interface StoredMessage extends ShownMessage {
  readonly conversation_id: string;
}

export function transcript(messages: readonly ShownMessage[]): string {
  return messages
    .map(({ sequence, body, streaming_state }) => `${sequence} ${streaming_state ?? 'sent'}: ${body}\n`)
    .join('');
}
