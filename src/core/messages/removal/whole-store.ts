/** Reads of all messages of a conversation, or of an author, in pages: for exports and erasures. */

import type { Selectable } from 'kysely';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { pages } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import { type MessageRow, messageColumns } from '../../resources/message.ts';
import { REVISION, type RevisionRow } from '../rows/revision-store.ts';
import type { SequenceRange } from '../timeline/timeline-store.ts';

/** Returns the numbers of messages in the conversation's timeline and outside of it. */
export async function countMessages(db: Db, conversationId: string): Promise<number> {
  const [row] = await db.query(COUNT, conversationId);
  return row!.messages;
}

/** Yields the timeline in its order, tombstones included, and then the messages outside of it. */
export async function* allMessages(db: Db, conversationId: string): AsyncIterable<MessageRow[]> {
  yield* pages(
    PAGE,
    0,
    (after, size) => db.query(READ_TIMELINE, conversationId, after, size),
    ({ sequence }) => sequence!,
  );
  yield* pages<MessageRow, OutsideKey>(
    PAGE,
    ['', 'epoch', ''],
    (after, size) => db.query(READ_OUTSIDE, conversationId, ...after, size),
    ({ status, created_at, id }) => [status, created_at, id],
  );
}

/** Yields the author's messages of a conversation, in no order, tombstones included. */
export async function* allMessagesOf(
  db: Db,
  conversationId: string,
  authorId: string,
): AsyncIterable<MessageRow[]> {
  yield* pages(
    PAGE,
    '',
    (after, size) => db.query(READ_NAMED, conversationId, authorId, after, size),
    ({ client_message_id }) => client_message_id!,
  );
  yield* pages(
    PAGE,
    '',
    (after, size) => db.query(READ_NAMELESS, conversationId, authorId, after, size),
    ({ id }) => id,
  );
}

/**
 * Yields the conversations that have messages of the author, a present or former participant, with
 * their number.
 */
export async function* conversationsOfAuthor(db: Db, accountId: string, authorId: string) {
  const batches = pages<{ id: string; created_at: string }, readonly [string, string]>(
    CONVERSATIONS,
    ['epoch', ''],
    (after, size) => db.query(READ_CONVERSATIONS, accountId, ...after, size),
    ({ created_at, id }) => [created_at, id],
  );
  for await (const batch of batches) {
    const ids = batch.map(({ id }) => id);
    const found = await db.query(COUNT_AUTHORED, ids, authorId);
    if (found.length > 0) yield found;
  }
}

/** A range of a timeline in whose system messages a name is replaced. */
export interface ReplacedName extends SequenceRange {
  /** A regular expression of Postgres. */
  readonly name: string;
  readonly replacement: string;
}

/** Replaces a name in the system messages of a range. Returns the ids of the changed messages. */
export async function replaceNameInSystemEvents(
  tx: Tx,
  { conversationId, after, upTo, name, replacement }: ReplacedName,
): Promise<string[]> {
  const rows = await tx.query(REPLACE_NAME, conversationId, after, upTo, name, replacement);
  return rows.map(({ id }) => id);
}

/** Returns the revisions of messages by message, oldest first. */
export async function revisionsByMessage(
  db: Db,
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, RevisionRow[]>> {
  const rows = await db.query(READ_REVISIONS, messageIds);
  return Map.groupBy(rows, ({ message_id }) => message_id);
}

type StoredReaction = Pick<
  Selectable<Schema['reactions']>,
  'message_id' | 'emoji' | 'actor_id' | 'created_at'
>;

/** Returns all reactions to messages by message, oldest first. */
export async function reactionsByMessage(
  db: Db,
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, StoredReaction[]>> {
  const rows = await db.query(READ_REACTIONS, messageIds);
  return Map.groupBy(rows, ({ message_id }) => message_id);
}

/** Yields the reactions of an actor, in no order. */
export function allReactionsOf(
  db: Db,
  actorId: string,
): AsyncIterable<(StoredReaction & { readonly conversation_id: string })[]> {
  return pages<StoredReaction & { readonly conversation_id: string }, readonly [string, string, string]>(
    PAGE,
    ['', '', ''],
    (after, size) => db.query(READ_REACTIONS_OF, actorId, ...after, size),
    ({ conversation_id, message_id, emoji }) => [conversation_id, message_id, emoji],
  );
}

type OutsideKey = readonly [status: string, createdAt: string, id: string];

/** A body has up to 120 kB, so a page has at most 12 MB, except for texts of agents. */
const PAGE = 100;
const CONVERSATIONS = 500;

const COUNT = statement<[conversationId: string], { messages: number }>('count-messages-of-conversation')`
    SELECT (SELECT count(*) FROM messages WHERE conversation_id = $1 AND sequence IS NOT NULL AND status = 'sent')
      + (SELECT count(*) FROM messages WHERE conversation_id = $1 AND sequence IS NULL) AS messages`;

const READ_TIMELINE = statement<[conversationId: string, after: number, limit: number], MessageRow>(
  'read-whole-timeline',
)`
    SELECT ${messageColumns('m')} FROM messages m
    WHERE m.conversation_id = $1 AND m.sequence > $2 AND m.sequence IS NOT NULL AND m.status = 'sent'
    ORDER BY m.sequence LIMIT $3`;

const READ_OUTSIDE = statement<[conversationId: string, ...OutsideKey, limit: number], MessageRow>(
  'read-all-outside',
)`
    SELECT ${messageColumns('m')} FROM messages m
    WHERE m.conversation_id = $1 AND m.sequence IS NULL
      AND (m.status, m.created_at, m.id) > ($2, $3::timestamptz, $4)
    ORDER BY m.status, m.created_at, m.id LIMIT $5`;

const READ_CONVERSATIONS = statement<
  [accountId: string, createdAt: string, id: string, limit: number],
  { id: string; created_at: string }
>('read-conversations-of-account')`
    SELECT id, created_at FROM conversations
    WHERE account_id = $1 AND (created_at, id) > ($2::timestamptz, $3) ORDER BY created_at, id LIMIT $4`;

// No index leads from an author to its messages, because it would cost every send; two indexes lead
// there from a conversation. A message without `client_message_id` was a draft, and has changed
// since if it was sent.
const NAMED = 'm.conversation_id = c.id AND m.author_id = $2 AND m.client_message_id IS NOT NULL';
const NAMELESS = `m.conversation_id = c.id AND m.author_id = $2 AND m.client_message_id IS NULL
        AND (m.updated_at > m.created_at OR m.sequence IS NULL)`;

const COUNT_AUTHORED = statement<
  [conversationIds: readonly string[], authorId: string],
  { readonly id: string; readonly messages: number }
>('count-authored-messages')`
    SELECT * FROM (
      SELECT c.id, (SELECT count(*) FROM messages m WHERE ${NAMED})
        + (SELECT count(*) FROM messages m WHERE ${NAMELESS}) AS messages
      FROM unnest($1::text[]) AS c(id)
    ) counted WHERE messages > 0`;

type AuthoredPage = [conversationId: string, authorId: string, after: string, limit: number];

const READ_NAMED = statement<AuthoredPage, MessageRow>('read-authored-messages')`
    SELECT ${messageColumns('m')} FROM (SELECT $1::text) AS c(id) JOIN messages m ON ${NAMED}
    WHERE m.client_message_id > $3 ORDER BY m.client_message_id LIMIT $4`;

const READ_NAMELESS = statement<AuthoredPage, MessageRow>('read-authored-drafts')`
    SELECT ${messageColumns('m')} FROM (SELECT $1::text) AS c(id) JOIN messages m ON ${NAMELESS}
    WHERE m.id > $3 ORDER BY m.id LIMIT $4`;

const REPLACE_NAME = statement<
  [conversationId: string, after: number, upTo: number, name: string, replacement: string],
  { id: string }
>('replace-name-in-system-events')`
    UPDATE messages SET body = regexp_replace(body, $4, $5, 'g'), ${setTouched()}
    WHERE conversation_id = $1 AND sequence IS NOT NULL AND sequence > $2 AND sequence <= $3
      AND kind = 'system_event' AND body ~ $4
    RETURNING id`;

const READ_REVISIONS = statement<[messageIds: readonly string[]], RevisionRow>('read-revisions-of-messages')`
    SELECT ${REVISION.columns} FROM ${REVISION.from} WHERE r.message_id = ANY($1) ORDER BY r.message_id, r.revision`;

const READ_REACTIONS = statement<[messageIds: readonly string[]], StoredReaction>(
  'read-reactions-of-messages',
)`
    SELECT message_id, emoji, actor_id, created_at FROM reactions
    WHERE message_id = ANY($1) ORDER BY message_id, created_at, emoji, actor_id`;

const READ_REACTIONS_OF = statement<
  [actorId: string, conversationId: string, messageId: string, emoji: string, limit: number],
  StoredReaction & { conversation_id: string }
>('read-reactions-of-actor')`
    SELECT message_id, emoji, actor_id, conversation_id, created_at FROM reactions
    WHERE actor_id = $1 AND (conversation_id, message_id, emoji) > ($2, $3, $4)
    ORDER BY conversation_id, message_id, emoji LIMIT $5`;
