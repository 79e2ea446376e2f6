import { invalid } from '@parley/protocol/errors/errors.ts';
import type { Read } from '@parley/protocol/resources/activity.ts';
import type { NamedByEvent } from '@parley/protocol/resources/actor.ts';
import { MEMBERSHIP_MOVES } from '@parley/protocol/states/state-machines.ts';
import { transition } from '@parley/protocol/states/transitions.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { enqueue } from '../../../platform/db/queue/outbox.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import { enqueueRightsChanged } from '../../accounts/rights/rights-changed.ts';
import { enqueueRowsChanged } from '../../events/changes.ts';
import type { Engine } from '../../frames/engine.ts';
import { publish } from '../../frames/publish.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import type { MessageRow } from '../../resources/message.ts';
import type { ConversationDirectory } from '../directory/directory.ts';
import { CONVERSATION_READ } from '../outbox-topics.ts';
import { readHeadOfReader } from '../rows/conversation-store.ts';
import { lockOwnParticipant } from '../rows/locked-conversation.ts';
import { writeOwnState, writeParticipant } from '../rows/participant-store.ts';

/**
 * Hides the conversation from the caller's list, or shows it again; the caller stays a member. The
 * next message shows a hidden conversation again (`showAgain`). Throws `resource_not_found`, or
 * `resource_conflict` if the caller reads the conversation only by its role in the account.
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
    const hiddenAfter = membership === 'hidden' ? await readHeadOfReader(tx, conversationId, false) : null;
    await writeParticipant(tx, own.id, { membership, hidden_after: hiddenAfter });
    await enqueueRightsChanged(tx, [conversationId]);
    await enqueueRowsChanged(tx, 'participant.updated', [own]);
  }
  return conversation;
}

/**
 * Shows conversations again to the members that hid them before these messages. System events do
 * not count. Only conversations with hidden members cost a query.
 */
export async function showAgain(
  database: Database,
  directory: Pick<ConversationDirectory, 'facts'>,
  arrivals: readonly Pick<MessageRow, 'conversation_id' | 'sequence' | 'kind'>[],
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
    await enqueueRowsChanged(tx, 'participant.updated', shown);
  });
}

/**
 * Snoozes the conversation for the caller until a time, or `infinity`; null ends its snooze, if
 * any. The next message of another author ends any snooze (isSnoozed in
 * core/resources/participant.ts). Throws like setHidden.
 */
export async function snooze(
  tx: Tx,
  principal: Principal,
  conversationId: string,
  until: string | null,
): Promise<ConversationRow> {
  const { conversation, own } = await lockOwnParticipant(tx, principal, conversationId);
  if (until === null && own.snoozed_until === null) return conversation;
  const after = until === null ? null : await readHeadOfReader(tx, conversationId, false);
  await writeOwnState(tx, own.id, { snoozed_until: until, snoozed_after: after });
  return conversation;
}

/**
 * Throws `validation_failed` for a time in the past or over a year away, by Postgres' clock, unless
 * `readKnown` finds something that has the time already.
 */
export async function requireComing(
  db: Db,
  time: string,
  param: string,
  readKnown?: () => Promise<object | undefined>,
): Promise<void> {
  const [found] = await db.query(READ_IS_COMING, time);
  if (found?.is_coming || (await readKnown?.()) !== undefined) return;
  throw invalid(param, 'Must be a time within the next year.');
}

const READ_IS_COMING = statement<[time: string], { is_coming: boolean }>('read-is-coming')`
    SELECT $1::timestamptz > clock_timestamp() AND $1::timestamptz <= clock_timestamp() + interval '1 year'
      AS is_coming`;

export interface MarkedRead {
  readonly conversation: ConversationRow;
  /** When the read position moved, by Postgres' clock; undefined if it was not behind. */
  readonly movedAt: string | undefined;
}

/**
 * Moves the caller's read position forward, never back (docs/contract.md#own-state): at most to the
 * highest number that it may see. A user's notifications of these messages follow the commit.
 * Throws like setHidden, and `validation_failed` (param sequence) beyond that number.
 */
export async function markRead(
  tx: Tx,
  principal: Principal,
  conversationId: string,
  sequence: number,
): Promise<MarkedRead> {
  const { conversation, own } = await lockOwnParticipant(tx, principal, conversationId);
  if (sequence <= own.read_sequence) return { conversation, movedAt: undefined };
  await requireThere(tx, principal, conversationId, sequence);
  const movedAt = await writeOwnState(tx, own.id, { read_sequence: sequence });
  if (own.type === 'user') {
    await enqueue(tx, CONVERSATION_READ, {
      conversation_id: conversationId,
      actor_id: principal.actor.id,
      after: own.read_sequence,
      through: sequence,
    });
  }
  return { conversation, movedAt };
}

/** Throws `validation_failed` (param sequence) beyond the highest number the caller may see. */
export async function requireThere(
  tx: Tx,
  { customer }: Principal,
  conversationId: string,
  sequence: number,
): Promise<void> {
  if (sequence <= (await readHeadOfReader(tx, conversationId, customer))) return;
  throw invalid('sequence', 'There is no such message yet.');
}

/** Publishes ephemerally; readers that miss it see the next position (docs/realtime.md#events). */
export function publishRead(
  engine: Engine,
  conversationId: string,
  { id: actor_id, external_id = null }: NamedByEvent,
  sequence: number,
  at: string,
): void {
  publish(engine, {
    event: 'read',
    stream: conversationId,
    conversationId,
    sequence: 0,
    resource: actor_id,
    at,
    team: { actor_id, sequence, external_id } satisfies Read,
  }).catch(() => {});
}

/**
 * Shows each conversation again to the members that hid it before the number at the same index.
 * Rows are locked in one fixed order, so that two such transactions cannot deadlock.
 */
const SHOW_AGAIN = statement<
  [conversationIds: readonly string[], sequences: readonly number[]],
  { id: string; conversation_id: string }
>('show-hidden-conversations-again')`
    UPDATE participants p
    SET membership = 'active', hidden_after = NULL, ${setTouched('later_than(p.updated_at)')}
    FROM (
      SELECT h.id FROM participants h
      JOIN unnest($1::text[], $2::bigint[]) AS a(conversation_id, head) USING (conversation_id)
      WHERE h.membership = 'hidden' AND coalesce(h.hidden_after, 0) < a.head
      ORDER BY h.id FOR UPDATE OF h
    ) AS due
    WHERE p.id = due.id
    RETURNING p.id, p.conversation_id`;
