import { newId } from '@parley/protocol/ids.ts';
import type { ConversationAudience, ConversationType } from '@parley/protocol/resources/conversation.ts';
import type { Metadata } from '@parley/protocol/resources/metadata.ts';
import { sql, type UpdateObject } from 'kysely';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { isUniqueViolation } from '../../../platform/db/connection/unavailable.ts';
import { removeJob } from '../../../platform/db/queue/queue.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { touched } from '../../../platform/db/tables/touched.ts';
import { externalIdTaken } from '../../accounts/actors/actors.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import { MEMBER } from '../../resources/membership.ts';
import { storedMetadata } from '../../resources/metadata.ts';
import type { ParticipantRow } from '../../resources/participant.ts';
import { conversationGone } from '../directory/access.ts';
import { addParticipants, type NewParticipant } from './participant-store.ts';

export interface NewConversation {
  readonly accountId: string;
  readonly type: ConversationType;
  /** Default `internal`. A `customer` conversation is a case: its workflow begins with `new`. */
  readonly audience?: ConversationAudience;
  readonly title?: string | null;
  readonly groupId?: string | null;
  /** The inbox of a bridged case, which has a customer with an address. */
  readonly mailboxId?: string | null;
  /** The widget through which the customer opens a case. */
  readonly widgetId?: string | null;
  /** The group whose members take part in the case while they are in it. */
  readonly teamGroupId?: string | null;
  /** A user that can read the conversation, or a group. */
  readonly assigneeId?: string | null;
  readonly topic?: { readonly type: 'account' | 'actor' | 'entity'; readonly id: string } | null;
  readonly metadata?: Metadata | undefined;
  /** The key of a direct message, from directKeyOf. */
  readonly directKey?: string;
  readonly externalId?: string | undefined;
  readonly participants: readonly NewParticipant[];
}

/** Returns a key that is unique within the account, so two users have one direct message. */
export function directKeyOf(actorIds: readonly [string, string]): string {
  return actorIds.toSorted().join(' ');
}

export interface CreatedConversation {
  readonly conversation: ConversationRow;
  readonly participants: readonly ParticipantRow[];
}

/**
 * Inserts a conversation and its participants, in the given order. The caller has validated them.
 * Throws if a conversation with the same direct key exists.
 */
export async function createConversation(tx: Tx, input: NewConversation): Promise<CreatedConversation> {
  const created = await createUnlessThere(tx, input);
  if (created === undefined) throw new Error('there is a direct message of the same two');
  return created;
}

/**
 * Like `createConversation`, but returns undefined if the direct key or the external id exists.
 * Waits for a concurrent transaction that inserts it.
 */
export async function createUnlessThere(
  tx: Tx,
  input: NewConversation,
): Promise<CreatedConversation | undefined> {
  const created = await tx.kysely
    .insertInto('conversations')
    .values({
      id: newId('conversation'),
      account_id: input.accountId,
      type: input.type,
      audience: input.audience ?? 'internal',
      title: input.title ?? null,
      workflow_status: input.audience === 'customer' ? 'new' : null,
      group_id: input.groupId ?? null,
      inbox_id: input.mailboxId ?? null,
      widget_id: input.widgetId ?? null,
      team_group_id: input.teamGroupId ?? null,
      assignee_id: input.assigneeId ?? null,
      assigned_at: input.assigneeId ? sql<string>`clock_timestamp()` : null,
      topic_type: input.topic?.type ?? null,
      topic_id: input.topic?.id ?? null,
      direct_key: input.directKey ?? null,
      metadata: storedMetadata(input.metadata),
      external_id: input.externalId ?? null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  if (created === undefined) return undefined;
  const { id: conversation_id, account_id, inbox_id } = created;
  // The next mail of a bridged case begins with the state of this row.
  if (inbox_id !== null) {
    await tx.kysely.insertInto('mail_threads').values({ conversation_id, account_id }).execute();
  }
  return { conversation: created, participants: await addParticipants(tx, created, input.participants) };
}

/** Throws if there is no such conversation. */
export function readConversation(tx: Tx, id: string): Promise<ConversationRow> {
  return conversation(tx, id).executeTakeFirstOrThrow();
}

function conversation(tx: Tx, id: string) {
  return tx.kysely.selectFrom('conversations').selectAll().where('id', '=', id);
}

/** Returns undefined if the account has no such conversation. */
export function findConversation(
  tx: Tx,
  accountId: string,
  id: string,
): Promise<ConversationRow | undefined> {
  return conversation(tx, id).where('account_id', '=', accountId).executeTakeFirst();
}

/** Like `findConversation`, but locks the row until the transaction ends. */
export function lockConversationOf(
  tx: Tx,
  accountId: string,
  id: string,
): Promise<ConversationRow | undefined> {
  return conversation(tx, id).where('account_id', '=', accountId).forNoKeyUpdate().executeTakeFirst();
}

/**
 * Locks and returns the conversation. Until the transaction ends, only this transaction can change
 * it, add messages to or from customers, and take numbers without the counters. It does not wait
 * for inserted messages, whose foreign key holds the row as well: an insert may wait for a number
 * that this transaction writes.
 */
export function lockConversation(tx: Tx, id: string): Promise<ConversationRow> {
  return conversation(tx, id).forNoKeyUpdate().executeTakeFirstOrThrow();
}

/** Locks conversations as `lockConversation` does. */
export async function lockConversations(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.query(LOCK_CONVERSATIONS, ids);
}

export function lockConversationsOfMember(tx: Tx, actorId: string): Promise<ConversationRow[]> {
  const memberships = tx.kysely
    .selectFrom('participants')
    .where('actor_id', '=', actorId)
    .where('membership', 'in', MEMBER);
  return (
    tx.kysely
      .selectFrom('conversations')
      .selectAll()
      .where('id', 'in', memberships.select('conversation_id'))
      // The order is fixed, so that two such transactions cannot deadlock.
      .orderBy('id')
      .forNoKeyUpdate()
      .execute()
  );
}

/**
 * Returns whether the conversation is under legal hold, and locks that state until the transaction
 * ends. Code that deletes, edits or purges messages calls this first (docs/contract.md#legal-hold).
 * Throws ApiError `resource_gone` if the conversation was deleted, or an error if it never existed.
 */
export async function lockAgainstHold(tx: Tx, conversationId: string): Promise<boolean> {
  return (await shareConversation(tx, conversationId)) === 'held';
}

/**
 * Locks the conversation against `lockConversation` and changes until the transaction ends, and
 * returns its legal hold. The lock is shared. Throws ApiError `resource_gone` if it was deleted.
 */
export async function shareConversation(
  tx: Tx,
  conversationId: string,
): Promise<ConversationRow['legal_hold']> {
  const { legal_hold, deleted_at } = await tx.kysely
    .selectFrom('conversations')
    .select(['legal_hold', 'deleted_at'])
    .where('id', '=', conversationId)
    .forShare()
    .executeTakeFirstOrThrow();
  if (deleted_at !== null) throw conversationGone();
  return legal_hold;
}

/** Makes a locked conversation a tombstone, without a direct key and in no list. */
export async function writeDeleted(tx: Tx, id: string, by: string): Promise<void> {
  await writeConversation(tx, id, {
    deleted_at: sql<string>`clock_timestamp()`,
    deleted_by: by,
    deleted_direct_key: sql<string>`direct_key`,
    direct_key: null,
  });
}

/** Restores a tombstone. Throws if its two users have begun another direct message meanwhile. */
export async function writeRestored(tx: Tx, id: string): Promise<void> {
  await writeConversation(tx, id, {
    deleted_at: null,
    deleted_by: null,
    direct_key: sql<string>`deleted_direct_key`,
    deleted_direct_key: null,
  });
}

/** Returns whether the conversation was deleted more than `days` days ago, by Postgres' clock. */
export async function isDeletedSince(tx: Tx, id: string, days: number): Promise<boolean> {
  return (await tx.query(DELETED_SINCE, id, days)).length > 0;
}

/** Returns conversations deleted more than `days` days ago and not held, oldest first. */
export async function readExpiredConversations(db: Db, days: number, limit: number): Promise<string[]> {
  const rows = await db.query(READ_EXPIRED, days, limit);
  return rows.map(({ id }) => id);
}

/** Returns conversations of an account, deleted ones included. */
export async function readConversationIdsOf(db: Db, accountId: string, limit: number): Promise<string[]> {
  const rows = await db.query(READ_IDS_OF_ACCOUNT, accountId, limit);
  return rows.map(({ id }) => id);
}

/** Returns conversations of an account that are under legal hold, deleted ones included. */
export async function readHeldIdsOf(db: Db, accountId: string, limit: number): Promise<string[]> {
  const rows = await db.query(READ_HELD_IDS_OF_ACCOUNT, accountId, limit);
  return rows.map(({ id }) => id);
}

/** Locks a conversation deleted more than `days` days ago; undefined if it was not, or is held. */
export async function lockExpired(
  tx: Tx,
  id: string,
  days: number,
): Promise<Pick<ConversationRow, 'id' | 'account_id'> | undefined> {
  const [locked] = await tx.query(LOCK_EXPIRED, id, days);
  return locked;
}

/** Deletes a locked conversation of which only the participants remain. */
export async function deleteEmptyConversation(tx: Tx, id: string): Promise<void> {
  await tx.kysely.deleteFrom('participants').where('conversation_id', '=', id).execute();
  await tx.kysely.deleteFrom('conversations').where('id', '=', id).execute();
  // The delivery job of scheduled messages names the conversation.
  await removeJob(tx, id);
}

/**
 * Locks and returns the conversation with this direct key, and throws if there is none. Rows that
 * refer to it can be inserted meanwhile.
 */
export function lockByDirectKey(tx: Tx, accountId: string, directKey: string): Promise<ConversationRow> {
  return tx.kysely
    .selectFrom('conversations')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('direct_key', '=', directKey)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
}

export type ConversationChange = Omit<UpdateObject<Schema, 'conversations'>, 'updated_at' | 'changed_in'>;

/**
 * Writes columns of a locked conversation, and marks it as changed for readers that catch up.
 * Returns when the present assignee was set. Throws `resource_exists` (param external_id).
 */
export async function writeConversation(
  tx: Tx,
  id: string,
  change: ConversationChange,
): Promise<string | null> {
  const { assigned_at } = await tx.kysely
    .updateTable('conversations')
    .set({
      ...change,
      ...('assignee_id' in change && { assigned_at: sql<string>`clock_timestamp()` }),
      ...touched(),
    })
    .where('id', '=', id)
    .returning('assigned_at')
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw isUniqueViolation(error, 'conversations_external_id') ? externalIdTaken('conversation') : error;
    });
  return assigned_at;
}

/** Returns the highest number that the reader may see, at least the last purged one; 0 if none. */
export async function readHeadOfReader(
  tx: Tx,
  conversationId: string,
  forCustomer: boolean,
): Promise<number> {
  const [row] = await tx.query(READ_HEAD_OF_READER, conversationId, forCustomer);
  return row?.head ?? 0;
}

/** Makes creations by the same external id follow one another until the transaction ends. */
export async function lockExternalId(tx: Tx, accountId: string, externalId: string): Promise<void> {
  await tx.query(LOCK_EXTERNAL_ID, `${accountId} conversation ${externalId}`);
}

/** Returns whether the account has the group, and prevents its deletion in this transaction. */
export async function hasGroup(tx: Tx, accountId: string, id: string): Promise<boolean> {
  const group = await tx.kysely
    .selectFrom('messaging_groups')
    .select('id')
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .forKeyShare()
    .executeTakeFirst();
  return group !== undefined;
}

/** Returns each roster's current version (ConversationFacts.rosterVersion) by conversation id. */
export async function readRosterVersions(
  db: Db,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = ids.length === 0 ? [] : await db.query(READ_ROSTER_VERSIONS, ids);
  return new Map(rows.map(({ id, roster_version }) => [id, roster_version]));
}

const READ_ROSTER_VERSIONS = statement<[ids: readonly string[]], { id: string; roster_version: number }>(
  'read-roster-versions',
)`
    SELECT id, roster_version FROM conversations WHERE id = ANY($1)`;

const LOCK_EXTERNAL_ID = statement<[name: string]>('lock-external-id-of-conversation')`
    SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`;

const DELETED_SINCE = statement<[id: string, days: number]>('conversation-deleted-since')`
    SELECT FROM conversations WHERE id = $1 AND deleted_at < clock_timestamp() - make_interval(days => $2)`;

const READ_IDS_OF_ACCOUNT = statement<[accountId: string, limit: number], { id: string }>(
  'read-conversation-ids-of-account',
)`
    SELECT id FROM conversations WHERE account_id = $1 ORDER BY created_at, id LIMIT $2`;

const READ_HELD_IDS_OF_ACCOUNT = statement<[accountId: string, limit: number], { id: string }>(
  'read-held-conversation-ids-of-account',
)`
    SELECT id FROM conversations WHERE account_id = $1 AND legal_hold = 'held' ORDER BY created_at, id LIMIT $2`;

const READ_EXPIRED = statement<[days: number, limit: number], { id: string }>('read-expired-conversations')`
    SELECT id FROM conversations
    WHERE deleted_at < clock_timestamp() - make_interval(days => $1) AND legal_hold <> 'held'
    ORDER BY deleted_at LIMIT $2`;

const LOCK_CONVERSATIONS = statement<[ids: readonly string[]], { id: string }>('lock-conversations')`
    SELECT id FROM conversations WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`;

const LOCK_EXPIRED = statement<[id: string, days: number], { id: string; account_id: string }>(
  'lock-expired-conversation',
)`
    SELECT id, account_id FROM conversations
    WHERE id = $1 AND deleted_at < clock_timestamp() - make_interval(days => $2) AND legal_hold <> 'held'
    FOR UPDATE`;

const READ_HEAD_OF_READER = statement<[conversationId: string, forCustomer: boolean], { head: number }>(
  'read-head-of-reader',
)`
    SELECT greatest(c.purged_through, (
        SELECT sequence FROM messages
        WHERE conversation_id = c.id AND sequence IS NOT NULL
          AND (NOT $2::boolean OR (status = 'sent' AND visibility <> 'internal'))
        ORDER BY sequence DESC LIMIT 1
      )) AS head
    FROM conversations c WHERE c.id = $1`;
