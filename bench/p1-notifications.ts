import { isDeepStrictEqual } from 'node:util';
import type { List } from '@parley/protocol/lists.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import { FEED as FEED_LIST } from '../src/core/notifications/feed/feed-store.ts';
import type { Listening } from './controls/delivery-loop.ts';
import type { NotificationsStart } from './controls/fastify-notifications.ts';
import { compareWith } from './lib/compare.ts';
import { createReaders, type FeedReader, PAGE, PAGE_PATH, pagesSide, READERS } from './lib/feed-readers.ts';
import type { GeneratorName } from './lib/generators.ts';
import type { Side } from './lib/pairs.ts';
import { runPgbench } from './lib/pgbench.ts';
import { type BenchDatabase, startPostgres } from './lib/postgres.ts';
import { startMeter } from './lib/processor-time.ts';
import { type Product, startProduct } from './lib/product.ts';
import { ServerProcess } from './lib/server-process.ts';
import type { Session, Work } from './lib/work.ts';

/**
 * List Notifications over REST: authenticated, limited, validated, a page of 20 from Postgres. It
 * runs against pgbench with the same query on the same server, and against Fastify and pg doing the
 * same work.
 */
export const P1: Work = { name: 'p1', title: 'notifications', run };

async function run(session: Session): Promise<void> {
  const { disposer, scale } = session;
  const { parley } = await startPostgres(disposer, ['parley']);
  const product = await startProduct(disposer, {
    databaseUrl: parley.url,
    env: { PARLEY_RATE_LIMIT: `${RATE_LIMIT.requests}/${RATE_LIMIT.seconds}` },
  });
  const readers = await seedReaders(product, parley);
  const fastify = await openFastify(session, product, parley, readers);
  await requireSamePage(product, fastify.port, readers[0]!);

  const side = (name: 'parley' | 'fastify', connections: number, generator: GeneratorName = 'raw') => {
    const { process, port } = name === 'parley' ? product : fastify;
    return pagesSide({ name, process, port, postgres: parley, readers, connections, generator });
  };
  const pgbench = pgbenchSide(parley);
  const facts = {
    feeds: READERS,
    'notifications in each': FEED,
    page: PAGE,
    'bytes of an answer': await bytesOf(product.port, readers[0]!),
    'rate limit': `${RATE_LIMIT.requests} in ${RATE_LIMIT.seconds} s, counted and never reached`,
    pgbench: `${PGBENCH.clients} clients, ${PGBENCH.threads} threads, prepared`,
  };
  const work = 'P1 notifications, 64 connections';
  await session.part(work, () => {
    const against = [
      { work: `${work}, raw`, control: pgbench, atLeast: 0.9 },
      { work: `${work}, raw, Fastify`, control: side('fastify', 64), atLeast: 3 },
    ];
    return compareWith(session, { unit: '/s', ours: side('parley', 64), against, facts });
  });
  if (scale === 'short') return;
  await session.part('P1 notifications, 16 connections', () => {
    const against = [{ work: 'P1 notifications, 16 connections, raw', control: pgbench }];
    return compareWith(session, { unit: '/s', ours: side('parley', 16), against });
  });
  await session.part(`${work}, autocannon`, () => {
    const against = [
      { work: `${work}, autocannon`, control: pgbench },
      { work: `${work}, autocannon, Fastify`, control: side('fastify', 64, 'autocannon') },
    ];
    return compareWith(session, { unit: '/s', ours: side('parley', 64, 'autocannon'), against });
  });
}

/** Notifications in each feed: ten pages. */
const FEED = 200;
const RATE_LIMIT = { requests: 100_000_000, seconds: 60 };
const PREVIEW =
  'The build for the release candidate is green again; I will tag it after lunch unless you object.';

/** Adds people of the demo account with full feeds, and as many for pgbench, with countable ids. */
async function seedReaders(product: Product, postgres: BenchDatabase): Promise<readonly FeedReader[]> {
  const { demo } = product;
  const { database } = postgres;
  const readers = await createReaders(product, postgres);
  const ids = [
    ...readers.map(({ id }) => id),
    ...Array.from({ length: READERS }, (_, n) => pgbenchReader(n)),
  ];
  const { ada } = demo.users;
  await database.query(SEED, ids, demo.account_id, ada.id, demo.conversations.group, PREVIEW, FEED);
  await database.query({ name: 'bench-analyze', text: 'VACUUM ANALYZE notifications' });
  return readers;
}

const FIRST_PGBENCH_READER = 100;

function pgbenchReader(n: number): string {
  return `act_pgbench00000000000000${FIRST_PGBENCH_READER + n}`;
}

// Feeds grow side by side: the rows of a page are scattered, as when many users get notifications.
const SEED = {
  name: 'bench-seed-notifications',
  text: `
    INSERT INTO notifications (id, account_id, recipient_id, category, title, body, status, sender_id, sender_type,
      resource_type, resource_id, seen_at, created_at, updated_at)
    SELECT notification_id(at, n::text, r.id), $2, r.id, 'chat.message', 'Ada Lovelace in Demo group',
      $5, CASE WHEN n > $6::integer - 10 THEN 'unseen' ELSE 'seen' END, $3, 'user', 'entity', $4,
      CASE WHEN n > $6::integer - 10 THEN NULL ELSE at END, at, at
    FROM generate_series(1, $6::integer) AS n, unnest($1::text[]) AS r(id),
      LATERAL (SELECT now() - ($6::integer - n) * interval '1 minute' AS at) AS t
    ORDER BY n, r.id`,
};

interface FastifyControl {
  readonly process: ServerProcess;
  readonly port: number;
}

async function openFastify(
  { disposer }: Session,
  { demo, port: ours }: Product,
  { url }: BenchDatabase,
  readers: readonly FeedReader[],
): Promise<FastifyControl> {
  const server = new ServerProcess({ entry: 'bench/controls/fastify-notifications.ts' });
  disposer.add('fastify', server, (it) => it.stop());
  server.tell({
    databaseUrl: url,
    accountId: demo.account_id,
    version: demo.service_version,
    recipients: Object.fromEntries(readers.map(({ id, headers }) => [headers.Authorization!, id])),
    page: await readPage(ours, readers[0]!),
    rateLimit: RATE_LIMIT,
  } satisfies NotificationsStart);
  const { port } = await server.message<Listening>();
  return { process: server, port };
}

/** Requires the same answer of both servers, as a comparison does. */
async function requireSamePage({ port }: Product, fastifyPort: number, reader: FeedReader): Promise<void> {
  const [ours, theirs] = await Promise.all([readPage(port, reader), readPage(fastifyPort, reader)]);
  const isWhole = ours.data.length === PAGE && ours.page_info.has_next_page;
  if (!isWhole || !isDeepStrictEqual(ours.data, theirs.data)) {
    throw new Error(`pages differ: ${JSON.stringify(ours)} ${JSON.stringify(theirs)}`);
  }
}

async function readPage(port: number, { headers }: FeedReader): Promise<List<Notification>> {
  const response = await fetch(`http://127.0.0.1:${port}${PAGE_PATH}`, { headers });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response.json() as Promise<List<Notification>>;
}

async function bytesOf(port: number, reader: FeedReader): Promise<number> {
  return Buffer.byteLength(JSON.stringify(await readPage(port, reader)));
}

const PGBENCH = { clients: 16, threads: 2, seed: 7 };

function pgbenchSide(postgres: BenchDatabase): Side {
  return {
    name: 'pgbench',
    run: async (durationMs) => {
      const used = startMeter({ postgres });
      const { transactions, transactionsPerSecond, latencyMs } = await runPgbench({
        url: postgres.url,
        durationMs,
        script: PGBENCH_SCRIPT,
        ...PGBENCH,
      });
      return {
        figure: transactionsPerSecond,
        processor: used(transactions),
        notes: { latency_ms: latencyMs },
      };
    },
  };
}

/** The product's statement for a first page that it has not read lately: the whole rows. */
const PGBENCH_SCRIPT = `
\\set reader random(${FIRST_PGBENCH_READER}, ${FIRST_PGBENCH_READER + READERS - 1})
${FEED_LIST.rows.plain.statements.next.whole.text
  .replaceAll('$1', "('act_pgbench00000000000000' || :reader::text)")
  .replaceAll('$2', String(PAGE + 1))
  .replaceAll('\n', ' ')};
`;
