/** Agents that a schedule starts, and the ledger of its occurrences (docs/contract.md#triggers). */

import { sql } from 'kysely';
import t from 'tap';
import type { AgentRow } from '../../src/core/resources/agent.ts';
import type { RunRow } from '../../src/core/resources/run.ts';
import { readNewAgent } from '../../src/features/agents/definitions.ts';
import { endRun } from '../../src/features/agents/runs/state/end-run.ts';
import { deleteAgent, insertAgent, updateAgent } from '../../src/features/agents/store.ts';
import { ToolCatalogue } from '../../src/features/agents/tools/catalogue.ts';
import { dueBy, nextDue } from '../../src/features/agents/triggers/cron.ts';
import { removeOldOccurrences } from '../../src/features/agents/triggers/occurrence-store.ts';
import { takeDue } from '../../src/features/agents/triggers/schedule.ts';
import { connectTo } from '../access/rows.ts';
import { createGround } from '../support/timeline.ts';
import { until } from '../support/until.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const { database, accountId, url } = await createGround(t);
const other = await connectTo(url, t);

t.test('daylight saving: an hour that does not come, one that comes twice', async (t) => {
  const due = (cron_schedule: string, timezone: string, from: string, count: number) => {
    const times: string[] = [];
    for (let at: Date | null = new Date(from); times.length < count; ) {
      at = nextDue({ cron_schedule, timezone }, at!);
      times.push(at!.toISOString().slice(5, 16));
    }
    return times;
  };
  const daily = ['30 2 * * *', 'Europe/Berlin'] as const;
  t.strictSame(due(...daily, '2026-03-28T00:00Z', 3), ['03-28T01:30', '03-29T01:00', '03-30T00:30']);
  t.strictSame(due(...daily, '2026-10-24T00:00Z', 3), ['10-24T00:30', '10-25T00:30', '10-26T01:30']);
  const hourly = ['0 * * * *', 'America/New_York'] as const;
  t.strictSame(due(...hourly, '2026-11-01T04:30Z', 3), ['11-01T05:00', '11-01T06:00', '11-01T07:00']);
  t.strictSame(due('0 9 * * 1', 'UTC', '2026-11-21T00:00Z', 1), ['11-23T09:00']);
  const ofDay = ['30 23 27 3 *', 'America/Nuuk', '2027-03-01T00:00Z', 2] as const;
  t.strictSame(due(...ofDay), ['03-28T01:00', '03-28T00:30'], 'midnight of the next day');
});

t.test(
  'after an outage: the newest missed occurrence, and at most as many earlier ones as requested',
  async (t) => {
    const schedule = { cron_schedule: '*/30 * * * *', timezone: 'Europe/Berlin' };
    const asked = { since: new Date('2026-10-24T23:30Z'), now: new Date('2026-10-25T02:10Z') };
    const at = (times: readonly (Date | null)[]) => times.map((time) => time?.toISOString().slice(8, 16));
    const all = await dueBy(schedule, { ...asked, most: 100 });
    t.strictSame(at([all.newest, all.next]), ['25T02:00', '25T02:30']);
    t.strictSame(at(all.others), ['25T01:30', '25T01:00', '25T00:30', '25T00:00', '24T23:30']);
    const some = await dueBy(schedule, { ...asked, most: 2 });
    t.strictSame(at([some.newest, ...some.others]), ['25T02:00', '25T01:30', '25T01:00']);
    const one = await dueBy(schedule, { ...asked, now: new Date('2026-10-24T23:30Z'), most: 2 });
    t.strictSame(at([one.newest, ...one.others, one.next]), ['24T23:30', '25T00:00']);
  },
);

t.test('the next time follows the definition', async (t) => {
  const agent = await scheduled('0 12 * * *', 'Asia/Tokyo');
  t.equal(agent.next_due_at?.slice(11, 19), '03:00:00');
  t.ok(Date.parse(agent.next_due_at!) > Date.now());
  const change = (row: AgentRow, changes: Parameters<typeof updateAgent>[2]) =>
    database.transaction((tx) => updateAgent(tx, row, changes));
  const renamed = await change(agent, { fields: { name: 'Noon' } });
  t.equal(renamed.next_due_at, agent.next_due_at);
  const moved = await change(renamed, {
    fields: {},
    trigger: { cron_schedule: '5 * * * *', timezone: 'UTC' },
  });
  t.match(moved.next_due_at, /:05:00/);
  const stopped = await change(moved, { fields: { status: 'inactive' } });
  t.equal(stopped.next_due_at, null);
  t.match((await change(stopped, { fields: { status: 'active' } })).next_due_at, /:05:00/);
  const due = await makeDue(agent, 10_000);
  const late = await change(due, { fields: {}, trigger: { cron_schedule: '7 * * * *', timezone: 'UTC' } });
  t.equal(late.next_due_at, due.next_due_at, 'what is due already stays due');
  await database.transaction((tx) => deleteAgent(tx, agent));
  await takeDue(database);
  t.strictSame(await runsOf(agent), [], 'a deleted one is never due');

  const catalogue = new ToolCatalogue(() => []);
  const body = { name: 'x', slug: 'x', category_code: 'x', trigger_type: 'manual' as const, config: {} };
  const manual = await database.transaction((tx) =>
    insertAgent(tx, readNewAgent(catalogue, accountId, body)),
  );
  t.equal(manual.next_due_at, null);
});

t.test('a due occurrence runs once, on whichever of two nodes is first', async (t) => {
  const agents = await Promise.all([yearly(), yearly(), yearly()]);
  for (const agent of agents) await makeDue(agent, 5_000);
  await Promise.all([takeDue(database), takeDue(other), takeDue(database), takeDue(other)]);
  for (const agent of agents) {
    const [run, ...more] = await runsOf(agent);
    t.strictSame(more, []);
    const [occurrence, ...others] = await ledger(agent);
    t.strictSame(others, []);
    t.match(occurrence, { outcome: 'ran', reason: null, run_id: run!.id });
    const due_at = new Date(occurrence!.due_at).toISOString();
    t.match(run, {
      trigger_type: 'scheduled',
      trigger_key: due_at,
      input: { due_at },
      triggered_by: null,
      conversation_id: null,
      depth: 0,
      status: 'pending',
    });
    t.ok(Date.parse((await read(agent)).next_due_at!) > Date.now());
  }
  await takeDue(database);
  t.equal((await runsOf(agents[0]!)).length, 1);
});

t.test('a node that dies in between leaves it to another, whole', async (t) => {
  const agent = await yearly();
  await makeDue(agent, 5_000);
  const died = new Error('killed');
  await t.rejects(
    database.transaction(async (tx) => {
      // The same transaction as takeDue's, cut off before its commit.
      const within = { transaction: (run: (of: typeof tx) => Promise<unknown>) => run(tx) };
      await takeDue(within as unknown as typeof database);
      throw died;
    }),
    died,
  );
  t.strictSame([...(await runsOf(agent)), ...(await ledger(agent))], []);
  await takeDue(other);
  t.equal((await runsOf(agent)).length, 1);
  t.match(await ledger(agent), [{ outcome: 'ran' }]);
});

t.test('an occurrence that cannot be taken delays no other, and stays due', async (t) => {
  const [broken, sound] = [await makeDue(await yearly(), 5_000), await makeDue(await yearly(), 4_000)];
  const config = (timezone: string) =>
    sql`UPDATE agent_definitions SET trigger_config = jsonb_set(trigger_config, '{timezone}', to_jsonb(${timezone}::text))
      WHERE id = ${broken.id}`.execute(database.kysely);
  await config('Atlantis/Capital');
  await t.rejects(takeDue(database), new RegExp(broken.id));
  t.equal((await runsOf(sound)).length, 1);
  t.strictSame([...(await runsOf(broken)), ...(await ledger(broken))], []);
  await config('UTC');
  await takeDue(database);
  t.equal((await runsOf(broken)).length, 1);
});

t.test('late, missed, too late, and none while one is open', async (t) => {
  const late = await yearly();
  await makeDue(late, 2 * MINUTE_MS);
  const ancient = await yearly();
  await makeDue(ancient, DAY_MS + MINUTE_MS);
  const often = await scheduled('* * * * *');
  // The next minute may not begin meanwhile.
  await until(() => Date.now() % MINUTE_MS < 55_000, {
    what: 'a moment well within a minute',
  });
  await makeDue(often, 3 * DAY_MS);
  await takeDue(database);
  t.match(await ledger(late), [{ outcome: 'ran_late', reason: null, run_id: String }]);
  t.match(await ledger(ancient), [{ outcome: 'skipped', reason: 'too_late', run_id: null }]);
  t.strictSame(await runsOf(ancient), []);
  const missed = await ledger(often);
  t.equal(missed.length, 101, 'the newest and a hundred before it');
  const newest = missed.pop();
  t.match(newest, { outcome: 'ran', reason: null });
  t.ok(missed.every(({ outcome, reason }) => outcome === 'skipped' && reason === 'missed'));
  const minutes = [...missed, newest!].map(({ due_at }) => Date.parse(due_at) / MINUTE_MS);
  t.ok(minutes.every((minute, index) => minute === minutes[0]! + index));

  t.equal((await runsOf(often)).length, 1);
  const [run] = await runsOf(late);
  await makeDue(late, 10_000);
  await takeDue(database);
  t.match((await ledger(late)).at(-1), { outcome: 'skipped', reason: 'overlap', run_id: null });
  await database.transaction((tx) => endRun(tx, run!, { move: 'cancel' }));
  await makeDue(late, 9_000);
  await takeDue(database);
  t.equal((await ledger(late)).at(-1)!.outcome, 'ran');
  t.equal((await runsOf(late)).length, 2);
});

t.test('the outcomes of occurrences are kept for 90 days', async (t) => {
  const agent = await yearly();
  const days = (count: number) => new Date(Date.now() - count * DAY_MS).toISOString();
  const past = { agent_id: agent.id, outcome: 'skipped', reason: 'missed', run_id: null } as const;
  await database.kysely
    .insertInto('agent_occurrences')
    .values([
      { ...past, due_at: days(91) },
      { ...past, due_at: days(89) },
    ])
    .execute();
  await removeOldOccurrences(database);
  t.match(await ledger(agent), [{ reason: 'missed' }]);
});

t.test('nothing runs for an account without a subscription', async (t) => {
  const subscribe = (subscription: 'active' | 'inactive') =>
    database.kysely.updateTable('accounts').set({ subscription }).where('id', '=', accountId).execute();
  await subscribe('inactive');
  const agent = await makeDue(await yearly(), 5_000);
  await takeDue(database);
  await subscribe('active');
  t.match(await ledger(agent), [{ outcome: 'skipped', reason: 'unsubscribed', run_id: null }]);
});

let made = 0;

function scheduled(cron_schedule: string, timezone = 'UTC'): Promise<AgentRow> {
  made += 1;
  const [name, slug, trigger] = ['Clerk', `clerk-${made}`, { cron_schedule, timezone }];
  return database.transaction((tx) =>
    insertAgent(tx, {
      account_id: accountId,
      name,
      slug,
      category_code: 'ops',
      trigger_type: 'scheduled',
      trigger,
    }),
  );
}

/** Due at nearly no time but when it is made due: on the 29th of February. */
function yearly(): Promise<AgentRow> {
  return scheduled('0 0 29 2 *');
}

function makeDue({ id }: AgentRow, agoMs: number): Promise<AgentRow> {
  return database.kysely
    .updateTable('agent_definitions')
    .set({ next_due_at: sql<string>`clock_timestamp() - ${sql.lit(`${agoMs} ms`)}::interval` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

function read({ id }: AgentRow): Promise<AgentRow> {
  return database.kysely
    .selectFrom('agent_definitions')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
}

function runsOf({ id }: AgentRow): Promise<RunRow[]> {
  return database.kysely.selectFrom('agent_runs').selectAll().where('agent_id', '=', id).execute();
}

function ledger({ id }: AgentRow) {
  return database.kysely
    .selectFrom('agent_occurrences')
    .selectAll()
    .where('agent_id', '=', id)
    .orderBy('due_at')
    .execute();
}
