import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { ApproveDraftBody } from '@parley/protocol/resources/chat-message.ts';
import { claim, type Seen } from '@parley/protocol/states/claim.ts';
import { MESSAGE_MOVES } from '@parley/protocol/states/message-states.ts';
import { transition } from '@parley/protocol/states/transitions.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { auditMessage } from '../../audit/audit.ts';
import { moveWorkflow } from '../../conversations/cases/workflow.ts';
import { lockConversation } from '../../conversations/rows/conversation-store.ts';
import { enqueueRowsChanged } from '../../events/changes.ts';
import { type MessageKey, type MessageRow, messageColumns } from '../../resources/message.ts';
import { conclude } from '../rows/message-outcome.ts';
import { lockMessage } from '../rows/message-store.ts';
import type { NewMessage } from '../rows/new-message.ts';
import { insertWaiting } from '../rows/waiting-store.ts';
import { requireFinished } from '../rules/edit-rules.ts';
import { followExternal, requireActive } from '../timeline/external-message.ts';
import type { LockedWrites } from '../timeline/locked-write.ts';

/**
 * Inserts a customer reply that waits for a person's approval (docs/contract.md#drafts). The caller
 * has locked the conversation. `sourceThreadMessageId` is the thread message that the draft
 * answers, `by` the actor that proposes the reply.
 */
export async function openDraft(
  tx: Tx,
  message: NewMessage,
  sourceThreadMessageId: string | null,
  by: string,
): Promise<MessageRow> {
  await supersedeOlder(tx, message, sourceThreadMessageId);
  const status = transition(MESSAGE_MOVES, 'draft', 'none');
  // A draft has no client_message_id, so it conflicts with no other row.
  const row = (await insertWaiting(tx, message, {
    status,
    source_thread_message_id: sourceThreadMessageId,
  }))!;
  await enqueueRowsChanged(tx, 'draft.created', [row]);
  await moveWorkflow(tx, caseOf(row), 'draft_opened', by);
  return row;
}

/**
 * Discards an open draft (docs/contract.md#drafts), whose outcome has the reason. Throws ApiError
 * `resource_conflict` if the message is not an open draft, or is still being written.
 */
export async function rejectDraft(
  tx: Tx,
  { actor }: { readonly actor: Pick<Principal['actor'], 'id'> },
  draft: MessageRow,
  reason: string | null = null,
): Promise<MessageRow> {
  await lockConversation(tx, draft.conversation_id);
  const current = await lockMessage(tx, draft);
  requireFinished(current);
  const rejected = await conclude(tx, current, 'reject', reason);
  await moveWorkflow(tx, caseOf(draft), 'drafts_decided', actor.id);
  await auditMessage(tx, actor.id, draft, 'draft.rejected');
  return rejected;
}

/**
 * Sends an open draft, once even if several people approve it at the same moment. Returns the
 * result of `follow`, from the same transaction. The state that the approver has seen
 * (`if_version`, `if_last_sequence`) must still be current (docs/contract.md#drafts). Throws
 * ApiError `resource_conflict`.
 */
export function approveDraft<Followed>(
  lockedWrites: LockedWrites,
  { actor }: Principal,
  draft: MessageRow,
  seen: ApproveDraftBody,
  follow: (sent: MessageRow, tx: Tx) => Promise<Followed>,
): Promise<Followed> {
  const require = (tx: Tx, current: MessageRow) => requireLast(tx, current, seen);
  const version: Seen = { version: seen.if_version, param: 'if_version', noun: 'draft' };
  return sendDraft(lockedWrites, draft, 'approve', actor.id, require, follow, version);
}

/**
 * Sends an open draft. `require` throws to refuse it, under the conversation's lock, and may be
 * called again; `seen` is what the decider was shown. Returns the result of `follow`, which runs
 * last in the transaction. Throws as `require`, and ApiError `resource_conflict` if the message is
 * not an open draft or is still being written.
 */
export function sendDraft<Followed>(
  lockedWrites: LockedWrites,
  draft: MessageKey,
  move: 'approve' | 'reply',
  by: string,
  require: (tx: Tx, draft: MessageRow) => Promise<void>,
  follow: (sent: MessageRow, tx: Tx) => Promise<Followed>,
  seen?: Seen,
): Promise<Followed> {
  return lockedWrites.enterWaiting(
    draft.conversation_id,
    async (tx, conversation) => {
      const current = await lockMessage(tx, draft);
      const { status, updated_at: version } = current;
      claim(MESSAGE_MOVES, move, { status, version }, { seen });
      requireFinished(current);
      requireActive(conversation);
      await require(tx, current);
      return {
        status: 'draft' as const,
        ...(move === 'approve' && { approvedBy: by }),
        entries: [{ id: draft.id, senderId: current.sender_id }],
      };
    },
    async (tx, [written]) => {
      const { row } = written!;
      await enqueueRowsChanged(tx, 'draft.updated', [row]);
      await followExternal(tx, written!, by);
      await moveWorkflow(tx, caseOf(row), 'drafts_decided', by);
      await auditMessage(tx, by, row, move === 'approve' ? 'draft.approved' : 'draft.sent_by_agent');
      return follow(row, tx);
    },
  );
}

/**
 * Supersedes open drafts that answer the same message, and earlier ones of the same agent, whose
 * newest draft answers everything that the customer has written.
 */
async function supersedeOlder(
  tx: Tx,
  { conversation_id, kind, author_id }: NewMessage,
  sourceId: string | null,
): Promise<void> {
  const agentId = kind === 'agent' ? author_id : null;
  if (sourceId === null && agentId === null) return;
  const older = await tx.query(LOCK_OLDER, conversation_id, sourceId, agentId);
  for (const draft of older) await conclude(tx, draft, 'supersede');
}

const LOCK_OLDER = statement<
  [conversationId: string, sourceId: string | null, agentId: string | null],
  MessageRow
>('lock-older-drafts')`
    SELECT ${messageColumns('m')} FROM messages m
    WHERE m.conversation_id = $1 AND m.status = 'draft'
      AND (m.source_thread_message_id = $2 OR m.author_id = $3)
    FOR UPDATE`;

async function requireLast(
  tx: Tx,
  { conversation_id }: MessageRow,
  { if_last_sequence }: ApproveDraftBody,
): Promise<void> {
  if (if_last_sequence === undefined) return;
  const [newer] = await tx.query(READ_CUSTOMER_SINCE, conversation_id, if_last_sequence);
  if (newer !== undefined) {
    throw new ApiError(
      'resource_conflict',
      'The customer has written after if_last_sequence. Read the conversation again.',
      { param: 'if_last_sequence' },
    );
  }
}

/** Returns the draft's conversation, always a case. */
function caseOf({ conversation_id: id, account_id }: MessageRow) {
  return { id, account_id, audience: 'customer' as const };
}

// Every customer message takes its number under the lock that the reader holds.
const READ_CUSTOMER_SINCE = statement<[conversationId: string, sequence: number]>(
  'read-customer-message-since',
)`
    SELECT m.id FROM messages m LEFT JOIN actors a ON a.id = m.author_id
    WHERE m.conversation_id = $1 AND m.sequence > $2 AND m.status = 'sent'
      AND m.visibility = 'external' AND (a.customer OR m.kind = 'email')
    LIMIT 1`;
