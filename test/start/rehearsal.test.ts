/** Nothing of a rehearsal stays: rows, numbers, keys and frames are as before. */

import { Redis } from 'ioredis';
import { sql } from 'kysely';
import t from 'tap';
import { Tokens } from '../../src/api/access/tokens.ts';
import { readConfig } from '../../src/app/config.ts';
import { openData, type PartOptions } from '../../src/app/data.ts';
import { seedDemo } from '../../src/app/demo.ts';
import { HOOKS } from '../../src/app/features.ts';
import { createNodeMetrics } from '../../src/app/metrics.ts';
import { rehearse } from '../../src/app/rehearsal.ts';
import { Urls } from '../../src/app/urls.ts';
import type { Database } from '../../src/platform/db/connection/database.ts';
import { Disposer } from '../../src/platform/lifecycle.ts';
import { createLog } from '../../src/platform/log.ts';
import { AddressGuard } from '../../src/platform/outbound/address-guard.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { startRedis } from '../support/redis.ts';
import type { Teardown } from '../support/teardown.ts';
import { freshDirectory, UNSAFE_POSTGRES } from './parley.ts';

/** A node before it rehearses, with the demo account. */
async function openNode(t: Teardown, redisUrl: string) {
  const { url: databaseUrl } = await createTestDatabase(t);
  const dataDir = freshDirectory(t);
  const config = readConfig({
    ...UNSAFE_POSTGRES,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    PARLEY_DATA_DIR: dataDir,
    PARLEY_DEMO: 'off',
    // Fewer than a rehearsal makes.
    PARLEY_RATE_LIMIT: '1/60',
  });
  const disposer = new Disposer();
  t.teardown(() => disposer.close());
  const logged: string[] = [];
  const log = createLog('debug', { write: (line) => void logged.push(line) });
  const part: PartOptions = { config, log, metrics: createNodeMetrics(), disposer };
  const urls = new Urls(config);
  const data = await openData(part, urls, HOOKS);
  const { database } = data;
  await seedDemo({ database, tokens: await Tokens.open({ database }), path: `${dataDir}/demo.json` });
  const node = { ...data, urls, guard: new AddressGuard({ allow: config.fetchAllow }) };
  const play = () => rehearse(part, node, 60_000);
  const failure = () => logged.find((line) => line.includes('rehearsal'));
  const written = async () => {
    const { values } = await part.metrics.statements.get();
    return values.find(({ labels }) => labels.name === 'insert-messages')?.value ?? 0;
  };
  return { database, play, failure, written };
}

/** Every row of every table and every sequence, and whether anything is open. */
async function readState({ kysely }: Database) {
  const { rows: tables } = await sql<{ schema: string; name: string }>`
    SELECT schemaname AS schema, tablename AS name FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2`.execute(kysely);
  const { rows: sequences } = await sql`
    SELECT schemaname, sequencename, last_value FROM pg_sequences ORDER BY 1, 2`.execute(kysely);
  const content: Record<string, unknown> = {};
  for (const { schema, name } of tables) {
    const { rows } = await sql`
      SELECT to_jsonb(r) AS row FROM ${sql.id(schema, name)} r ORDER BY to_jsonb(r)::text`.execute(kysely);
    content[`${schema}.${name}`] = rows;
  }
  const { rows: open } = await sql`
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND state LIKE 'idle in transaction%'`.execute(kysely);
  return { content, sequences, open };
}

t.test('a rehearsal answers sends and pages, and leaves nothing', async (t) => {
  const redis = await startRedis(t);
  const { database, play, failure, written } = await openNode(t, redis.url);
  const client = new Redis(redis.url);
  t.teardown(() => client.disconnect());
  const keys = async () => (await client.keys('*')).sort();

  const [before, keysBefore] = [await readState(database), await keys()];
  await play();
  t.equal(failure(), undefined);
  t.ok((await written()) >= database.writers.length, 'every writer has written');
  t.same(await readState(database), before);
  t.same(await keys(), keysBefore);
});

t.test('a rehearsal does not wait for locks of others', async (t) => {
  const redis = await startRedis(t);
  const { database, play, failure } = await openNode(t, redis.url);
  const before = await readState(database);
  await database.transaction(async (tx) => {
    await sql`LOCK TABLE conversations IN ACCESS EXCLUSIVE MODE`.execute(tx.kysely);
    await play();
  });
  t.match(failure(), /the rehearsal failed/);
  t.same(await readState(database), before);
});
