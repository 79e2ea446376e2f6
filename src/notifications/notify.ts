import type { ConversationFacts, Member } from '../conversations/directory.ts';
import type { MessageRow } from '../conversations/message-rows.ts';
import { newId } from '../protocol/ids.ts';
import type { Actor } from '../protocol/resources/actor.ts';
import { type MESSAGING_CATEGORIES, PREVIEW_CHARACTERS } from '../protocol/resources/notification.ts';

/** A notification before Postgres has given it its times. */
export interface NewNotification {
  readonly id: string;
  readonly account_id: string;
  readonly recipient_id: string;
  readonly category:
    | (typeof MESSAGING_CATEGORIES)[number]
    | 'agent.alert'
    | 'agent.run_completed'
    | 'system.broadcast';
  readonly title: string;
  readonly body: string | null;
  readonly sender_id: string | null;
  readonly sender_type: 'user' | 'group' | 'system';
  /** The conversation's; null: it is about none. */
  readonly resource_id: string | null;
  /** Null: no message made it. */
  readonly message_id: string | null;
}

/**
 * Who is told of a message, and how (docs/contract.md#notifications): every member that is a user
 * but its author; a mention makes `chat.mention` and pierces the mute. Agents and customers have none, and
 * what the timeline says of itself (`system_event`) is told to nobody.
 */
export function notificationsFor(
  row: MessageRow,
  sender: Actor | null,
  facts: ConversationFacts,
): NewNotification[] {
  if (row.kind === 'system_event') return [];
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
  return {
    id: newId('notification'),
    account_id: row.account_id,
    recipient_id: recipient.actor.id,
    category: isMention ? 'chat.mention' : categoryOf(row, sender),
    title: titleOf(sender, facts, isMention),
    body: row.body ? preview(row.body) : null,
    sender_id: sender?.id ?? null,
    sender_type: senderType(sender),
    resource_id: row.conversation_id,
    message_id: row.id,
  };
}

/** An alert is named by who raised it (docs/contract.md#notifications). */
function categoryOf(row: MessageRow, sender: Actor | null): NewNotification['category'] {
  if (row.kind !== 'alert') return 'chat.message';
  return sender?.type === 'agent' ? 'agent.alert' : 'system.broadcast';
}

function titleOf(sender: Actor | null, { title }: ConversationFacts, isMention: boolean): string {
  // Nobody wrote it: it comes from the conversation itself.
  if (sender === null) return title ?? 'Announcement';
  const name = sender.name ?? 'Someone';
  const where = title === null ? '' : ` in ${title}`;
  return isMention ? `${name} mentioned you${where}` : `${name}${where}`;
}

/** Agents and keys count as the system (docs/contract.md#notifications). */
export function senderType(sender: Pick<Actor, 'type'> | null): NewNotification['sender_type'] {
  return sender?.type === 'user' || sender?.type === 'group' ? sender.type : 'system';
}

/** The first characters as people count them, so that no surrogate pair is cut. */
export function preview(body: string): string {
  if (body.length <= PREVIEW_CHARACTERS) return body;
  return [...body.slice(0, 2 * PREVIEW_CHARACTERS)].slice(0, PREVIEW_CHARACTERS).join('');
}
