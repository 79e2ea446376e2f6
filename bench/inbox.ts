import { setTimeout as delay } from 'node:timers/promises';
import type { List } from '@parley/protocol/lists.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { compareWith } from './lib/compare.ts';
import { GENERATORS } from './lib/generators.ts';
import type { Side } from './lib/pairs.ts';
import { type BenchDatabase, checkpoint, startPostgres } from './lib/postgres.ts';
import { startMeter } from './lib/processor-time.ts';
import { type Product, startProduct } from './lib/product.ts';
import type { Session, Work } from './lib/work.ts';

/**
 * Pages of an inbox of 50,000 conversations against pages of an inbox of a hundred: two users of
 * one account, on one node. Times of a page, in milliseconds.
 */
export const INBOX: Work = { name: 'inbox', title: 'inboxes that grow', fullOnly: true, run };

const SMALL = 100;
const LARGE = { full: 50_000, short: 50_000, brief: 200 };
const MESSAGES = 3;
/** One in this many conversations is unread: in the large inbox, far fewer. */
const UNREAD_EVERY = { small: 2, large: 500 };
/** Conversations a statement, which has eight seconds. */
const BATCH = 2_000;
const CONNECTIONS = 4;
const PATH = '/v1/messaging/conversations';
const PAGES = {
  'first page': '?order=activity&limit=25',
  'first page, unread': '?order=activity&filter=unread&limit=25',
  'page in the middle': '?order=activity&limit=25',
  'first page by creation': '?limit=25',
  summary: '/summary',
} as const;
type What = keyof typeof PAGES;
/**
 * Works with a goal. The rest is for information: the list by creation sorts all conversations that
 * the caller may read, and a summary counts them.
 */
const GOALS: ReadonlySet<What> = new Set(['first page', 'first page, unread', 'page in the middle']);

async function run(session: Session): Promise<void> {
  const large = LARGE[session.scale];
  const { parley } = await startPostgres(session.disposer, ['parley']);
  const product = await startProduct(session.disposer, { databaseUrl: parley.url });
  const { ada, grace, vera } = product.demo.users;
  const accountId = product.demo.account_id;
  await seed(parley, { accountId, authorId: ada.id, readerId: vera.id, count: SMALL, size: 'small' });
  await seed(parley, { accountId, authorId: ada.id, readerId: grace.id, count: large, size: 'large' });
  const { pool } = parley.database;
  const seededMs = performance.now();
  while ((await pool.query('SELECT FROM inbox_due LIMIT 1')).rowCount !== 0) await delay(100);
  session.say(
    `  rows of ${large + SMALL} conversations written after ${Math.round(performance.now() - seededMs)} ms`,
  );
  await pool.query('VACUUM (ANALYZE)');
  for (const what of Object.keys(PAGES) as What[]) {
    const work = `inbox of ${large} conversations, ${what}`;
    const sides = {
      large: await sideOf(product, parley, grace.access_token, what, large),
      small: await sideOf(product, parley, vera.access_token, what, SMALL),
    };
    await session.part(work, () =>
      compareWith(session, {
        unit: 'ms',
        ours: sides.large,
        against: [{ work, control: sides.small, ...(GOALS.has(what) ? { atMost: 2 } : {}) }],
        before: () => checkpoint(parley),
        facts: { connections: CONNECTIONS, 'messages in each conversation': MESSAGES },
      }),
    );
  }
}

async function sideOf(
  { process, port, headers: own, demo }: Product,
  postgres: BenchDatabase,
  token: string,
  what: What,
  size: number,
): Promise<Side> {
  const headers = { ...own, Authorization: `Bearer ${token}`, 'Service-Version': NEWEST_VERSION };
  let path: string = `${PATH}${PAGES[what]}`;
  if (what === 'page in the middle') {
    const pages = Math.min(Math.floor(size / 2 / 100), 40);
    for (let page = 0; page < Math.max(pages, 1); page++) {
      const answer = await fetch(`${demo.base_url}${path}`, { headers });
      path = ((await answer.json()) as List<object>).page_info.next_page_url!;
    }
  }
  return {
    name: `${size} conversations`,
    run: async (durationMs) => {
      const used = startMeter({ servers: [process], postgres });
      const report = await GENERATORS.raw({
        port,
        durationMs,
        connections: CONNECTIONS,
        headers: () => headers,
        path: () => path,
      });
      return {
        figure: (1_000 * CONNECTIONS) / report.perSecond,
        processor: used(report.answered),
        notes: { p50_ms: report.p50Ms, p99_ms: report.p99Ms },
      };
    },
  };
}

interface Seed {
  readonly accountId: string;
  readonly authorId: string;
  readonly readerId: string;
  readonly count: number;
  readonly size: keyof typeof UNREAD_EVERY;
}

/** Adds groups of both users with messages of the author. The reader has read all but some. */
async function seed({ database }: BenchDatabase, options: Seed): Promise<void> {
  const { accountId, authorId, readerId, count, size } = options;
  for (let first = 1; first <= count; first += BATCH)
    await database.pool.query(
      `WITH made AS (
      INSERT INTO conversations (id, account_id, type, created_at, updated_at)
      SELECT format('cnv_%s_%s', $4::text, n), $1, 'group', at, at
      FROM (SELECT n, now() - n * interval '1 minute' AS at FROM generate_series($6::integer, least($4::integer, $6 + ${BATCH - 1})) AS n) AS numbered
      RETURNING id, created_at
    ), members AS (
      INSERT INTO participants (id, account_id, conversation_id, actor_id, type, read_sequence)
      SELECT format('prt_%s_%s', made.id, who.id), $1, made.id, who.id, 'user',
        CASE WHEN split_part(made.id, '_', 3)::integer % $5 = 0 THEN 0 ELSE ${MESSAGES} END
      FROM made, unnest(ARRAY[$2::text, $3::text]) AS who(id)
    )
    INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, body, author_id, sender_id,
      created_at, updated_at)
    SELECT format('msg_%s_%s', made.id, n), $1, made.id, n, 'chat', 'sent', 'internal', 'A message of some length, as they are.',
      $2, $2, made.created_at + n * interval '1 second', made.created_at + n * interval '1 second'
    FROM made, generate_series(1, ${MESSAGES}) AS n`,
      [accountId, authorId, readerId, count, UNREAD_EVERY[size], first],
    );
}
