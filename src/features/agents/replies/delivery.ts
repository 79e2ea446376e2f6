import { hasPermission } from '../../../api/access/authorize.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Core, NodeParts } from '../../../core/features/feature.ts';
import { sendDraft } from '../../../core/messages/drafts/drafts.ts';
import { IS_MEMBER } from '../../../core/resources/membership.ts';
import type { MessageKey, MessageRow } from '../../../core/resources/message.ts';
import type { RunRow } from '../../../core/resources/run.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';

/**
 * Sends the draft of a completed run, in the agent's name behind the persona. It stays a draft if
 * the agent may not send by itself, the text is not whole, a person has changed it, or a person has
 * answered the customer. The conversation's lock orders this check and an answer sent at the same
 * moment.
 */
export async function deliverReply(
  { database, lockedWrites }: Pick<NodeParts, 'database'> & Pick<Core, 'lockedWrites'>,
  { id: runId }: Pick<RunRow, 'id'>,
  principal: Principal,
): Promise<void> {
  if (!hasPermission(principal, 'messaging:send_external')) return;
  const [draft] = await database.query(READ_DRAFT, runId);
  if (draft === undefined) return;
  try {
    const require = (tx: Tx, current: MessageRow) => requireUnanswered(tx, current, runId);
    await sendDraft(lockedWrites, draft, 'reply', principal.actor.id, require, async () => {});
  } catch (error) {
    if (!(error instanceof DraftKept)) throw error;
  }
}

/** Thrown when the draft is left for people to decide about. */
class DraftKept extends Error {}

async function requireUnanswered(tx: Tx, draft: MessageRow, runId: string): Promise<void> {
  if (draft.incomplete !== null) throw new DraftKept();
  const [found] = await tx.query(READ_ANSWERS, runId, draft.conversation_id, draft.author_id);
  if (found?.may_send !== true || found.is_answered || draft.edited_at !== null) throw new DraftKept();
}

const READ_DRAFT = statement<[runId: string], MessageKey>('read-draft-of-run')`
    SELECT m.id, m.conversation_id
    FROM agent_runs r JOIN messages m ON m.id = r.reply_message_id AND m.conversation_id = r.conversation_id
    WHERE r.id = $1 AND r.status = 'completed' AND m.status = 'draft'`;

// Numbers are assigned under the lock, so the messages after the trigger's number are exactly those
// that did not exist before it. The trigger counts as well: if it is a person's own answer to the
// customer, no other answer was requested. Numbers are compared because a time may be that of a
// transaction that waited. API keys count as people who work through another program.
const READ_ANSWERS = statement<
  [runId: string, conversationId: string, authorId: string | null],
  { may_send: boolean; is_answered: boolean }
>('read-answers-since-run')`
    SELECT EXISTS (
      SELECT FROM participants p WHERE p.conversation_id = $2 AND p.actor_id = $3
        AND p.${IS_MEMBER} AND p.role <> 'viewer'
    ) AS may_send, EXISTS (
      SELECT FROM messages m LEFT JOIN actors a ON a.id = m.author_id
      WHERE m.conversation_id = $2 AND m.status = 'sent' AND m.visibility = 'external'
        AND m.sequence >= coalesce(t.sequence, 0)
        AND (t.sequence IS NOT NULL OR coalesce((m.outcome->>'at')::timestamptz, m.created_at) >= r.started_at)
        AND (a.type <> 'agent' AND NOT a.customer OR EXISTS (
          SELECT FROM audit_events e
          WHERE e.conversation_id = $2 AND e.action = 'draft.approved' AND e.details->>'message_id' = m.id))
    ) AS is_answered
    FROM agent_runs r
      LEFT JOIN messages t ON t.id = r.trigger_message_id AND t.conversation_id = r.conversation_id
    WHERE r.id = $1`;
