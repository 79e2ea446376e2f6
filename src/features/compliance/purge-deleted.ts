import { audit } from '../../core/audit/audit.ts';
import { blankDetails } from '../../core/audit/retention.ts';
import {
  deleteEmptyConversation,
  lockExpired,
  readExpiredConversations,
} from '../../core/conversations/rows/conversation-store.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { BackgroundWork } from '../../platform/background.ts';
import { addPurged, NOTHING_PURGED, type Purged, purgeConversation } from './purge.ts';

/** `restoreDays`: how long deleted conversations can be restored. */
type PurgeDeletedOptions = Pick<NodeParts, 'database' | 'signingKey' | 'log'> &
  Pick<NodeParts['config'], 'restoreDays'>;

/**
 * Purges deleted conversations that can no longer be restored, with everything in them, unless they
 * are under legal hold. May run on several nodes at once, and continues the work of a dead node.
 */
export async function purgeDeleted(options: PurgeDeletedOptions, signal: AbortSignal): Promise<void> {
  const { database, log, restoreDays } = options;
  const work = new BackgroundWork(database.load);
  for (const id of await readExpiredConversations(database, restoreDays, MAX_AT_ONCE)) {
    if (signal.aborted) return;
    // A failure does not affect the other conversations.
    await purgeOne(options, work, id).catch((error: unknown) => {
      log.error({ err: error, conversation_id: id }, 'purging a deleted conversation failed');
    });
  }
}

/** Purges in batches, each with the conversation locked, still deleted and not held. */
async function purgeOne(options: PurgeDeletedOptions, work: BackgroundWork, id: string): Promise<void> {
  const { database, signingKey, restoreDays, log } = options;
  let purged: Purged = NOTHING_PURGED;
  for (let isMore = true; isMore; ) {
    isMore = await database.transaction(async (tx) => {
      const conversation = await lockExpired(tx, id, restoreDays);
      const batch = conversation && (await purgeConversation(tx, id));
      if (batch === undefined) return false;
      purged = addPurged(purged, batch.purged);
      if (batch.more) return true;
      await deleteEmptyConversation(tx, id);
      const accountId = conversation!.account_id;
      // The audit stays, without the titles in it.
      await blankDetails(tx, signingKey, accountId, { conversationId: id });
      await audit(tx, {
        accountId,
        conversationId: id,
        actorId: null,
        action: 'conversation.purged',
        details: { ...purged },
      });
      return false;
    });
    await work.rest();
  }
  log.info({ conversation_id: id, ...purged }, 'purged a deleted conversation');
}

const MAX_AT_ONCE = 1_000;
