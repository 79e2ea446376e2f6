import { randomUUID } from 'node:crypto';
import { Agent, createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import pg from 'pg';
import { ROOT } from '../start/parley.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { startRedis } from '../support/redis.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface WebhooksOptions extends Seeded {
  /** Deliveries, over the three webhooks. */
  readonly events: number;
  readonly conversations: number;
  /** Number of concurrent callers. */
  readonly width: number;
  readonly kills: number;
}

interface WebhooksFigures extends Found {
  readonly messages: number;
  readonly events: number;
  readonly kills: number;
  /** Requests that the receiver refused or did not answer as it should. */
  readonly refused: Readonly<Record<string, number>>;
  /** Events that were accepted more than once. */
  readonly repeated: Readonly<Record<string, number>>;
  readonly replays: number;
  /** Checked claims about a conversation. */
  readonly claims: number;
}

/**
 * Two nodes under load, whose clock of retries runs a thousand times faster, with three receivers:
 * one is down a third of the time, one is slow, one lies (it takes events and answers with an
 * error, with nothing, or with garbage). Nodes are killed. Each receiver accepts every event at
 * least once. Meanwhile no claim of completeness covers an event that was not accepted: a receiver
 * that compares finds it outside of the claims.
 */
export const webhooks = campaign({
  whole: () => ({ events: 100_000, conversations: 40, width: 24, kills: 8 }),
  run,
});

async function run(t: Teardown, options: WebhooksOptions, random: Random): Promise<WebhooksFigures> {
  const { seed, events, conversations, width, kills } = options;
  const cluster = await Nodes.start(t);
  const sql = new pg.Client({ connectionString: cluster.databaseUrl });
  await sql.connect();
  t.teardown(() => sql.end());
  const receivers = await Promise.all(
    (['down', 'slow', 'lying'] as const).map((manner, index) =>
      Receiver.start(t, manner, new Random(seed * 10 + index)),
    ),
  );
  for (const receiver of receivers) await cluster.addWebhook(receiver);
  const groups: string[] = [];
  for (let n = 0; n < conversations; n++) groups.push(await cluster.createGroup(n));
  const check = new Check(cluster, sql, receivers, groups);

  const sends = new Sends(cluster, groups, Math.ceil(events / receivers.length));
  const sent = sends.run(width, random);
  let killed = 0;
  const killing = (async () => {
    // Spread over the sends, however long they take.
    while (!sends.isOver && killed < kills) {
      if (sends.share > (killed + 1) / (kills + 1)) {
        killed += 1;
        await cluster.restart(random.below(2) as 0 | 1);
      }
      await pause(CHECK_EVERY_MS);
    }
  })();
  const checking = (async () => {
    while (!sends.isOver) {
      const beganMs = performance.now();
      await check.claims(sends.acknowledged);
      // A check of many messages takes the processor from the nodes.
      await pause(Math.max(CHECK_EVERY_MS, 3 * (performance.now() - beganMs)));
    }
  })();
  await Promise.all([sent, killing, checking]);
  for (const receiver of receivers) receiver.heal();
  const replays = await check.everything(sends.acknowledged);
  return {
    messages: sends.acknowledged.size,
    events: receivers.reduce((sum, { accepted }) => sum + accepted.size, 0),
    kills: killed,
    refused: Object.fromEntries(receivers.map(({ manner, refused }) => [manner, refused])),
    repeated: Object.fromEntries(receivers.map(({ manner, repeated }) => [manner, repeated])),
    replays,
    claims: check.checked,
    problems: check.problems,
  };
}

const CHECK_EVERY_MS = 300;

class Nodes {
  readonly databaseUrl: string;
  readonly #t: Teardown;
  readonly #redisUrl: string;
  #nodes: [TestNode, TestNode] | undefined;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  static async start(t: Teardown): Promise<Nodes> {
    const [redis, { url }] = await Promise.all([startRedis(t), createTestDatabase(t)]);
    const nodes = new Nodes(t, url, redis.url);
    nodes.#nodes = await Promise.all([nodes.#start(), nodes.#start()]);
    t.teardown(() => nodes.#agent.destroy());
    return nodes;
  }

  private constructor(t: Teardown, databaseUrl: string, redisUrl: string) {
    this.#t = t;
    this.databaseUrl = databaseUrl;
    this.#redisUrl = redisUrl;
  }

  get accountId(): string {
    return this.#nodes![0].demo.account_id;
  }

  async restart(index: 0 | 1): Promise<void> {
    const nodes = this.#nodes!;
    await nodes[index].kill('SIGKILL');
    nodes[index] = await this.#start(nodes[index].dataDir);
  }

  /** Returns undefined if the node does not answer. */
  async call(
    index: number,
    method: string,
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly body: Record<string, unknown> } | undefined> {
    const { baseUrl, demo } = this.#nodes![index]!;
    const headers = {
      Authorization: `Bearer ${demo.api_key}`,
      'Service-Version': NEWEST_VERSION,
      'Service-Account': demo.account_id,
      'Content-Type': 'application/json',
    };
    return new Promise((resolve) => {
      const lost = () => resolve(undefined);
      const asked = request(`${baseUrl}${path}`, { method, headers, agent: this.#agent }, (response) => {
        const pieces: Buffer[] = [];
        response.on('error', lost).on('data', (piece: Buffer) => pieces.push(piece));
        response.on('end', () => {
          const text = Buffer.concat(pieces).toString();
          resolve({ status: response.statusCode!, body: JSON.parse(text) });
        });
      });
      asked.on('error', lost).end(body && JSON.stringify(body));
    });
  }

  /** Asks both nodes in turn until one answers well. */
  async ok(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    let turn = 0;
    return until(
      async () => {
        const answer = await this.call(turn++ % 2, method, path, body);
        return answer !== undefined && answer.status < 300 ? answer.body : undefined;
      },
      { what: `${method} ${path}` },
    );
  }

  async addWebhook(receiver: Receiver): Promise<void> {
    const body = { url: receiver.url, event_types: ['message.created'] };
    receiver.webhookId = String((await this.ok('POST', '/v1/webhooks', body)).id);
  }

  async createGroup(n: number): Promise<string> {
    const body = { type: 'group', title: `Group ${n}`, participants: [] };
    return String((await this.ok('POST', '/v1/messaging/conversations', body)).id);
  }

  #start(dataDir?: string): Promise<TestNode> {
    return startNode(this.#t, {
      databaseUrl: this.databaseUrl,
      redisUrl: this.#redisUrl,
      command: CHILD,
      env: { PARLEY_FETCH_ALLOW: '127.0.0.1' },
      ...(dataDir !== undefined && { dataDir }),
    });
  }
}

const CHILD = [
  process.execPath,
  `--import=${join(ROOT, 'test/support/quick-start.js')}`,
  join(ROOT, 'test/support/webhook-node-child.ts'),
] as const;

/** Sends to all conversations over both nodes until enough are acknowledged. */
class Sends {
  /** For each message id, the machine's time at which its answer had arrived. */
  readonly acknowledged = new Map<string, number>();
  isOver = false;
  readonly #nodes: Nodes;
  readonly #groups: readonly string[];
  readonly #count: number;

  constructor(nodes: Nodes, groups: readonly string[], count: number) {
    this.#nodes = nodes;
    this.#groups = groups;
    this.#count = count;
  }

  /** The acknowledged share of all messages to send. */
  get share(): number {
    return this.acknowledged.size / this.#count;
  }

  async run(width: number, random: Random): Promise<void> {
    const work = async (caller: number) => {
      while (this.acknowledged.size < this.#count) {
        const path = `/v1/messaging/conversations/${random.pick(this.#groups)}/messages`;
        const body = { body: 'ahoy', client_message_id: randomUUID() };
        const answer = await this.#nodes.call(caller % 2, 'POST', path, body);
        if (answer?.status === 201) this.acknowledged.set(String(answer.body.id), Date.now());
        else await pause(50);
      }
    };
    await Promise.all(Array.from({ length: width }, (_, caller) => work(caller)));
    this.isOver = true;
  }
}

type Manner = 'down' | 'slow' | 'lying';

/** A receiver. It has accepted an event that it answered with 2xx. */
class Receiver {
  readonly manner: Manner;
  /** Times by performance.now(), by the id of the message. */
  readonly accepted = new Map<string, number>();
  refused = 0;
  repeated = 0;
  url = '';
  webhookId = '';
  readonly #random: Random;
  #isHealed = false;

  static async start(t: Teardown, manner: Manner, random: Random): Promise<Receiver> {
    const receiver = new Receiver(manner, random);
    const server = createServer((message, response) => {
      const pieces: Buffer[] = [];
      message.on('data', (piece: Buffer) => pieces.push(piece));
      message.on('end', () => receiver.#take(Buffer.concat(pieces), response));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    return receiver;
  }

  private constructor(manner: Manner, random: Random) {
    this.manner = manner;
    this.#random = random;
  }

  /** Accepts everything from now on. */
  heal(): void {
    this.#isHealed = true;
  }

  #take(body: Buffer, response: ServerResponse): void {
    const { data } = JSON.parse(body.toString()) as { data: { id: string } };
    if (this.#isHealed) this.#accept(data.id, response);
    else this.#behave(data.id, response);
  }

  #behave(id: string, response: ServerResponse): void {
    const luck = this.#random.next();
    if (this.manner === 'down') {
      // Down for a third of each three seconds.
      if (performance.now() % 3_000 < 2_000) this.#accept(id, response);
      else this.#refuse(() => (luck < 0.5 ? response.destroy() : response.writeHead(503).end()));
    } else if (this.manner === 'slow') {
      setTimeout(() => this.#accept(id, response), luck < 0.02 ? 1_200 : luck * 40);
    } else if (luck < 0.7) {
      this.#accept(id, response);
    } else if (luck < 0.8) {
      this.#refuse(() => response.writeHead(500).end('taken all the same'));
    } else if (luck < 0.87) {
      this.#refuse(() => response.destroy());
    } else if (luck < 0.94) {
      this.#refuse(() => response.socket!.end('HTTP/1.1 200'));
    } else {
      this.#refuse(() => response.writeHead(302, { Location: this.url }).end());
    }
  }

  #accept(id: string, response: ServerResponse): void {
    if (this.accepted.has(id)) this.repeated += 1;
    else this.accepted.set(id, performance.now());
    response.writeHead(204).end();
  }

  #refuse(answer: () => void): void {
    this.refused += 1;
    answer();
  }
}

interface Stored {
  readonly id: string;
  readonly conversation_id: string;
  readonly sequence: number;
}

interface Claims {
  readonly allThroughMs: number;
  /** Progress by conversation. */
  readonly progress: ReadonlyMap<string, { readonly through: number; readonly head: number }>;
}

/** Compares claims with what the receivers have accepted. */
class Check {
  readonly problems: string[] = [];
  checked = 0;
  readonly #nodes: Nodes;
  readonly #sql: pg.Client;
  readonly #receivers: readonly Receiver[];
  readonly #groups: readonly string[];

  constructor(nodes: Nodes, sql: pg.Client, receivers: readonly Receiver[], groups: readonly string[]) {
    this.#nodes = nodes;
    this.#sql = sql;
    this.#receivers = receivers;
    this.#groups = groups;
  }

  async claims(acknowledged: ReadonlyMap<string, number> = new Map()): Promise<void> {
    for (const receiver of this.#receivers) {
      const before = await this.#stored();
      const { allThroughMs, progress } = await this.#claims(receiver);
      const askedAt = performance.now();
      const after = await this.#stored();
      const isAccepted = ({ id }: Stored) =>
        (receiver.accepted.get(id) ?? Number.POSITIVE_INFINITY) <= askedAt;
      for (const message of after) {
        const claim = progress.get(message.conversation_id);
        if (claim !== undefined && message.sequence <= claim.through && !isAccepted(message)) {
          this.#report(receiver, `claims ${claim.through}, but not ${message.sequence} was accepted`);
        }
        const acknowledgedAt = acknowledged.get(message.id);
        if (acknowledgedAt !== undefined && acknowledgedAt < allThroughMs && !isAccepted(message)) {
          this.#report(receiver, `claims everything, but not ${message.sequence} was accepted`);
        }
      }
      for (const message of before) {
        if (isAccepted(message)) continue;
        const claim = progress.get(message.conversation_id);
        // An unlisted conversation has had nothing recorded: all_through is before it.
        if (claim === undefined) continue;
        if (claim.head < message.sequence) {
          this.#report(receiver, `does not know that ${message.sequence} exists`);
        }
      }
      this.checked += progress.size;
    }
  }

  /**
   * Waits until each receiver has everything, and all of it is claimed. Returns the number of
   * replays.
   */
  async everything(acknowledged: ReadonlyMap<string, number>): Promise<number> {
    let replays = 0;
    const lastMs = Math.max(...acknowledged.values());
    for (const receiver of this.#receivers) {
      const missing = async () =>
        (await this.#stored()).filter(({ id }) => !receiver.accepted.has(id)).length;
      await until(
        async () => {
          const { rows } = await this.#sql.query(
            `SELECT count(*) FILTER (WHERE status = 'pending') AS pending, count(*) FILTER (WHERE status = 'failed') AS failed
             FROM webhook_deliveries WHERE webhook_id = $1 AND status IN ('pending', 'failed')`,
            [receiver.webhookId],
          );
          const { pending, failed } = rows[0]!;
          if (Number(pending) === 0 && Number(failed) > 0) {
            replays += 1;
            await this.#nodes.ok('POST', `/v1/webhooks/${receiver.webhookId}/actions/replay`, {
              since: '2026-01-01T00:00:00Z',
            });
          }
          await this.claims(acknowledged);
          return (await missing()) === 0;
        },
        { what: `everything at the ${receiver.manner} receiver`, timeoutMs: FINISH_MS },
      );
      await until(
        async () => {
          const { allThroughMs, progress } = await this.#claims(receiver);
          const isWhole = [...progress.values()].every(({ through, head }) => through === head);
          return isWhole && progress.size > 0 && allThroughMs > lastMs;
        },
        { what: `the proof for the ${receiver.manner} receiver`, timeoutMs: FINISH_MS },
      );
    }
    const stored = new Set((await this.#stored()).map(({ id }) => id));
    for (const id of acknowledged.keys()) if (!stored.has(id)) this.problems.push(`${id} is gone`);
    await this.claims(acknowledged);
    return replays;
  }

  async #claims({ webhookId }: Receiver): Promise<Claims> {
    const progress = new Map<string, { through: number; head: number }>();
    let allThroughMs = 0;
    let url: string | null = `/v1/webhooks/${webhookId}/completeness?limit=100`;
    while (url !== null) {
      const { body } = (await this.#page(url)) as { body: CompletenessPage };
      // The first page was requested first.
      allThroughMs ||= Date.parse(body.all_through);
      for (const { conversation_id, through_sequence: through, head } of body.data) {
        progress.set(conversation_id, { through, head });
      }
      url = body.page_info.next_page_url;
    }
    return { allThroughMs, progress };
  }

  async #page(url: string): Promise<{ body: unknown }> {
    return { body: await this.#nodes.ok('GET', url) };
  }

  async #stored(): Promise<Stored[]> {
    const { rows } = await this.#sql.query(
      `SELECT id, conversation_id, sequence::int FROM messages
       WHERE conversation_id = ANY($1) AND status = 'sent' AND sequence IS NOT NULL`,
      [this.#groups],
    );
    return rows;
  }

  #report({ manner }: Receiver, what: string): void {
    this.problems.push(`the ${manner} receiver: ${what}`);
  }
}

interface CompletenessPage {
  readonly all_through: string;
  readonly data: readonly {
    readonly conversation_id: string;
    readonly through_sequence: number;
    readonly head: number;
  }[];
  readonly page_info: { readonly next_page_url: string | null };
}

/** Enough for a hundred thousand events, most of whose retries end within two minutes. */
const FINISH_MS = 15 * 60_000;
