import { createConversation } from '../../src/conversations/conversation-store.ts';
import { measureOutbox } from '../../src/db/outbox.ts';
import { closedLoop, UNIQUE } from './closed-loop.ts';
import { parleyDialect } from './dialects.ts';
import { seedHistory } from './history.ts';
import { HttpConnections, postRequest } from './http-connections.ts';
import { BODY, CONVERSATIONS } from './insert-script.ts';
import { type OpenLoopReport, openLoop } from './open-loop.ts';
import type { Block, Side } from './pairs.ts';
import { type BenchDatabase, drainOutbox } from './postgres.ts';
import { type Product, type ProductOptions, readFlushes, startProduct } from './product.ts';
import { RawSubscribers } from './raw-subscribers.ts';
import { exponential } from './tokens.ts';
import type { Session } from './work.ts';

/**
 * Direct conversations have the sending key and one recipient; silent ones have no participants, so that no
 * notifications are made.
 */
export type Kind = 'direct' | 'silent';

/** Messages that each conversation has before the first block. */
export const HISTORY = 200;

export interface StandOptions extends Pick<ProductOptions, 'entry' | 'nodeFlags'> {
  /** In the table and the results. Default: parley. */
  readonly name?: string;
}

/** The results of sends at a fixed rate. */
export interface RateReport extends OpenLoopReport {
  /** Processor time of the server, until all effects of the sends were complete. */
  readonly cpuUsPerSend: number;
}

/** A server with its conversations and its readers, ready to be sent to: P2, P3, P12. */
export class SendStand {
  readonly product: Product;
  readonly database: BenchDatabase;
  readonly #conversations: Readonly<Record<Kind, readonly string[]>>;
  readonly #subscribers: readonly RawSubscribers[];
  readonly #name: string;
  #sent = 0;

  static async open(
    session: Session,
    database: BenchDatabase,
    options: StandOptions = {},
  ): Promise<SendStand> {
    const { name = 'parley', ...composition } = options;
    const product = await startProduct(session.disposer, { databaseUrl: database.url, ...composition });
    const conversations = await seedConversations(product, database);
    await seedHistory(database, HISTORY);
    const subscribers = await openSubscribers(session, product, conversations);
    return new SendStand(name, product, database, conversations, subscribers);
  }

  private constructor(
    name: string,
    product: Product,
    database: BenchDatabase,
    conversations: Readonly<Record<Kind, readonly string[]>>,
    subscribers: readonly RawSubscribers[],
  ) {
    this.#name = name;
    this.product = product;
    this.database = database;
    this.#conversations = conversations;
    this.#subscribers = subscribers;
  }

  /** As many sends as `connections` get through, each asking again as soon as it is answered. */
  side(connections: number, kind: Kind): Side {
    return { name: this.#name, run: (blockMs) => this.#saturate(connections, kind, blockMs) };
  }

  /**
   * Sends to direct conversations at gaps that are drawn by `seed` and know nothing of answers; what finds all
   * connections busy waits in line. Rejects when one fails.
   */
  async sendAtRate(ratePerSecond: number, durationMs: number, seed: number): Promise<RateReport> {
    const { process, port, headers } = this.product;
    // New ones each time: the server cuts connections that were idle while others had their turn.
    const connections = await HttpConnections.open({ host: '127.0.0.1', port, size: CONNECTIONS });
    const send = (done: (ok: boolean) => void) => {
      this.#sent += 1;
      const id = `open-${String(this.#sent).padStart(UNIQUE.length, '0')}`;
      const body = JSON.stringify({ body: BODY, client_message_id: id });
      const request = postRequest(this.#path('direct', this.#sent), headers, body);
      connections.send(request, (status) => done(status === 201));
    };
    try {
      const cpuBefore = process.cpuSeconds();
      const { answered, ...report } = await this.#delivering('direct', async () => {
        const gapMs = exponential(1_000 / ratePerSecond, seed);
        const report = await openLoop({ ratePerSecond, durationMs, gapMs, send: (_, done) => send(done) });
        if (report.failed > 0) throw new Error(`${report.failed} of ${report.sent} sends failed`);
        return { ...report, answered: report.sent };
      });
      await drainOutbox(this.database);
      return { ...report, cpuUsPerSend: ((process.cpuSeconds() - cpuBefore) * 1e6) / answered };
    } finally {
      connections.close();
    }
  }

  /** Returns the path for the message or connection `index`. */
  #path(kind: Kind, index: number): string {
    return `/v1/messaging/conversations/${this.#conversations[kind][index % CONVERSATIONS]}/messages`;
  }

  /** Rejects unless everything that `work` sent was also delivered: a figure counts only then. */
  async #delivering<T extends { readonly answered: number }>(kind: Kind, work: () => Promise<T>): Promise<T> {
    const before = this.#deliveries;
    const done = await work();
    await this.#requireFrames(before + done.answered * FRAMES_OF[kind]);
    return done;
  }

  async #saturate(connections: number, kind: Kind, durationMs: number): Promise<Block> {
    const { product } = this;
    const { answered: _, ...block } = await this.#delivering(kind, async () => {
      const flushesBefore = await readFlushes(product);
      const cpuBefore = product.process.cpuSeconds();
      const report = await closedLoop({
        port: product.port,
        connections,
        durationMs,
        headers: product.headers,
        path: (connection) => this.#path(kind, connection),
        body: JSON.stringify({ body: BODY, client_message_id: `run-${UNIQUE}` }),
      });
      const { pending, lagSeconds } = await measureOutbox(this.database.database);
      const drainMs = await drainOutbox(this.database);
      const cpuSeconds = product.process.cpuSeconds() - cpuBefore;
      const after = await readFlushes(product);
      const flushes = after.count - flushesBefore.count;
      return {
        answered: report.answered,
        figure: report.perSecond,
        notes: {
          p50_ms: report.p50Ms,
          p99_ms: report.p99Ms,
          rows_a_flush: Math.round((after.rows - flushesBefore.rows) / flushes),
          ms_a_flush: Math.round(((after.seconds - flushesBefore.seconds) * 10_000) / flushes) / 10,
          outbox_rows_at_end: pending,
          outbox_lag_at_end_s: lagSeconds,
          outbox_drained_after_ms: Math.round(drainMs),
          server_cpu_us_per_send: Math.round((cpuSeconds * 1e6) / report.answered),
        },
      };
    });
    return block;
  }

  get #deliveries(): number {
    return this.#subscribers.reduce((sum, { deliveries }) => sum + deliveries, 0);
  }

  async #requireFrames(atLeast: number): Promise<void> {
    const deadlineMs = performance.now() + 10_000;
    while (this.#deliveries < atLeast) {
      if (performance.now() > deadlineMs) {
        throw new Error(`${atLeast - this.#deliveries} frames of acknowledged messages are missing`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    if (this.#subscribers.some(({ lost }) => lost > 0)) throw new Error('a reader lost its socket');
  }
}

/** Connections for sends at a rate; P2 uses fewer. */
export const CONNECTIONS = 64;

/** `message.created` to a reader; of a direct conversation also `notification.created` to the recipient. */
const FRAMES_OF = { direct: 2, silent: 1 } as const;

/** Sockets that read along: each has its share of the conversations, so that every message is one frame to one of them. */
const READERS = 10;

/** The readers, and the one that direct messages notify. */
async function openSubscribers(
  { disposer }: Session,
  { demo, port, headers }: Product,
  conversations: Readonly<Record<Kind, readonly string[]>>,
): Promise<readonly RawSubscribers[]> {
  const all = [...conversations.direct, ...conversations.silent];
  const common = { version: demo.service_version, accountId: demo.account_id };
  const readers = await RawSubscribers.open({
    port,
    count: READERS,
    dialect: (reader) =>
      parleyDialect({
        ...common,
        authorization: headers.Authorization!,
        conversations: () => all.filter((_, index) => index % READERS === reader),
      }),
  });
  const recipient = await RawSubscribers.open({
    port,
    count: 1,
    dialect: parleyDialect({
      ...common,
      authorization: `Bearer ${demo.users.grace.access_token}`,
      conversations: () => [],
    }),
  });
  const subscribers = [readers, recipient];
  for (const it of subscribers) disposer.add('sockets', it, () => it.close());
  return subscribers;
}

async function seedConversations(
  { demo }: Product,
  { database }: BenchDatabase,
): Promise<Record<Kind, readonly string[]>> {
  const accountId = demo.account_id;
  const grace = demo.users.grace.id;
  return database.transaction(async (tx) => {
    const { actor_id: key } = await tx.kysely
      .selectFrom('api_keys')
      .select('actor_id')
      .where('account_id', '=', accountId)
      .executeTakeFirstOrThrow();
    const direct: string[] = [];
    const silent: string[] = [];
    for (let index = 0; index < CONVERSATIONS; index++) {
      const pair = await createConversation(tx, {
        accountId,
        type: 'direct_message',
        participants: [key, grace].map((actorId) => ({ type: 'user', actorId })),
      });
      direct.push(pair.conversation.id);
      const nobody = await createConversation(tx, { accountId, type: 'group', participants: [] });
      silent.push(nobody.conversation.id);
    }
    return { direct, silent };
  });
}
