import { randomUUID } from 'node:crypto';
import { chmodSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@parley/protocol/ids.ts';
import { sql } from 'kysely';
import { createNodeMetrics } from '../src/app/metrics.ts';
import type { Frame } from '../src/core/frames/frame.ts';
import type { ImportedMessage } from '../src/core/messages/timeline/imported-message.ts';
import { ImportedWrites } from '../src/core/messages/timeline/imported-write.ts';
import { LockedWrites } from '../src/core/messages/timeline/locked-write.ts';
import { Numbers } from '../src/core/messages/timeline/numbers.ts';
import { Timeline } from '../src/core/messages/timeline/timeline.ts';
import { INDEXES } from '../src/core/tables/indexes.ts';
import { migrate } from '../src/platform/db/migration/migrate.ts';
import { MemoryEngine } from '../src/platform/engine/memory-engine.ts';
import { createLog } from '../src/platform/log.ts';
import { compareWith } from './lib/compare.ts';
import type { Block, Side } from './lib/pairs.ts';
import { type BenchDatabase, startPostgres } from './lib/postgres.ts';
import { startMeter } from './lib/processor-time.ts';
import type { Session, Work } from './lib/work.ts';

/**
 * The writing of imported messages against a bare COPY of the same rows into a table with the same
 * columns, constraints and indexes. Times of a thousand messages, in milliseconds.
 */
export const IMPORT: Work = { name: 'import', title: 'imports of messages', fullOnly: true, run };

const SIZES = {
  full: { count: 1_000_000, pairs: 3 },
  short: { count: 100_000, pairs: 3 },
  brief: { count: 2_000, pairs: 1 },
} as const;
const CONVERSATIONS = 200;
const AUTHORS = 50;
/** Messages that the writer gets together, as from a job. */
const BATCH = 5_000;
/** Conversations that are written at the same time. */
const LANES = 3;

async function run(session: Session): Promise<void> {
  const { parley } = await startPostgres(session.disposer, ['parley']);
  await migrate(parley.database, INDEXES, LOG);
  const { count, pairs } = SIZES[session.scale];
  const place = await seed(parley);
  const ours = importing(parley, place, count);
  const file = session.disposer.add('rows', join(tmpdir(), `parley-rows-${randomUUID()}`), (path) =>
    rmSync(path, { force: true }),
  );
  await ours.run(0);
  await parley.database.withoutTimeLimit(async (db) => {
    await sql.raw('CREATE TABLE bare (LIKE messages INCLUDING ALL)').execute(db);
    await sql.raw(`COPY messages TO '${file}'`).execute(db);
  });
  await session.part('import', () =>
    compareWith(session, {
      unit: 'ms',
      ours,
      against: [
        {
          work: `an import of ${count} messages, by the thousand`,
          control: copying(parley, file, count),
          atMost: 1.5,
        },
      ],
      before: async () => {
        await empty(parley);
        await parley.database.withoutTimeLimit((db) => sql`CHECKPOINT`.execute(db));
      },
      // A block ends with its messages, not with a time.
      timing: { pairs, blockMs: 0, warmupMs: 0 },
      facts: { messages: count, conversations: CONVERSATIONS, authors: AUTHORS, batch: BATCH },
    }),
  );
}

interface Place {
  readonly accountId: string;
  readonly conversations: readonly string[];
  readonly authors: readonly string[];
}

async function seed({ database: { pool } }: BenchDatabase): Promise<Place> {
  const accountId = newId('account');
  const authors = Array.from({ length: AUTHORS }, () => newId('actor'));
  const conversations = Array.from({ length: CONVERSATIONS }, () => newId('conversation'));
  await pool.query(`INSERT INTO accounts (id, name) VALUES ($1, 'Harbor')`, [accountId]);
  await pool.query(
    `INSERT INTO actors (id, account_id, type, name) SELECT id, $1, 'user', 'Ada' FROM unnest($2::text[]) AS id`,
    [accountId, authors],
  );
  await pool.query(
    `INSERT INTO conversations (id, account_id, type) SELECT id, $1, 'group' FROM unnest($2::text[]) AS id`,
    [accountId, conversations],
  );
  await pool.query(
    `INSERT INTO participants (id, account_id, conversation_id, actor_id, type)
      SELECT 'prt_' || c || right(a, 4), $1, c, a, 'user' FROM unnest($2::text[]) AS c, unnest($3::text[]) AS a`,
    [accountId, conversations, authors.slice(0, 10)],
  );
  await pool.query('VACUUM (ANALYZE)');
  return { accountId, conversations, authors };
}

function importing(postgres: BenchDatabase, place: Place, count: number): Side {
  const { database } = postgres;
  return {
    name: 'import',
    run: async () => {
      // The counters begin at zero for each block.
      const engine = new MemoryEngine<Frame>();
      const metrics = createNodeMetrics();
      const timeline = new Timeline(database, engine, metrics);
      const locked = new LockedWrites({
        database,
        timeline,
        metrics,
        numbers: new Numbers({ engine, timeline, metrics }),
        files: { presignDownload: async () => '' },
        maySend: () => true,
        onCommitted: async () => {},
      });
      const writes = new ImportedWrites(locked);
      const used = startMeter({ postgres });
      const startMs = performance.now();
      let next = 0;
      const lane = async () => {
        while (next < count) {
          const from = next;
          next += BATCH;
          const conversationId = place.conversations[(from / BATCH) % CONVERSATIONS]!;
          const batch = { accountId: place.accountId, conversationId, importId: IMPORT_ID, by: null };
          const messages = messagesOf(place, from, Math.min(BATCH, count - from));
          await writes.write({ ...batch, messages });
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      const elapsedMs = performance.now() - startMs;
      await engine.close();
      return blockOf(count, elapsedMs, used);
    },
  };
}

const IMPORT_ID = newId('import');

function messagesOf({ authors }: Place, from: number, count: number): ImportedMessage[] {
  return Array.from({ length: count }, (_, index) => {
    const n = from + index;
    const at = new Date(Date.UTC(2020) + n * 10_000).toISOString().replace('Z', '123Z');
    return {
      client_message_id: `slack:C024BE91L:${n}.000506`,
      kind: 'chat',
      visibility: 'internal',
      author_id: authors[(n * 7) % AUTHORS]!,
      sender_id: null,
      body: `A message of some length, as they are in channels where people work, with the number ${n}`,
      created_at: at,
      edited_at: null,
      deleted_at: null,
      reply_to: index > 0 && n % 5 === 0 ? `slack:C024BE91L:${n - 1}.000506` : null,
      reply_to_id: null,
      mentions: [],
      attachments: [],
      reactions: [],
      pin: null,
    };
  });
}

function copying(postgres: BenchDatabase, file: string, count: number): Side {
  return {
    name: 'copy',
    run: async () => {
      chmodSync(file, 0o644);
      const used = startMeter({ postgres });
      const startMs = performance.now();
      await postgres.database.withoutTimeLimit((db) => sql.raw(`COPY bare FROM '${file}'`).execute(db));
      return blockOf(count, performance.now() - startMs, used);
    },
  };
}

function blockOf(count: number, elapsedMs: number, used: ReturnType<typeof startMeter>): Block {
  return { figure: (elapsedMs * 1_000) / count, operations: count, processor: used(count) };
}

async function empty({ database }: BenchDatabase): Promise<void> {
  await database.withoutTimeLimit(async (db) => {
    await sql`TRUNCATE messages, bare, outbox, audit_events, inbox_due, search_notes`.execute(db);
    await sql`UPDATE participants SET read_sequence = 0`.execute(db);
  });
}

const LOG = createLog('warn');
