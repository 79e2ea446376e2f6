import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { ParticipantAdded } from '../../conversations/outbox-topics.ts';
import { IS_MEMBER } from '../../resources/membership.ts';
import { hasMuted } from '../../resources/participant.ts';
import { type NewNotification, notifyUsers } from '../feed/notify-users.ts';
import { senderType } from './notify.ts';

/**
 * Notifies a user of being added to a conversation (`chat.added`), unless it has left, muted the
 * conversation or added itself (docs/contract.md#notifications). Handles PARTICIPANT_ADDED and may
 * be called again for the same row.
 */
export async function notifyAdded(database: Database, added: ParticipantAdded): Promise<void> {
  const [joining] = await database.query(READ_JOINING, added.participant_id, added.by);
  if (joining === undefined) return;
  const { by_id, by_type, by_name, title } = joining;
  const where = title ?? 'a conversation';
  const notification: NewNotification = {
    account_id: joining.account_id,
    category: 'chat.added',
    title: by_id === null ? `You were added to ${where}` : `${by_name ?? 'Someone'} added you to ${where}`,
    body: null,
    sender_id: by_id,
    sender_type: senderType(by_type && { type: by_type }),
    resource: { type: 'entity', id: joining.conversation_id },
    cause: { key: `added ${added.participant_id}`, at: added.at },
  };
  await database.transaction((tx) => notifyUsers(tx, [joining.recipient_id], notification));
}

interface JoiningRow {
  readonly account_id: string;
  readonly recipient_id: string;
  readonly conversation_id: string;
  readonly title: string | null;
  /** The actor that added the recipient, or null if there is none. */
  readonly by_id: string | null;
  readonly by_type: Actor['type'] | null;
  readonly by_name: string | null;
}

const READ_JOINING = statement<[participantId: string, by: string | null], JoiningRow>('read-joining')`
    SELECT p.account_id, p.actor_id AS recipient_id, c.id AS conversation_id, c.title,
      a.id AS by_id, a.type AS by_type, a.name AS by_name
    FROM participants p JOIN conversations c ON c.id = p.conversation_id LEFT JOIN actors a ON a.id = $2
    WHERE p.id = $1 AND p.type = 'user' AND p.${IS_MEMBER}
      AND NOT ${hasMuted('p')} AND p.actor_id IS DISTINCT FROM $2`;
