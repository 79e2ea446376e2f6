import type { ConversationFacts, Member } from '../conversations/directory.ts';
import type { Actor } from '../protocol/resources/actor.ts';
import { type MESSAGING_CATEGORIES, PREVIEW_CHARACTERS } from '../protocol/resources/notification.ts';
import type { MessageRow } from '../resources/message.ts';

/** A notification before Postgres has made its id and its times. */
export interface NewNotification {
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
  /** The conversation's id; null if it is about none. */
  readonly resource_id: string | null;
  /** The message that it is about; null: none. */
  readonly message_id: string | null;
  /** Null: the message. */
  readonly cause: Cause | null;
}

/** What caused a notification where no message did: the same cause again makes the same notification. */
export interface Cause {
  /** Names the cause among everything that notifies a recipient. */
  readonly key: string;
  /** When it became true: a time that Postgres has stored with the cause. */
  readonly at: string;
}

/**
 * Returns the notifications of a message (docs/contract.md#notifications): one for every participant that is a user,
 * except the author; a mention becomes `chat.mention` and overrides the mute. Agents and customers get none, and
 * system messages (`system_event`) cause none.
 */
export function notificationsFor(
  row: MessageRow,
  sender: Actor | null,
  facts: ConversationFacts,
): NewNotification[] {
  if (row.kind === 'system_event') return [];
  const mentioned = new Set(row.mentions);
  const notifications: NewNotification[] = [];
  for (const [actorId, member] of facts.members) {
    if (actorId === row.author_id || member.type !== 'user') continue;
    const isMention = mentioned.has(actorId);
    if (member.muted && !isMention) continue;
    notifications.push(notification(row, sender, facts, member, isMention));
  }
  return notifications;
}

function notification(
  row: MessageRow,
  sender: Actor | null,
  facts: ConversationFacts,
  recipient: Member,
  isMention: boolean,
): NewNotification {
  return {
    account_id: row.account_id,
    recipient_id: recipient.actor.id,
    category: isMention ? 'chat.mention' : categoryOf(row, sender),
    title: titleOf(sender, facts, isMention),
    body: row.body ? preview(row.body) : null,
    sender_id: sender?.id ?? null,
    sender_type: senderType(sender),
    resource_id: row.conversation_id,
    message_id: row.id,
    cause: null,
  };
}

/** The category of an alert depends on its author (docs/contract.md#notifications). */
function categoryOf(row: MessageRow, sender: Actor | null): NewNotification['category'] {
  if (row.kind !== 'alert') return 'chat.message';
  return sender?.type === 'agent' ? 'agent.alert' : 'system.broadcast';
}

function titleOf(sender: Actor | null, { title }: ConversationFacts, isMention: boolean): string {
  // The message has no author: it comes from the conversation itself.
  if (sender === null) return title ?? 'Announcement';
  const name = sender.name ?? 'Someone';
  const where = title === null ? '' : ` in ${title}`;
  return isMention ? `${name} mentioned you${where}` : `${name}${where}`;
}

/** Agents and keys count as the system (docs/contract.md#notifications). */
export function senderType(sender: Pick<Actor, 'type'> | null): NewNotification['sender_type'] {
  return sender?.type === 'user' || sender?.type === 'group' ? sender.type : 'system';
}

/** Returns the first characters, counted as code points, so that no surrogate pair is split. */
export function preview(body: string): string {
  if (body.length <= PREVIEW_CHARACTERS) return body;
  return [...body.slice(0, 2 * PREVIEW_CHARACTERS)].slice(0, PREVIEW_CHARACTERS).join('');
}
