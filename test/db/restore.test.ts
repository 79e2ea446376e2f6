/** The statement of docs/operations.md#a-dump, which a restored database needs before its first node starts. */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import pg from 'pg';
import t from 'tap';
import { createTestDatabase } from '../support/postgres.ts';

const ROOT = resolve(import.meta.dirname, '../..');

t.test('no row of a restored database has a transaction id that is still to come', async (t) => {
  const client = new pg.Client((await createTestDatabase(t)).url);
  await client.connect();
  t.teardown(() => client.end());
  const operations = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const [, statement = ''] = /^```sql\n(.*?)^```$/ms.exec(operations) ?? [];

  const { rows: streamed } = await client.query<{ name: string }>(`
    SELECT table_name AS name FROM information_schema.columns
    WHERE table_schema = 'public' AND column_name = 'changed_in'`);
  const [, listed = ''] = /ARRAY\[(.*?)\]/.exec(statement) ?? [];
  t.strictSame(
    [...listed.matchAll(/'(\w+)'/g)].map(([, name]) => name).sort(),
    streamed.map(({ name }) => name).sort(),
    'it names every table with changed_in',
  );

  await client.query(`
    INSERT INTO accounts (id, name) VALUES ('acc_1', 'Restored');
    INSERT INTO conversations (id, account_id, type, changed_in) VALUES
      ('cnv_old', 'acc_1', 'group', '3'), ('cnv_ahead', 'acc_1', 'group', '1000000000000')`);
  await client.query(statement);
  const { rows } = await client.query(`
    SELECT id, changed_in::text::bigint < pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS past,
      changed_in = '3' AS kept
    FROM conversations ORDER BY id`);
  t.strictSame(rows, [
    { id: 'cnv_ahead', past: true, kept: false },
    { id: 'cnv_old', past: true, kept: true },
  ]);
});
