import { toEmoji } from '@parley/protocol/emoji.ts';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { ConversationAudience } from '@parley/protocol/resources/conversation.ts';
import { type MessageReactions, REACTION_LIMITS } from '@parley/protocol/resources/reaction.ts';
import type { MessageReacted } from '@parley/protocol/socket/event-data.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { keysetList } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import { requireUnblocked } from '../../conversations/directory/access.ts';
import type { ConversationFacts } from '../../conversations/directory/directory.ts';
import { type Change, enqueueChanged } from '../../events/changes.ts';
import { type EventReads, eventSource } from '../../events/event-source.ts';
import { partOf } from '../../frames/frame.ts';
import type { DomainEvent } from '../../frames/publish.ts';
import { type MessageKey, type MessageRow, visibleToCustomers } from '../../resources/message.ts';
import {
  countReactions,
  presentCounts,
  REACTION_COLUMNS,
  type ReactionRow,
  readReactions,
} from '../../resources/reaction.ts';
import { messageGone, requireSent, requireThere } from '../rules/edit-rules.ts';
import type { Readable } from '../rules/readable-message.ts';
import { requireSendExternal } from '../rules/send-rules.ts';

/** Returns false if the message was deleted or purged meanwhile. */
export async function lockReactions(tx: Tx, { id, conversation_id }: MessageKey): Promise<boolean> {
  const [message] = await tx.query(LOCK_MESSAGE, id, conversation_id);
  if (message !== undefined) await tx.query(LOCK_REACTIONS, id, conversation_id);
  return message !== undefined;
}

/** Inserts a reaction. The caller holds the lock of `lockReactions`. */
export async function insertReaction(
  tx: Tx,
  { messageId, emoji, actorId }: { messageId: string; emoji: string; actorId: string },
  { conversationId, customer }: { readonly conversationId: string; readonly customer: boolean },
): Promise<void> {
  await tx.kysely
    .insertInto('reactions')
    .values({
      message_id: messageId,
      emoji,
      actor_id: actorId,
      conversation_id: conversationId,
      customer,
    })
    .execute();
  await announce(tx, [messageId], conversationId);
}

/** Removes all reactions of a locked message. */
export async function removeReactions(tx: Tx, { id, conversation_id }: MessageKey): Promise<void> {
  const { numDeletedRows: removed } = await tx.kysely
    .deleteFrom('reactions')
    .where('message_id', '=', id)
    .executeTakeFirst();
  if (removed > 0) await announce(tx, [id], conversation_id);
}

/** Removes the reactions of an actor in a locked conversation. */
export async function removeReactionsOf(tx: Tx, conversationId: string, actorId: string): Promise<void> {
  const locked = await tx.query(LOCK_OF_ACTOR, conversationId, actorId);
  if (locked.length === 0) return;
  await tx.kysely
    .deleteFrom('reactions')
    .where('conversation_id', '=', conversationId)
    .where('actor_id', '=', actorId)
    .execute();
  const messageIds = locked.map(({ message_id }) => message_id);
  await announce(tx, messageIds, conversationId);
}

/** Gives the reactions of an actor in a locked conversation to another actor. */
export async function moveReactions(
  tx: Tx,
  conversationId: string,
  from: string,
  to: string,
): Promise<readonly Change[]> {
  const locked = await tx.query(LOCK_OF_ACTOR, conversationId, from);
  if (locked.length === 0) return [];
  await tx.query(MOVE_OF_ACTOR, conversationId, from, to);
  return touched(
    tx,
    locked.map(({ message_id }) => message_id),
    conversationId,
  );
}

/** Returns the conversations in which an actor has reacted. */
export async function conversationsOfReactor(db: Db, actorId: string): Promise<string[]> {
  return (await db.query(READ_CONVERSATIONS, actorId)).map(({ conversation_id }) => conversation_id);
}

async function announce(tx: Tx, messageIds: readonly string[], conversationId: string): Promise<void> {
  await enqueueChanged(tx, await touched(tx, messageIds, conversationId));
}

/** Returns the events of messages whose reactions have changed. */
async function touched(
  tx: Tx,
  messageIds: readonly string[],
  conversationId: string,
): Promise<readonly Change[]> {
  await tx.query(TOUCH, messageIds);
  return messageIds.map((id) => ({ event: 'message.reacted' as const, id, stream: conversationId }));
}

// KEY SHARE waits only for a deletion, which locks the row FOR UPDATE.
const LOCK_MESSAGE = statement<[id: string, conversationId: string]>('lock-message-for-reaction')`
    SELECT FROM messages WHERE id = $1 AND conversation_id = $2 AND deleted_at IS NULL FOR KEY SHARE`;

// An existing row is locked, although nothing is written to it.
const LOCK_REACTIONS = statement<[messageId: string, conversationId: string]>('lock-reactions')`
    INSERT INTO reacted_messages (message_id, conversation_id) VALUES ($1, $2)
    ON CONFLICT (message_id) DO UPDATE SET conversation_id = excluded.conversation_id WHERE false`;

// The number of different emojis, and whether anyone and the actor have reacted with this one.
const READ_STANDING = statement<
  [messageId: string, emoji: string, actorId: string],
  { kinds: number; is_known: boolean; is_own: boolean }
>('read-standing-of-reactions')`
    SELECT count(DISTINCT emoji) AS kinds, coalesce(bool_or(emoji = $2), false) AS is_known,
      coalesce(bool_or(emoji = $2 AND actor_id = $3), false) AS is_own
    FROM reactions WHERE message_id = $1`;

const LOCK_OF_ACTOR = statement<[conversationId: string, actorId: string], { message_id: string }>(
  'lock-reactions-of-actor',
)`
    SELECT message_id FROM reacted_messages WHERE message_id IN (
      SELECT message_id FROM reactions WHERE conversation_id = $1 AND actor_id = $2
    ) ORDER BY message_id FOR UPDATE`;

const MOVE_OF_ACTOR = statement<[conversationId: string, from: string, to: string]>('move-reactions')`
    WITH moved AS (
      DELETE FROM reactions WHERE conversation_id = $1 AND actor_id = $2
      RETURNING message_id, emoji, conversation_id, customer, created_at
    )
    INSERT INTO reactions (message_id, emoji, actor_id, conversation_id, customer, created_at)
    SELECT message_id, emoji, $3, conversation_id, customer, created_at FROM moved
    ON CONFLICT DO NOTHING`;

const READ_CONVERSATIONS = statement<[actorId: string], { conversation_id: string }>(
  'read-conversations-of-reactor',
)`
    SELECT DISTINCT conversation_id FROM reactions WHERE actor_id = $1`;

const TOUCH = statement<[messageIds: readonly string[]]>('touch-reacted-messages')`
    UPDATE reacted_messages SET ${setTouched()} WHERE message_id = ANY($1)`;

/** The reactions to a message, oldest first; null for `emoji` selects all. */
export const REACTIONS = keysetList<
  [messageId: string, emoji: string | null, ofCustomers: boolean],
  ReactionRow
>({
  name: 'list-reactions',
  columns: REACTION_COLUMNS,
  from: 'reactions r JOIN actors a ON a.id = r.actor_id',
  where: `r.message_id = $1 AND ($2::text IS NULL OR r.emoji = $2) AND (NOT $3::boolean OR r.customer)`,
  key: [
    ['r.created_at', 'timestamptz'],
    ['r.emoji', 'text'],
    ['r.actor_id', 'text'],
  ],
  order: 'oldest_first',
});

/**
 * Adds or removes the caller's reaction; no-op if nothing changes. Until the transaction ends, the
 * reactions are locked, and the message cannot be deleted. The event follows the commit. Throws
 * ApiError.
 */
export async function react(
  tx: Tx,
  principal: Principal,
  { row, facts }: Readable,
  text: string,
  move: 'add' | 'remove',
): Promise<MessageReactions> {
  const emoji = requireEmoji(text);
  checkReaction(principal, row, facts);
  if (move === 'add') requireUnblocked(principal, facts);
  const { id, conversation_id: stream } = row;
  if (!(await lockReactions(tx, row))) throw messageGone('id');
  const { customer, actor } = principal;
  const [standing] = await tx.query(READ_STANDING, id, emoji, actor.id);
  const { kinds, is_known, is_own } = standing!;
  const isNew = move === 'add';
  if (isNew && !is_known && kinds >= REACTION_LIMITS.kinds) throw tooManyKinds(kinds);
  if (isNew && !is_own) {
    const key = { messageId: id, emoji, actorId: actor.id };
    await insertReaction(tx, key, { conversationId: stream, customer });
  } else if (!isNew && is_own) {
    await tx.kysely
      .deleteFrom('reactions')
      .where('message_id', '=', id)
      .where('emoji', '=', emoji)
      .where('actor_id', '=', actor.id)
      .execute();
    await announce(tx, [id], stream);
  }
  const reactions = await readReactions(tx, principal, [id]);
  return { object: 'message_reactions', message_id: id, reactions: reactions.get(id) ?? [] };
}

/** Throws ApiError `parameter_invalid` (param emoji). */
export function requireEmoji(text: string): string {
  const emoji = toEmoji(text);
  if (emoji !== undefined) return emoji;
  const message = 'Must be exactly one emoji, percent-encoded, such as %F0%9F%91%8D.';
  throw new ApiError('parameter_invalid', message, { param: 'emoji' });
}

/**
 * Requires that the caller may post in the conversation and the message was sent
 * (docs/contract.md#reactions). Customers see reactions to messages that they see, so an agent
 * needs the right to send to them.
 */
function checkReaction(principal: Principal, row: MessageRow, facts: ConversationFacts): void {
  if (facts.members.get(principal.actor.id)?.role === 'viewer') {
    throw new ApiError('insufficient_permissions', 'Viewers of a conversation cannot react.');
  }
  requireThere(row);
  requireSent(row, 'has no reactions. Only sent ones have.');
  if (visibleToCustomers(row, facts.audience)) requireSendExternal(principal, 'react to what customers read');
}

function tooManyKinds(used: number): ApiError {
  const limit = REACTION_LIMITS.kinds;
  return new ApiError('limit_exceeded', `A message can have ${limit} different emojis. Use one of them.`, {
    param: 'emoji',
    quota: { limit, used, reset_at: null },
  });
}

/** `message.reacted`: all reactions of a message, for customers only if they see the message. */
export const reactionEvents = eventSource({
  events: ['message.reacted'],
  async read(from, changes) {
    const ids = [...new Set(changes.map(({ id }) => id))];
    return reactedMessages(from, await from.database.query(READ_REACTED, ids));
  },
  changed: {
    conversation: {
      arm: {
        part: 'reactions',
        rows: 'reacted_messages r WHERE r.conversation_id = s.id AND r.changed_in >= $3::xid8',
      },
      async since(from, conversationIds, since) {
        return reactedMessages(from, await from.database.query(READ_CHANGED, conversationIds, since.xid));
      },
    },
  },
});

interface ReactedRow extends Pick<MessageRow, 'id' | 'conversation_id' | 'status' | 'visibility'> {
  readonly sequence: number;
  readonly audience: ConversationAudience;
  readonly at: string;
}

/** Reads the rows before the reactions, so that no event is older than its time. */
async function reactedMessages(
  { database }: EventReads,
  rows: readonly ReactedRow[],
): Promise<DomainEvent[]> {
  const ids = rows.map(({ id }) => id);
  const counted = await countReactions(database, ids, '');
  return rows.map((row) => {
    const data = (forCustomer: boolean): MessageReacted => ({
      message_id: row.id,
      reactions: presentCounts(counted.get(row.id) ?? [], forCustomer),
    });
    return {
      event: 'message.reacted',
      stream: row.conversation_id,
      conversationId: row.conversation_id,
      sequence: row.sequence,
      resource: partOf(row.id, 'reactions'),
      at: row.at,
      team: data(false),
      customer: visibleToCustomers(row, row.audience) ? data(true) : undefined,
    };
  });
}

const REACTED = `
    SELECT m.id, m.conversation_id, m.status, m.visibility, m.sequence, c.audience, r.updated_at AS at
    FROM reacted_messages r
    JOIN messages m ON m.id = r.message_id AND m.conversation_id = r.conversation_id AND m.status = 'sent'
    JOIN conversations c ON c.id = r.conversation_id`;

const READ_REACTED = statement<[messageIds: readonly string[]], ReactedRow>('read-reacted-messages')`
    ${REACTED} WHERE r.message_id = ANY($1) ORDER BY r.updated_at`;

const READ_CHANGED = statement<[conversationIds: readonly string[], sinceXid: string], ReactedRow>(
  'read-changed-reactions',
)`
    ${REACTED} WHERE r.conversation_id = ANY($1) AND r.changed_in >= $2::xid8 ORDER BY r.updated_at`;
