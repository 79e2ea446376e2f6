/**
 * Moves whose connections are lost (docs/operations.md#moving-an-account), judged by sends to both
 * cells.
 */

import pg from 'pg';
import t from 'tap';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { startAdmin } from '../support/admin-command.ts';
import { BothCells } from '../support/both-cells.ts';
import { startCells, throughProxy } from '../support/cells.ts';
import { until } from '../support/until.ts';

const HELD = 7_001;
const [source, target] = await startCells(t);
const [from, to] = [await throughProxy(t, source), await throughProxy(t, target)];
const client = new pg.Client({ connectionString: target.databaseUrl });
await client.connect();
t.teardown(() => client.end());
// The commit that opens an account here waits while the test holds a lock, as it does for a disk.
await client.query(`
  CREATE FUNCTION hold_commit() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_advisory_xact_lock_shared(${HELD}); RETURN NULL; END';
  CREATE CONSTRAINT TRIGGER hold_commit AFTER INSERT OR UPDATE ON account_moves
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.state = 'arrived') EXECUTE FUNCTION hold_commit();
  ALTER TABLE account_moves ENABLE ALWAYS TRIGGER hold_commit`);

/** How often the command has asked for the lock of a move at the target. */
let asked = 0;
to.proxy.onStatement = ({ text }) => {
  if (text.includes('pg_try_advisory_lock')) asked += 1;
  return 'pass';
};

t.test('neither cell is open while the target commits what came over a lost connection', async (t) => {
  const account = await BothCells.create(t, 'Committing', [source, target]);
  await source.admin('account', 'move-out', '--id', account.id, '--to', target.url);
  const load = account.load();
  await account.sends(5, source);
  const sinceMs = performance.now();
  const cut = await cutCommit(account);
  await until(() => asked > 1 || cut.child.exitCode !== null, { what: 'the command to wait or to end' });
  t.equal(cut.child.exitCode, null, 'the command waits');
  await account.refuses(target);
  cut.child.kill('SIGKILL');
  await cut.ended;
  const before = asked;
  const repeated = move(account);
  await until(() => asked > before + 1, { what: 'the repeated command to wait as well' });
  t.match(await account.refuses(source), / 503 /);
  await release();
  t.equal(await repeated.ended, 0, 'the repeated command ends well');
  await account.sends(5, target);
  await until(async () => / 421 /.test(await account.refuses(source)), {
    what: 'the source to say where it is',
  });
  await load.stop(target);
  t.strictSame(await account.judge(target, sinceMs), { lost: 0, twice: 0, bothOpen: 0 });
  t.strictSame(await account.problems(target), []);
});

t.test('a command whose commit came through ends well by itself', async (t) => {
  const account = await BothCells.create(t, 'Through', [source, target]);
  await source.admin('account', 'move-out', '--id', account.id, '--to', target.url);
  await account.send(5, source);
  const cut = await cutCommit(account);
  await until(() => asked > 1 || cut.child.exitCode !== null, { what: 'the command to wait or to end' });
  await release();
  t.equal(await cut.ended, 0, 'the command ends well');
  t.match(JSON.parse(cut.out()), { object: 'moved_account', account_id: account.id });
  await account.send(1, target);
  t.strictSame(await account.problems(target), []);
});

t.test(
  'an account whose commit was undone goes on at the source, whose connection is lost too',
  async (t) => {
    const account = await BothCells.create(t, 'Undone', [source, target]);
    await source.admin('account', 'move-out', '--id', account.id, '--to', target.url);
    await account.send(5, source);
    let cuts = 0;
    from.proxy.onStatement = ({ text }) =>
      text.includes('DROP TRIGGER') && cuts < 2 && ++cuts > 0 ? 'cut after' : 'pass';
    const cut = await cutCommit(account);
    await client.query(END_HELD);
    t.equal(await cut.ended, 1);
    t.notMatch(cut.err(), /run the command again/);
    t.equal(cuts, 2, 'the fence was lowered over a third connection');
    await release();
    await account.send(5, source);
    const repeated = move(account);
    t.equal(await repeated.ended, 0, 'the repeated command ends well');
    await account.send(1, target);
    t.strictSame(await account.problems(target), []);
  },
);

t.test('an account that is open at both is left as it is', async (t) => {
  const account = await BothCells.create(t, 'Both', [source, target]);
  const { number } = (await source.admin('account', 'move-out', '--id', account.id, '--to', target.url)) as {
    number: number;
  };
  await target.database.query(ARRIVE, account.id, source.url, number);
  const message = `${account.id} is open at ${source.url} (leaving) and at ${target.url} (arrived)`;
  await t.rejects(take(account), { message });
  await t.rejects(take(account, '--cancel', 'yes'), { message: /is in use here already/ });
  await account.send(5, source);
  t.strictSame(await account.problems(source), []);
});

t.test('an account that has left is not opened again without its rows', async (t) => {
  const account = await BothCells.create(t, 'Left', [source, target]);
  await source.admin('account', 'move-out', '--id', account.id, '--to', target.url);
  await take(account);
  await target.database.query(FORGET, account.id);
  for (const more of [[], ['--cancel', 'yes']]) {
    await t.rejects(take(account, ...more), { message: /has left .* but has not arrived at/ });
  }
});

function take({ id }: BothCells, ...more: string[]): Promise<object> {
  return target.admin('account', 'move-in', '--id', id, '--from', source.envFile, ...more);
}

function move({ id }: BothCells) {
  return startAdmin(['account', 'move-in', '--id', id, '--from', from.envFile], to.config);
}

/** Starts a move, and cuts the connections to the target while its commit waits for `release`. */
async function cutCommit(account: BothCells) {
  await client.query(`SELECT pg_advisory_lock(${HELD})`);
  const command = move(account);
  await until(async () => (await client.query(READ_HELD)).rowCount === 1 || command.child.exitCode !== null, {
    what: () => `the commit to wait: ${command.err()}`,
  });
  asked = 0;
  to.proxy.cut();
  return command;
}

function release(): Promise<unknown> {
  return client.query(`SELECT pg_advisory_unlock(${HELD})`);
}

const READ_HELD = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = ${HELD} AND NOT granted`;
const END_HELD = `SELECT pg_terminate_backend(pid) FROM (${READ_HELD}) held`;

const ARRIVE = statement<[id: string, cell: string, number: number]>('test-arrive')`
  INSERT INTO account_moves (account_id, state, cell, number) VALUES ($1, 'arrived', $2, $3)`;

const FORGET = statement<[id: string]>(
  'test-forget-arrival',
)`DELETE FROM account_moves WHERE account_id = $1`;
