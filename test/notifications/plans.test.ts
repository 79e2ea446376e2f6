/**
 * How Postgres finds the rows of a feed of 200,000 notifications: each query is explained and run.
 */

import pg from 'pg';
import t, { type Test } from 'tap';
import { HOOKS } from '../../src/app/features.ts';
import { insertDue } from '../../src/core/messages/timeline/notified-store.ts';
import {
  type FeedFilters,
  readFeedKeys,
  readFeedRows,
  readFeedRowsById,
  readSummary,
} from '../../src/core/notifications/feed/feed-store.ts';
import {
  lockNotification,
  moveAll,
  moveOne,
  moveRead,
  readReadAlready,
} from '../../src/core/notifications/feed/mark-store.ts';
import { type NewNotification, notifyUsers } from '../../src/core/notifications/feed/notify-users.ts';
import { writePreviews } from '../../src/core/notifications/feed/refresh.ts';
import { readChanged } from '../../src/core/notifications/feed/store.ts';
import { withdrawOfMessage, withdrawOfSubject } from '../../src/core/notifications/feed/withdraw-store.ts';
import type { MessageRow } from '../../src/core/resources/message.ts';
import { type NotificationRow, readNotifications } from '../../src/core/resources/notification.ts';
import { readChanges } from '../../src/edge/gateway/changes/changes.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import type { Tx } from '../../src/platform/db/connection/handle.ts';
import type { KeysetPage } from '../../src/platform/db/connection/keyset.ts';
import { bindable, type Statement, type Value } from '../../src/platform/db/connection/statement.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';

const ROWS = 200_000;
const OTHERS = 100;
const ROWS_OF_OTHERS = 100;
const READER = 'act_reader';
/** The second at which the nth row was made. */
const at = (n: number) => new Date(Date.UTC(2026, 10, 1) + n * 1_000).toISOString();

const { url } = await createTestDatabase(t);
const database = await openDatabase({ url, log, hooks: HOOKS });
t.teardown(() => database.close());
const client = await database.pool.connect();
t.teardown(() => client.release(true));
await load();

const NOTIFICATION: NewNotification = {
  account_id: 'acc_1',
  category: 'chat.message',
  title: 'Ada',
  body: 'ahoy',
  sender_id: 'act_1',
  sender_type: 'user',
  resource: null,
  message_id: null,
  agent_run_id: null,
  cause: { key: 'cause', at: '2026-11-22T00:00:00Z' },
};

const message = { messageId: `msg_${ROWS}`, conversationId: 'cnv_1' };
const idAt = await idOf(ROWS / 2);

t.test('a page is read along the primary key, which is its order', async (t) => {
  const pages: [what: string, filters: FeedFilters, page: Partial<KeysetPage>, blocks: number][] = [
    ['the newest', {}, {}, 40],
    ['older ones', {}, { after: [idAt] }, 40],
    ['newer ones', {}, { after: [idAt], direction: 'previous' }, 40],
    ['the oldest', {}, { direction: 'previous' }, 40],
    // Every third row is unseen, seen or read.
    ['by status', { status: 'unseen' }, {}, 80],
    ['by category', { category: 'chat.message' }, {}, 80],
    ['by sender', { senderIds: ['act_1', 'act_2'] }, {}, 80],
    ['by type of sender', { senderTypes: ['user'] }, {}, 80],
    ['by text', {}, { search: 'Ada' }, 80],
    ['by all', { status: 'seen', category: 'chat.message', senderTypes: ['user'] }, { search: 'Ada' }, 120],
  ];
  for (const [what, filters, page, blocks] of pages) {
    const request = { direction: 'next', after: null, fetch: 21, search: null, ...page } as const;
    await along(t, `${what}: keys`, blocks, (db) => readFeedKeys(db, READER, filters, request));
    await along(t, `${what}: rows`, blocks, (db) => readFeedRows(db, READER, filters, request));
  }
  await along(t, 'rows that are not cached', 20 * 5, (db) => readFeedRowsById(db, READER, [idAt]));
});

t.test('a filter that matches nothing reads the feed once, and no other', async (t) => {
  const page = { direction: 'next', after: null, fetch: 21, search: null } as const;
  const { nodes, rowsRead } = await explained((db) => readFeedRows(db, READER, { category: 'none' }, page));
  t.ok(nodes.every(isLookup), nodes.join());
  t.ok(rowsRead <= ROWS, `${rowsRead}`);
});

t.test('counts read the primary key alone', async (t) => {
  const { nodes, fetched } = await explained((db) => readSummary(db, READER));
  t.match(nodes, ['Aggregate', 'Index Only Scan notifications_pkey']);
  t.equal(fetched, 0, 'no row of the table');
});

t.test('resume reads what is new or changed, and nothing in front of it', async (t) => {
  const since = { xid: String(2n ** 40n), began: at(ROWS - 20) };
  await along(t, 'streams with changes', 60, (db) =>
    readChanges({ database: db, files: { presignDownload: async () => '' } }, asks([READER]), since, 1_000),
  );
  await along(t, 'the changes', 60, (db) => readChanged(db, [READER], since));
  const feeds = [READER, ...Array.from({ length: 50 }, (_, n) => `act_${n + 1}`)];
  await along(t, 'of 51 feeds', 51 * 40, (db) => readChanged(db, feeds, since));
  const tooMany = { ...since, began: at(0) };
  const { rowsRead } = await explained((db) =>
    readChanges({ database: db, files: { presignDownload: async () => '' } }, asks([READER]), tooMany, 1_000),
  );
  t.ok(rowsRead <= 1_010, `${rowsRead}: no more than are replayed`);
});

t.test('marking all goes on behind the rows that are done', async (t) => {
  const batch = { from: ['unseen', 'seen'], to: 'read', limit: 20 } as const;
  await along(t, 'the first batch', 1_000, (tx) => moveAll(tx, READER, { ...batch, before: null }));
  await along(t, 'a later one', 1_000, (tx) => moveAll(tx, READER, { ...batch, before: idAt }));
});

t.test('reading a conversation makes the ids of its messages again', async (t) => {
  const range = { actor_id: READER, conversation_id: 'cnv_1', after: ROWS - 40, through: ROWS };
  await along(t, 'read messages', 20 * 40, (tx) => moveRead(tx, range, 20).catch(() => undefined));
});

t.test('one notification, and those of some recipients', async (t) => {
  const row = { recipient_id: READER, id: idAt } as NotificationRow;
  await along(t, 'locked', 10, (tx) => lockNotification(tx, READER, idAt));
  await along(t, 'moved', 60, (tx) => moveOne(tx, row, 'read'));
  const keys = Array.from({ length: 50 }, () => ({ recipient_id: READER, id: idAt }));
  await along(t, 'read', 50 * 5, (db) => readNotifications(db, keys));
});

t.test('the notifications of a message are found by the ids that are made again', async (t) => {
  await along(t, 'previews', 51 * 40, (tx) =>
    writePreviews(tx, message.messageId, message.conversationId, 'other'),
  );
  await along(t, 'withdrawn', 51 * 40, (tx) => withdrawOfMessage(tx, message.messageId, 'cnv_1'));
  await along(t, 'of a subject', 40, (tx) => withdrawOfSubject(tx, 'run_1', 'approval.requested'), {
    index: 'notifications_subject',
  });
  const { rows } = await client.query('EXPLAIN (VERBOSE) SELECT moment_of(m) FROM messages m');
  t.notMatch(JSON.stringify(rows), 'moment_of', 'the planner replaces the function by its body');
});

t.test('inserts and their repetition read by index', async (t) => {
  const recipients = Array.from({ length: 20 }, (_, n) => `act_${n + 1}`);
  const row = { id: message.messageId, conversation_id: message.conversationId } as MessageRow;
  const notifications = [{ category: 'chat.message', title: 'Ada', recipients }] as const;
  const due = [
    { row, plan: { rosterVersion: 0, senderType: 'user', preview: 'Text', notifications } as const },
  ];
  // What Postgres shows of a plan names no index that an insert checks.
  await along(t, 'of a message', 20 * 20, (db) => insertDue(db, due), { index: 'messages_pkey' });
  await along(t, 'of a message, read again', 52 * 20, (db) => insertDue(db, due), { nth: 1 });
  await along(t, 'read already', 52 * 20, (db) => readReadAlready(db, [row.id]));
  const insert = (tx: Tx) => notifyUsers(tx, recipients, NOTIFICATION);
  await along(t, 'of another cause', 20 * 20, insert, { index: 'actors_pkey' });
});

/**
 * Asserts that each table is read by look-ups in an index, without sorting a feed, and how many
 * blocks that takes.
 */
async function along(
  t: Test,
  what: string,
  blocks: number,
  run: (db: Database & Tx) => Promise<unknown>,
  { nth = 0, index = 'notifications_pkey' } = {},
): Promise<void> {
  for (const mode of ['force_generic_plan', 'force_custom_plan'] as const) {
    const { nodes, read } = await explained(run, mode, nth);
    t.ok(nodes.every(isLookup), `${what}, ${mode}: ${nodes.join(', ')}`);
    t.ok(
      nodes.some((node) => node.includes(index)),
      `${what}, ${mode}: along ${index}`,
    );
    t.ok(read <= blocks, `${what}, ${mode}: ${read} blocks of ${blocks}`);
  }
}

function isLookup(node: string): boolean {
  return !/Seq Scan|Bitmap|Hash Join|Merge Join/.test(node);
}

interface Explained {
  /** Types of the nodes from the top, with their indexes. */
  readonly nodes: readonly string[];
  /** Blocks that the whole plan read or found in memory. */
  readonly read: number;
  /** Rows that index scans returned or filtered. */
  readonly rowsRead: number;
  /** Rows of a table that scans of an index alone had to look at. */
  readonly fetched: number;
}

interface Plan {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Heap Fetches'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly Plan[];
}

/** Explains the nth statement that `run` sends, as a prepared one, and takes its changes back. */
async function explained(
  run: (db: Database & Tx) => Promise<unknown>,
  mode: 'force_generic_plan' | 'force_custom_plan' = 'force_generic_plan',
  nth = 0,
): Promise<Explained> {
  const { text, values } = await nthStatement(run, nth);
  await client.query(`BEGIN; SET LOCAL plan_cache_mode = ${mode}; PREPARE explained AS ${text}`);
  try {
    const given = values.length === 0 ? '' : `(${bindable(values).map(literal).join(', ')})`;
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE explained${given}`,
    );
    const [{ Plan: plan }] = rows[0]!['QUERY PLAN'];
    const all = flat(plan);
    const sum = (of: (one: Plan) => number) => all.reduce((total, one) => total + of(one), 0);
    return {
      nodes: all.map((one) => [one['Node Type'], one['Index Name'] ?? []].flat().join(' ')),
      read: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
      rowsRead: sum((one) =>
        one['Index Name'] === undefined
          ? 0
          : (one['Actual Rows'] + (one['Rows Removed by Filter'] ?? 0)) * one['Actual Loops'],
      ),
      fetched: sum((one) => one['Heap Fetches'] ?? 0),
    };
  } finally {
    await client.query('ROLLBACK');
    await client.query('DEALLOCATE explained');
  }
}

function flat(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(flat)];
}

function literal(value: unknown): string {
  if (value === null) return 'NULL';
  if (Array.isArray(value)) return `ARRAY[${value.map(literal).join(', ')}]::text[]`;
  return pg.escapeLiteral(String(value));
}

/** Runs with a database that answers nothing, and returns the statement. */
async function nthStatement(
  run: (db: Database & Tx) => Promise<unknown>,
  nth: number,
): Promise<{ text: string; values: readonly Value[] }> {
  const sent: { text: string; values: readonly Value[] }[] = [];
  const query = async ({ text }: Statement, ...values: Value[]) => {
    sent.push({ text, values });
    return [];
  };
  const recorder: Database & Tx = Object.assign(Object.create(null), {
    query,
    reader: { query },
    hooks: HOOKS,
  });
  await run(recorder);
  return sent[nth]!;
}

function asks(actorIds: readonly string[]) {
  return { conversationIds: [], actorIds };
}

async function idOf(n: number): Promise<string> {
  const { rows } = await client.query<{ id: string }>('SELECT notification_id($1, $2, $3) AS id', [
    at(n),
    `msg_${n}`,
    READER,
  ]);
  return rows[0]!.id;
}

async function load(): Promise<void> {
  await client.query('SET statement_timeout = 0');
  const insert = `
    INSERT INTO notifications (id, account_id, recipient_id, category, title, body, status, sender_id, sender_type,
      resource_type, resource_id, message_id, created_at, updated_at)
    SELECT notification_id(at, message_id, recipient_id), 'acc_1', recipient_id,
      CASE n % 2 WHEN 0 THEN 'chat.message' ELSE 'chat.mention' END, 'Ada Lovelace in Pier', 'ahoy ' || n,
      CASE WHEN n % 10 = 0 THEN 'dismissed' WHEN n % 3 = 0 THEN 'unseen' WHEN n % 3 = 1 THEN 'seen' ELSE 'read' END,
      'act_' || n % 5, CASE n % 2 WHEN 0 THEN 'user' ELSE 'system' END, 'entity', 'cnv_1', message_id, at, at`;
  await client.query(`${insert}
    FROM generate_series(1, ${ROWS}) n, LATERAL (
      SELECT timestamptz '${at(0)}' + n * interval '1 s' AS at, 'msg_' || n AS message_id, '${READER}' AS recipient_id) AS x`);
  await client.query(`${insert}
    FROM generate_series(${ROWS - ROWS_OF_OTHERS} + 1, ${ROWS}) n, generate_series(1, ${OTHERS}) other, LATERAL (
      SELECT timestamptz '${at(0)}' + n * interval '1 s' AS at, 'msg_' || n AS message_id, 'act_' || other AS recipient_id) AS x`);
  await client.query(`
    INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, created_at, updated_at)
    SELECT 'msg_' || n, 'acc_1', 'cnv_1', n, 'chat', 'sent', 'internal', at, at
    FROM generate_series(${ROWS} - 1000, ${ROWS}) n,
      LATERAL (SELECT timestamptz '${at(0)}' + n * interval '1 s' AS at) AS t`);
  await client.query(`
    INSERT INTO accounts (id, name) VALUES ('acc_1', 'Account');
    INSERT INTO actors (id, account_id, type) SELECT id, 'acc_1', 'user' FROM (
      SELECT '${READER}' AS id UNION ALL SELECT 'act_' || n FROM generate_series(1, 50) n) AS a;
    INSERT INTO conversations (id, account_id, type) VALUES ('cnv_1', 'acc_1', 'group');
    INSERT INTO participants (id, account_id, conversation_id, actor_id, type)
    SELECT 'prt_' || id, 'acc_1', 'cnv_1', id, 'user' FROM actors`);
  // Rows count as visible to all once the log of their commit is written, which may take a moment.
  await until(
    async () => {
      await client.query('VACUUM (ANALYZE) notifications, messages, participants');
      const { rows } = await client.query(
        "SELECT relallvisible = relpages AS done FROM pg_class WHERE relname = 'notifications'",
      );
      return rows[0].done === true;
    },
    { what: 'a vacuumed table' },
  );
}
