import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Principal } from '../../api/access/principal.ts';
import { enqueueRightsChanged } from '../../core/accounts/rights/rights-changed.ts';
import { audit } from '../../core/audit/audit.ts';
import { followBlocks, lockPair } from '../../core/conversations/blocks/blocks.ts';
import { moveWorkflow } from '../../core/conversations/cases/workflow.ts';
import { conversationGone, requireOwner, requireWriter } from '../../core/conversations/directory/access.ts';
import { CONVERSATION_DELETED, type ConversationDeleted } from '../../core/conversations/outbox-topics.ts';
import {
  isDeletedSince,
  readConversation,
  writeDeleted,
  writeRestored,
} from '../../core/conversations/rows/conversation-store.ts';
import { lockAlsoDeleted } from '../../core/conversations/rows/locked-conversation.ts';
import { readAllParticipants, touchMembers } from '../../core/conversations/rows/participant-store.ts';
import { enqueueChanged } from '../../core/events/changes.ts';
import { allHoldings } from '../../core/features/all-holdings.ts';
import { conclude } from '../../core/messages/rows/message-outcome.ts';
import { lockWaiting } from '../../core/messages/rows/message-store.ts';
import { cancelScheduled } from '../../core/messages/schedules/scheduled.ts';
import { enqueueUpdated } from '../../core/notifications/feed/mark.ts';
import { withdrawAbout } from '../../core/notifications/feed/withdraw-store.ts';
import type { ConversationRow } from '../../core/resources/conversation.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { isUniqueViolation } from '../../platform/db/connection/unavailable.ts';
import { enqueue } from '../../platform/db/queue/outbox.ts';
import { endExportsOf } from './jobs/job-store.ts';

/**
 * Delete Conversation (docs/contract.md#deleting-a-conversation): a tombstone stays, reachable only
 * for `restoreConversation` and Set Legal Hold. Repeating it changes nothing. Throws ApiError.
 */
export async function deleteConversation(tx: Tx, principal: Principal, id: string): Promise<ConversationRow> {
  const { conversation, own } = await lockAlsoDeleted(tx, principal, id);
  requireWriter(own);
  requireOwner(principal, own);
  if (conversation.deleted_at !== null) return conversation;
  requireDeletable(conversation);
  const by = principal.actor.id;
  const waiting = await lockWaiting(tx, id);
  for (const row of waiting) {
    if (row.status === 'scheduled') await cancelScheduled(tx, row, ENDED_BY_DELETION);
    else await conclude(tx, row, 'reject', ENDED_BY_DELETION);
  }
  if (waiting.some(({ status }) => status === 'draft')) {
    await moveWorkflow(tx, conversation, 'drafts_decided', by);
  }
  await writeDeleted(tx, id, by);
  const members = await readAllParticipants(tx, id);
  await endExportsOf(tx, [id, ...members.flatMap(({ actor_id }) => actor_id ?? [])]);
  await enqueueMembership(tx, 'conversation.removed', id);
  const { account_id } = conversation;
  await enqueue(tx, CONVERSATION_DELETED, { conversation_id: id, account_id, by });
  await audit(tx, { accountId: account_id, conversationId: id, actorId: by, action: 'conversation.deleted' });
  return readConversation(tx, id);
}

/**
 * Restore Conversation: undoes a deletion while the deleted conversation is kept. A conversation
 * that is not deleted is left as it is. Throws ApiError.
 */
export async function restoreConversation(
  tx: Tx,
  principal: Principal,
  id: string,
  restoreDays: number,
): Promise<ConversationRow> {
  const { conversation, own } = await lockAlsoDeleted(tx, principal, id);
  requireWriter(own);
  requireOwner(principal, own);
  if (conversation.deleted_at === null) return conversation;
  const isHeld = conversation.legal_hold === 'held';
  if (!isHeld && (await isDeletedSince(tx, id, restoreDays))) throw conversationGone();
  const { account_id: accountId, deleted_direct_key: directKey } = conversation;
  if (directKey !== null) await lockPair(tx, accountId, directKey);
  await writeRestored(tx, id).catch(refuseSecondDirect);
  if (directKey !== null) await followBlocks(tx, accountId, directKey);
  await enqueueMembership(tx, 'conversation.added', id);
  const actorId = principal.actor.id;
  await audit(tx, { accountId, conversationId: id, actorId, action: 'conversation.restored' });
  return readConversation(tx, id);
}

/** Handles CONVERSATION_DELETED; may be called again. */
export async function afterDeleted(
  database: Database,
  { conversation_id: id, account_id, by }: ConversationDeleted,
): Promise<void> {
  for (const holdings of allHoldings(database)) await holdings.endWorkIn?.(database, { id, account_id, by });
  for (let isMore = true; isMore; ) {
    isMore = await database.transaction(async (tx) => {
      const withdrawn = await withdrawAbout(tx, id, WITHDRAWN_AT_ONCE);
      await enqueueUpdated(tx, withdrawn);
      return withdrawn.length === WITHDRAWN_AT_ONCE;
    });
  }
}

function requireDeletable({ type, legal_hold }: ConversationRow): void {
  if (type === 'system') {
    throw new ApiError('resource_conflict', "The account's own conversation of alerts cannot be deleted.");
  }
  if (legal_hold === 'held') {
    throw new ApiError(
      'resource_conflict',
      'A conversation cannot be deleted while it is under legal hold. Release the hold first.',
    );
  }
}

/** Enqueues the event for all members, and makes every node reload the conversation. */
async function enqueueMembership(
  tx: Tx,
  event: 'conversation.added' | 'conversation.removed',
  id: string,
): Promise<void> {
  const actorIds = await touchMembers(tx, id);
  await enqueueChanged(
    tx,
    actorIds.map((stream) => ({ event, id, stream })),
  );
  await enqueueRightsChanged(tx, [id]);
}

function refuseSecondDirect(error: unknown): never {
  if (!isUniqueViolation(error, 'conversations_direct')) throw error;
  throw new ApiError('resource_conflict', 'The two users have begun another direct message since.');
}

/** The reason in the outcome of drafts and scheduled messages. */
const ENDED_BY_DELETION = 'conversation_deleted';

const WITHDRAWN_AT_ONCE = 500;
