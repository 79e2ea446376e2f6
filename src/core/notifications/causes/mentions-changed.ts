import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import type { ConversationDirectory, ConversationFacts } from '../../conversations/directory/directory.ts';
import { readRosterVersions } from '../../conversations/rows/conversation-store.ts';
import type { MessageEdited } from '../../messages/outbox-topics.ts';
import { readActors } from '../../resources/actor.ts';
import type { MessageRow } from '../../resources/message.ts';
import { preview } from '../../resources/notification.ts';
import { enqueueUpdated } from '../feed/mark.ts';
import { enqueueNotified, type NotificationKey, notifyUsers } from '../feed/notify-users.ts';
import { senderType, titleOf } from './notify.ts';

/**
 * Follows an edit that changed the mentions of a sent message, by its current mentions. Newly
 * mentioned participants are notified as by a new mention, even if they have notifications of it as
 * an ordinary message. Participants that are no longer mentioned keep it as an ordinary message; if
 * they have muted the conversation, it is dismissed. Handles MESSAGE_EDITED; may be called again,
 * and in any order.
 */
export async function followMentions(
  database: Database,
  directory: Pick<ConversationDirectory, 'factsSince'>,
  { message_id, conversation_id, mentions = [] }: MessageEdited,
): Promise<void> {
  if (mentions.length === 0) return;
  const rosters = await readRosterVersions(database, [conversation_id]);
  const facts = await directory.factsSince(conversation_id, rosters.get(conversation_id) ?? 0);
  if (facts === undefined) return;
  await database.transaction(async (tx) => {
    const [message] = await tx.query(LOCK_MESSAGE, message_id, conversation_id);
    if (message === undefined) return;
    const recipients = mentions.filter((id) => isNotified(id, message, facts));
    const current = new Set(message.mentions);
    const mentioned = recipients.filter((id) => current.has(id));
    await mention(tx, message, facts, mentioned);
    const others = recipients.filter((id) => !current.has(id));
    await unmention(tx, message, facts, others);
  });
}

type Mentioning = Pick<
  MessageRow,
  'id' | 'account_id' | 'conversation_id' | 'kind' | 'body' | 'mentions' | 'sender_id' | 'author_id'
> & { readonly moment: string };

function isNotified(id: string, { author_id }: Mentioning, { members }: ConversationFacts): boolean {
  const member = members.get(id);
  return member?.type === 'user' && !member.deactivated && id !== author_id;
}

async function mention(
  tx: Tx,
  message: Mentioning,
  facts: ConversationFacts,
  recipients: readonly string[],
): Promise<void> {
  if (recipients.length === 0) return;
  const sender = await senderOf(tx, message);
  const title = titleOf(sender, facts, true);
  const raised = await tx.query(RAISE, message.id, message.moment, recipients, title);
  await enqueueNotified(tx, 'notification.created', raised);
  // Each gets the id of the notification that would have been written with the message.
  await notifyUsers(tx, recipients, {
    account_id: message.account_id,
    category: 'chat.mention',
    title,
    body: preview(message),
    sender_id: message.sender_id,
    sender_type: senderType(sender),
    resource: { type: 'entity', id: message.conversation_id },
    message_id: message.id,
    cause: { key: message.id, at: message.moment },
  });
}

async function unmention(
  tx: Tx,
  message: Mentioning,
  facts: ConversationFacts,
  recipients: readonly string[],
): Promise<void> {
  if (recipients.length === 0) return;
  const title = titleOf(await senderOf(tx, message), facts, false);
  const now = Date.now();
  const muted = recipients.filter((id) => facts.members.get(id)!.mutedUntilMs > now);
  await enqueueUpdated(tx, await tx.query(LOWER, message.id, message.moment, recipients, title, muted));
}

async function senderOf(tx: Tx, { sender_id }: Mentioning) {
  return sender_id === null ? null : ((await readActors(tx, [sender_id])).get(sender_id) ?? null);
}

const LOCK_MESSAGE = statement<[messageId: string, conversationId: string], Mentioning>(
  'lock-message-for-mentions',
)`
    SELECT m.id, m.account_id, m.conversation_id, m.kind, m.body, m.mentions, m.sender_id, m.author_id, moment_of(m) AS moment
    FROM messages m
    WHERE m.id = $1 AND m.conversation_id = $2 AND m.status = 'sent' AND m.deleted_at IS NULL FOR SHARE`;

/** SQL: the notifications of a message, by their ids, locked in the order of the primary key. */
const OF_MESSAGE = `(
      SELECT o.id, o.recipient_id FROM unnest($3::text[]) AS r(id)
      JOIN notifications o ON o.recipient_id = r.id AND o.id = notification_id($2::timestamptz, $1, r.id)
      ORDER BY o.recipient_id, o.id FOR UPDATE OF o
    ) AS due
    WHERE n.recipient_id = due.recipient_id AND n.id = due.id`;

const RAISE = statement<
  [messageId: string, moment: string, recipientIds: readonly string[], title: string],
  NotificationKey
>('raise-notifications-to-mentions')`
    UPDATE notifications n SET category = 'chat.mention', title = $4, status = 'unseen', seen_at = NULL, read_at = NULL,
      dismissed_at = NULL, ${setTouched('later_than(n.updated_at)')}
    FROM ${OF_MESSAGE} AND n.category <> 'chat.mention'
    RETURNING n.id, n.recipient_id`;

const LOWER = statement<
  [
    messageId: string,
    moment: string,
    recipientIds: readonly string[],
    title: string,
    dismissed: readonly string[],
  ],
  NotificationKey
>('lower-mentions-to-messages')`
    UPDATE notifications n SET category = 'chat.message', title = $4,
      status = CASE WHEN n.recipient_id = ANY($5) THEN 'dismissed' ELSE n.status END,
      dismissed_at = CASE WHEN n.recipient_id = ANY($5) THEN coalesce(n.dismissed_at, clock_timestamp()) ELSE n.dismissed_at END,
      ${setTouched('later_than(n.updated_at)')}
    FROM ${OF_MESSAGE} AND n.category = 'chat.mention'
    RETURNING n.id, n.recipient_id`;
