/**
 * Two nodes over one Redis: sends, killed nodes, and short runs of campaigns.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/features/mail,
 * src/platform/outbound.
 */

import { randomUUID } from 'node:crypto';
import pg from 'pg';
import t from 'tap';
import { sealedUnderKills } from '../campaigns/audit.ts';
import { counts } from '../campaigns/counts.ts';
import { idempotency } from '../campaigns/idempotency.ts';
import { scheduleStorm } from '../campaigns/schedule-storm.ts';
import { scheduled } from '../campaigns/scheduled.ts';
import { deliveryProblems } from '../support/check-delivery.ts';
import { checkCluster, Load, onFreshGroup, startCluster } from '../support/cluster.ts';
import type { Listener, TestNode } from '../support/node.ts';
import { until } from '../support/until.ts';

const shared = await startCluster(t);

t.test('2,000 concurrent sends over two nodes reach every subscriber once, in order', async (t) => {
  const cluster = await onFreshGroup(shared);
  const { nodes, conversationId } = cluster;
  const listeners = await Promise.all([
    nodes[0].listen(conversationId),
    nodes[0].listen(conversationId, { token: nodes[0].demo.users.grace.access_token }),
    nodes[1].listen(conversationId),
    nodes[1].listen(conversationId, { token: nodes[1].demo.users.vera.access_token }),
  ]);
  const answers = await Promise.all(
    Array.from({ length: 2_000 }, (_, index) => sendAsClient(nodes[index % 2 === 0 ? 0 : 1], conversationId)),
  );
  t.equal(answers.filter(({ status }) => status === 201).length, 2_000);
  const sequences = answers.map(({ body }) => Number(body.sequence));
  t.equal(new Set(sequences).size, 2_000, 'no number twice');
  t.same(
    await checkCluster(
      cluster,
      listeners,
      answers.map((answer, index) => ({
        clientMessageId: '',
        sequence: sequences[index],
        status: answer.status,
      })),
    ),
    [],
  );
  for (const listener of listeners) t.equal(listener.created().length, 2_000);
  // Distinct ones, since a node that is stopped for seconds may publish again what another has
  // taken over. That of having been added to the group may come before or after the subscription.
  const notified = (listener: Listener) =>
    new Set(
      listener
        .notifications()
        .filter(({ data }) => data?.category !== 'chat.added')
        .map(({ data }) => data?.id),
    ).size;
  await until(() => listeners.every((listener) => notified(listener) >= 2_000), {
    what: 'a notification of every message on both nodes',
  });
  for (const listener of listeners) t.equal(notified(listener), 2_000, 'one notification a message');
});

t.test('twenty concurrent resends over two nodes make one message, and every caller gets it', async (t) => {
  const cluster = await onFreshGroup(shared);
  const { nodes, conversationId } = cluster;
  const listener = await nodes[1].listen(conversationId);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      nodes[index % 2 === 0 ? 0 : 1].send(
        conversationId,
        { client_message_id: 'again', body: `attempt ${index}` },
        // One author: each node's key is an actor of its own.
        nodes[0].demo.users.ada.access_token,
      ),
    ),
  );
  t.same([...new Set(answers.map(({ status }) => status))], [201]);
  t.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  t.equal(new Set(answers.map(({ body }) => body.body)).size, 1);
  t.same(await checkCluster(cluster, [listener], []), []);
  t.equal(listener.created().length, 1);
});

t.test('a subscriber that joins under load gets replay and live as one', async (t) => {
  const cluster = await onFreshGroup(shared);
  const { nodes, conversationId } = cluster;
  const sends = Array.from({ length: 600 }, (_, index) =>
    sendAsClient(nodes[index % 2 === 0 ? 0 : 1], conversationId),
  );
  await sends[0];
  const listeners = await Promise.all([
    nodes[0].listen(conversationId, { afterSequence: 0 }),
    nodes[1].listen(conversationId, { afterSequence: 0 }),
  ]);
  await Promise.all(sends);
  t.same(await checkCluster(cluster, listeners, []), []);
  for (const listener of listeners) t.equal(listener.created().length, 600);
});

t.test('a draft that is approved on two nodes at once is sent once', async (t) => {
  const { nodes } = shared;
  const { demo } = nodes[0];
  const conversationId = demo.conversations.case;
  const token = demo.users.grace.access_token;
  const listeners = await Promise.all(nodes.map((node) => node.listen(conversationId)));
  const act = (node: TestNode, id: unknown, name: string, body: object = {}) =>
    node.call('POST', `/v1/messaging/messages/${id}/actions/${name}`, body, token);
  const draft = async (node: TestNode) => {
    const { body } = await node.send(conversationId, { mode: 'draft', channel: 'message' }, token);
    return body;
  };

  const sent: { status: number; body: Record<string, unknown> }[] = [];
  for (let round = 0; round < 6; round++) {
    const { id } = await draft(nodes[round % 2 === 0 ? 0 : 1]);
    const answers = await Promise.all([...nodes, ...nodes].map((node) => act(node, id, 'approve')));
    t.strictSame(answers.map(({ status }) => status).sort(), [200, 409, 409, 409], `round ${round}`);
    sent.push(...answers.filter(({ status }) => status === 200));
  }
  // The customer writes through the other node at that moment: an approval that has not seen it is
  // refused.
  for (let round = 0; round < 6; round++) {
    const { id } = await draft(nodes[0]);
    const seen = sent.reduce((most, { body }) => Math.max(most, Number(body.sequence)), 0);
    const [approval, question] = await Promise.all([
      act(nodes[0], id, 'approve', { if_last_sequence: seen }),
      nodes[1].send(conversationId, {}, demo.customer.access_token),
    ]);
    t.equal(question.status, 201);
    sent.push(question);
    if (approval.status === 200) {
      t.ok(Number(approval.body.sequence) < Number(question.body.sequence), 'the customer came behind it');
      sent.push(approval);
    } else {
      t.match(approval, { status: 409, body: { error: { param: 'if_last_sequence' } } });
      await act(nodes[1], id, 'reject');
    }
  }
  const acknowledged = sent.map(({ body, status }) => ({
    clientMessageId: '',
    status,
    sequence: Number(body.sequence),
  }));
  t.strictSame(await checkCluster({ ...shared, conversationId }, listeners, acknowledged), []);
  for (const listener of listeners) {
    t.equal(listener.created().length, acknowledged.length, 'each approved draft came once');
  }
});

t.test('the checker finds what is wrong', async (t) => {
  const stored = [1, 2, 3, 4];
  t.same(deliveryProblems([1, 2, 3, 4], stored), []);
  for (const wrong of [
    [1, 2, 4],
    [1, 3, 2, 4],
    [1, 2, 2, 3, 4],
    [],
    [2, 3, 4],
    [1, 2, 3, 4, 5],
    [4, 3, 2, 1],
  ]) {
    t.not(deliveryProblems(wrong, stored).length, 0, JSON.stringify(wrong));
  }
});

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
      `SELECT message_id, recipient_id, count(*)::int AS count FROM notifications n
       JOIN messages m ON m.id = n.message_id WHERE m.conversation_id = $1 GROUP BY 1, 2 HAVING count(*) > 1`,
      [conversationId],
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

t.test('a short run of the idempotency campaign', async (t) => {
  const figures = await idempotency(t, { seed: 3, keys: 80, cluster: shared });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.interrupted + figures.inProgress > 0, 'something was in the way');
});

t.test('Redis away when they are due: each scheduled message is sent once, none early', async (t) => {
  const cluster = await onFreshGroup(shared);
  const figures = await scheduled(t, { seed: 7, faults: ['away'], messages: 100, cluster });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.sent > 50 && figures.canceled > 0, JSON.stringify(figures));
});

t.test('a node killed while many are due: each is sent once, none early, in order', async (t) => {
  const storm = async (spreadMs: number) => {
    const options = { seed: 7, messages: 200, conversations: 4, spreadMs, cluster: shared };
    const figures = await scheduleStorm(t, options);
    t.same(figures.problems, [], JSON.stringify(figures));
    t.equal(figures.sent, 200);
    return figures;
  };
  let figures = await storm(1_000);
  // A busy machine may look for the first ones when all have been sent.
  for (const spreadMs of [5_000, 20_000]) if (figures.sentAtKill === 200) figures = await storm(spreadMs);
  t.ok(figures.sentAtKill < 200, JSON.stringify(figures));
});

t.test('a node killed while it seals the audit: the chain has every event, once and in order', async (t) => {
  const load = { seed: 5, callers: 4, changesPerCaller: 30, kills: 1 };
  const figures = await sealedUnderKills(t, { ...load, cluster: shared });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.links > 120 && figures.heads > 0, JSON.stringify(figures));
});

t.test('unread and unseen counts are those of a slow re-count, on both nodes', async (t) => {
  const figures = await counts(t, { seed: 3, histories: 16, cluster: shared });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.compared >= 16 * 6 && figures.acts.read! > 16, JSON.stringify(figures));
});

/**
 * Repeats a send under its id while it is refused for a moment, as the nodes of a busy machine do.
 */
function sendAsClient(node: TestNode, conversationId: string): ReturnType<TestNode['send']> {
  const fields = { client_message_id: randomUUID() };
  return until(
    async () => {
      const answer = await node.send(conversationId, fields);
      return answer.status === 503 ? undefined : answer;
    },
    { what: 'a send that is not refused for a moment' },
  );
}

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
