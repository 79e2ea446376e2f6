/**
 * Notices between nodes while one of them cannot publish
 * (src/platform/db/notices/cut-off-notices.ts).
 */

import t from 'tap';
import type { Querier } from '../../src/platform/db/connection/handle.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { CutOffNotices } from '../../src/platform/db/notices/cut-off-notices.ts';
import { partitionNotices } from '../../src/platform/db/notices/partition-notices.ts';
import type { Due } from '../../src/platform/db/queue/due-watch.ts';
import { PARTITIONS } from '../../src/platform/engine/partitions.ts';
import { createGround } from '../support/timeline.ts';
import { until } from '../support/until.ts';

t.test('a node that cannot publish puts every node in doubt until its notice runs out', async (t) => {
  const { database } = await createGround(t);
  const nodes = [open(database), open(database)] as const;
  const look = async ({ due }: (typeof nodes)[number]) => {
    const beganMs = performance.now();
    const { rows } = await database.pool.query(`SELECT ${due.condition} AS is_due`);
    due.onLook?.(rows[0].is_due === true, beganMs);
  };
  const [{ notices: own }, { notices: cutOff }] = nodes;
  await look(nodes[0]);
  t.notOk(own.inDoubt);
  const { clearMs } = own;

  await cutOff.say();
  for (const node of nodes) {
    await look(node);
    t.ok(node.notices.inDoubt);
  }
  t.equal(own.clearMs, clearMs, 'it was clear until the last look that found no notice');
  const before = await database.query(READ);
  await cutOff.say();
  t.strictSame(await database.query(READ), before, 'a notice of a moment ago is not renewed');

  await until(() => look(nodes[0]).then(() => own.clearMs > clearMs), { what: 'the notice to run out' });
  t.notOk(own.inDoubt);
});

t.test('a node whose looks failed for as long as a notice holds may have overlooked one', async (t) => {
  const { notices, due } = open({ query: async () => [] });
  const nowMs = performance.now();
  due.onLook?.(false, nowMs - 10_000);
  due.onLook?.(false, nowMs - 500);
  t.ok(notices.inDoubt);
  t.ok(notices.clearMs < nowMs - 500, 'what it may have missed is read');
});

t.test('a notice about a partition of a Redis Cluster puts that one in doubt', async (t) => {
  const { database } = await createGround(t);
  const nodes = [openPartitions(database), openPartitions(database)] as const;
  const look = async ({ due }: (typeof nodes)[number]) => {
    const beganMs = performance.now();
    const { rows } = await database.pool.query(`SELECT (${due.condition}) AS found`);
    due.onLook?.(false, beganMs, rows[0].found);
  };
  const [{ of: own }, { of: cutOff }] = nodes;
  await look(nodes[0]);
  t.notOk(own(() => [0, 255]).inDoubt);
  const { clearMs } = own(() => [7]);

  await cutOff(() => [7, 17]).say();
  for (const node of nodes) {
    await look(node);
    t.ok(node.of(() => [1, 7]).inDoubt);
    t.ok(node.of(() => [17]).inDoubt);
    t.notOk(node.of(() => [0, 1, 70, 170]).inDoubt);
  }
  t.equal(own(() => [7, 8]).clearMs, clearMs);
  t.ok(own(() => [8]).clearMs > clearMs);
  await until(() => look(nodes[0]).then(() => own(() => [7, 17]).clearMs > clearMs), {
    what: 'the notice to run out',
  });
  t.notOk(own(() => [7, 17]).inDoubt);
});

function openPartitions(database: Querier) {
  const added: Due[] = [];
  const of = partitionNotices({ database, count: PARTITIONS, watch: { add: (due) => added.push(due) } });
  return { of, due: added[0]! };
}

function open(database: Querier) {
  const added: Due[] = [];
  const notices = new CutOffNotices({ database, watch: { add: (due) => added.push(due) } });
  return { notices, due: added[0]! };
}

const READ = statement<[], { value: string }>('read-cut-off')`
    SELECT value FROM settings WHERE name = 'cut_off_until'`;
