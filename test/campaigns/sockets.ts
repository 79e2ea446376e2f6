import { setTimeout as pause } from 'node:timers/promises';
import { answered } from '../support/answered.ts';
import { historyProblems, type Received } from '../support/check-delivery.ts';
import { createGroup } from '../support/cluster.ts';
import type { FaultProxy } from '../support/fault-proxy.ts';
import { disorder, heal, Losses, linkFaults, startLinks } from '../support/link-faults.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { QuietWrites } from '../support/quiet-writes.ts';
import { Random } from '../support/random.ts';
import { startRedis } from '../support/redis.ts';
import { SdkReader } from '../support/sdk-reader.ts';
import { checkShown, clockSeconds } from '../support/shown.ts';
import { SocketClient } from '../support/socket-client.ts';
import { storedMessages } from '../support/stored-messages.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { WAYS, type WayName, Ways } from '../support/ways.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface SocketsOptions extends Seeded {
  readonly ways: readonly WayName[];
  /** Clients of each kind. */
  readonly sockets: number;
  readonly conversations: number;
  readonly messages: number;
  /** Seconds over which the messages and the faults are spread. */
  readonly seconds: number;
  /**
   * Least number of strikes of each kind of fault: messages are sent in the same rhythm until then.
   * Default: as chance has it.
   */
  readonly strikes?: number;
  /**
   * Number of times that two nodes go meanwhile: one is asked to stop, the other killed, and next
   * time the other way round. They come back.
   */
  readonly restarts: number;
}

interface SocketsFigures extends Found {
  /** Messages to send, beside the changes. */
  readonly messages: number;
  readonly acknowledged: number;
  /** Sends that were refused or not answered, and tried again. */
  readonly retried: number;
  /** Messages that arrived, over all sockets. */
  readonly delivered: number;
  /** Acknowledged changes, by kind. */
  readonly changes: Readonly<Record<string, number>>;
  /** Number of final states that were compared with Postgres, over all sockets, by kind. */
  readonly compared: Readonly<Record<string, number>>;
  /** Events that were left out on the way to a node. */
  readonly losses: Readonly<Record<string, number>>;
  /** Times that a client came back, by way. */
  readonly reconnected: Readonly<Record<string, number>>;
  /** Connections of the SDK, by way and transport. */
  readonly transports: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Frames between nodes that were overtaken by later ones. */
  readonly overtaken: number;
  readonly faults: Readonly<Record<string, number>>;
}

/**
 * Two nodes, each behind its own link to Redis that is cut, delayed, hung, put out of order and
 * loses frames, with sockets that are reset, and nodes that go and come back. Over any number of
 * connections, every client ends with the messages in Postgres in each of its conversations, each
 * once and in order. It also ends with the edits, deletions, notifications and changed
 * conversations since it was first live.
 */
export const sockets = campaign({
  words: ['', ...Object.keys(WAYS)],
  whole: (_, word) => ({
    conversations: 50,
    seconds: 120,
    restarts: 1,
    ...(word === ''
      ? { ways: ['sockets' as const], sockets: 200, messages: 20_000 }
      : { ways: [word as WayName], sockets: 40, messages: 6_000 }),
  }),
  run,
});

/** A client of any kind. */
type Reader = SocketClient | SdkReader;

async function run(t: Teardown, options: SocketsOptions): Promise<SocketsFigures> {
  const ground = await Ground.start(t, options);
  const clients = ground.connect(t);
  await ground.untilAll(clients, ({ hasCursor }) => hasCursor, 'every socket to be live');
  const sinceSeconds = await clockSeconds(ground.databaseUrl);

  const sending = ground.send();
  const breaking = ground.breakThings(clients);
  await Promise.all([sending, breaking, ground.restartNodes()]);
  await ground.end();

  const readers = clients.map((client, index) => ({
    name: `${ground.wayOf(index)} ${index}`,
    shown: () => client.shown,
    conversationIds: new Set(client.history.keys()),
    ...(ground.hasNotifications(index) && { actorId: ground.adaId }),
    sinceSeconds,
  }));
  const { compared, problems: differing } = await checkShown(ground.databaseUrl, readers);
  // Messages that a node left in the outbox may have been sent until now.
  const stored = await ground.stored();
  const problems: string[] = [];
  await ground
    .untilAll(clients, (client) => isComplete(client, stored), 'every socket to have all')
    .catch((error: Error) => problems.push(error.message));
  for (const client of clients) client.stop();
  for (const [index, client] of clients.entries()) {
    const name = `${ground.wayOf(index)} ${index}`;
    problems.push(...client.problems.map((problem) => `${name}: ${problem}`));
    for (const [id, history] of client.history) {
      const wrong = historyProblems(history, stored.get(id) ?? []);
      problems.push(...wrong.map((problem) => `${name}, ${id}: ${problem}`));
    }
  }
  const acknowledged = [...ground.acknowledged, ...ground.quiet.acknowledged];
  const ids = new Set([...stored.values()].flat().map(({ id }) => id));
  const lost = acknowledged.filter((id) => !ids.has(id));
  if (lost.length > 0) problems.push(`acknowledged and lost: ${lost.length}`);
  // Each rename has a message of the system.
  const { rename = 0 } = ground.changes;
  if (ids.size !== acknowledged.length + rename) {
    problems.push(`${acknowledged.length} acknowledged and ${rename} renames, ${ids.size} in Postgres`);
  }
  const transports: Record<string, Record<string, number>> = {};
  const reconnected: Record<string, number> = {};
  for (const [index, client] of clients.entries()) {
    const way = ground.wayOf(index);
    reconnected[way] = (reconnected[way] ?? 0) + Math.max(0, client.connections - 1);
    if (client instanceof SocketClient) continue;
    transports[way] ??= {};
    for (const [name, count] of Object.entries(client.connected)) {
      transports[way][name] = (transports[way][name] ?? 0) + count;
    }
  }
  const histories = clients.flatMap(({ history }) => [...history.values()]);
  // A frame to a node is lost only while a client is connected, and between two polls none is.
  const losesAll = options.ways.some((way) => transports[way]?.poll === undefined);
  return {
    messages: ground.messages,
    acknowledged: acknowledged.length,
    retried: ground.retried,
    delivered: histories.reduce((sum, { length }) => sum + length, 0),
    changes: ground.changes,
    compared,
    losses: ground.losses.byEvent,
    reconnected,
    transports,
    overtaken: ground.links.reduce((sum, { counts }) => sum + counts.held, 0),
    faults: ground.faults,
    problems: [...problems, ...differing, ...(losesAll ? ground.losses.problems() : [])],
  };
}

/** Random subscriptions of each socket. */
const SUBSCRIPTIONS = 5;
const QUIET_CONVERSATIONS = 3;
/** Of this many messages, one is edited and another deleted, each as soon as it is acknowledged. */
const CHANGED_OF = 20;
/**
 * One message in this many renames a conversation: seldom, so that no later title hides a missed
 * title.
 */
const RENAMED_OF = 200;
/** As long as effects are late at times, which are sent while some clients are away. */
const MOST_AWAY_MS = 15_000;
/** Concurrent series of faults: of links and of sockets. */
const SERIES = 2;
/** Clients take a cursor from each heartbeat. */
const HEARTBEAT_MS = 2_000;
const SENDERS = 16;
const DRAIN_MS = 1_000;
/** No fault lasts that long. */
const SEND_MS = 45_000;

class Ground {
  readonly links: readonly FaultProxy[];
  readonly faults: Record<string, number> = {};
  /** Ids of messages that were answered 201. */
  readonly acknowledged: string[] = [];
  retried = 0;
  messages = 0;
  readonly databaseUrl: string;
  readonly losses = new Losses();
  readonly #options: SocketsOptions;
  readonly #random: Random;
  readonly #nodes: TestNode[];
  readonly #restart: (index: number) => Promise<TestNode>;
  readonly #ways: Ways;
  readonly #conversationIds: string[] = [];
  readonly #changed: Record<string, number> = {};
  #quiet: QuietWrites | undefined;
  /** Whether everything is acknowledged, or something never will be. */
  #isSent = false;
  /** Series whose faults have each struck as often as they must. */
  readonly #struck = new Set<object>();

  static async start(t: Teardown, options: SocketsOptions): Promise<Ground> {
    const { url: databaseUrl } = await createTestDatabase(t);
    const redis = await startRedis(t);
    const links = await startLinks(t, { redis, seed: options.seed, count: 2 });
    const nodes: TestNode[] = [];
    const start = (index: number) =>
      startNode(t, {
        databaseUrl,
        redisUrl: `redis://127.0.0.1:${links[index]!.port}`,
        env: {
          PARLEY_SOCKET_SOCKETS_PER_ACTOR: '10000',
          PARLEY_SOCKET_POLLS_PER_SECOND: '10000',
          PARLEY_SOCKET_HEARTBEAT_MS: String(HEARTBEAT_MS),
          PARLEY_DRAIN_MS: String(DRAIN_MS),
        },
        ...(nodes[index] && { dataDir: nodes[index].dataDir }),
      });
    nodes.push(...(await Promise.all([start(0), start(1)])));
    disorder(links);
    const ways = await Ways.start(t, options.ways, nodes);
    const ground = new Ground(options, { links, nodes, ways, start, databaseUrl });
    await ground.#createConversations(t);
    return ground;
  }

  private constructor(
    options: SocketsOptions,
    parts: {
      links: FaultProxy[];
      nodes: TestNode[];
      ways: Ways;
      start: (index: number) => Promise<TestNode>;
      databaseUrl: string;
    },
  ) {
    this.#options = options;
    this.#random = new Random(options.seed);
    this.links = parts.links;
    this.#nodes = parts.nodes;
    this.#ways = parts.ways;
    this.#restart = parts.start;
    this.databaseUrl = parts.databaseUrl;
  }

  get quiet(): QuietWrites {
    return this.#quiet!;
  }

  get adaId(): string {
    return this.#nodes[0]!.demo.users.ada.id;
  }

  /** Number of acknowledged changes, by kind. */
  get changes(): Readonly<Record<string, number>> {
    const sum = { ...this.quiet.made };
    for (const [kind, count] of Object.entries(this.#changed)) sum[kind] = (sum[kind] ?? 0) + count;
    return sum;
  }

  wayOf(index: number): WayName {
    const { ways, sockets } = this.#options;
    return ways[Math.floor(index / sockets)]!;
  }

  /** Returns true for ada's half of the sockets; the other half is a key's. */
  hasNotifications(index: number): boolean {
    return index % 2 === 0;
  }

  /** Connects clients that see everything; ada has notifications of quiet conversations only. */
  connect(t: Teardown): Reader[] {
    const { ways, sockets } = this.#options;
    return Array.from({ length: ways.length * sockets }, (_, index) => {
      const random = new Random(this.#options.seed * 1_000 + index);
      const chosen = Array.from({ length: SUBSCRIPTIONS }, () => random.pick(this.#conversationIds));
      const conversationIds = [...new Set([...chosen, random.pick(this.quiet.conversationIds)])];
      const client = this.#reader(index, conversationIds, random);
      t.teardown(() => client.stop());
      return client;
    });
  }

  #reader(index: number, conversationIds: readonly string[], random: Random): Reader {
    const tokenOf = ({ demo }: TestNode) =>
      this.hasNotifications(index) ? demo.users.ada.access_token : demo.api_key;
    const way = this.wayOf(index);
    if (way !== 'sockets') {
      const [node] = this.#nodes;
      const { account_id: account } = node!.demo;
      const { transports } = WAYS[way];
      const url = () => this.#ways.url(way, random);
      return new SdkReader({ url, account, token: tokenOf(node!), conversationIds, transports });
    }
    const address = () => {
      const node = random.pick(this.#nodes);
      const { 'Content-Type': _, ...headers } = node.headers(tokenOf(node));
      return { url: `${node.baseUrl.replace('http', 'ws')}/v1/realtime`, headers };
    };
    return new SocketClient({ conversationIds, random, address });
  }

  /** Sends each at its time, repeatedly under the same client id until it is acknowledged. */
  async send(): Promise<void> {
    const { messages, seconds, strikes = 0 } = this.#options;
    const startedAt = performance.now();
    const isOver = () => this.messages >= messages && (strikes === 0 || this.#struck.size === SERIES);
    const work = async (): Promise<void> => {
      while (!isOver()) {
        const n = this.messages++;
        const inMs = startedAt + (n * seconds * 1_000) / messages - performance.now();
        if (inMs > 0) await pause(inMs);
        const conversationId = this.#random.pick(this.#conversationIds);
        const messageId = await this.#sendOne(`sockets-${n}`, conversationId);
        await this.#changeSome(n, conversationId, messageId);
      }
    };
    await Promise.all(Array.from({ length: SENDERS }, work)).finally(() => {
      this.#isSent = true;
    });
  }

  /**
   * Causes one fault after the other until everything is sent, on the links and, independently, on
   * the sockets: cursors are for a client that goes while events are late or lost.
   */
  async breakThings(clients: readonly Reader[]): Promise<void> {
    const random = new Random(this.#options.seed + 7);
    const awayMs = Math.min(MOST_AWAY_MS, this.#options.seconds * 1_000);
    const breakSome = (reset: (client: Reader) => void) => {
      for (let n = 0; n < Math.ceil(clients.length / 20); n++) reset(random.pick(clients));
    };
    await Promise.all([
      this.#breakBy(linkFaults(this.links, random, this.losses), random),
      this.#breakBy(
        {
          'sockets reset': () => breakSome((client) => client.reset()),
          'sockets away': () => breakSome((client) => client.reset(random.below(awayMs))),
        },
        new Random(this.#options.seed + 8),
      ),
      this.#ways.change(new Random(this.#options.seed + 9), {
        isOver: () => this.#isSent,
        changed: (block) => this.#count(`proxy ${block}`),
      }),
    ]);
  }

  /**
   * Restarts nodes, spread over the sends: one is asked to go, the other killed, even if the first
   * is not back yet.
   */
  async restartNodes(): Promise<void> {
    const { restarts } = this.#options;
    const part = 1 / (2 * restarts + 1);
    const replace = async (index: 0 | 1) => {
      for (let n = 0; n < restarts; n++) {
        const signal = (n + index) % 2 === 0 ? 'SIGTERM' : 'SIGKILL';
        await this.#replace(index, signal, (2 * n + index + 1) * part);
      }
    };
    await Promise.all([replace(0), replace(1)]);
  }

  /**
   * Ends the faults and the changes. The last change of each kind is lost, and no later frame shows
   * that.
   */
  async end(): Promise<void> {
    heal(this.links);
    await this.losses.during(this.links, 1, 0, () => this.quiet.pass());
    await this.losses.during(this.links, 1, 0, () => this.quiet.stop());
  }

  /** Returns the stored messages by conversation, in order. */
  stored(): Promise<Map<string, Received[]>> {
    return storedMessages(this.databaseUrl, [...this.#conversationIds, ...this.quiet.conversationIds]);
  }

  /** Rejects when some clients do not get there. */
  async untilAll(
    clients: readonly Reader[],
    isThere: (client: Reader) => boolean,
    what: string,
  ): Promise<void> {
    let late: readonly Reader[] = clients;
    await until(
      () => {
        late = late.filter((client) => !isThere(client));
        return late.length === 0;
      },
      { what },
    );
  }

  async #breakBy(
    faults: Readonly<Record<string, () => Promise<void> | void>>,
    random: Random,
  ): Promise<void> {
    const { strikes = 0 } = this.#options;
    const owed = Array.from({ length: strikes }, () => Object.keys(faults)).flat();
    while (!this.#isSent) {
      const [name = random.pick(Object.keys(faults))] = owed.splice(random.below(owed.length), 1);
      this.#count(name);
      await faults[name]?.();
      if (owed.length === 0) this.#struck.add(faults);
      await pause(200 + random.below(strikes > 0 ? 300 : 800));
    }
  }

  /** Replaces a node when this part of the messages is acknowledged. */
  async #replace(index: 0 | 1, signal: 'SIGTERM' | 'SIGKILL', part: number): Promise<void> {
    await until(() => this.#isSent || this.acknowledged.length >= part * this.#options.messages, {
      what: 'a part to be sent',
      timeoutMs: 600_000,
    });
    this.#count(signal);
    await endOf(this.#nodes[index]!, signal);
    // Its link may be broken at this moment, and a node does not start without Redis.
    this.#nodes[index] = await until(() => this.#restart(index).catch(() => undefined), {
      what: 'the node to start again',
    });
    this.#ways.lead(index, this.#nodes[index].baseUrl);
  }

  async #createConversations(t: Teardown): Promise<void> {
    for (let n = 0; n < this.#options.conversations; n++) {
      this.#conversationIds.push(await createGroup(this.#nodes[0]!, `Pier ${n}`, ['ada', 'grace']));
    }
    this.#quiet = await QuietWrites.start(t, {
      nodes: () => this.#nodes,
      random: new Random(this.#options.seed + 1),
      conversations: QUIET_CONVERSATIONS,
    });
  }

  /** Changes some of the sent messages, and of their conversations. */
  async #changeSome(n: number, conversationId: string, messageId: string): Promise<void> {
    const message = `/v1/messaging/messages/${messageId}`;
    if (n % CHANGED_OF === 0) await this.#change('edit', 'PATCH', message, { body: `edited ${n}` });
    if (n % CHANGED_OF === CHANGED_OF / 2) await this.#change('delete', 'DELETE', message);
    if (n % RENAMED_OF === 1) {
      const conversation = `/v1/messaging/conversations/${conversationId}`;
      await this.#change('rename', 'PATCH', conversation, { title: `Pier after ${n}` });
    }
  }

  async #change(kind: string, method: string, path: string, body?: object): Promise<void> {
    const token = this.#nodes[0]!.demo.users.ada.access_token;
    await answered(() => this.#random.pick(this.#nodes), { method, path, body, token });
    this.#changed[kind] = (this.#changed[kind] ?? 0) + 1;
  }

  async #sendOne(clientMessageId: string, conversationId: string): Promise<string> {
    let last = 'no answer';
    for (const startedAt = performance.now(); performance.now() - startedAt < SEND_MS; ) {
      const node = this.#random.pick(this.#nodes);
      // Uses one author on both nodes: a client id belongs to an author.
      const token = node.demo.users.ada.access_token;
      const answer = await node
        .send(conversationId, { client_message_id: clientMessageId }, token)
        .catch((error: Error) => {
          last = error.message;
        });
      if (answer) last = `${answer.status} ${JSON.stringify(answer.body)}`;
      if (answer?.status === 201) {
        const id = String(answer.body.id);
        this.acknowledged.push(id);
        return id;
      }
      this.retried += 1;
      await pause(50 + this.#random.below(100));
    }
    throw new Error(`${clientMessageId} is not acknowledged after ${SEND_MS} ms: ${last}`);
  }

  #count(name: string): void {
    this.faults[name] = (this.faults[name] ?? 0) + 1;
  }
}

function isComplete(client: Reader, stored: ReadonlyMap<string, readonly Received[]>): boolean {
  return [...client.history.keys()].every((id) => client.last(id) >= (stored.get(id)?.at(-1)?.sequence ?? 0));
}

/** Resolves when the process is gone; rejects with its last words if it does not go. */
async function endOf(node: TestNode, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const { child } = node.running;
  node.signal(signal);
  await until(() => child.exitCode !== null || child.signalCode !== null, {
    what: `a node to end by ${signal}`,
  }).catch((error: Error) => {
    throw new Error(`${error.message}; it said ${node.running.stderr.slice(-2_000)}`);
  });
}
