import type { Question, QuestionStatus } from '@parley/protocol/resources/question.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';

export interface OpenedQuestion {
  readonly message_id: string;
  readonly conversation_id: string;
  readonly account_id: string;
  readonly expires_at: string;
  readonly callback_url: string | null;
}

export async function insertQuestion(tx: Tx, question: OpenedQuestion): Promise<void> {
  await tx.kysely.insertInto('questions').values(question).execute();
}

/** What waits, by the clock of Postgres. */
export interface WaitingQuestion {
  readonly is_overdue: boolean | null;
  readonly now: string;
}

/** Reads what waits for the end of the question of a locked message. */
export async function readWaiting(tx: Tx, messageId: string): Promise<WaitingQuestion> {
  const [row] = await tx.query(READ_WAITING, messageId);
  return row!;
}

export interface EndOfQuestion {
  readonly status: Exclude<QuestionStatus, 'open'>;
  readonly ended_at: string;
  readonly answered_by: string | null;
}

/** Writes the end of the question of a locked message. Returns where it is posted, or null. */
export async function writeEnd(
  tx: Tx,
  messageId: string,
  { status, ended_at, answered_by }: EndOfQuestion,
): Promise<string | null> {
  const [row] = await tx.query(WRITE_END, messageId, status, ended_at, answered_by);
  return row?.callback_url ?? null;
}

/** A question that ended, with its answer unless the message was deleted since. */
export interface EndedQuestion extends Pick<EndOfQuestion, 'status' | 'ended_at'> {
  readonly message_id: string;
  readonly conversation_id: string;
  readonly answer: Question['answer'];
}

export function readEnded(db: Db, messageIds: readonly string[]): Promise<EndedQuestion[]> {
  return db.query(READ_ENDED, messageIds);
}

/** Returns messages whose questions are due to expire. */
export async function readDue(db: Db, limit: number): Promise<DueQuestion[]> {
  return db.query(READ_DUE, limit);
}

/** Returns messages with open questions of a conversation. */
export async function readOpenIn(db: Db, conversationId: string): Promise<DueQuestion[]> {
  return db.query(READ_OPEN, conversationId);
}

export interface DueQuestion {
  readonly id: string;
  readonly conversation_id: string;
}

/** SQL: whether a question is due to expire. */
export const HAS_DUE = `(
    SELECT expires_at FROM questions WHERE expires_at IS NOT NULL ORDER BY expires_at LIMIT 1
  ) <= statement_timestamp()`;

const READ_WAITING = statement<[messageId: string], WaitingQuestion>('read-waiting-question')`
    SELECT expires_at <= clock_timestamp() AS is_overdue, clock_timestamp() AS now
    FROM questions WHERE message_id = $1`;

const WRITE_END = statement<
  [messageId: string, status: string, endedAt: string, by: string | null],
  { callback_url: string | null }
>('end-question')`
    UPDATE questions SET status = $2, expires_at = NULL, ended_at = $3::timestamptz, answered_by = $4
    WHERE message_id = $1 RETURNING callback_url`;

const READ_ENDED = statement<[messageIds: readonly string[]], EndedQuestion>('read-ended-questions')`
    SELECT q.message_id, q.conversation_id, q.status, q.ended_at, m.question->'answer' AS answer
    FROM questions q LEFT JOIN messages m ON m.id = q.message_id AND m.conversation_id = q.conversation_id
    WHERE q.message_id = ANY($1) AND q.ended_at IS NOT NULL`;

const READ_DUE = statement<[limit: number], DueQuestion>('read-due-questions')`
    SELECT message_id AS id, conversation_id FROM questions
    WHERE expires_at <= statement_timestamp() ORDER BY expires_at LIMIT $1`;

const READ_OPEN = statement<[conversationId: string], DueQuestion>('read-open-questions')`
    SELECT message_id AS id, conversation_id FROM questions
    WHERE conversation_id = $1 AND expires_at IS NOT NULL ORDER BY message_id`;
