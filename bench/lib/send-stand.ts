import { findRole } from '../../src/core/accounts/roles.ts';
import { createUser } from '../../src/core/accounts/users.ts';
import { createConversation } from '../../src/core/conversations/conversation-store.ts';
import type { Tx } from '../../src/platform/db/connection/handle.ts';
import { measureOutbox } from '../../src/platform/db/queue/outbox.ts';
import { parleyDialect } from './dialects.ts';
import { GENERATORS, type GeneratorName } from './generators.ts';
import { seedHistory } from './history.ts';
import { postRequest } from './http-connections.ts';
import { BODY, CONVERSATIONS, type SendSample } from './insert-script.ts';
import type { OpenLoopReport } from './open-loop.ts';
import type { Block, Side } from './pairs.ts';
import { type BenchDatabase, drainOutbox } from './postgres.ts';
import { type ProcessorTime, startMeter } from './processor-time.ts';
import { type Product, type ProductOptions, readFlushes, startProduct } from './product.ts';
import { requestAtRate } from './rate-loop.ts';
import { RawSubscribers } from './raw-subscribers.ts';
import { readSendSample } from './sample-row.ts';

import { UNIQUE } from './unique-number.ts';
import type { Session } from './work.ts';

/**
 * Direct conversations have the sending key and one recipient, groups the key and fifty; silent
 * ones have no participants, so that no notifications are made.
 */
export type Kind = 'direct' | 'group' | 'silent';

/** How many notifications a send causes. */
export const RECIPIENTS: Readonly<Record<Kind, number>> = { direct: 1, group: 50, silent: 0 };

/** Messages that each conversation has before the first block. */
export const HISTORY = 200;

export interface StandOptions extends Pick<ProductOptions, 'entry' | 'nodeFlags' | 'env'> {
  /** In the table and the results. Default: parley. */
  readonly name?: string;
  /** Messages that each conversation gets before. Default: HISTORY. */
  readonly history?: number;
}

/** The results of sends at a fixed rate. */
export interface RateReport extends OpenLoopReport {
  /** Until all effects of the sends were complete. */
  readonly processor: ProcessorTime;
}

/** A server with its conversations and its readers, ready to be sent to: P2, P3, P12, P13. */
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
    const { name = 'parley', history = HISTORY, ...composition } = options;
    const product = await startProduct(session.disposer, { databaseUrl: database.url, ...composition });
    const conversations = await seedConversations(product, database);
    await seedHistory(database, history);
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
  side(connections: number, kind: Kind, generator: GeneratorName = 'raw'): Side {
    return { name: this.#name, run: (blockMs) => this.#saturate(connections, kind, generator, blockMs) };
  }

  /** Sends one message and returns what it left in the tables, and the bytes of its answer. */
  async sample(kind: 'direct' | 'group'): Promise<SendSample & { readonly answer: string }> {
    const { demo, headers } = this.product;
    const response = await fetch(`${demo.base_url}${this.path(kind, 0)}`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: JSON.stringify({ body: BODY, client_message_id: `sample-${kind}-0000` }),
    });
    if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
    const answer = await response.text();
    const { id }: { id: string } = JSON.parse(answer);
    await drainOutbox(this.database);
    return { ...(await readSendSample(this.database.database, id)), answer };
  }

  /**
   * Sends to direct conversations at gaps that are drawn by `seed` and know nothing of answers;
   * what finds all connections busy waits in line. Rejects when one fails.
   */
  async sendAtRate(ratePerSecond: number, durationMs: number, seed: number): Promise<RateReport> {
    const { process, port, headers } = this.product;
    const request = () => {
      this.#sent += 1;
      const id = `open-${String(this.#sent).padStart(UNIQUE.length, '0')}`;
      const body = JSON.stringify({ body: BODY, client_message_id: id });
      return postRequest(this.path('direct', this.#sent), headers, body);
    };
    const used = startMeter({ servers: [process], postgres: this.database });
    const { answered, ...report } = await this.#delivering('direct', async () => {
      const connections = { port, size: CONNECTIONS };
      const report = await requestAtRate({ ...connections, ratePerSecond, durationMs, seed, request });
      return { ...report, answered: report.sent };
    });
    await drainOutbox(this.database);
    return { ...report, processor: used(answered) };
  }

  /** Returns the path for the message or connection `index`. */
  path(kind: Kind, index: number): string {
    return `/v1/messaging/conversations/${this.conversation(kind, index)}/messages`;
  }

  conversation(kind: Kind, index: number): string {
    return this.#conversations[kind][index % CONVERSATIONS]!;
  }

  /** Rejects unless everything that `work` sent was also delivered: a figure counts only then. */
  async #delivering<T extends { readonly answered: number }>(kind: Kind, work: () => Promise<T>): Promise<T> {
    const before = this.#deliveries;
    const done = await work();
    await this.#requireFrames(before + done.answered * FRAMES_OF[kind]);
    return done;
  }

  async #saturate(
    connections: number,
    kind: Kind,
    generator: GeneratorName,
    durationMs: number,
  ): Promise<Block> {
    const { product } = this;
    const { answered: _, ...block } = await this.#delivering(kind, async () => {
      const flushesBefore = await readFlushes(product);
      const used = startMeter({ servers: [product.process], postgres: this.database });
      const startMs = performance.now();
      const report = await GENERATORS[generator]({
        port: product.port,
        connections,
        durationMs,
        headers: product.headers,
        path: (connection) => this.path(kind, connection),
        body: JSON.stringify({ body: BODY, client_message_id: `run-${UNIQUE}` }),
      });
      const { pending, lagSeconds } = await measureOutbox(this.database.database);
      const drainMs = await drainOutbox(this.database);
      const tookMs = performance.now() - startMs;
      const processor = used(report.answered);
      const after = await readFlushes(product);
      const flushes = after.count - flushesBefore.count;
      return {
        answered: report.answered,
        operations: report.answered,
        // The many notifications of a group are made behind the answers: they count.
        figure: kind === 'group' ? (report.answered * 1_000) / tookMs : report.perSecond,
        processor,
        notes: {
          answered_per_second: report.perSecond,
          p50_ms: report.p50Ms,
          p99_ms: report.p99Ms,
          rows_a_flush: Math.round((after.rows - flushesBefore.rows) / flushes),
          ms_a_flush: Math.round(((after.seconds - flushesBefore.seconds) * 10_000) / flushes) / 10,
          outbox_rows_at_end: pending,
          outbox_lag_at_end_s: lagSeconds,
          outbox_drained_after_ms: Math.round(drainMs),
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

/**
 * `message.created` to a reader; where there are recipients also `notification.created` to the one
 * with a socket.
 */
const FRAMES_OF = { direct: 2, group: 2, silent: 1 } as const;

/**
 * Sockets that read along: each has its share of the conversations, so that every message is one
 * frame to one of them.
 */
const READERS = 10;

/** The readers, and the one that direct messages notify. */
async function openSubscribers(
  { disposer }: Session,
  { demo, port, headers }: Product,
  conversations: Readonly<Record<Kind, readonly string[]>>,
): Promise<readonly RawSubscribers[]> {
  const all = Object.values(conversations).flat();
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
    const others = await seedUsers(tx, accountId, RECIPIENTS.group - 1);
    const found: Record<Kind, string[]> = { direct: [], group: [], silent: [] };
    const open = async (kind: Kind, type: 'direct_message' | 'group', actorIds: readonly string[]) => {
      const participants = actorIds.map((actorId) => ({ type: 'user', actorId }) as const);
      const { conversation } = await createConversation(tx, { accountId, type, participants });
      found[kind].push(conversation.id);
    };
    for (let index = 0; index < CONVERSATIONS; index++) {
      await open('direct', 'direct_message', [key, grace]);
      await open('group', 'group', [key, grace, ...others]);
      await open('silent', 'group', []);
    }
    return found;
  });
}

/** Returns the ids of so many new users. */
async function seedUsers(tx: Tx, accountId: string, count: number): Promise<readonly string[]> {
  const { id: roleId } = await findRole(tx, accountId, 'member');
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const person = { accountId, name: `Member ${n}`, email: `member-${n}@example.com`, roleId };
    ids.push((await createUser(tx, person)).user.id);
  }
  return ids;
}
