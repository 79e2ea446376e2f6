import { newId } from '@parley/protocol/ids.ts';
import { presentActor } from '@parley/protocol/resources/actor.ts';
import { sql } from 'kysely';
import type { Principal } from '../src/api/access/principal.ts';
import { createAccount } from '../src/core/accounts/account/accounts.ts';
import { INDEXES } from '../src/core/tables/indexes.ts';
import { indexPart } from '../src/features/search/indexer.ts';
import { MESSAGES } from '../src/features/search/kinds.ts';
import { parseQuery } from '../src/features/search/query.ts';
import { readResults } from '../src/features/search/results.ts';
import { migrate } from '../src/platform/db/migration/migrate.ts';
import { createLog } from '../src/platform/log.ts';
import { type Comparison, comparePairs, type Side } from './lib/pairs.ts';
import { type BenchDatabase, checkpoint, startPostgres } from './lib/postgres.ts';
import { type ProcessorTime, startMeter } from './lib/processor-time.ts';
import { comparisonRow, count, type Row } from './lib/row.ts';
import type { Session, Work } from './lib/work.ts';

/**
 * Searches among many messages against searches among ten thousand, and the cost of indexing a
 * message. Both run in this process, so the generator's time is theirs.
 */
export const SEARCH: Work = { name: 'search', title: 'searches among many messages', fullOnly: true, run };

async function run(session: Session): Promise<void> {
  const { disposer, scale, say, timing } = session;
  const { size, small: few } = SIZES[scale];
  const databases = await startPostgres(disposer, ['large', 'small']);
  await session.part(`search, ${count(size)} messages`, async () => {
    const large = await Archive.fill(databases.large, size, say);
    const small = await Archive.fill(databases.small, few, say);
    const rows: Row[] = [];
    const comparisons: Record<string, Comparison> = {};
    for (const [name, search] of Object.entries(SEARCHES)) {
      const work = `search, ${name}, ${count(size)} messages`;
      const comparison = await comparePairs({
        ours: large.side(`${count(size)} messages`, search),
        control: small.side(`${count(few)} messages`, search),
        onBlock: (side, { figure }) => say(`  ${name}, ${side}: ${figure.toFixed(2)} ms`),
        ...timing,
      });
      comparisons[work] = comparison;
      rows.push(comparisonRow(work, comparison, 'ms'));
    }
    const { node, postgres, generator } = large.indexing;
    const facts = {
      'indexing a message, µs of node': node ?? generator ?? 0,
      'indexing a message, µs of Postgres': postgres ?? 0,
      'share of a core at 3,500 messages a second': `${((((generator ?? 0) + (postgres ?? 0)) * 3_500) / 10_000).toFixed(1)} %`,
      conversations: CONVERSATIONS,
      'conversations of the member': OWN,
    };
    for (const [name, value] of Object.entries(facts)) say(`  ${name}: ${value}`);
    return { rows, comparisons, facts };
  });
}

interface Search {
  readonly q: string;
  readonly by: 'admin' | 'member';
}

const SEARCHES: Readonly<Record<string, Search>> = {
  'a rare word': { q: 'w12345 ', by: 'admin' },
  'a common word': { q: 'w0 ', by: 'admin' },
  'a word of one message in a hundred': { q: 'w20 ', by: 'admin' },
  'the beginning of a word': { q: 'w123', by: 'admin' },
  'a common and a rare word': { q: 'w1 w3000 ', by: 'admin' },
  'a common word, of a member': { q: 'w0 ', by: 'member' },
  'a rare word, of a member': { q: 'w3000 ', by: 'member' },
};

const SIZES = {
  full: { size: 1_000_000, small: 10_000 },
  short: { size: 100_000, small: 10_000 },
  brief: { size: 1_000, small: 100 },
} as const;
const CONVERSATIONS = 1_000;
const OWN = 20;
const BATCH = 50_000;
const WORDS = 12;

/** A database with messages of one account, all indexed. */
class Archive {
  readonly #postgres: BenchDatabase;
  readonly #callers: Readonly<Record<Search['by'], Principal>>;
  /** Processor time of a message. */
  readonly indexing: ProcessorTime;

  static async fill(postgres: BenchDatabase, messages: number, say: Session['say']): Promise<Archive> {
    const { database } = postgres;
    await migrate(database, INDEXES, createLog('silent'));
    const { account } = await database.transaction((tx) => createAccount(tx, { name: 'Bench', plan: 'pro' }));
    const ids = { account: account.id, admin: newId('actor'), member: newId('actor') };
    const { kysely } = database;
    await sql`INSERT INTO actors (id, account_id, type, name)
      SELECT id, ${ids.account}, 'user', 'Bench' FROM unnest(${[ids.admin, ids.member]}::text[]) AS id`.execute(
      kysely,
    );
    await sql`INSERT INTO conversations (id, account_id, type, title)
      SELECT 'cnv_' || n, ${ids.account}, 'group', 'Conversation ' || n FROM generate_series(1, ${sql.lit(CONVERSATIONS)}) AS n`.execute(
      kysely,
    );
    await sql`INSERT INTO participants (id, account_id, conversation_id, actor_id, type)
      SELECT 'prt_' || n, ${ids.account}, 'cnv_' || n, ${ids.member}, 'user' FROM generate_series(1, ${sql.lit(OWN)}) AS n`.execute(
      kysely,
    );
    for (let first = 0; first < messages; first += BATCH) {
      const last = Math.min(messages, first + BATCH) - 1;
      // The words follow Zipf's law: one in ln(20,000) is w0.
      await sql`INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, author_id, sender_id, body, created_at, updated_at)
        SELECT 'msg_' || lpad(n::text, 24, '0'), ${ids.account}, 'cnv_' || (n % ${sql.lit(CONVERSATIONS)} + 1), n / ${sql.lit(CONVERSATIONS)} + 1,
          'chat', 'sent', 'internal', ${ids.admin}, ${ids.admin}, t.body, at, at
        FROM generate_series(${sql.lit(first)}, ${sql.lit(last)}) AS n
        CROSS JOIN LATERAL (SELECT now() - interval '30 days' + n * interval '1 second' AS at) times
        CROSS JOIN LATERAL (
          SELECT string_agg('w' || floor(exp(random() * ln(20000)) - 1)::int, ' ') AS body
          FROM generate_series(1, ${sql.lit(WORDS)}) AS word WHERE n IS NOT NULL
        ) t`.execute(kysely);
    }
    await sql`TRUNCATE search_notes`.execute(kysely);
    await sql`UPDATE search_state SET filled_through = ''`.execute(kysely);
    const meter = startMeter({ postgres });
    const startMs = performance.now();
    for (let isFilled = false; !isFilled; ) {
      // The index fills without rests.
      await sql`UPDATE search_state SET next_part_at = clock_timestamp()`.execute(kysely);
      isFilled = (await indexPart(database))?.isFull !== true;
    }
    const indexing = meter(messages);
    say(`  ${count(messages)} messages indexed after ${Math.round((performance.now() - startMs) / 1_000)} s`);
    await sql`SELECT gin_clean_pending_list('search_entries_terms')`.execute(kysely);
    await sql`ANALYZE search_entries, messages, conversations, participants`.execute(kysely);
    await checkpoint(postgres);
    return new Archive(postgres, ids, indexing);
  }

  private constructor(
    postgres: BenchDatabase,
    ids: Readonly<Record<'account' | Search['by'], string>>,
    indexing: ProcessorTime,
  ) {
    this.#postgres = postgres;
    this.indexing = indexing;
    const caller = (id: string, admin: boolean): Principal => ({
      accountId: ids.account,
      subscribed: true,
      actor: presentActor({
        id,
        type: 'user',
        name: 'Bench',
        handle: null,
        avatar_url: null,
        external_id: null,
        username: null,
      }),
      customer: false,
      seesOwnIds: true,
      seesHandles: true,
      people: 'everyone',
      operator: false,
      admin,
      roleId: null,
      permissions: new Set(),
      credential: { kind: 'access_token', id, expiresAtMs: null },
    });
    this.#callers = { admin: caller(ids.admin, true), member: caller(ids.member, false) };
  }

  /** Searches first pages, one after the other. The figure is the mean time of a page. */
  side(name: string, { q, by }: Search): Side {
    const { database } = this.#postgres;
    const page = { direction: 'next', after: null, fetch: 26, search: q } as const;
    return {
      name,
      run: async (blockMs) => {
        const meter = startMeter({ postgres: this.#postgres });
        const startMs = performance.now();
        let searches = 0;
        let hits = 0;
        for (; performance.now() - startMs < blockMs; searches++) {
          const deadlineMs = Number.POSITIVE_INFINITY;
          const search = { phrases: parseQuery(q), deadlineMs };
          hits += (await readResults(database, this.#callers[by], MESSAGES, search, page)).length;
        }
        const figure = (performance.now() - startMs) / searches;
        return { figure, processor: meter(searches), notes: { hits: hits / searches } };
      },
    };
  }
}
