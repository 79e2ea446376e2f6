/**
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, src/contract/client, src/core/installation,
 * src/features/mail, src/platform/outbound.
 */

import pg from 'pg';
import t from 'tap';
import { checkCluster, Load, onFreshGroup, startCluster } from '../../support/cluster.ts';
import { until } from '../../support/until.ts';

const shared = await startCluster(t);

t.test(
  'kill -9 between commit and publish: every subscriber gets it, its notifications exist once',
  async (t) => {
    const cluster = await onFreshGroup(shared);
    const { nodes, conversationId } = cluster;
    const listener = await nodes[1].listen(conversationId);

    // The insert waits for this lock; the node is stopped before the lock is released, so that
    // Postgres commits a row whose result the node never receives.
    const lock = await connect(t, cluster.databaseUrl);
    await lock.query('BEGIN; LOCK TABLE attachments, messages IN SHARE MODE');
    const sending = nodes[0].send(conversationId, { client_message_id: 'orphan' }).catch(() => undefined);
    // Not over the lock's connection: a transaction sees one snapshot of the activity.
    const watch = await connect(t, cluster.databaseUrl);
    await until(() => waitingInserts(watch), { what: 'the insert to wait' });
    nodes[0].signal('SIGSTOP');
    await lock.query('COMMIT');
    await until(async () => (await nodes[1].page(conversationId)).length === 1, { what: 'the commit' });
    t.same(listener.created(), [], 'nobody was told');
    await nodes[0].kill('SIGKILL');
    await sending;
    // The rows that belonged to their writer for a while may now be taken by any node.
    await lock.query("UPDATE outbox SET due_at = due_at - interval '2 seconds'");

    await until(() => listener.created().length === 1, { what: 'the message' });
    await until(() => listener.notifications().length > 0, { what: 'its notification' });
    await cluster.restart(0);
    const fresh = await nodes[0].listen(conversationId, { afterSequence: 0 });
    await nodes[0].send(conversationId);
    t.same(await checkCluster(cluster, [listener], []), []);
    t.same(fresh.sequences().slice(0, 1), [1]);
    const { rows } = await lock.query(
      'SELECT message_id, recipient_id, count(*)::int AS count FROM notifications GROUP BY 1, 2 HAVING count(*) > 1',
    );
    t.same(rows, []);
    const { rows: told } = await lock.query(
      `SELECT count(*)::int AS count FROM notifications n JOIN messages m ON m.id = n.message_id
     WHERE m.client_message_id = 'orphan'`,
    );
    t.same(told, [{ count: 3 }], 'ada, grace and vera');
    await until(async () => (await lock.query('SELECT FROM outbox')).rowCount === 0, {
      what: 'an empty outbox',
    });
  },
);

t.test('kill -9 under load: nothing acknowledged is lost', async (t) => {
  const cluster = await onFreshGroup(shared);
  const { nodes, conversationId } = cluster;
  const listener = await nodes[1].listen(conversationId);
  const loads = [0, 1].map(
    (index) => new Load(t, () => cluster.nodes[index as 0 | 1], conversationId, { label: `k${index}` }),
  );
  await until(() => loads[0]!.acknowledged.length >= 100, { what: 'some sends' });
  await nodes[0].kill('SIGKILL');
  await loads[0]!.stop();
  await until(() => loads[1]!.acknowledged.length >= 300, { what: 'more sends' });
  await loads[1]!.stop();
  await cluster.restart(0);
  const fresh = await nodes[0].listen(conversationId);
  await nodes[0].send(conversationId);
  t.same(
    await checkCluster(
      cluster,
      [listener],
      loads.flatMap((load) => load.acknowledged),
    ),
    [],
  );
  await until(() => fresh.created().length === 1, { what: 'the restarted node to deliver' });
});

t.test(
  'a node stopped for three seconds under load: nothing lost, order kept, readers continue',
  async (t) => {
    const cluster = await onFreshGroup(shared);
    const { nodes, conversationId } = cluster;
    const before = await nodes[1].listen(conversationId);
    const loads = [0, 1].map(
      (index) => new Load(t, () => nodes[index as 0 | 1], conversationId, { label: `s${index}` }),
    );
    await until(() => loads[0]!.acknowledged.length >= 50, { what: 'some sends' });

    nodes[0].signal('SIGSTOP');
    const stoppedAt = performance.now();
    const seen = before.created().length;
    const during = await nodes[1].listen(conversationId, { afterSequence: 0 });
    await until(() => performance.now() - stoppedAt > 3_000 && before.created().length > seen + 20, {
      what: 'three seconds, in which the readers of the other node go on',
    });
    nodes[0].signal('SIGCONT');
    const more = loads[0]!.acknowledged.length + 20;
    await until(() => loads[0]!.acknowledged.length >= more, { what: 'the node to go on' });
    await Promise.all(loads.map((load) => load.stop()));
    const after = await nodes[0].listen(conversationId, { afterSequence: 0 });

    const acknowledged = loads.flatMap((load) => load.acknowledged);
    t.same(await checkCluster(cluster, [before, during], acknowledged), []);
    const stored = (await nodes[0].page(conversationId)).map(({ sequence }) => sequence);
    if (stored.length <= 1_000) {
      await until(() => after.created().length === stored.length, { what: 'the whole replay' });
      t.same(after.sequences(), stored, 'whoever replays ends with the same');
    }
  },
);

async function connect(t: { teardown(release: () => Promise<void>): void }, url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

async function waitingInserts(client: pg.Client): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO messages%'
     AND datname = current_database()`,
  );
  return rowCount! > 0;
}
