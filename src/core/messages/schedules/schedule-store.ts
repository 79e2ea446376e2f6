import type { ActorType } from '@parley/protocol/resources/actor.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { addJob, type JobOptions } from '../../../platform/db/queue/queue.ts';
import { defineTopic } from '../../../platform/db/queue/topic.ts';
import { touched } from '../../../platform/db/tables/touched.ts';
import { isBlockedByTeam } from '../../resources/actor.ts';
import { IS_MEMBER } from '../../resources/membership.ts';
import { MESSAGE_COLUMNS, type MessageKey, type MessageRow } from '../../resources/message.ts';

/**
 * The job that delivers the due scheduled messages of a conversation (scheduled-delivery.ts). Its
 * key is the conversation's id; it runs no later than the first waiting message is due, or may be
 * tried again. Jobs of the previous version have the key of a message.
 */
export const SEND_SCHEDULED = defineTopic<ScheduledJob>('send_scheduled');

export interface ScheduledJob {
  readonly conversation_id: string;
}

export interface AuthorRow {
  readonly id: string;
  readonly type: ActorType;
  readonly customer: boolean;
  /** Whether the actor was deactivated, or the API key has no valid secret left. */
  readonly has_left: boolean;
  /** Whether the team has blocked this customer. */
  readonly blocked: boolean;
  readonly subscribed: boolean;
  readonly admin: boolean;
  readonly permissions: readonly string[];
  /** Null if the author is not an active participant. */
  readonly participant_role: Participant['role'] | null;
}

/** Reschedules a locked message with 0 attempts. Returns undefined if its time is the same. */
export function updateSchedule(
  tx: Tx,
  { id, conversation_id }: MessageKey,
  scheduledAt: string,
): Promise<MessageRow | undefined> {
  return tx.kysely
    .updateTable('messages')
    .set({ scheduled_at: scheduledAt, attempts: 0, ...touched() })
    .where('id', '=', id)
    .where('conversation_id', '=', conversation_id)
    .where('scheduled_at', 'is distinct from', scheduledAt)
    .returning(MESSAGE_COLUMNS)
    .executeTakeFirst();
}

/**
 * Counts an attempt to deliver for each of these locked messages. The message of `next`, if among
 * them, waits that many milliseconds. No event shows attempts, so their times do not change.
 */
export async function countAttempts(
  tx: Tx,
  messageIds: readonly string[],
  next?: { readonly row: MessageKey; readonly afterMs: number },
): Promise<void> {
  if (messageIds.length > 0)
    await tx.query(COUNT_ATTEMPTS, messageIds, next?.row.id ?? '', next?.afterMs ?? 0);
}

/**
 * Adds a delivery of the conversation's waiting messages, no later than at this time. If a message
 * is the reason, the transaction has locked the conversation.
 */
export function addDelivery(
  tx: Tx,
  conversationId: string,
  when: Pick<JobOptions, 'runAt' | 'afterMs'>,
): Promise<void> {
  const job = { conversation_id: conversationId };
  return addJob(tx, SEND_SCHEDULED, job, { key: conversationId, keepsEarlier: true, ...when });
}

/** Adds the deliveries of an account that has arrived from another installation. */
export async function addDeliveriesOf(tx: Tx, accountId: string): Promise<void> {
  await tx.query(ADD_DELIVERIES, accountId);
}

/**
 * Replaces the job of the conversation, which is locked for this transaction alone: it runs in
 * `afterMs`, or when the first waiting message is due. No-op if no message waits.
 */
export async function leaveDelivery(tx: Tx, conversationId: string, afterMs?: number): Promise<void> {
  const job = { conversation_id: conversationId };
  if (afterMs !== undefined) return addJob(tx, SEND_SCHEDULED, job, { key: conversationId, afterMs });
  const [first] = await tx.query(READ_FIRST, conversationId);
  if (first === undefined) return;
  await addJob(tx, SEND_SCHEDULED, job, { key: conversationId, runAt: first.scheduled_at });
}

/** Returns the current rights of actors in the conversation by id, without unknown actors. */
export async function readAuthors(
  tx: Tx,
  actorIds: readonly (string | null)[],
  conversationId: string,
): Promise<ReadonlyMap<string, AuthorRow>> {
  const ids = [...new Set(actorIds)].filter((id) => id !== null);
  const authors = await tx.query(READ_AUTHORS, ids, conversationId);
  return new Map(authors.map((author) => [author.id, author]));
}

const COUNT_ATTEMPTS = statement<[ids: readonly string[], nextId: string, afterMs: number]>(
  'count-attempts-of-scheduled',
)`
    UPDATE messages SET attempts = attempts + 1,
      retry_at = CASE WHEN id = $2 THEN clock_timestamp() + $3::float8 * interval '1 ms' END
    WHERE id = ANY($1)`;

const ADD_DELIVERIES = statement<[accountId: string]>('add-deliveries-of-account')`
    INSERT INTO jobs AS j (key, topic, payload, due_at)
    SELECT c.id, '${SEND_SCHEDULED.name}', jsonb_build_object('conversation_id', c.id), min(m.scheduled_at)
    FROM conversations c JOIN messages m ON m.conversation_id = c.id AND m.status = 'scheduled'
    WHERE c.account_id = $1 GROUP BY c.id
    ON CONFLICT (key) DO UPDATE SET id = excluded.id, due_at = least(j.due_at, excluded.due_at), attempts = 0`;

const READ_FIRST = statement<[conversationId: string], { scheduled_at: string }>('first-scheduled')`
    SELECT scheduled_at FROM messages WHERE conversation_id = $1 AND status = 'scheduled'
    ORDER BY scheduled_at LIMIT 1`;

const READ_AUTHORS = statement<[authorIds: readonly string[], conversationId: string], AuthorRow>(
  'read-scheduled-authors',
)`
    SELECT a.id, a.type, a.customer, a.customer AND ${isBlockedByTeam('a.id')} AS blocked,
      c.subscription = 'active' AS subscribed,
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
    WHERE a.id = ANY($1)`;
