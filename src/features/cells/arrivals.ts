import { FileUrls } from '../../core/attachments/file-urls.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { DATABASE_ID } from '../../platform/db/connection/server-version.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { TIMELINE } from '../../platform/db/connection/timeline.ts';
import { Cell } from './cell.ts';
import { raiseFence } from './fence.ts';
import { leaveSource } from './leave-source.ts';

/** The path of requests between cells, followed by the key of a signed URL. */
export const CELLS_PATH = '/v1/cells/';

/** An account that has come from the asking cell. */
export interface Arrival {
  readonly account_id: string;
  /** The number of its move. */
  readonly number: number;
}

export interface ArrivalsOptions extends Pick<NodeParts, 'database' | 'log'> {
  /** The address of this cell, or null if it has none. */
  readonly url: string | null;
  /** The addresses of the other cells. */
  readonly cells: readonly string[];
  /** Shared by all cells. */
  readonly secret: string;
}

/**
 * Asks the other cells which accounts have moved there from this cell, and ends those still open
 * here: the database is then a backup from before the move. A cell that does not answer is skipped,
 * except after a restore. Then this rejects with an Error of one line, because accounts in use
 * elsewhere must not be used here as well.
 */
export async function endFormerAccounts(options: ArrivalsOptions): Promise<void> {
  const { database, log, cells, url } = options;
  if (cells.length === 0 || url === null) return;
  const [{ id, asked } = { id: '', asked: null }] = await database.query(READ_ASKED);
  for (const cell of cells) {
    const arrivals = await askCell(cell, options).catch((cause: Error) => {
      const reason = cause.cause instanceof Error ? cause.cause.message : cause.message;
      if (asked !== null && asked !== id) {
        throw new Error(
          `the database was restored, and the cell ${cell} does not say which accounts have moved there (${reason}): start when it answers, or take it out of PARLEY_CELLS if it is gone for good`,
          { cause },
        );
      }
      log.warn({ cell, reason }, 'another cell does not say which accounts have moved there');
      return [];
    });
    for (const { account_id, number } of arrivals) {
      if ((await database.query(FIND_FORMER, account_id, number)).length === 0) continue;
      log.warn({ account_id, cell }, 'an account of the backup is in use in another cell');
      await database.withoutTimeLimit(async (kysely) => {
        const here = new Cell(kysely, database.hooks);
        await raiseFence(here, account_id);
        await leaveSource(here, { account_id, number, cell });
      });
    }
  }
  await database.query(WRITE_ASKED, id);
}

/** Returns the accounts that have come from the cell with this address. */
export function readArrivals({ database }: Pick<NodeParts, 'database'>, from: string): Promise<Arrival[]> {
  return database.query(READ_ARRIVALS, from);
}

async function askCell(cell: string, { url, secret }: ArrivalsOptions): Promise<readonly Arrival[]> {
  const urls = new FileUrls({ secret, baseUrl: () => cell, path: CELLS_PATH });
  const expiresAtMs = Date.now() + SIGNED_FOR_MS;
  const asked = urls.sign('GET', { key: 'arrivals', expiresAtMs, fields: { from: url! } });
  const answer = await fetch(asked, { signal: AbortSignal.timeout(ANSWER_MS), redirect: 'error' });
  if (!answer.ok) throw new Error(`it answers ${answer.status}`);
  return ((await answer.json()) as { readonly data: readonly Arrival[] }).data;
}

const SIGNED_FOR_MS = 60_000;
const ANSWER_MS = 5_000;

const ASKED = 'cells_asked_of';

// A restored or promoted database has another identity than the original.
const READ_ASKED = statement<[], { id: string; asked: string | null }>('read-asked-cells')`
  SELECT ${DATABASE_ID} || '.' || ${TIMELINE} AS id,
    (SELECT value FROM settings WHERE name = '${ASKED}') AS asked`;

const WRITE_ASKED = statement<[id: string]>('write-asked-cells')`
  INSERT INTO settings (name, value) VALUES ('${ASKED}', $1)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

const FIND_FORMER = statement<[accountId: string, number: number]>('find-former-account')`
  SELECT FROM accounts a WHERE a.id = $1 AND NOT EXISTS (SELECT FROM account_moves m
    WHERE m.account_id = a.id AND (m.number > $2::int OR m.number = $2::int AND m.state = 'left'))`;

const READ_ARRIVALS = statement<[from: string], Arrival>('read-arrived-accounts')`
  SELECT account_id, number FROM account_moves WHERE state = 'arrived' AND cell = $1 ORDER BY account_id`;
