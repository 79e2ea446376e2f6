import { createConversation } from '../src/conversations/create.ts';
import { measureOutbox } from '../src/db/outbox.ts';
import { closedLoop, UNIQUE } from './lib/closed-loop.ts';
import { parleyDialect } from './lib/dialects.ts';
import { seedHistory } from './lib/history.ts';
import { type Block, type Comparison, comparePairs, type Side } from './lib/pairs.ts';
import { runPgbench } from './lib/pgbench.ts';
import { type BenchDatabase, checkpoint, drainOutbox, startPostgres } from './lib/postgres.ts';
import { type Product, readFlushes, startProduct } from './lib/product.ts';
import { RawSubscribers } from './lib/raw-subscribers.ts';
import { comparisonRow, type Findings, type Row, type Session, schedule, type Work } from './lib/work.ts';

/**
 * Durable sends over REST, answered after the commit, with fan-out and notifications going on, against
 * pgbench's single-row inserts into the same table of the same server in the same minute.
 */
export const P2: Work = { name: 'p2', title: 'durable sends', run };

async function run(session: Session): Promise<Findings> {
  const { disposer, full } = session;
  const databases = await startPostgres(disposer, ['parley', 'unbatched']);
  const batched = await openStand(session, databases.parley, 'src/main.ts');
  const unbatched = await openStand(session, databases.unbatched, 'bench/servers/unbatched.ts');
  const pgbench = pgbenchSide(databases.parley);
  const timing = schedule(full, { pairs: 2, blockMs: 3_000 });
  const before = async () => {
    await drainOutbox(databases.parley);
    await drainOutbox(databases.unbatched);
    await checkpoint(databases.parley);
  };

  const rows: Row[] = [];
  const comparisons: Record<string, Comparison> = {};
  const compare = async (work: string, ours: Side, control: Side, atLeast?: number) => {
    session.say(work);
    const onBlock = (side: string, { figure }: Block) => session.say(`  ${side}: ${Math.round(figure)}/s`);
    const comparison = await comparePairs({ ours, control, before, onBlock, ...timing });
    comparisons[work] = comparison;
    const besides = atLeast === undefined ? undefined : promptEffects(comparison);
    rows.push(comparisonRow(work, { comparison, unit: '/s', atLeast, besides }));
  };

  await compare('P2 sends, 64 connections', batched.side(64, 'direct'), pgbench, 0.9);
  await compare('P2 sends, 256 connections', batched.side(256, 'direct'), pgbench, 1.25);
  await compare('P2 sends, 256, to nobody', batched.side(256, 'silent'), pgbench);
  await compare(
    'P2 batching, 256 connections',
    batched.side(256, 'direct'),
    unbatched.side(256, 'direct'),
    3,
  );
  if (full) {
    await compare('P2 batching, 64 connections', batched.side(64, 'direct'), unbatched.side(64, 'direct'));
  }
  return {
    rows,
    comparisons,
    facts: {
      conversations: CONVERSATIONS,
      'messages in each before': HISTORY,
      'body, characters': BODY.length,
      'caused by a send to a direct conversation':
        '1 message row, 1 outbox row, 1 notification row, 2 frames',
      'caused by a send to nobody': '1 message row, 1 outbox row, 1 frame',
      pgbench: `${PGBENCH.clients} clients, ${PGBENCH.threads} threads, prepared`,
    },
  };
}

const CONVERSATIONS = 50;
/** Sockets that read along: each has its share of the conversations, so that every message is one frame to one of them. */
const READERS = 10;
const BODY =
  'The build for the release candidate is green again; I will tag it after lunch unless you object.';

type Kind = 'direct' | 'silent';

/** A server with its conversations and its readers, ready to be sent to. */
class Stand {
  readonly #product: Product;
  readonly #database: BenchDatabase;
  readonly #conversations: Readonly<Record<Kind, readonly string[]>>;
  readonly #subscribers: readonly RawSubscribers[];
  readonly #name: string;

  constructor(
    name: string,
    product: Product,
    database: BenchDatabase,
    conversations: Readonly<Record<Kind, readonly string[]>>,
    subscribers: readonly RawSubscribers[],
  ) {
    this.#name = name;
    this.#product = product;
    this.#database = database;
    this.#conversations = conversations;
    this.#subscribers = subscribers;
  }

  side(connections: number, kind: Kind): Side {
    return {
      name: this.#name,
      run: (blockMs) => this.#run(connections, kind, blockMs),
    };
  }

  async #run(connections: number, kind: Kind, durationMs: number): Promise<Block> {
    const { process, port, headers } = this.#product;
    const conversations = this.#conversations[kind];
    const delivered = this.#deliveries;
    const before = await readFlushes(this.#product);
    const cpuBefore = process.cpuSeconds();
    const report = await closedLoop({
      port,
      connections,
      durationMs,
      headers,
      path: (connection) =>
        `/v1/messaging/conversations/${conversations[connection % CONVERSATIONS]}/messages`,
      body: JSON.stringify({ body: BODY, client_message_id: `run-${UNIQUE}` }),
    });
    const { pending, lagSeconds } = await measureOutbox(this.#database.database);
    const drainMs = await drainOutbox(this.#database);
    const cpuSeconds = process.cpuSeconds() - cpuBefore;
    const after = await readFlushes(this.#product);
    const flushes = after.count - before.count;
    await this.#requireFrames(delivered + report.answered * FRAMES_OF[kind]);
    return {
      figure: report.perSecond,
      notes: {
        p50_ms: report.p50Ms,
        p99_ms: report.p99Ms,
        rows_a_flush: Math.round((after.rows - before.rows) / flushes),
        ms_a_flush: Math.round(((after.seconds - before.seconds) * 10_000) / flushes) / 10,
        outbox_rows_at_end: pending,
        outbox_lag_at_end_s: lagSeconds,
        outbox_drained_after_ms: Math.round(drainMs),
        server_cpu_us_per_send: Math.round((cpuSeconds * 1e6) / report.answered),
      },
    };
  }

  get #deliveries(): number {
    return this.#subscribers.reduce((sum, { deliveries }) => sum + deliveries, 0);
  }

  /** A figure counts only if what was acknowledged was also delivered. */
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

/** `message.created` to a reader; of a direct conversation also `notification.created` to the recipient. */
const FRAMES_OF = { direct: 2, silent: 1 } as const;

async function openStand(session: Session, database: BenchDatabase, entry: string): Promise<Stand> {
  const product = await startProduct(session.disposer, { databaseUrl: database.url, entry });
  const conversations = await seedConversations(product, database);
  await seedHistory(database, HISTORY);
  const all = [...conversations.direct, ...conversations.silent];
  const { demo, port, headers } = product;
  const common = { version: demo.service_version, accountId: demo.account_id };
  let reader = 0;
  const readers = await RawSubscribers.open({
    port,
    count: READERS,
    dialect: parleyDialect({
      ...common,
      authorization: headers.Authorization!,
      conversations: () => {
        const share = all.filter((_, index) => index % READERS === reader);
        reader += 1;
        return share;
      },
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
  for (const subscribers of [readers, recipient])
    session.disposer.add('sockets', subscribers, (it) => it.close());
  return new Stand(entry === 'src/main.ts' ? 'parley' : 'unbatched', product, database, conversations, [
    readers,
    recipient,
  ]);
}

/** Direct ones have the key that sends and one recipient; silent ones have nobody, so that nobody is notified. */
async function seedConversations(
  { demo }: Product,
  { database }: BenchDatabase,
): Promise<Record<Kind, readonly string[]>> {
  const accountId = demo.account_id;
  const grace = demo.users.grace.id;
  return database.transaction(async (tx) => {
    const { actor_id: key } = await tx
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

/** Messages that each conversation has before the first block. */
const HISTORY = 200;

const PGBENCH = { clients: 16, threads: 2, seed: 7 };

/**
 * The same row into the same table under the same keys and indexes, one a transaction: ids, numbers and client
 * ids grow as ours do, over as many conversations.
 */
const PGBENCH_SCRIPT = `
\\set n :n + 1
\\set sequence :n * ${PGBENCH.clients} + :client_id + 1
\\set conversation random(10, ${9 + CONVERSATIONS})
INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, channel, body,
  sender_id, author_id, client_message_id, has_attachments, created_at, updated_at)
VALUES ('msg_' || lpad(:sequence::text, 24, '0'), 'acc_pgbench00000000000000000',
  'cnv_pgbench000000000000000' || :conversation::text, :sequence, 'chat', 'sent', 'internal', 'message',
  '${BODY}', 'act_pgbench00000000000000000', 'act_pgbench00000000000000000',
  'run-' || lpad(:sequence::text, 12, '0'), false, now(), now());
`;

/** More than a client gets through in a block: where the next block's numbers begin. */
const NUMBERS_A_BLOCK = 1_000_000;

function pgbenchSide({ url }: BenchDatabase): Side {
  let block = 0;
  return {
    name: 'pgbench',
    run: async (durationMs) => {
      block += 1;
      const { transactionsPerSecond, latencyMs } = await runPgbench({
        url,
        durationMs,
        script: PGBENCH_SCRIPT,
        variables: { n: block * NUMBERS_A_BLOCK },
        ...PGBENCH,
      });
      return { figure: transactionsPerSecond, notes: { latency_ms: latencyMs } };
    },
  };
}

/** The notifications and the rest that a send causes may not be put off to make the send look fast. */
function promptEffects({ ours }: Comparison): { text: string; met: boolean } {
  const lag = Math.max(...ours.blocks.map(({ notes }) => notes?.outbox_lag_at_end_s ?? 0));
  return { text: `lag ${lag.toFixed(2)} s < 1 s`, met: lag < 1 };
}
