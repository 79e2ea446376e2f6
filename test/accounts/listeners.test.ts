/**
 * Listeners to events: a change is announced, and a node that receives no announcement misses no
 * event either.
 */

import t from 'tap';
import { Rights } from '../../src/api/access/rights.ts';
import { createNodeMetrics } from '../../src/app/metrics.ts';
import { changeListeners, Listeners } from '../../src/core/accounts/account/listeners.ts';
import { RIGHTS_CHANGED } from '../../src/core/accounts/rights/rights-changed.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { raiseListenersRevision } from '../../src/platform/db/connection/listeners-revision.ts';
import { DueWatch } from '../../src/platform/db/queue/due-watch.ts';
import { InFlightRows } from '../../src/platform/db/queue/in-flight-rows.ts';
import { enqueue } from '../../src/platform/db/queue/outbox.ts';
import { OutboxWorker } from '../../src/platform/db/queue/outbox-worker.ts';
import { defineTopic, handle } from '../../src/platform/db/queue/topic.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';

const { url } = await createTestDatabase(t);
const operator = await openDatabase({ url, log });
t.teardown(() => operator.close());

const HAPPENED = defineTopic<{ readonly id: string }>('happened');

/** A node that records which listeners each event found. */
class Node {
  readonly found: [id: string, listeners: readonly string[]][] = [];
  readonly database: Database;
  readonly listeners: Listeners<readonly string[]>;
  readonly rights: Rights;

  static async start(t: Teardown): Promise<Node> {
    const database = await openDatabase({ url, log });
    const rights = await Rights.open(new MemoryEngine());
    const listeners = await Listeners.open({ database, rights, read: readListeners, log });
    const inFlight = new InFlightRows({ database, listeners, log });
    const watch = new DueWatch({ database, log });
    const outbox = new OutboxWorker({ database, inFlight, watch, metrics: createNodeMetrics(), log });
    const node = new Node(database, listeners, rights);
    outbox.start([
      handle(HAPPENED, async ({ id }) => void node.found.push([id, listeners.found])),
      handle(RIGHTS_CHANGED, async ({ subjects }) => {
        for (const subject of subjects) await rights.announce(subject);
      }),
    ]);
    watch.start();
    t.teardown(async () => {
      await watch.close();
      await outbox.close();
      await inFlight.close();
      await listeners.close();
      await rights.close();
      await database.close();
    });
    return node;
  }

  private constructor(database: Database, listeners: Node['listeners'], rights: Rights) {
    this.database = database;
    this.listeners = listeners;
    this.rights = rights;
  }

  async emit(id: string): Promise<void> {
    await this.database.transaction((tx) => enqueue(tx, HAPPENED, { id }));
  }
}

async function readListeners(database: Database): Promise<readonly string[]> {
  const { rows } = await database.pool.query(
    "SELECT name FROM settings WHERE value = 'listens' ORDER BY name",
  );
  return rows.map(({ name }) => name);
}

async function listen(database: Database, name: string, change = changeListeners): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.kysely.insertInto('settings').values({ name, value: 'listens' }).execute();
    await change(tx);
  });
}

async function isOutboxEmpty(): Promise<boolean> {
  return (await operator.pool.query('SELECT FROM outbox')).rowCount === 0;
}

t.test('an event after a new listener finds it, also on a node without the announcement', async (t) => {
  const node = await Node.start(t);
  await node.emit('before');
  await until(isOutboxEmpty, { what: 'the event before' });
  // Without the announcement.
  await listen(operator, 'first', raiseListenersRevision);
  await node.emit('after');
  t.strictSame(node.found.at(-1), ['after', []], 'the node does not know the listener');
  await until(() => node.found.length === 3, { what: 'the second handling' });
  t.strictSame(node.found, [
    ['before', []],
    ['after', []],
    ['after', ['first']],
  ]);
  await until(isOutboxEmpty, { what: 'the removal' });
});

t.test('a row that was handled at an earlier revision stays', async (t) => {
  const node = await Node.start(t);
  const inFlight = new InFlightRows({ database: node.database, listeners: node.listeners, log });
  const { revision } = inFlight;
  await listen(operator, 'second', raiseListenersRevision);
  await node.listeners.renew();
  const { rows } = await operator.pool.query(
    `INSERT INTO outbox (topic, payload, due_at) VALUES ('happened', '{"id":"x"}', 'infinity'),
      ('happened', '{"id":"y"}', 'infinity') RETURNING id`,
  );
  const [old, current] = rows.map(({ id }) => Number(id));
  inFlight.done([old!], revision);
  inFlight.done([current!], inFlight.revision);
  await inFlight.close();
  const left = await operator.pool.query("DELETE FROM outbox WHERE due_at = 'infinity' RETURNING id");
  t.strictSame(
    left.rows.map(({ id }) => Number(id)),
    [old],
  );
});

t.test('an announced change is known without any event', async (t) => {
  const node = await Node.start(t);
  await listen(node.database, 'third');
  await until(() => node.listeners.found.includes('third'), { what: 'the announcement' });
  await until(isOutboxEmpty, { what: 'the removal' });
});
