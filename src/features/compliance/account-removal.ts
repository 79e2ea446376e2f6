import { ApiError } from '@parley/protocol/errors/errors.ts';
import { type AccountRow, readRemovableAccounts } from '../../core/accounts/account/accounts.ts';
import {
  closeAccount,
  lockOperated,
  type OperatedBy,
} from '../../core/accounts/installation/operated-accounts.ts';
import { removeUnattached } from '../../core/attachments/uploads.ts';
import { readHead } from '../../core/audit/chain-store.ts';
import {
  deleteEmptyConversation,
  readConversationIdsOf,
  readHeldIdsOf,
} from '../../core/conversations/rows/conversation-store.ts';
import { allHoldings, tablesOfMissing } from '../../core/features/all-holdings.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { BackgroundWork } from '../../platform/background.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { purgeConversation } from './purge.ts';
import { removeRowsOfAccount } from './remove-rows.ts';

/**
 * Begins to remove an account (docs/operations.md#deleting-an-account): after the commit its
 * credentials end on every node and its rows are removed. Repeating it changes nothing. Throws
 * ApiError as `lockOperated` and `requireRemovable` do.
 */
export async function beginAccountRemoval(tx: Tx, by: OperatedBy, id: string): Promise<AccountRow> {
  const account = await closeAccount(tx, by, await lockOperated(tx, id));
  await requireRemovable(tx, id);
  return account;
}

/**
 * Throws ApiError `resource_conflict` if the account has conversations under legal hold, or rows of
 * a missing feature.
 */
export async function requireRemovable(tx: Tx, id: string): Promise<void> {
  const held = await readHeldIdsOf(tx, id, MAX_NAMED);
  if (held.length > 0) {
    const named = `${held.join(', ')}${held.length === MAX_NAMED ? ', and perhaps more' : ''}`;
    throw new ApiError(
      'resource_conflict',
      `The account ${id} has conversations under legal hold, so it is not deleted. Release them first: ${named}`,
    );
  }
  const tables = await tablesOfMissing(tx, id);
  if (tables.length > 0) {
    throw new ApiError(
      'resource_conflict',
      `The account ${id} has rows in ${tables.join(', ')}, which no feature of this build removes, so it is not deleted. Delete it with a build that has the feature.`,
    );
  }
}

type AccountRemovalOptions = Pick<NodeParts, 'database' | 'store' | 'log'>;

/**
 * Removes the rest of accounts whose removal has begun, in bounded transactions, the account's row
 * last. May run on several nodes at once, and continues the work of a dead node. Files that a
 * request may still refer to and runs that a node has yet to end wait for the next round.
 */
export async function removeAccounts(options: AccountRemovalOptions, signal: AbortSignal): Promise<void> {
  for (const id of await readRemovableAccounts(options.database)) {
    if (signal.aborted) return;
    await removeOne(options, id, signal).catch((error: unknown) => {
      options.log.error({ err: error, account_id: id }, 'removing an account failed');
    });
  }
}

async function removeOne(options: AccountRemovalOptions, id: string, signal: AbortSignal): Promise<void> {
  const { database, store, log } = options;
  await removeRowsOfAccount(database, 'first', id, signal);
  for (const holdings of allHoldings(database)) {
    if (await database.transaction(async (tx) => holdings.endWorkOf?.(tx, id))) return;
  }
  if (!(await removeConversations(options, id, signal))) return;
  await removeRowsOfAccount(database, 'content', id, signal);
  await database.query(WITHDRAW_UPLOADS, id);
  await removeUnattached(database, store);
  if (signal.aborted || (await database.query(READ_UPLOAD, id)).length > 0) return;
  const { head } = await readHead(database, id);
  await removeRowsOfAccount(database, 'last', id, signal);
  if (signal.aborted) return;
  log.warn({ account_id: id, audit_head: head }, 'removed an account');
}

/** Returns whether all conversations are removed. */
async function removeConversations(
  { database, log }: AccountRemovalOptions,
  accountId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const work = new BackgroundWork(database.load);
  for (;;) {
    const ids = await readConversationIdsOf(database, accountId, CONVERSATIONS_AT_ONCE);
    if (ids.length === 0) return true;
    for (const id of ids) {
      for (let outcome: 'more' | 'gone' | 'held' = 'more'; outcome !== 'gone'; ) {
        if (signal.aborted) return false;
        outcome = await database.transaction((tx) => removeSome(tx, id));
        await work.rest(signal);
        if (outcome !== 'held') continue;
        const about = { account_id: accountId, conversation_id: id };
        log.error(about, 'an account is not removed: it has a legal hold');
        return false;
      }
    }
  }
}

async function removeSome(tx: Tx, conversationId: string): Promise<'more' | 'gone' | 'held'> {
  const batch = await purgeConversation(tx, conversationId);
  if (batch === undefined) return 'held';
  if (batch.more) return 'more';
  await deleteEmptyConversation(tx, conversationId);
  return 'gone';
}

// The bytes are removed by core/attachments/uploads.ts, the names at once.
const WITHDRAW_UPLOADS = statement<[accountId: string]>('withdraw-uploads-of-account')`
    UPDATE uploads SET withdrawn_at = clock_timestamp(), attached_at = NULL, filename = ''
    WHERE account_id = $1 AND withdrawn_at IS NULL`;

const READ_UPLOAD = statement<[accountId: string]>('read-upload-of-account')`
    SELECT FROM uploads WHERE account_id = $1 LIMIT 1`;

const CONVERSATIONS_AT_ONCE = 100;
const MAX_NAMED = 100;
