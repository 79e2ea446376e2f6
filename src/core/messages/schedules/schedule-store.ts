import type { ActorType } from '@parley/protocol/resources/actor.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { touched } from '../../../platform/db/tables/touched.ts';
import { isBlockedByTeam } from '../../resources/actor.ts';
import { MESSAGE_COLUMNS, type MessageKey, type MessageRow } from '../../resources/message.ts';
import { IS_MEMBER } from '../../resources/participant.ts';

/** A scheduled message that is overdue by this many milliseconds has lost its job. */
const LOST_AFTER_MS = 3_000;

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
 * Counts an attempt to deliver for each of these locked messages. No event shows attempts, so their
 * times do not change.
 */
export async function countAttempts(tx: Tx, messageIds: readonly string[]): Promise<void> {
  if (messageIds.length === 0) return;
  await tx.kysely
    .updateTable('messages')
    .set((eb) => ({ attempts: eb('attempts', '+', 1) }))
    .where('id', 'in', messageIds)
    .execute();
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

const LOST_BEFORE = `statement_timestamp() - interval '${LOST_AFTER_MS} ms'`;

/**
 * SQL after FROM: messages that should have been sent by now. Only the first that waits in each
 * conversation counts, because the others wait for it (scheduled-delivery.ts).
 */
export const OVERDUE = `messages q WHERE q.status = 'scheduled' AND q.scheduled_at < ${LOST_BEFORE}
      AND NOT EXISTS (
        SELECT FROM messages e WHERE e.conversation_id = q.conversation_id AND e.status = 'scheduled'
          AND (e.scheduled_at, e.created_at, e.id) < (q.scheduled_at, q.created_at, q.id)
      )`;

/** SQL: whether a message is overdue. Its job need not be lost: it may be tried again later. */
export const HAS_OVERDUE = `(
    SELECT scheduled_at FROM messages WHERE status = 'scheduled' ORDER BY scheduled_at LIMIT 1
  ) < ${LOST_BEFORE}`;

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

/**
 * A message has at most one waiting job, whose key is the message's id. The job delivers all due
 * messages of the conversation.
 */
export interface ScheduledJob {
  readonly message_id: string;
  readonly conversation_id: string;
}
