import { promises as fs } from 'node:fs';
import { createRequire } from 'node:module';
import path, { resolve } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { FileMigrationProvider, type Migration, Migrator } from 'kysely/migration';
import pg from 'pg';
import { pino } from 'pino';
import t from 'tap';
import { makeBaseline } from '../../migrations/baseline/make-baseline.ts';
import { INDEXES } from '../../src/core/tables/indexes.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { migrate } from '../../src/platform/db/migration/migrate.ts';
import { recordingUsability } from '../../src/platform/db/migration/usable-schema.ts';
import { createLog } from '../../src/platform/log.ts';
import { describeSchema } from '../support/described-schema.ts';
import { createTestDatabase, startPostgres } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import * as first from './earlier/0001_first_30e0873.ts';
import * as agentRuns from './earlier/0004_agent_runs_b6ebaf0.ts';

/** Plain JavaScript: `.ci/run` asks it first, before anything is installed. */
const { RELEASED, changedMigrations } = createRequire(import.meta.url)(
  '../verdict/released-migrations.cjs',
) as {
  RELEASED: Readonly<Record<string, string>>;
  changedMigrations(released?: Readonly<Record<string, string>>): string[];
};
const log = createLog('silent');
const FOLDER = resolve(import.meta.dirname, '../../migrations');

/**
 * States that databases of earlier commits are in: the migrations that they have run, where they
 * differ from today's.
 */
const EARLIER: Readonly<Record<string, Readonly<Record<string, Migration | 'today'>>>> = {
  '30e0873': { '0001_first': first, '0002_agents': 'today' },
  '9f9779f': { '0001_first': 'today', '0002_agents': 'today', '0003_contract': 'today' },
  b6ebaf0: {
    '0001_first': 'today',
    '0002_agents': 'today',
    '0003_contract': 'today',
    '0004_agent_runs': agentRuns,
  },
  c40134b: {
    '0001_first': 'today',
    '0002_agents': 'today',
    '0003_contract': 'today',
    '0004_agent_runs': 'today',
  },
};

t.test('released migrations are frozen', async (t) => {
  t.strictSame(changedMigrations(), []);
  const [first = '', second = '', ...others] = Object.keys(RELEASED);
  const found = changedMigrations({
    ...Object.fromEntries(others.map((name) => [name, RELEASED[name]!])),
    [first]: 'another',
    '0000_gone.ts': 'any',
  });
  t.equal(found.length, 3);
  for (const [index, words] of [
    `0000_gone.ts was released and is gone`,
    `${first} was released and is changed`,
    `${second} is new: add`,
  ].entries()) {
    t.match(found[index], words);
  }
});

// For databases that begin empty; those of the server that all files share are migrated.
const server = await startPostgres(t);

t.test('a new read position stays in the page of its participant', async (t) => {
  const { url } = await createTestDatabase(t);
  const database = await openDatabase({ url, log });
  t.teardown(() => database.close());
  await database.transaction(async ({ kysely }) => {
    // Without the conversations and actors that the rows refer to.
    await sql`SET LOCAL session_replication_role = replica`.execute(kysely);
    await sql`
      INSERT INTO participants (id, account_id, conversation_id, actor_id, type, role)
      SELECT 'prt_' || n, 'acc_1', 'cnv_' || n / 4, 'act_' || n, 'user', 'member' FROM generate_series(1, 2000) n`.execute(
      kysely,
    );
    // A few in each page: pages without room would move them to others, which every index has to
    // follow.
    await sql`UPDATE participants SET read_sequence = 7 WHERE right(id, 2) IN ('00', '50')`.execute(kysely);
    const { rows } = await sql<{ updated: number; in_place: number }>`
      SELECT pg_stat_get_xact_tuples_updated('participants'::regclass) AS updated,
        pg_stat_get_xact_tuples_hot_updated('participants'::regclass) AS in_place`.execute(kysely);
    t.strictSame(rows, [{ updated: 40, in_place: 40 }]);
  });
});

t.test('the baseline makes what the files made one by one', async (t) => {
  const { database: byFiles } = await create(t, 'by_files');
  const provider = recordingUsability({ getMigrations: migrationsOfToday });
  const { error } = await new Migrator({ db: byFiles.kysely, provider }).migrateToLatest();
  t.equal(error, undefined);
  const { database: byBaseline } = await create(t, 'by_baseline');
  await makeBaseline(byBaseline.kysely as unknown as Kysely<unknown>);
  await sql`INSERT INTO settings (name, value) VALUES ('schema_usable_from', '0031_replaying')`.execute(
    byBaseline.kysely,
  );
  const expected = await describeSchema(byFiles.kysely);
  t.ok(expected.length > 2_000);
  t.strictSame(await describeSchema(byBaseline.kysely), expected);
});

t.test('every earlier state migrates to the schema of a new database', async (t) => {
  const fresh = await create(t, 'fresh');
  await migrate(fresh.database, INDEXES, log);
  const expected = await schemaOf(fresh.database);
  t.strictSame(
    Object.keys(INDEXES.built).filter((name) => !expected.some((line) => line.startsWith(`index ${name}:`))),
    [],
    'every index that is built apart is in a new database too',
  );
  for (const [commit, migrations] of Object.entries(EARLIER)) {
    const { database } = await create(t, `from_${commit}`);
    await runEarlier(database, migrations);
    await insertDraft(database, 'msg_1');
    await migrate(database, INDEXES, log);
    t.same(await schemaOf(database), expected, commit);
    t.same(await database.query({ name: 'kept', text: 'SELECT id FROM messages' }), [{ id: 'msg_1' }]);
    await migrate(database, INDEXES, log);
    t.same(await schemaOf(database), expected, `${commit}, migrated twice`);
  }
});

t.test(
  'notifications of before 0010 keep their order, and get the ids that are made again from their causes',
  async (t) => {
    const { database } = await create(t, 'with_notifications');
    const migrations = Object.keys(RELEASED).filter((name) => name < '0010');
    await runEarlier(
      database,
      Object.fromEntries(migrations.map((name) => [name.replace('.ts', ''), 'today'])),
    );
    await sql
      .raw(
        `
    INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, author_id,
      streaming_state, created_at, updated_at, outcome)
    SELECT id, 'acc_1', 'cnv_1', sequence, kind, status, 'external', 'act_author', streaming, day(made), day(made),
      CASE WHEN ended IS NOT NULL THEN jsonb_build_object('result', status, 'reason', NULL, 'at', day(ended)) END
    FROM (VALUES
      -- One statement wrote these three.
      ('msg_c', 1, 'chat', 'sent', NULL, 1, NULL), ('msg_a', 2, 'chat', 'sent', NULL, 1, NULL),
      ('msg_b', 3, 'chat', 'sent', NULL, 1, NULL),
      ('msg_draft', 4, 'agent', 'sent', NULL, 1, 4), ('msg_schedule', 5, 'scheduled', 'sent', NULL, 2, 6),
      ('msg_stream', 6, 'agent', 'sent', 'complete', 3, NULL),
      ('msg_failed', NULL, 'scheduled', 'failed', NULL, 2, 7)
    ) AS m(id, sequence, kind, status, streaming, made, ended);
    INSERT INTO notifications (id, account_id, recipient_id, category, title, resource_id, message_id, created_at, updated_at)
    SELECT id, 'acc_1', 'act_reader', 'chat.message', 'Ada', 'cnv_1', message_id, at, at
    FROM (VALUES
      ('ntf_1', 'msg_c', day(1) + interval '11 us'), ('ntf_2', 'msg_a', day(1) + interval '12 us'),
      ('ntf_3', 'msg_b', day(1) + interval '13 us'), ('ntf_4', NULL, day(2)), ('ntf_5', 'msg_draft', day(4) + interval '1 s'),
      ('ntf_6', 'msg_stream', day(5)), ('ntf_7', 'msg_schedule', day(6) + interval '1 s'),
      ('ntf_8', 'msg_failed', day(7) + interval '1 s'), ('ntf_9', NULL, now())
    ) AS n(id, message_id, at);
    UPDATE notifications SET status = 'read', updated_at = day(8) WHERE id = 'ntf_2';
    INSERT INTO outbox (topic, payload, created_at)
    VALUES ('participants.added', '{"notification_id": "ntf_x", "participant_id": "prt_x", "by": null}', day(9))`.replaceAll(
          /day\((\w+)\)/g,
          "(timestamptz '2026-01-01 00:00Z' + $1 * interval '1 day')",
        ),
      )
      .execute(database.kysely);
    const { rows: before } = await sql<{ id: string; changed_in: string }>`
    SELECT coalesce(message_id, id) AS id, changed_in FROM notifications ORDER BY created_at`.execute(
      database.kysely,
    );
    await migrate(database, INDEXES, log);

    const { rows } = await sql<{
      cause: string;
      changed_in: string | null;
      is_new: boolean;
      in_order: boolean;
    }>`
    SELECT coalesce(n.message_id, o.id) AS cause, n.changed_in, n.updated_at = n.created_at AS is_new,
      n.id = notification_id(n.created_at, coalesce(n.message_id, o.id), n.recipient_id)
        AND n.created_at = coalesce(m.notified_at, m.created_at, n.created_at) AS in_order
    FROM notifications n
      LEFT JOIN messages m ON m.id = n.message_id
      LEFT JOIN unnest(ARRAY['ntf_4', 'ntf_9']) AS o(id) ON notification_id(n.created_at, o.id, 'act_reader') = n.id
    ORDER BY n.id`.execute(database.kysely);
    t.strictSame(
      rows.map(({ cause }) => cause),
      before.map(({ id }) => id),
    );
    t.ok(rows.every(({ in_order }) => in_order));
    t.strictSame(
      rows.filter(({ is_new }) => !is_new).map(({ cause }) => cause),
      ['msg_a'],
    );
    const kept = before.filter(({ id }) => id === 'msg_a' || id === 'ntf_9');
    t.strictSame(
      rows
        .filter(({ changed_in }) => changed_in !== null)
        .map(({ cause: id, changed_in }) => ({ id, changed_in })),
      kept,
      'cursors that are younger than seven days find what they found before',
    );
    const { rows: outbox } = await sql<{ payload: object }>`SELECT payload FROM outbox`.execute(
      database.kysely,
    );
    t.match(outbox, [{ payload: { participant_id: 'prt_x', by: null, at: /^2026-01-10T00:00:00/ } }]);
  },
);

t.test('an index build blocks no writes, and is repeated after a kill', async (t) => {
  const { database, url } = await migrated(t);
  await migrate(database, INDEXES, log);
  await sql`DROP INDEX messages_changed`.execute(database.kysely);

  // The build waits for transactions that began to write before it, so it is met in the middle.
  const holder = await connect(t, url);
  await holder.query("BEGIN; UPDATE messages SET body = '' WHERE false");
  const interrupted = migrate(database, INDEXES, log).then(
    () => 'done',
    () => 'failed',
  );
  const builder = await until(() => buildOf(database), { what: 'a build' });
  await insertDraft(database, 'msg_1');
  await database.query({ name: 'kill', text: 'SELECT pg_terminate_backend($1)' }, builder);
  t.equal(await interrupted, 'failed');
  await holder.query('COMMIT');
  t.same(await validity(database), [{ indisvalid: false }], 'half an index is left');

  const second = await openDatabase({ url, log });
  t.teardown(() => second.close());
  await Promise.all([migrate(database, INDEXES, log), migrate(second, INDEXES, log)]);
  t.same(await validity(database), [{ indisvalid: true }]);
});

t.test('a new migration declares from which one on nodes may use its schema', async (t) => {
  for (const [name, migration] of Object.entries(await migrationsOfToday())) {
    if (name <= '0031_replaying') continue;
    const { usableFrom = 'no declaration' } = migration as { readonly usableFrom?: string };
    t.ok(`${usableFrom}.ts` in RELEASED && usableFrom <= name, `${name}: ${usableFrom}`);
  }
});

t.test('a first start logs one line for migrations and one for indexes', async (t) => {
  const lines: object[] = [];
  const kept = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const { database } = await create(t, 'quiet');
  await migrate(database, INDEXES, kept);
  const names = Object.keys(await migrationsOfToday());
  const migrated = {
    msg: 'migrated the database',
    migrations: names.length,
    from: names[0],
    to: names.at(-1),
  };
  t.match(lines, [migrated, { msg: 'built or removed indexes', indexes: Number }]);
  t.equal(lines.length, 2);
  await migrate(database, INDEXES, kept);
  t.equal(lines.length, 2, 'and a later one none');
});

t.test('a node starts on the schema of a newer release where that release allows it', async (t) => {
  const today = await migrationsOfToday();
  const last = Object.keys(today).sort().at(-1)!;
  const next = (column: string, usableFrom?: string) => ({
    up: (db: Kysely<unknown>) =>
      sql`ALTER TABLE messages ADD COLUMN ${sql.ref(column)} text`.execute(db).then(() => {}),
    ...(usableFrom !== undefined && { usableFrom }),
  });
  const upgrade = (database: Database, later: Readonly<Record<string, Migration>>) =>
    migrate(database, INDEXES, log, { getMigrations: async () => ({ ...today, ...later }) });
  const refusal = (migrations: string) => ({
    message: new RegExp(
      `newer than this version of Parley.*${migrations} .*run the version that migrated it`,
    ),
  });

  const { database } = await migrated(t);
  await migrate(database, INDEXES, log);
  const additive = { '9998_next': next('added', last) };
  await upgrade(database, additive);
  await sql`DROP INDEX messages_changed`.execute(database.kysely);
  const expected = await schemaOf(database);
  await migrate(database, INDEXES, log);
  t.same(await schemaOf(database), expected, 'what the newer release has made of the schema stays');
  await upgrade(database, additive);
  t.same(await validity(database), [{ indisvalid: true }], 'the newer release goes on');

  const breaking = { ...additive, '9999_later': next('later') };
  await upgrade(database, breaking);
  await t.rejects(migrate(database, INDEXES, log), refusal('9998_next, 9999_later'));
  await t.rejects(upgrade(database, additive), refusal('9999_later'), 'nor the release between the two');
  await upgrade(database, { ...breaking, '9999_much_later': next('much_later', '9998_next') });
  await t.rejects(
    migrate(database, INDEXES, log),
    refusal('9999_later, 9999_much_later'),
    'an additive one changes nothing',
  );
  await t.rejects(upgrade(database, additive), refusal('9999_later, 9999_much_later'));
  await upgrade(database, breaking);

  const { database: other } = await create(t, 'branch');
  await upgrade(other, { '0030_another': next('another', '0030_another'), '9998_next': next('added', last) });
  await t.rejects(
    migrate(other, INDEXES, log),
    refusal('0030_another, 9998_next'),
    'a schema that begins in another way',
  );
});

t.test('a migration that fails leaves no declaration of those before it', async (t) => {
  const { database } = await migrated(t);
  await migrate(database, INDEXES, log);
  const later = {
    '9998_next': { up: () => Promise.resolve(), usableFrom: '9998_next' },
    '9999_failing': { up: () => Promise.reject(new Error('no')), usableFrom: '9998_next' },
  };
  const settings = () => database.kysely.selectFrom('settings').selectAll().orderBy('name').execute();
  const before = await settings();
  const provider = { getMigrations: async () => ({ ...(await migrationsOfToday()), ...later }) };
  await t.rejects(migrate(database, INDEXES, log, provider), { message: /9999_failing/ });
  t.same(await settings(), before);
});

t.test('a migration gives way to a request that it would wait for without end', async (t) => {
  const { database, url } = await migrated(t);
  let began = 0;
  const later = {
    '9999_locking': {
      async up(db: Kysely<unknown>) {
        began++;
        for (const table of ['accounts', 'conversations']) {
          await sql`LOCK TABLE ${sql.table(table)}`.execute(db);
        }
      },
    },
  };
  const provider = { getMigrations: async () => ({ ...(await migrationsOfToday()), ...later }) };
  const request = await connect(t, url);
  await request.query('BEGIN; LOCK TABLE conversations IN ROW EXCLUSIVE MODE');
  const done = migrate(database, INDEXES, log, provider);
  await until(() => began > 0, { what: 'the migration' });
  await request.query('LOCK TABLE accounts IN ROW EXCLUSIVE MODE');
  const before = began;
  await until(() => began > before, { what: 'another try, while the tables are in use' });
  await request.query('COMMIT');
  await done;
});

interface Opened {
  readonly database: Database;
  readonly url: string;
}

/** Returns an empty database of that name. */
async function create(t: Teardown, name: string): Promise<Opened> {
  const admin = await connect(t, server.url);
  await admin.query(`CREATE DATABASE "${name}"`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return opened(t, url.href);
}

async function migrated(t: Teardown): Promise<Opened> {
  return opened(t, (await createTestDatabase(t)).url);
}

async function opened(t: Teardown, url: string): Promise<Opened> {
  const database = await openDatabase({ url, log });
  t.teardown(() => database.close());
  return { database, url };
}

async function connect(t: Teardown, url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

async function runEarlier(
  { kysely }: Database,
  migrations: Readonly<Record<string, Migration | 'today'>>,
): Promise<void> {
  const today = await migrationsOfToday();
  const chosen = Object.entries(migrations).map(([name, migration]) => [
    name,
    migration === 'today' ? today[name] : migration,
  ]);
  const provider = { getMigrations: async () => Object.fromEntries(chosen) };
  const { error } = await new Migrator({ db: kysely, provider }).migrateToLatest();
  if (error !== undefined) throw error;
}

function migrationsOfToday(): Promise<Record<string, Migration>> {
  return new FileMigrationProvider({ fs, path, migrationFolder: FOLDER }).getMigrations();
}

async function insertDraft({ kysely }: Database, id: string): Promise<void> {
  await sql`INSERT INTO messages (id, account_id, conversation_id, kind, status, visibility)
    VALUES (${id}, 'acc_1', 'cnv_1', 'chat', 'draft', 'external')`.execute(kysely);
}

async function validity(database: Database): Promise<object[]> {
  return database.query({
    name: 'validity',
    text: "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('messages_changed')",
  });
}

/** The process id of the backend that builds an index. */
async function buildOf(database: Database): Promise<number | undefined> {
  const [row] = await database.query(
    statement<[], { pid: number }>('builder')`
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'active'
      AND query LIKE 'CREATE INDEX CONCURRENTLY%'
      -- Committed, though half: a build that is killed before leaves nothing.
      AND to_regclass('messages_changed') IS NOT NULL`,
  );
  return row?.pid;
}

/**
 * A line for each thing of the schema that Parley's own migrations make. The order of columns does
 * not count.
 */
async function schemaOf({ kysely }: Database): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`
    SELECT 'column ' || c.relname || '.' || a.attname || ': ' || format_type(a.atttypid, a.atttypmod)
      || coalesce(' collate ' || l.collname, '') || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
      || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') AS line
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    LEFT JOIN pg_collation l ON l.oid = a.attcollation
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
    UNION ALL
    SELECT 'index ' || indexrelid::regclass || ': ' || pg_get_indexdef(indexrelid) || ' valid ' || indisvalid
    FROM pg_index JOIN pg_class c ON c.oid = indrelid WHERE c.relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT 'constraint ' || conname || ' of ' || conrelid::regclass || ': ' || pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL
    SELECT 'trigger ' || tgname || ': ' || pg_get_triggerdef(t.oid)
    FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
    WHERE NOT tgisinternal AND c.relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT 'function ' || pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    ORDER BY line`.execute(kysely);
  return rows.map(({ line }) => line);
}
