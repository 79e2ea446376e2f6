import type { Message } from '../../src/client/index.ts';
import { connect } from '../../src/client/index.ts';
import { ModelServer } from './model-server.ts';
import { startNode, type TestNode } from './node.ts';
import { createTestDatabase } from './postgres.ts';
import { startRedis } from './redis.ts';
import type { Teardown } from './teardown.ts';

/** Two nodes over one Postgres and one Redis, whose agents ask a provider of the test. */
export class AgentCluster {
  readonly databaseUrl: string;
  readonly models: ModelServer;
  readonly nodes: TestNode[] = [];
  readonly #start: (dataDir?: string) => Promise<TestNode>;

  /** `chain`: the models of every tier. */
  static async start(t: Teardown, ...chain: readonly string[]): Promise<AgentCluster> {
    const { url: databaseUrl } = await createTestDatabase(t);
    const redis = await startRedis(t);
    const models = await ModelServer.start(t);
    const env = { ...models.env(...chain), PARLEY_SOCKET_SOCKETS_PER_ACTOR: '10000' };
    const cluster = new AgentCluster(databaseUrl, models, (dataDir) =>
      startNode(t, { databaseUrl, redisUrl: redis.url, env, ...(dataDir !== undefined && { dataDir }) }),
    );
    // One after the other: the first makes the demo account.
    for (let n = 0; n < 2; n++) cluster.nodes.push(await cluster.#start());
    return cluster;
  }

  private constructor(
    databaseUrl: string,
    models: ModelServer,
    start: (dataDir?: string) => Promise<TestNode>,
  ) {
    this.databaseUrl = databaseUrl;
    this.models = models;
    this.#start = start;
  }

  /** In place of one that was killed. */
  async restart(index: number): Promise<void> {
    this.nodes[index] = await this.#start(this.nodes[index]!.dataDir);
  }

  /** With ada, and the demo agent that answers whatever people say there. */
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

/** A client of the SDK with what it shows of one conversation. */
export class ReplyReader {
  readonly conversationId: string;
  /** What is being written, as read so far. */
  writing = '';
  /** Of each text that was written before its eyes: whether the pieces made what was sealed. */
  readonly matched: boolean[] = [];
  readonly #messages = new Map<number, Message>();

  /** `url` is asked before each connection. */
  constructor(t: Teardown, node: () => TestNode, conversationId: string, url = () => node().baseUrl) {
    this.conversationId = conversationId;
    const client = connect({
      url,
      account: node().demo.account_id,
      getToken: () => node().demo.users.ada.access_token,
      mostWaitMs: 1_000,
    });
    t.teardown(() => client.close());
    const show = (message: Message) => void this.#messages.set(message.sequence!, message);
    client.subscribe(conversationId, {
      afterSequence: 0,
      onMessage: show,
      onUpdate: show,
      onWriting: ({ body }) => {
        this.writing = body;
      },
      onWritten: ({ matched }) => this.matched.push(matched),
    });
  }

  /** Each message on a line, as `transcript` of what is in Postgres. */
  view(): string {
    return transcript([...this.#messages.values()]);
  }
}

export function transcript(
  messages: readonly Pick<Message, 'sequence' | 'body' | 'streaming_state'>[],
): string {
  return messages
    .map(({ sequence, body, streaming_state }) => `${sequence} ${streaming_state ?? 'sent'}: ${body}\n`)
    .join('');
}
