import { measureOutbox } from '../../src/platform/db/queue/outbox.ts';
import { parleyDialect } from './dialects.ts';
import type { GeneratorName } from './generators.ts';
import { seedHistory } from './history.ts';
import { BODY, CONVERSATIONS, type SendSample } from './insert-script.ts';
import type { Side } from './pairs.ts';
import { type BenchDatabase, drainOutbox } from './postgres.ts';
import { type Product, type ProductOptions, readFlushes, startProduct } from './product.ts';
import { RawSubscribers } from './raw-subscribers.ts';
import { readSendSample } from './sample-row.ts';
import { type Conversations, type Kind, openConversations } from './send-conversations.ts';
import { type RateReport, SendLoad } from './send-load.ts';
import type { Session } from './work.ts';

/** Messages that each conversation has before the first block. */
export const HISTORY = 200;

export interface StandOptions extends Pick<ProductOptions, 'entry' | 'nodeFlags' | 'env'> {
  /** The name in the table and the results. Default: parley. */
  readonly name?: string;
  /** Messages that each conversation gets before. Default: HISTORY. */
  readonly history?: number;
}

/** The product with its conversations and its readers, ready to be sent to: P2, P3, P12, P13. */
export class SendStand {
  readonly product: Product;
  readonly database: BenchDatabase;
  readonly #conversations: Conversations;
  readonly #loads: Readonly<Record<Kind, SendLoad>>;
  #samples = 0;

  static async open(
    session: Session,
    database: BenchDatabase,
    options: StandOptions = {},
  ): Promise<SendStand> {
    const { name = 'parley', history = HISTORY, ...composition } = options;
    const product = await startProduct(session.disposer, { databaseUrl: database.url, ...composition });
    const conversations = await openConversations(product, database);
    await seedHistory(database, history);
    const subscribers = await openSubscribers(session, product, conversations);
    return new SendStand(name, product, database, conversations, subscribers);
  }

  private constructor(
    name: string,
    product: Product,
    database: BenchDatabase,
    conversations: Conversations,
    subscribers: readonly RawSubscribers[],
  ) {
    this.product = product;
    this.database = database;
    this.#conversations = conversations;
    const { port, headers, process } = product;
    const load = (kind: Kind) =>
      new SendLoad({
        name,
        port,
        headers,
        subscribers,
        database,
        servers: [process],
        path: (index) => this.path(kind, index),
        frames: FRAMES_OF[kind],
        complete: () => this.#complete(),
        // The many notifications of a group are made behind the answers, and count.
        countsEffects: kind === 'group',
        flushes: () => readFlushes(product),
      });
    this.#loads = { direct: load('direct'), group: load('group'), silent: load('silent') };
  }

  /** Sends as many as `connections` get through, each asking again as soon as it is answered. */
  side(connections: number, kind: Kind, generator: GeneratorName = 'raw'): Side {
    return this.#loads[kind].side(connections, generator);
  }

  /** Sends to direct conversations at a rate, as SendLoad does. */
  sendAtRate(ratePerSecond: number, durationMs: number, seed: number): Promise<RateReport> {
    return this.#loads.direct.sendAtRate(ratePerSecond, durationMs, seed);
  }

  /** Sends one message and returns the rows that it left, and the bytes of its answer. */
  async sample(kind: 'direct' | 'group'): Promise<SendSample & { readonly answer: string }> {
    const { demo, headers } = this.product;
    this.#samples += 1;
    const response = await fetch(`${demo.base_url}${this.path(kind, 0)}`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        body: BODY,
        client_message_id: `sample-${String(this.#samples).padStart(4, '0')}`,
      }),
    });
    if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
    const answer = await response.text();
    const { id }: { id: string } = JSON.parse(answer);
    await drainOutbox(this.database);
    return { ...(await readSendSample(this.database.database, id)), answer };
  }

  /** Returns the path for the message or connection `index`. */
  path(kind: Kind, index: number): string {
    return sendPath(this.conversation(kind, index));
  }

  conversation(kind: Kind, index: number): string {
    return this.#conversations[kind][index % CONVERSATIONS]!;
  }

  async #complete() {
    const { pending, lagSeconds } = await measureOutbox(this.database.database);
    const drainMs = await drainOutbox(this.database);
    return {
      outbox_rows_at_end: pending,
      outbox_lag_at_end_s: lagSeconds,
      outbox_drained_after_ms: Math.round(drainMs),
    };
  }
}

export function sendPath(conversation: string): string {
  return `/v1/messaging/conversations/${conversation}/messages`;
}

/**
 * `message.created` to a reader; where there are recipients also `notification.created` to the
 * recipient with a socket.
 */
const FRAMES_OF = { direct: 2, group: 2, silent: 1 } as const;

/** Sockets that read along. */
const READERS = 10;

/**
 * Returns each reader's share of the conversations, so that every message is one frame to one
 * reader.
 */
export function shares(conversations: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: READERS }, (_, reader) =>
    conversations.filter((_, index) => index % READERS === reader),
  );
}

/** Opens the readers, and the recipient of direct messages. */
async function openSubscribers(
  { disposer }: Session,
  { demo, port, headers }: Product,
  conversations: Conversations,
): Promise<readonly RawSubscribers[]> {
  const common = { version: demo.service_version, accountId: demo.account_id };
  const of = shares(Object.values(conversations).flat());
  const readers = await RawSubscribers.open({
    port,
    count: READERS,
    dialect: (reader) =>
      parleyDialect({
        ...common,
        authorization: headers.Authorization!,
        conversations: () => of[reader]!,
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
