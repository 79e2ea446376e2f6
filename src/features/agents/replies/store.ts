import { type Insertable, sql } from 'kysely';
import { MESSAGE_COLUMNS, type MessageRow } from '../../../core/resources/message.ts';
import { IS_MEMBER } from '../../../core/resources/participant.ts';
import type { RunRow } from '../../../core/resources/run.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { touched } from '../../../platform/db/tables/touched.ts';

export interface ReplyPosition {
  readonly id: string;
  readonly conversation_id: string;
}

/** Records which message a run writes, under the fence of its claim. Rejects with ClaimLost. */
export async function claimReply(
  db: Db,
  { id, owner, fence }: Pick<RunRow, 'id' | 'owner' | 'fence'>,
  messageId: string,
): Promise<void> {
  const rows = await db.query(NOTE, id, owner, fence, messageId);
  if (rows.length === 0) throw new ClaimLost();
}

class ClaimLost extends Error {
  constructor() {
    super('the run is not of this node any more');
    this.name = 'ClaimLost';
  }
}

/** The part of a reply that a checkpoint stores. */
export interface ReplyCheckpoint {
  readonly id: string;
  readonly conversation_id: string;
  readonly run_id: string;
  readonly fence: number;
  readonly body: string;
}

/** Stores the texts of streaming messages whose claims this node still holds. */
export async function updateCheckpoints(
  db: Db,
  nodeId: string,
  unkept: readonly ReplyCheckpoint[],
): Promise<void> {
  await db.query(KEEP, JSON.stringify(unkept), nodeId);
}

/** The final content of a streamed message. */
export interface CompleteContent {
  readonly body: string;
  readonly hasAttachments: boolean;
  readonly mentions: readonly string[] | null;
}

/** Completes a streaming message. Returns false if it is not streaming, or does not exist. */
export async function completeMessage(
  tx: Tx,
  { id, conversation_id }: ReplyPosition,
  { body, hasAttachments, mentions }: CompleteContent,
): Promise<boolean> {
  const ended = await tx.kysely
    .updateTable('messages')
    .set({ ...COMPLETE, body, has_attachments: hasAttachments, mentions: mentions && [...mentions] })
    .where('id', '=', id)
    .where('conversation_id', '=', conversation_id)
    .where('streaming_state', '=', 'streaming')
    .returning('id')
    .executeTakeFirst();
  return ended !== undefined;
}

/** Completes the streaming messages of a run with their stored bodies, and returns them. */
export function completeMessagesOf(
  tx: Tx,
  runId: string,
  conversationId: string,
): Promise<Pick<MessageRow, 'id' | 'conversation_id' | 'sequence'>[]> {
  return tx.kysely
    .updateTable('messages')
    .set(COMPLETE)
    .where('conversation_id', '=', conversationId)
    .where('streaming_state', '=', 'streaming')
    .where('agent_run_id', '=', runId)
    .returning(['id', 'conversation_id', 'sequence'])
    .execute();
}

/**
 * Returns ended or waiting runs that still have a streaming text, because a node that had lost the
 * run without knowing it began the text afterwards.
 */
export function findStrays(db: Db): Promise<Pick<RunRow, 'id' | 'conversation_id'>[]> {
  return db.query(FIND_STRAYS);
}

/** Returns files of a run in the order of their creation. */
export function readArtifacts(tx: Tx, runId: string, ids: readonly string[]) {
  return tx.kysely
    .selectFrom('artifacts')
    .select(['s3_key', 'filename', 'content_type', 'size_bytes'])
    .where('run_id', '=', runId)
    .where('id', 'in', ids)
    .orderBy('id')
    .execute();
}

export async function insertAttachments(
  tx: Tx,
  attachments: readonly Insertable<Schema['attachments']>[],
): Promise<void> {
  await tx.kysely.insertInto('attachments').values(attachments).execute();
}

/** Locks and returns the open draft that an earlier claim of the run composed. */
export function lockEarlierDraft(
  tx: Tx,
  runId: string,
  conversationId: string,
): Promise<MessageRow | undefined> {
  return tx.kysely
    .selectFrom('messages')
    .select(MESSAGE_COLUMNS)
    .where('conversation_id', '=', conversationId)
    .where('agent_run_id', '=', runId)
    .where('status', '=', 'draft')
    .where('streaming_state', '=', 'complete')
    .orderBy('id', 'desc')
    .limit(1)
    .forUpdate()
    .executeTakeFirst();
}

/** Marks a message as edited by a person. Its time stays, because no event shows the mark. */
export async function updateEditedAt(
  tx: Tx,
  { id, conversation_id }: ReplyPosition,
  edited_at: string,
): Promise<void> {
  await tx.kysely
    .updateTable('messages')
    .set({ edited_at })
    .where('id', '=', id)
    .where('conversation_id', '=', conversation_id)
    .execute();
}

/** Returns the message that a completed run has written, in whatever state. */
export async function readDraftOf(db: Db, runId: string): Promise<DraftOfRun | undefined> {
  const [draft] = await db.query(READ_DRAFT, runId);
  return draft;
}

export type DraftOfRun = Pick<MessageRow, 'id' | 'conversation_id' | 'status'>;

/** The state of a conversation since a run was triggered. */
export interface Answers {
  /** A person has answered the customer. */
  readonly is_answered: boolean;
  /** The author of the draft may still write in the conversation. */
  readonly may_send: boolean;
}

/** Returns undefined if there is no such run. The conversation is locked. */
export async function readAnswers(
  tx: Tx,
  runId: string,
  { conversation_id, author_id }: Pick<MessageRow, 'conversation_id' | 'author_id'>,
): Promise<Answers | undefined> {
  const [found] = await tx.query(READ_ANSWERS, runId, conversation_id, author_id);
  return found;
}

// A text notifies when it is complete.
const COMPLETE = {
  streaming_state: 'complete' as const,
  notified_at: sql<string>`clock_timestamp()`,
  ...touched(),
};

const NOTE = statement<[id: string, owner: string | null, fence: number, messageId: string]>('note-reply')`
    UPDATE agent_runs SET reply_message_id = $4
    WHERE id = $1 AND owner = $2 AND fence = $3::bigint AND status = 'running'
    RETURNING id`;

// Sets neither `updated_at` nor `changed_in`: nothing has changed for sockets that read along.
const KEEP = statement<[unkept: string, nodeId: string]>('keep-replies')`
    UPDATE messages m SET body = k.body
    FROM json_to_recordset($1::json)
        AS k(id text, conversation_id text, run_id text, fence bigint, body text)
      JOIN agent_runs r ON r.id = k.run_id
    WHERE m.id = k.id AND m.conversation_id = k.conversation_id AND m.streaming_state = 'streaming'
      AND r.owner = $2 AND r.fence = k.fence`;

const FIND_STRAYS = statement<[], Pick<RunRow, 'id' | 'conversation_id'>>('find-stray-replies')`
    SELECT DISTINCT r.id, r.conversation_id
    FROM messages m JOIN agent_runs r ON r.id = m.agent_run_id
    WHERE m.streaming_state = 'streaming' AND r.status <> 'running'
      AND r.updated_at < clock_timestamp() - interval '5 s'`;

const READ_DRAFT = statement<[runId: string], DraftOfRun>('read-draft-of-run')`
    SELECT m.id, m.conversation_id, m.status
    FROM agent_runs r JOIN messages m ON m.id = r.reply_message_id AND m.conversation_id = r.conversation_id
    WHERE r.id = $1 AND r.status = 'completed'`;

// Numbers are assigned under the lock, so the messages after the trigger's number are exactly those
// that did not exist before it. The trigger counts as well: if it is a person's own answer to the
// customer, no other answer was requested. Numbers are compared because a time may be that of a
// transaction that waited. API keys count as people who work through another program.
const READ_ANSWERS = statement<[runId: string, conversationId: string, authorId: string | null], Answers>(
  'read-answers-since-run',
)`
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
