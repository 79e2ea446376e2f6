import { setTimeout as delay } from 'node:timers/promises';
import type { MoveState } from '../../api/access/tables.ts';
import { changeListeners } from '../../core/accounts/account/listeners.ts';
import { type MoveRow, readMove, writeMove } from '../../core/accounts/account/moves.ts';
import { Avatars } from '../../core/accounts/avatars/avatars.ts';
import { enqueueRightsChanged } from '../../core/accounts/rights/rights-changed.ts';
import type { ObjectStore } from '../../core/attachments/storage.ts';
import { readHead } from '../../core/audit/chain-store.ts';
import { handOver, saveHandover } from '../../core/audit/handover.ts';
import type { SigningKey } from '../../core/audit/signing-key.ts';
import { tablesOfMissing } from '../../core/features/all-holdings.ts';
import { addDeliveriesOf } from '../../core/messages/schedules/schedule-store.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { isUnavailable, isUniqueViolation } from '../../platform/db/connection/unavailable.ts';
import type { Logger } from '../../platform/log.ts';
import { Cell } from './cell.ts';
import { lowerFence, raiseFence } from './fence.ts';
import { FileCopy, readFiles } from './file-copy.ts';
import { leaveSource } from './leave-source.ts';
import { enqueuePending, hasPending, readPending } from './pending-events.ts';
import { RowCopy, removeRows } from './row-copy.ts';

/** The parts of an installation that a move uses. */
export interface CellParts {
  readonly database: Database;
  readonly store: ObjectStore;
  readonly signingKey: SigningKey;
  /** The address of the cell, without a trailing slash. */
  readonly url: string;
}

interface MoveOptions {
  readonly source: CellParts;
  readonly target: CellParts;
  readonly accountId: string;
  readonly log: Logger;
}

interface MovedAccount {
  readonly account_id: string;
  /** 1 for the first move of the account. */
  readonly number: number;
  /** Addresses of cells. */
  readonly from: string;
  readonly to: string;
  readonly rows: number;
  readonly files: number;
  /** Milliseconds in which changes of the account were answered with 503. */
  readonly refused_ms: number;
}

/**
 * Moves an account to this installation while it is in use (docs/operations.md#moving-an-account).
 * Copies its rows and files, and again what changed meanwhile; then fences it at the source, copies
 * and compares the rest, and opens it here. After a failure or a kill it may be repeated, and
 * continues from the state in the rows of both cells. Rejects with an Error of one line; the
 * account is then in use at the source, or already here, or closed until the command is run again.
 *
 * One rule keeps an account from being open in both cells. A process reads and writes the states of
 * a move only over the sessions that hold its two locks. It opens the account at the source again
 * only after reading at the target that the account has not arrived. It ends the account at the
 * source only if that is still fenced. Postgres keeps the locks of a lost connection until its
 * statements are committed or undone, so no lost statement takes effect after the reading.
 */
export async function moveAccount(options: MoveOptions): Promise<MovedAccount> {
  const done = { rows: 0, files: 0, refused_ms: 0 };
  let isBegun = false;
  try {
    return await withCells(options, done, async (move) => {
      await move.begin();
      isBegun = true;
      if (!(await move.isArrived())) await move.carry();
      return move.leave();
    });
  } catch (error) {
    const moved = isBegun ? await settle(options, done, error as Error) : undefined;
    if (moved === undefined) throw error;
    return moved;
  }
}

/** Cancels a move that has not arrived: the target forgets its rows, and the source continues. */
export function cancelMove(options: MoveOptions): Promise<void> {
  return withCells(options, { rows: 0, files: 0, refused_ms: 0 }, (move) => move.cancel());
}

/**
 * Opens the account where it is after `failure`, over new connections: at the source, or at the
 * target, whose commit may have succeeded although its answer was lost. Returns the move if the
 * account is at the target. Rejects if it cannot find out in time; the account then stays closed.
 */
async function settle(options: MoveOptions, done: Done, failure: Error): Promise<MovedAccount | undefined> {
  const { source, target, accountId } = options;
  const deadlineMs = performance.now() + LOCK_MS;
  for (;;) {
    try {
      return await withCells(options, done, async (move) => {
        if (await move.isArrived()) return move.leave();
        await move.release();
        return undefined;
      });
    } catch (cause) {
      if (!isUnavailable(cause) || performance.now() > deadlineMs) {
        throw new Error(
          `the move failed (${failure.message}), and it is not settled whether the account ${accountId} is in use at ${source.url} or at ${target.url} (${(cause as Error).message}): run the command again`,
          { cause },
        );
      }
      await delay(LOCK_EVERY_MS);
    }
  }
}

/** Locks out all other processes that move the account from this source or to this target. */
function withCells<T>(options: MoveOptions, done: Done, run: (move: Move) => Promise<T>): Promise<T> {
  const { source, target, accountId } = options;
  return withCell(source, async (there) => {
    await lock(there, accountId, FROM_HERE);
    return withCell(target, async (here) => {
      await lock(here, accountId, TO_HERE);
      return run(new Move(options, { there, here, done }));
    });
  });
}

function withCell<T>({ database }: CellParts, run: (cell: Cell) => Promise<T>): Promise<T> {
  return database.withoutTimeLimit((kysely) =>
    kysely.connection().execute((connection) => run(new Cell(connection, database.hooks))),
  );
}

/** Waits for the session of another process, perhaps a process that was killed or cut off. */
async function lock(cell: Cell, accountId: string, direction: number): Promise<void> {
  const deadlineMs = performance.now() + LOCK_MS;
  while ((await cell.query(TRY_LOCK, accountId, direction))[0]?.taken !== true) {
    if (performance.now() > deadlineMs) {
      throw new Error(
        `another process moves the account ${accountId}, or Postgres has not ended its last statement yet`,
      );
    }
    await delay(LOCK_EVERY_MS);
  }
}

/** Figures of the command so far, over all its connections. */
type Done = { -readonly [Figure in 'rows' | 'files' | 'refused_ms']: MovedAccount[Figure] };

class Move {
  readonly #options: MoveOptions;
  readonly #source: Cell;
  readonly #target: Cell;
  readonly #done: Done;

  constructor(options: MoveOptions, { there, here, done }: { there: Cell; here: Cell; done: Done }) {
    this.#options = options;
    this.#source = there;
    this.#target = here;
    this.#done = done;
  }

  /** Checks that both cells want this move. */
  async begin(): Promise<void> {
    const { source, accountId } = this.#options;
    const out = await this.#readOut();
    await requireSameSecrets(this.#source, this.#target);
    const [search] = await this.#source.query(READ_SEARCH);
    if (search!.filled_through !== null) {
      throw new Error('the search index of the source is not complete yet: try again when it is');
    }
    const here = await readMove(this.#target, accountId);
    if (here?.number === out.number) {
      if (here.state !== 'arriving' && here.state !== 'arrived')
        throw new Error('source and target are the same installation');
      if (here.state === 'arrived') this.#requireClosed(out);
      else requireNotLeft(out, source.url);
      return;
    }
    requireNotLeft(out, source.url);
    const rows = await this.#target.query(FIND_ACCOUNT, accountId);
    if (rows.length > 0) {
      throw new Error(
        `this cell has an account ${accountId}: if it moved away, wait until what was left of it is removed`,
      );
    }
    const addresses = await this.#source.query(READ_INBOXES, accountId);
    const [taken] = await this.#target.query(
      FIND_INBOX,
      addresses.map(({ address }) => address),
    );
    if (taken !== undefined) throw new Error(`this cell has an inbox ${taken.address} already`);
    // The account may have left this cell before.
    await lowerFence(this.#target, accountId);
    await this.#writeHere({ ...out, cell: source.url, state: 'arriving' });
  }

  /** Returns true also once the account has moved on to another cell. */
  async isArrived(): Promise<boolean> {
    const { number } = await this.#readOut();
    const here = await readMove(this.#target, this.#options.accountId);
    return here !== undefined && here.number >= number && here.state !== 'arriving';
  }

  /** Copies everything and opens the account at the target. */
  async carry(): Promise<void> {
    const { accountId, log, source } = this.#options;
    const missing = await tablesOfMissing(source.database, accountId);
    if (missing.length > 0) throw new Error(`no feature of this build moves rows in ${missing.join(', ')}`);
    await this.release();
    const copies: RowCopy[] = [];
    for (const [table, moved] of this.#source.tables) {
      copies.push(await RowCopy.open(this.#source, this.#target, table, moved));
    }
    const files = new FileCopy(this.#options.source.store, this.#options.target.store);
    for (let pass = 1; pass <= MAX_PASSES; pass++) {
      this.#done.files += await files.copy(this.#source, accountId);
      const rows = await this.#copyRows(copies);
      log.info({ account_id: accountId, pass, rows, files: this.#done.files }, 'copied what an account has');
      if (rows <= FEW_ROWS) break;
    }
    for (const copy of copies) if (copy.copied > 0) await copy.vacuum(this.#target);
    const beganMs = performance.now();
    try {
      await this.#writeOut('closing');
      await this.#drain();
      await raiseFence(this.#source, accountId);
      await this.#writeOut('fenced');
      this.#done.files += await files.copy(this.#source, accountId);
      await this.#open(copies);
    } finally {
      this.#done.refused_ms = Math.round(performance.now() - beganMs);
    }
  }

  /** Ends the account at the source, whose nodes then remove its remains there. */
  async leave(): Promise<MovedAccount> {
    const { source, target, accountId } = this.#options;
    const out = await this.#readOut();
    this.#requireClosed(out);
    const { number, state } = out;
    const { database, store, url } = target;
    await new Avatars({ database, store, baseUrl: () => url }).readdress();
    if (state !== 'left') {
      await leaveSource(this.#source, { account_id: accountId, number, cell: target.url });
    }
    return { account_id: accountId, number, from: source.url, to: target.url, ...this.#done };
  }

  /** Reopens the account, which has not arrived, at the source. */
  async release(): Promise<void> {
    const out = await this.#readOut();
    requireNotLeft(out, this.#options.source.url);
    if (out.state === 'leaving') return;
    await lowerFence(this.#source, out.account_id);
    await this.#writeOut('leaving');
  }

  async cancel(): Promise<void> {
    const { source, target, accountId } = this.#options;
    if (await this.isArrived()) throw new Error(`the account ${accountId} is in use here already`);
    const out = await this.#readOut();
    requireNotLeft(out, source.url);
    const files = await readFiles(this.#target, accountId);
    await this.#target.transaction(async (tx) => {
      for (const table of this.#target.tables.toReversed()) await removeRows(tx, table, accountId);
      await tx.query(FORGET_MOVE, accountId);
      await enqueueRightsChanged(tx.tx, [accountId]);
    });
    await target.store.remove(files.map(({ key }) => key));
    await lowerFence(this.#source, accountId);
    await this.#source.transaction(async (tx) => {
      await tx.query(FORGET_MOVE, accountId);
      // Numbers continue from the move that brought the account here.
      const former = { ...out, state: 'arrived', number: out.number - 1 } as const;
      if (former.number > 0) await writeMove(tx.tx, former);
      await enqueueRightsChanged(tx.tx, [accountId]);
    });
  }

  /** Returns how many rows were new or had changed. */
  async #copyRows(copies: readonly RowCopy[]): Promise<number> {
    let changed = 0;
    for (const copy of copies) {
      await this.#source
        .transaction(async (tx) => {
          changed += await copy.copy(tx, this.#target, this.#options.accountId);
        })
        .catch((error: unknown) => {
          // A unique value moved from one row to another: both are copied with the last rows.
          if (!isUniqueViolation(error)) throw error;
        });
    }
    this.#done.rows += changed;
    return changed;
  }

  /** Waits briefly until the source's nodes have carried out the committed work. */
  async #drain(): Promise<void> {
    const deadlineMs = performance.now() + DRAIN_MS;
    while (performance.now() < deadlineMs && (await hasPending(this.#source, this.#options.accountId))) {
      await delay(DRAIN_EVERY_MS);
    }
  }

  /**
   * Copies the last rows, compares all, and opens the account, in one transaction of the target.
   */
  async #open(copies: readonly RowCopy[]): Promise<void> {
    const { source, target, accountId } = this.#options;
    const { number } = await this.#readOut();
    await this.#source.transaction(async (there) => {
      await this.#target.transaction(async (here) => {
        for (const copy of copies) this.#done.rows += await copy.finish(there, here, accountId);
        await enqueuePending(here, await readPending(there, accountId));
        await addDeliveriesOf(here.tx, accountId);
        await writeMove(here.tx, { account_id: accountId, state: 'arrived', cell: source.url, number });
        await changeListeners(here.tx);
        const chain = await readHead(there.tx, accountId);
        const cells = { fromCell: source.url, toCell: target.url };
        const keys = { former: source.signingKey, next: target.signingKey };
        await saveHandover(here.tx, target.signingKey, handOver({ accountId, chain, ...keys, ...cells }));
      });
    });
  }

  /** Returns the move of the source, which leads here. */
  async #readOut(): Promise<MoveRow> {
    const { target, accountId } = this.#options;
    const out = await readMove(this.#source, accountId);
    if (out === undefined || out.state === 'arrived' || out.state === 'arriving') {
      throw new Error(`the account ${accountId} is not to move: run "account move-out" at the source first`);
    }
    if (out.cell !== target.url) {
      throw new Error(`the account ${accountId} is to move to ${out.cell}, but this cell is ${target.url}`);
    }
    return out;
  }

  /** Throws for an account that has arrived, but was opened at the source again. */
  #requireClosed({ state }: MoveRow): void {
    if (state === 'fenced' || state === 'left') return;
    const { source, target, accountId } = this.#options;
    throw new Error(
      `the account ${accountId} is open at ${source.url} (${state}) and at ${target.url} (arrived), as after a restore of the source: nothing was changed. Save what only the source has, then end it there (docs/operations.md#moving-an-account)`,
    );
  }

  async #writeOut(state: MoveState): Promise<void> {
    const out = await this.#readOut();
    await this.#source.transaction((tx) => writeMove(tx.tx, { ...out, state }));
  }

  #writeHere(move: MoveRow): Promise<void> {
    return this.#target.transaction((tx) => writeMove(tx.tx, move));
  }
}

/** Throws for an account that has left: the source must not open it again without its rows. */
function requireNotLeft({ account_id, state, cell }: MoveRow, sourceUrl: string): void {
  if (state === 'left') {
    throw new Error(`the account ${account_id} has left ${sourceUrl}, but has not arrived at ${cell}`);
  }
}

/**
 * Keys of everything the account has issued that must stay valid: identities, mails that are
 * answered, push subscriptions, tokens.
 */
const SECRETS = [
  'token_secret',
  'identity_secret',
  'vapid_key',
  'mail_ids',
  'address_confirmation_secret',
  'sign_in_secret',
  'file_secret',
  'cursor_secret',
];

async function requireSameSecrets(source: Cell, target: Cell): Promise<void> {
  const read = async (cell: Cell) =>
    new Map((await cell.query(READ_SECRETS, SECRETS)).map((row) => [row.name, row.value]));
  const [there, here] = await Promise.all([read(source), read(target)]);
  const other = SECRETS.filter((name) => there.has(name) && there.get(name) !== here.get(name));
  if (other.length > 0) {
    throw new Error(
      `the cells have other secrets in "settings": ${other.join(', ')}. Cells that accounts move between share them (docs/operations.md#cells)`,
    );
  }
}

/** The lock is held until the session ends. */
const TRY_LOCK = statement<[accountId: string, direction: number], { taken: boolean }>(
  'try-lock-account-move',
)`
  SELECT pg_try_advisory_lock(hashtextextended($1, $2::bigint)) AS taken`;

const TO_HERE = 0;
const FROM_HERE = 1;

const FIND_ACCOUNT = statement<[id: string]>('find-moved-account')`
  SELECT FROM accounts WHERE id = $1`;

const READ_SEARCH = statement<[], { filled_through: string | null }>('read-filling-of-search')`
  SELECT filled_through FROM search_state`;

const READ_INBOXES = statement<[accountId: string], { address: string }>('read-addresses-of-account')`
  SELECT lower(address) AS address FROM inboxes WHERE account_id = $1 AND deleted_at IS NULL`;

const FIND_INBOX = statement<[addresses: readonly string[]], { address: string }>('find-inbox-of-addresses')`
  SELECT address FROM inboxes WHERE lower(address) = ANY($1) AND deleted_at IS NULL`;

const READ_SECRETS = statement<[names: readonly string[]], { name: string; value: string }>('read-secrets')`
  SELECT name, value FROM settings WHERE name = ANY($1)`;

const FORGET_MOVE = statement<[accountId: string]>('forget-account-move')`
  DELETE FROM account_moves WHERE account_id = $1`;

const LOCK_MS = 60_000;
const LOCK_EVERY_MS = 200;
const MAX_PASSES = 10;
/** Number of rows that is copied within a moment. */
const FEW_ROWS = 1_000;
const DRAIN_MS = 2_000;
const DRAIN_EVERY_MS = 20;
