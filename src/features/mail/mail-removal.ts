import { withdrawUploads } from '../../core/attachments/uploads.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import { deleteMailsWithoutMessage } from './purge-store.ts';

export interface MailRemovalOptions {
  readonly database: Database;
  /** Days for which mails without a message are kept. */
  readonly keepDays: number;
  readonly log: Logger;
}

/** Returns the loop that removes old mails without a message. It may run on all nodes at once. */
export function openMailRemoval(options: MailRemovalOptions): Loop {
  return new Loop({
    intervalMs: REMOVE_EVERY_MS,
    run: (signal) => removeOldMails(options, signal),
    onError: (error) => options.log.warn({ err: error }, 'removing old mails failed'),
  });
}

/**
 * Removes old mails without a message; the others go with theirs (features/compliance/purge.ts).
 */
export async function removeOldMails(
  { database, keepDays }: Pick<MailRemovalOptions, 'database' | 'keepDays'>,
  signal: AbortSignal,
): Promise<void> {
  for (let isMore = true; isMore && !signal.aborted; ) {
    isMore = await database.transaction(async (tx) => {
      const { deleted, keys } = await deleteMailsWithoutMessage(tx, keepDays, REMOVED_AT_ONCE);
      await withdrawUploads(tx, keys);
      return deleted === REMOVED_AT_ONCE;
    });
  }
}

const REMOVE_EVERY_MS = 10 * 60 * 1_000;
const REMOVED_AT_ONCE = 500;
