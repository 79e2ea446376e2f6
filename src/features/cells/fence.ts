import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../platform/db/connection/database.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { codeOf } from '../../platform/db/connection/unavailable.ts';
import { Cell } from './cell.ts';

/**
 * Raises the fence of an account that leaves: triggers on every table with its rows, which refuse
 * all writes (migrations/baseline/compliance.sql). Making a trigger waits for the writers of its
 * table, so once all exist the account no longer changes, whatever a node still believes. Plain
 * installations pay nothing, because they have no such trigger.
 */
export async function raiseFence(cell: Cell, accountId: string): Promise<void> {
  for (const [table, { by, of }] of cell.tables) {
    const about = of === undefined ? '' : `, '${of}', '${by}'`;
    const triggers = KINDS.map(({ suffix, events, row }) => {
      const when = of === undefined ? `WHEN (${row}.${by} = '${accountId}')` : '';
      return `CREATE OR REPLACE TRIGGER ${nameOf(accountId, suffix)} BEFORE ${events} ON ${table}
        FOR EACH ROW ${when} EXECUTE FUNCTION refuse_moved('${accountId}'${about})`;
    });
    await patiently(cell, triggers.join('; '));
  }
}

/** Removes the fence of an account that stays or is gone. */
export async function lowerFence(cell: Cell, accountId: string): Promise<void> {
  const names = KINDS.map(({ suffix }) => nameOf(accountId, suffix));
  for (const { name, table } of await cell.query(READ_FENCE, names)) {
    await patiently(cell, `DROP TRIGGER IF EXISTS ${name} ON ${table}`);
  }
}

/** Removes the fences of accounts that are fully removed. */
export async function lowerForgottenFences(database: Database): Promise<void> {
  const forgotten = await database.query(READ_FORGOTTEN);
  if (forgotten.length === 0) return;
  await database.withoutTimeLimit(async (kysely) => {
    for (const { id } of forgotten) await lowerFence(new Cell(kysely, database.hooks), id);
  });
}

/** Returns a trigger's name. Accounts' ids need no quotes and have 30 characters. */
function nameOf(accountId: string, suffix: string): string {
  return `moved_${accountId}_${suffix}`.toLowerCase();
}

const KINDS = [
  { suffix: 'written', events: 'INSERT OR UPDATE', row: 'NEW' },
  { suffix: 'deleted', events: 'DELETE', row: 'OLD' },
] as const;

/** Runs DDL that waits only briefly for writers of a table, because all others wait behind it. */
async function patiently(cell: Cell, ddl: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await cell.transaction(async (tx) => {
        await tx.run(`SET LOCAL lock_timeout = ${WAIT_MS}`);
        await tx.run(ddl);
      });
    } catch (error) {
      if (codeOf(error) !== LOCK_NOT_AVAILABLE || tries === MAX_TRIES) throw error;
      await delay(PAUSE_MS);
    }
  }
}

const LOCK_NOT_AVAILABLE = '55P03';
const WAIT_MS = 250;
const PAUSE_MS = 50;
const MAX_TRIES = 100;

const READ_FENCE = statement<[names: readonly string[]], { name: string; table: string }>(
  'read-fence-of-account',
)`
  SELECT t.tgname AS name, t.tgrelid::regclass::text AS table FROM pg_trigger t
  WHERE t.tgname = ANY($1) ORDER BY 2`;

const READ_FORGOTTEN = statement<[], { id: string }>('read-forgotten-fences')`
  SELECT DISTINCT m.account_id AS id FROM account_moves m
  JOIN pg_trigger t ON t.tgname = lower('moved_' || m.account_id || '_written')
  WHERE m.state = 'left' AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = m.account_id)`;
