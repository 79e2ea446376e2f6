import type { Db, Tx } from '../db/handle.ts';
import { hasLiveJob } from '../db/queue.ts';
import { statement } from '../db/statement.ts';
import { touched } from '../db/touched.ts';
import type { ActorType } from '../protocol/resources/actor.ts';
import type { Participant } from '../protocol/resources/participant.ts';
import { MESSAGE_COLUMNS, type MessageRow, messageColumns } from '../resources/message.ts';
import { IS_MEMBER } from '../resources/participant.ts';

/** A scheduled message this many milliseconds past its time has lost its job. */
const LOST_AFTER_MS = 3_000;

/** A scheduled message whose time has come. */
export interface DueRow extends MessageRow {
  readonly attempts: number;
  readonly is_too_late: boolean;
}

/** Returns the message if it is due and still waits. */
export async function readDue(
  db: Db,
  { message_id, conversation_id }: ScheduledJob,
): Promise<DueRow | undefined> {
  const [row] = await db.query(READ_DUE, message_id, conversation_id);
  return row;
}

/** Like `readDue`; the row is locked. */
export async function lockDue(
  tx: Tx,
  { message_id, conversation_id }: ScheduledJob,
): Promise<DueRow | undefined> {
  const [row] = await tx.query(LOCK_DUE, message_id, conversation_id);
  return row;
}

export interface AuthorRow {
  readonly type: ActorType;
  readonly customer: boolean;
  /** The actor was deactivated; an API key has no valid secret left. */
  readonly has_left: boolean;
  readonly subscribed: boolean;
  readonly admin: boolean;
  readonly permissions: readonly string[];
  /** Null: not an active participant. */
  readonly participant_role: Participant['role'] | null;
}

/** Whether `lockLost` would find any; one statement instead of a transaction each time that a node looks. */
export async function hasLost(db: Db): Promise<boolean> {
  const [row] = await db.query(HAS_LOST);
  return row!.has_lost;
}

/** Locks messages that should have had their job by now and have none, the oldest first. */
export function lockLost(tx: Tx, limit: number): Promise<{ id: string; conversation_id: string }[]> {
  return tx.query(LOCK_LOST, limit);
}

/** Reschedules a locked message that waits, with no attempts counted. Returns undefined if it has this time already. */
export function updateSchedule(
  tx: Tx,
  { id, conversation_id }: Pick<MessageRow, 'id' | 'conversation_id'>,
  scheduledAt: string,
): Promise<MessageRow | undefined> {
  return tx.kysely
    .updateTable('messages')
    .set({
      scheduled_at: scheduledAt,
      attempts: 0,
      ...touched(),
    })
    .where('id', '=', id)
    .where('conversation_id', '=', conversation_id)
    .where('scheduled_at', 'is distinct from', scheduledAt)
    .returning(MESSAGE_COLUMNS)
    .executeTakeFirst();
}

/** Counts the attempts to deliver a locked message. No event shows them, so its time stays. */
export async function updateAttempts(
  tx: Tx,
  { id, conversation_id }: Pick<MessageRow, 'id' | 'conversation_id'>,
  attempts: number,
): Promise<void> {
  await tx.kysely
    .updateTable('messages')
    .set({ attempts })
    .where('id', '=', id)
    .where('conversation_id', '=', conversation_id)
    .execute();
}

/** The time this many milliseconds from now, by Postgres' clock. */
export async function readLater(tx: Tx, delayMs: number): Promise<string> {
  const [later] = await tx.query(READ_LATER, delayMs);
  return later!.at;
}

/** Whether the time is in the year to come, by Postgres' clock. */
export async function isComing(tx: Tx, scheduledAt: string): Promise<boolean> {
  const [found] = await tx.query(READ_IS_COMING, scheduledAt);
  return found?.is_coming === true;
}

/** What an actor may do now in the conversation; undefined where there is no such actor. */
export async function readAuthor(
  tx: Tx,
  actorId: string | null,
  conversationId: string,
): Promise<AuthorRow | undefined> {
  const [author] = await tx.query(READ_AUTHOR, actorId, conversationId);
  return author;
}

// After a day the message is not expected any more.
const READ_DUE = statement<[messageId: string, conversationId: string], DueRow>({
  name: 'read-due-message',
  text: `
    SELECT ${messageColumns('m')}, m.attempts,
      m.scheduled_at < clock_timestamp() - interval '1 day' AS is_too_late
    FROM messages m
    WHERE m.id = $1 AND m.conversation_id = $2 AND m.status = 'scheduled'
      AND m.scheduled_at <= clock_timestamp()`,
});

const LOCK_DUE = statement<[messageId: string, conversationId: string], DueRow>({
  name: 'lock-due-message',
  text: `${READ_DUE.text} FOR UPDATE`,
});

const LOST = `m.status = 'scheduled' AND m.scheduled_at < clock_timestamp() - interval '${LOST_AFTER_MS} ms'
      AND NOT ${hasLiveJob('m.id')}`;

const HAS_LOST = statement<[], { has_lost: boolean }>({
  name: 'has-lost-messages',
  text: `SELECT EXISTS (SELECT FROM messages m WHERE ${LOST}) AS has_lost`,
});

const LOCK_LOST = statement<[limit: number], { id: string; conversation_id: string }>({
  name: 'lock-lost-messages',
  text: `
    SELECT m.id, m.conversation_id FROM messages m
    WHERE ${LOST}
    ORDER BY m.scheduled_at LIMIT $1 FOR UPDATE OF m SKIP LOCKED`,
});

const READ_LATER = statement<[delayMs: number], { at: string }>({
  name: 'read-later',
  text: `SELECT clock_timestamp() + $1 * interval '1 millisecond' AS at`,
});

const READ_IS_COMING = statement<[scheduledAt: string], { is_coming: boolean }>({
  name: 'read-is-coming',
  text: `
    SELECT $1::timestamptz > clock_timestamp() AND $1::timestamptz <= clock_timestamp() + interval '1 year'
      AS is_coming`,
});

const READ_AUTHOR = statement<[authorId: string | null, conversationId: string], AuthorRow>({
  name: 'read-scheduled-author',
  text: `
    SELECT a.type, a.customer, c.subscription = 'active' AS subscribed,
      coalesce(r.type = 'admin', false) AS admin, coalesce(r.permissions, '{}') AS permissions,
      p.role AS participant_role,
      a.deactivated_at IS NOT NULL OR a.type = 'api_key' AND NOT EXISTS (
        SELECT FROM api_keys k WHERE k.account_id = a.account_id AND k.actor_id = a.id AND k.revoked_at IS NULL
          AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
      ) AS has_left
    FROM actors a
    JOIN accounts c ON c.id = a.account_id
    LEFT JOIN roles r ON r.id = a.role_id
    LEFT JOIN participants p ON p.actor_id = a.id AND p.conversation_id = $2
      AND p.${IS_MEMBER}
    WHERE a.id = $1`,
});

/** A message has at most one waiting job: the job's key is the message's id. */
export interface ScheduledJob {
  readonly message_id: string;
  readonly conversation_id: string;
}
