/** Nothing grows unnoticed: docs/operations.md#what-grows, and outbox rows that keep failing. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { createNodeMetrics } from '../../src/app/metrics.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { InFlightRows } from '../../src/platform/db/queue/in-flight-rows.ts';
import { OutboxWorker } from '../../src/platform/db/queue/outbox-worker.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { log, NO_LISTENERS, NO_WATCH } from '../support/timeline.ts';

const { url } = await createTestDatabase(t);
const database = await openDatabase({ url, log });
t.teardown(() => database.close());

t.test('the table of what grows has every table of the schema, and no other', async (t) => {
  const { rows } = await database.pool.query(
    `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
  );
  const text = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8');
  const section = text.slice(text.indexOf('## What grows'), text.indexOf('## Metrics'));
  const documented = [...section.matchAll(/^\| `(\w+)` \| (.+) \| (.+) \|$/gm)];
  t.strictSame(
    documented.map(([, name]) => name),
    rows.map(({ table_name }) => table_name).sort(),
  );
});

t.test('an outbox row that fails for a week is given up, and removed after a month', async (t) => {
  await database.pool.query(`
    INSERT INTO outbox (topic, payload, attempts, created_at, due_at) VALUES
      ('young', '{}', 400, now() - interval '6 days', now() + interval '1 hour'),
      ('new', '{}', 3, now() - interval '8 days', now() + interval '1 hour'),
      ('dead', '{}', 400, now() - interval '8 days', now() + interval '1 hour'),
      ('past', '{}', 400, now() - interval '31 days', 'infinity')`);
  const metrics = createNodeMetrics();
  const inFlight = new InFlightRows({ database, listeners: NO_LISTENERS, log });
  t.teardown(() => inFlight.close());
  const worker = new OutboxWorker({ database, inFlight, watch: NO_WATCH, metrics, log });
  for (const _ of [1, 2]) await worker.bury();
  const { rows } = await database.pool.query(
    `SELECT topic, due_at = 'infinity' AS given_up FROM outbox ORDER BY topic`,
  );
  t.strictSame(rows, [
    { topic: 'dead', given_up: true },
    { topic: 'new', given_up: false },
    { topic: 'young', given_up: false },
  ]);
  t.match((await metrics.outboxDead.get()).values, [{ value: 1 }]);
});
