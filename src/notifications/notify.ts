import type { ConversationFacts, Member } from '../conversations/directory.ts';
import type { MessageRow } from '../conversations/message-rows.ts';
import type { Actor } from '../protocol/actor.ts';
import { newId } from '../protocol/ids.ts';
import { PREVIEW_CHARACTERS } from '../protocol/notification.ts';

/** A notification that a message makes, before Postgres has given it its times. */
export interface NewNotification {
  readonly id: string;
  readonly account_id: string;
  readonly recipient_id: string;
  readonly category: 'chat.message' | 'chat.mention';
  readonly title: string;
  readonly body: string | null;
  readonly sender_id: string | null;
  readonly sender_type: 'user' | 'group' | 'system';
  readonly resource_id: string;
  readonly message_id: string;
}

/**
 * Who is told of a message, and how (design.md section 7, notifications): every member that is a user
 * but its author; a mention makes `chat.mention` and pierces the mute. Agents and customers have none.
 */
export function notificationsFor(
  row: MessageRow,
  sender: Actor | null,
  facts: ConversationFacts,
): NewNotification[] {
  const mentioned = new Set(row.mentions);
  const told: NewNotification[] = [];
  for (const [actorId, member] of facts.members) {
    if (actorId === row.author_id || member.type !== 'user') continue;
    const isMention = mentioned.has(actorId);
    if (member.muted && !isMention) continue;
    told.push(notification(row, sender, facts, member, isMention));
  }
  return told;
}

function notification(
  row: MessageRow,
  sender: Actor | null,
  facts: ConversationFacts,
  recipient: Member,
  isMention: boolean,
): NewNotification {
  const name = sender?.name ?? 'Someone';
  const where = facts.title === null ? '' : ` in ${facts.title}`;
  return {
    id: newId('notification'),
    account_id: row.account_id,
    recipient_id: recipient.actor.id,
    category: isMention ? 'chat.mention' : 'chat.message',
    title: isMention ? `${name} mentioned you${where}` : `${name}${where}`,
    body: row.body === null ? null : preview(row.body),
    sender_id: sender?.id ?? null,
    sender_type: senderType(sender),
    resource_id: row.conversation_id,
    message_id: row.id,
  };
}

/** Agents and keys count as the system (design.md section 7). */
function senderType(sender: Actor | null): NewNotification['sender_type'] {
  return sender?.type === 'user' || sender?.type === 'group' ? sender.type : 'system';
}

/** The first characters as people count them, so that no surrogate pair is cut. */
function preview(body: string): string {
  if (body.length <= PREVIEW_CHARACTERS) return body;
  return [...body.slice(0, 2 * PREVIEW_CHARACTERS)].slice(0, PREVIEW_CHARACTERS).join('');
}
