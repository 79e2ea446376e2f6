import type { WorkflowStatus } from '@parley/protocol/resources/conversation.ts';
import { transition } from '@parley/protocol/states/transitions.ts';
import { MOVES_BY_HAND, WORKFLOW, type WorkflowMove } from '@parley/protocol/states/workflow.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { touched } from '../../../platform/db/tables/touched.ts';
import { audit } from '../../audit/audit.ts';
import { type Change, enqueueChanged } from '../../events/changes.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import { enqueueSystemEvent } from '../outbox-topics.ts';

/**
 * Moves a case to another `workflow_status` (docs/contract.md#workflow), with its event, its audit
 * and, if it is resolved, or reopened otherwise than by a reply, a system message. The caller has
 * locked the row with FOR UPDATE; the status is read again, so consecutive moves need only the row.
 * `by` is the actor that caused the move. For `drafts_decided` the decided draft is written before.
 * `begunAt` is the moment of a message of the customer, which may have begun a wait: that is a
 * change too. No-op for other conversations. Throws ApiError `resource_conflict` (param
 * workflow_status) if the table has no such move.
 */
export async function moveWorkflow(
  tx: Tx,
  { id, account_id: accountId, audience }: Pick<ConversationRow, 'id' | 'account_id' | 'audience'>,
  move: WorkflowMove,
  by: string | null,
  begunAt: string | null = null,
): Promise<void> {
  if (audience !== 'customer') return;
  const before = await readState(tx, id);
  const next = await decide(tx, id, before, move);
  const isSame = next.shown === before.shown && next.behind === before.behind;
  const isVisible = next.shown !== before.shown || (begunAt !== null && before.waitingSince === begunAt);
  if (isSame && !isVisible) return;

  await tx.kysely
    .updateTable('conversations')
    // A change that no resource shows does not change the time of the row.
    .set({ workflow_status: next.shown, lane_behind: next.behind, ...(isVisible && touched()) })
    .where('id', '=', id)
    .execute();
  const change: Change = { event: 'conversation.updated', id, stream: id, by };
  if (isVisible) await enqueueChanged(tx, [move === 'automatic_mail' ? { ...change, quiet: true } : change]);

  // Drafts neither resolve nor reopen a case: customers would learn that drafts exist.
  const [from, to] = [before.behind ?? before.shown, next.behind ?? next.shown];
  if (from === to) return;
  const isEnd = from === 'resolved' || to === 'resolved';
  if (isEnd || BY_HAND.has(move)) {
    const details = { from, to };
    await audit(tx, { accountId, conversationId: id, actorId: by, action: 'conversation.moved', details });
  }
  // A reply says itself that the case goes on.
  if (!isEnd || move === 'reply_sent') return;
  await enqueueSystemEvent(tx, {
    account_id: accountId,
    conversation_id: id,
    visibility: 'system',
    // The customer reads the text, so it contains no name.
    body: to === 'resolved' ? 'The conversation was resolved.' : 'The conversation was reopened.',
    event: { type: to === 'resolved' ? 'resolved' : 'reopened', by },
  });
}

const BY_HAND: ReadonlySet<WorkflowMove> = new Set(Object.values(MOVES_BY_HAND));

/** The visible status, and the status behind it while drafts are open. */
interface WorkflowState {
  readonly shown: WorkflowStatus;
  readonly behind: WorkflowStatus | null;
}

interface StoredState extends WorkflowState {
  readonly waitingSince: string | null;
}

async function decide(
  tx: Tx,
  id: string,
  { shown, behind }: WorkflowState,
  move: WorkflowMove,
): Promise<WorkflowState> {
  if (move === 'automatic_mail' && (behind ?? shown) !== 'resolved') return { shown, behind };
  switch (move) {
    case 'draft_opened':
      return { shown: transition(WORKFLOW, move, shown), behind: behind ?? shown };
    case 'drafts_decided': {
      if (shown !== 'needs_approval' || (await hasOpenDraft(tx, id))) return { shown, behind };
      return { shown: behind ?? WORKFLOW[move].to, behind: null };
    }
    case 'automatic_mail':
    case 'customer_wrote':
    case 'reply_sent':
      if (behind !== null) return { shown, behind: transition(WORKFLOW, move, behind) };
      return { shown: transition(WORKFLOW, move, shown), behind };
    default:
      return { shown: transition(WORKFLOW, move, shown, 'workflow_status'), behind };
  }
}

async function hasOpenDraft(tx: Tx, conversationId: string): Promise<boolean> {
  return (await tx.query(FIND_OPEN_DRAFT, conversationId)).length > 0;
}

const FIND_OPEN_DRAFT = statement<[conversationId: string]>('find-open-draft')`
    SELECT FROM messages WHERE conversation_id = $1 AND status = 'draft' LIMIT 1`;

async function readState(tx: Tx, id: string): Promise<StoredState> {
  const row = await tx.kysely
    .selectFrom('conversations')
    .select(['workflow_status', 'lane_behind', 'waiting_since'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  const shown = row.workflow_status ?? 'new';
  const behind = shown === 'needs_approval' ? (row.lane_behind ?? 'open') : null;
  return { shown, behind, waitingSince: row.waiting_since };
}
