import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import type { Schema } from '../../src/platform/db/tables/schema.ts';
import { type BenchDatabase, checkpoint } from './postgres.ts';
import type { Session } from './work.ts';

export interface GrowthOptions {
  readonly postgres: BenchDatabase;
  readonly accountId: string;
  /** The author of all messages. */
  readonly senderId: string;
  /** Existing conversations, spread over the ranks from the largest on. */
  readonly conversations: readonly string[];
  /** Existing recipients, spread likewise; each has FULL_PAGES notifications at least. */
  readonly recipients: readonly string[];
}

/** Number of conversations and of feeds that rows are spread over. */
export const GROWN = { conversations: 5_000, feeds: 2_000 } as const;
/**
 * Rows that each of the recipients has from the beginning, so that its first page is always full.
 */
const FULL_PAGES = 40;
/**
 * The share of the first conversation, and of the first feed: 200,000 of two million. The rest
 * follows Zipf's law.
 */
const LARGEST = 0.1;
const BATCH = 100_000;

/** A database that is filled by SQL: as many messages as notifications. */
export class Growth {
  readonly #db: Kysely<Schema>;
  readonly #options: GrowthOptions;
  #rows = 0;

  static async open(session: Session, options: GrowthOptions): Promise<Growth> {
    // Parley's own connections have a statement_timeout, and settings for statements that read few
    // rows.
    const pool = new pg.Pool({ connectionString: options.postgres.url, max: 1 });
    const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
    session.disposer.add('connection', db, (it) => it.destroy());
    const growth = new Growth(db, options);
    await growth.#openPlaces();
    return growth;
  }

  private constructor(db: Kysely<Schema>, options: GrowthOptions) {
    this.#db = db;
    this.#options = options;
  }

  /**
   * Grows to so many messages and notifications each, leaves both vacuumed, analyzed and on disk.
   */
  async growTo(rows: number, say: (line: string) => void): Promise<void> {
    const startMs = performance.now();
    while (this.#rows < rows) {
      const next = Math.min(rows, this.#rows + BATCH);
      await this.#load(this.#rows, next);
      this.#rows = next;
    }
    // Rows that are counted after the VACUUM would bring autovacuum and autoanalyze into a block.
    await sql`SELECT pg_stat_force_next_flush()`.execute(this.#db);
    await sql`VACUUM (ANALYZE) messages, notifications, conversations`.execute(this.#db);
    await checkpoint(this.#options.postgres);
    say(`  ${rows} rows of each after ${Math.round((performance.now() - startMs) / 1_000)} s`);
  }

  /** Opens two tables of our own with the ranks of conversations and of feeds. */
  async #openPlaces(): Promise<void> {
    const { accountId, conversations, recipients } = this.#options;
    const db = this.#db;
    await sql`SELECT setseed(0.5)`.execute(db);
    await sql`CREATE UNLOGGED TABLE bench_conversations (rank integer PRIMARY KEY, id text NOT NULL)`.execute(
      db,
    );
    await sql`
      INSERT INTO bench_conversations
      SELECT n, 'cnv_growth' || lpad(n::text, 18, '0') FROM generate_series(1, ${GROWN.conversations}::integer) n`.execute(
      db,
    );
    await sql`CREATE UNLOGGED TABLE bench_feeds (rank integer PRIMARY KEY, id text NOT NULL)`.execute(db);
    await sql`
      INSERT INTO bench_feeds
      SELECT n, 'act_growth' || lpad(n::text, 18, '0') FROM generate_series(1, ${GROWN.feeds}::integer) n`.execute(
      db,
    );
    await this.#give('bench_conversations', conversations, GROWN.conversations);
    await this.#give('bench_feeds', recipients, GROWN.feeds);
    // Copies an existing row, whatever columns it has.
    await sql`
      INSERT INTO conversations
      SELECT (jsonb_populate_record(c, jsonb_build_object('id', b.id, 'type', 'group', 'direct_key', null))).*
      FROM bench_conversations b, conversations c
      WHERE c.id = ${conversations[0]} AND c.account_id = ${accountId}
      ON CONFLICT DO NOTHING`.execute(db);
    await this.#insertNotifications(
      sql`SELECT b.id AS recipient_id, row_number() OVER () AS n
        FROM bench_feeds b, generate_series(1, ${FULL_PAGES}) WHERE b.id = ANY(${recipients})`,
      'page',
    );
  }

  async #give(table: string, ids: readonly string[], places: number): Promise<void> {
    const step = Math.floor(places / ids.length);
    await sql`
      UPDATE ${sql.table(table)} b SET id = given.id
      FROM unnest(${ids}::text[]) WITH ORDINALITY AS given(id, position)
      WHERE b.rank = 1 + (given.position - 1) * ${step}::integer`.execute(this.#db);
  }

  async #load(from: number, to: number): Promise<void> {
    const { accountId, senderId } = this.#options;
    const numbers = sql`generate_series(${from}::integer + 1, ${to}::integer) AS n`;
    await sql`
      INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, body, sender_id,
        author_id, client_message_id, created_at, updated_at)
      SELECT 'msg_growth' || lpad(r.n::text, 18, '0'), ${accountId}, r.id,
        coalesce(h.head, 0) + row_number() OVER (PARTITION BY r.id ORDER BY r.n),
        'chat', 'sent', 'internal', ${BODY}, ${senderId}, ${senderId}, 'growth-' || r.n, r.at, r.at
      FROM (
        SELECT d.n, b.id, now() - (${MOST} - d.n) * interval '1 second' AS at
        FROM (SELECT n, ${rank(GROWN.conversations)} AS rank FROM ${numbers}) d
          JOIN bench_conversations b USING (rank)
      ) r LEFT JOIN (
        SELECT conversation_id, max(sequence) AS head FROM messages GROUP BY conversation_id
      ) h ON h.conversation_id = r.id
      ORDER BY r.n`.execute(this.#db);
    await this.#insertNotifications(
      sql`SELECT b.id AS recipient_id, d.n
        FROM (SELECT n, ${rank(GROWN.feeds)} AS rank FROM ${numbers}) d JOIN bench_feeds b USING (rank)`,
      'growth',
    );
  }

  /** Inserts `rows`, a query of recipients and numbers that are unique for the cause. */
  async #insertNotifications(rows: ReturnType<typeof sql>, cause: string): Promise<void> {
    const { accountId, senderId, conversations } = this.#options;
    await sql`
      INSERT INTO notifications (id, account_id, recipient_id, category, title, body, status, sender_id, sender_type,
        resource_type, resource_id, message_id, created_at, updated_at)
      SELECT notification_id(r.at, r.cause, r.recipient_id), ${accountId}, r.recipient_id, 'chat.message',
        'Ada Lovelace in Demo group', ${BODY}, 'seen', ${senderId}, 'system', 'entity', ${conversations[0]}, r.cause,
        r.at, r.at
      FROM (
        SELECT q.recipient_id, ${`msg_${cause}`} || lpad(q.n::text, 18, '0') AS cause,
          now() - (${MOST} - q.n) * interval '1 second' AS at
        FROM (${rows}) q
      ) r
      ORDER BY r.at`.execute(this.#db);
  }
}

/** Draws a rank: the first with the share of the largest, the rest by Zipf's law. */
function rank(places: number) {
  return sql`CASE WHEN random() < ${LARGEST} THEN 1 ELSE 1 + floor(power(${places - 1}::float8, random()))::integer END`;
}

/** Times are seconds apart, the last of two million now. */
const MOST = 2_000_000;
const BODY =
  'The build for the release candidate is green again; I will tag it after lunch unless you object.';
