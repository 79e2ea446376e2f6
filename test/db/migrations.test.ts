import { promises as fs } from 'node:fs';
import { createRequire } from 'node:module';
import path, { resolve } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { FileMigrationProvider, type Migration } from 'kysely/migration';
import pg from 'pg';
import { pino } from 'pino';
import t from 'tap';
import { replaces } from '../../migrations/0048_incomplete.ts';
import { INDEXES } from '../../src/core/tables/indexes.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { migrate } from '../../src/platform/db/migration/migrate.ts';
import { appliedMigrations, isMigrated } from '../../src/platform/db/migration/migrated.ts';
import { createLog } from '../../src/platform/log.ts';
import { describeSchema } from '../support/described-schema.ts';
import { createEmptyDatabase, createTestDatabase, startPostgres } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

/** Plain JavaScript: `.ci/run` runs it first, before anything is installed. */
const { RELEASED, changedMigrations } = createRequire(import.meta.url)(
  '../verdict/released-migrations.cjs',
) as {
  RELEASED: Readonly<Record<string, string>>;
  changedMigrations(released?: Readonly<Record<string, string>>): string[];
};
const log = createLog('silent');
const FOLDER = resolve(import.meta.dirname, '../../migrations');

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

t.test('a new database has all indexes, and is the same after another start', async (t) => {
  const { database } = await create(t, 'fresh');
  await migrate(database, INDEXES, log);
  const expected = await describeSchema(database.kysely);
  t.strictSame(
    Object.keys(INDEXES.built).filter((name) => !expected.some((line) => line.startsWith(`index ${name} `))),
    [],
  );
  await migrate(database, INDEXES, log);
  t.strictSame(await describeSchema(database.kysely), expected);
});

t.test('a database from before the baseline is refused, and stays as it is', async (t) => {
  const { database } = await migrated(t);
  await sql`DELETE FROM kysely_migration WHERE name >= '0048'`.execute(database.kysely);
  const state = async () => [await describeSchema(database.kysely), await appliedMigrations(database)];
  const before = await state();
  t.equal(before[1]!.at(-1), '0047_cells');
  const refusal = new RegExp(
    `is 0047_cells, .* begins at 0048_incomplete: .* commit ${replaces.commit} on it`,
  );
  await t.rejects(migrate(database, INDEXES, log), { message: refusal });
  t.strictSame(await state(), before);
  t.equal(await isMigrated(database), false);
});

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
    const { usableFrom = 'no declaration' } = migration as { readonly usableFrom?: string };
    const isKnown = replaces.names.includes(usableFrom) || `${usableFrom}.ts` in RELEASED;
    t.ok(isKnown && usableFrom <= name, `${name}: ${usableFrom}`);
  }
});

t.test('a first start logs one line for migrations and one for indexes', async (t) => {
  const lines: object[] = [];
  const kept = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const { database } = await create(t, 'quiet');
  await migrate(database, INDEXES, kept);
  const names = [...replaces.names, ...Object.keys(await migrationsOfToday())];
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
  const expected = await describeSchema(database.kysely);
  await migrate(database, INDEXES, log);
  t.same(
    await describeSchema(database.kysely),
    expected,
    'what the newer release has made of the schema stays',
  );
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
  await upgrade(other, additive);
  await sql`INSERT INTO kysely_migration (name, timestamp) VALUES ('0030_another', '')`.execute(other.kysely);
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
  return opened(t, await createEmptyDatabase(server, name));
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
