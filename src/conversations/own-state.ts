import type { Principal } from '../access/principal.ts';
import { enqueueRightsChanged } from '../accounts/rights-changed.ts';
import type { Database } from '../db/database.ts';
import type { Tx } from '../db/handle.ts';
import { statement } from '../db/statement.ts';
import { setTouched } from '../db/touched.ts';
import type { Engine } from '../engine/engine.ts';
import { publish } from '../engine/publish.ts';
import { ApiError } from '../protocol/errors.ts';
import type { Read } from '../protocol/socket/activity.ts';
import { MEMBERSHIP_MOVES } from '../protocol/states/membership.ts';
import { transition } from '../protocol/states/transitions.ts';
import type { ConversationRow } from '../resources/conversation.ts';
import type { MessageRow } from '../resources/message.ts';
import type { ConversationDirectory } from './directory.ts';
import { lockOwnParticipant } from './locked-conversation.ts';
import { enqueueChanged } from './outbox-topics.ts';
import { writeParticipant } from './participants.ts';

/**
 * Hides the conversation from the caller's list, or shows it again; the caller stays a member. The next message shows
 * a hidden conversation again (`showAgain`). Throws `resource_not_found`, or `resource_conflict` if the caller reads
 * the conversation only by its role in the account.
 */
export async function setHidden(
  tx: Tx,
  principal: Principal,
  conversationId: string,
  move: 'hide' | 'unhide',
): Promise<ConversationRow> {
  const { conversation, own } = await lockOwnParticipant(tx, principal, conversationId);
  const membership = transition(MEMBERSHIP_MOVES, move, own.membership);
  if (membership !== own.membership) {
    const hiddenAfter = membership === 'hidden' ? await readHead(tx, conversationId) : null;
    await writeParticipant(tx, own.id, { membership, hidden_after: hiddenAfter });
    await enqueueRightsChanged(tx, [conversationId]);
    await enqueueChanged(tx, [{ event: 'participant.updated', id: own.id, stream: conversationId }]);
  }
  return conversation;
}

/** The fields of a sent message that show a hidden conversation again. */
export type ShownArrival = Pick<MessageRow, 'conversation_id' | 'sequence' | 'kind'>;

/**
 * Shows conversations again to the members that had hidden them before these messages were sent. System events do not
 * count. Only conversations with hidden members cost a query.
 */
export async function showAgain(
  database: Database,
  directory: Pick<ConversationDirectory, 'facts'>,
  arrivals: readonly ShownArrival[],
): Promise<void> {
  const heads = new Map<string, number>();
  for (const { conversation_id: id, sequence, kind } of arrivals) {
    if (kind === 'system_event') continue;
    const cached = directory.facts(id);
    const facts = cached instanceof Promise ? await cached : cached;
    if (facts === undefined || !facts.hasHidden) continue;
    heads.set(id, Math.max(sequence ?? 0, heads.get(id) ?? 0));
  }
  if (heads.size === 0) return;
  await database.transaction(async (tx) => {
    const shown = await tx.query(SHOW_AGAIN, [...heads.keys()], [...heads.values()]);
    if (shown.length === 0) return;
    await enqueueRightsChanged(tx, [...new Set(shown.map(({ conversation_id }) => conversation_id))]);
    await enqueueChanged(
      tx,
      shown.map(({ id, conversation_id: stream }) => ({ event: 'participant.updated', id, stream })),
    );
  });
}

export interface MarkedRead {
  readonly conversation: ConversationRow;
  /** When the caller's read position moved, by Postgres' clock; undefined if it was there or further already. */
  readonly movedAt: string | undefined;
}

/**
 * Moves the caller's read position forward, never back (docs/contract.md#own-state): at most to the highest number
 * that it may see. Throws as setHidden, and `validation_failed` (param sequence) beyond that.
 */
export async function markRead(
  tx: Tx,
  principal: Principal,
  conversationId: string,
  sequence: number,
): Promise<MarkedRead> {
  const { conversation, own } = await lockOwnParticipant(tx, principal, conversationId);
  if (sequence <= own.read_sequence) return { conversation, movedAt: undefined };
  const [row] = await tx.query(READ_VISIBLE_HEAD, conversationId, principal.customer);
  if (sequence > (row?.head ?? 0)) {
    throw new ApiError('validation_failed', 'There is no such message yet.', { param: 'sequence' });
  }
  const [moved] = await tx.query(MOVE_POSITION, own.id, sequence);
  return { conversation, movedAt: moved?.at };
}

/** An ephemeral event: a reader that misses it sees the position move with the next one (docs/realtime.md#events). */
export function publishRead(engine: Engine, conversationId: string, data: Read, at: string): void {
  publish(engine, {
    event: 'read',
    stream: conversationId,
    conversationId,
    sequence: 0,
    resource: data.actor_id,
    at,
    team: data,
  }).catch(() => {});
}

async function readHead(tx: Tx, conversationId: string): Promise<number> {
  const [row] = await tx.query(READ_VISIBLE_HEAD, conversationId, false);
  return row?.head ?? 0;
}

// Locked in one fixed order, so that two such transactions cannot deadlock.
const SHOW_AGAIN = statement<
  [conversationIds: readonly string[], sequences: readonly number[]],
  { id: string; conversation_id: string }
>({
  name: 'show-hidden-conversations-again',
  text: `
    UPDATE participants p
    SET membership = 'active', hidden_after = NULL, ${setTouched('later_than(p.updated_at)')}
    FROM (
      SELECT h.id FROM participants h
      JOIN unnest($1::text[], $2::bigint[]) AS a(conversation_id, head) USING (conversation_id)
      WHERE h.membership = 'hidden' AND coalesce(h.hidden_after, 0) < a.head
      ORDER BY h.id FOR UPDATE OF h
    ) AS due
    WHERE p.id = due.id
    RETURNING p.id, p.conversation_id`,
});

const READ_VISIBLE_HEAD = statement<[conversationId: string, forCustomer: boolean], { head: number }>({
  name: 'read-head-of-reader',
  text: `
    SELECT sequence AS head FROM messages
    WHERE conversation_id = $1 AND sequence IS NOT NULL
      AND (NOT $2::boolean OR (status = 'sent' AND visibility <> 'internal'))
    ORDER BY sequence DESC LIMIT 1`,
});

// Other readers do not see the position in the participant's resource, so no participant event is published.
const MOVE_POSITION = statement<[participantId: string, sequence: number], { at: string }>({
  name: 'move-read-position',
  text: 'UPDATE participants SET read_sequence = $2 WHERE id = $1 RETURNING clock_timestamp() AS at',
});
