import { withdrawUploads } from '../../../core/attachments/uploads.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { Loop } from '../../../platform/lifecycle.ts';
import { deleteMailsWithoutMessage } from './purge-store.ts';

/** Returns the loop that removes old mails without a message. It may run on all nodes at once. */
export function openMailRemoval({ database, config, log }: NodeParts): Loop {
  return new Loop({
    intervalMs: REMOVE_EVERY_MS,
    run: (signal) => removeOldMails(database, config.mailDays, signal),
    onError: (error) => log.warn({ err: error }, 'removing old mails failed'),
  });
}

/** Removes old mails without a message; all other mails are removed with their message. */
export async function removeOldMails(
  database: Database,
  keepDays: number,
  signal: AbortSignal,
): Promise<void> {
  for (let isMore = true; isMore && !signal.aborted; ) {
    isMore = await database.transaction(async (tx) => {
      const { rows, keys } = await deleteMailsWithoutMessage(tx, keepDays, REMOVED_AT_ONCE);
      await withdrawUploads(tx, keys);
      return rows === REMOVED_AT_ONCE;
    });
  }
}

const REMOVE_EVERY_MS = 10 * 60 * 1_000;
const REMOVED_AT_ONCE = 500;
