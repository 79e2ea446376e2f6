import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { ConversationFacts } from '../../conversations/directory/directory.ts';
import type {
  NotificationPlan,
  PlanNotifications,
  PlannedNotification,
} from '../../messages/timeline/planned-notifications.ts';
import type { MessageRow } from '../../resources/message.ts';
import { preview } from '../../resources/notification.ts';

/**
 * Plans the notifications of a message before its commit. A streaming text notifies at its end
 * (core/committed/sent-effects.ts).
 */
export const planNotifications: PlanNotifications = (message, sender, facts, by) => {
  if (message.streaming_state === 'streaming') return undefined;
  const notifications = planned(message, sender, facts, by);
  return {
    rosterVersion: facts.rosterVersion,
    senderType: senderType(sender),
    preview: notifications.length === 0 ? null : preview(message),
    notifications,
  };
};

type Notifying = Pick<MessageRow, 'kind' | 'mentions' | 'author_id'>;

/**
 * Returns one notification for every participant that is an active user, except the author and the
 * person that approved the message. A mention becomes `chat.mention` and overrides the mute
 * (docs/contract.md#notifications). Who is in a case by a group alone leaves other messages to the
 * assignee. Agents and customers get none, and system messages (`system_event`) cause none.
 */
function planned(
  row: Notifying,
  sender: Actor | null,
  facts: ConversationFacts,
  by: string | undefined,
): PlannedNotification[] {
  if (row.kind === 'system_event') return [];
  const mentions = row.mentions && new Set(row.mentions);
  const mentioned: string[] = [];
  const others: string[] = [];
  const now = Date.now();
  for (const [actorId, member] of facts.members) {
    if (actorId === row.author_id || actorId === by || member.type !== 'user' || member.deactivated) continue;
    if (mentions?.has(actorId)) mentioned.push(actorId);
    else if (member.isNotified && member.mutedUntilMs <= now) others.push(actorId);
  }
  const notifications: PlannedNotification[] = [];
  if (mentioned.length > 0) {
    notifications.push({
      category: 'chat.mention',
      title: titleOf(sender, facts, true),
      recipients: mentioned,
    });
  }
  if (others.length > 0) {
    notifications.push({
      category: categoryOf(row, sender),
      title: titleOf(sender, facts, false),
      recipients: others,
    });
  }
  return notifications;
}

/** Returns the category; an alert's depends on its author (docs/contract.md#notifications). */
function categoryOf(row: Notifying, sender: Actor | null): PlannedNotification['category'] {
  if (row.kind !== 'alert') return 'chat.message';
  return sender?.type === 'agent' ? 'agent.alert' : 'system.broadcast';
}

export function titleOf(sender: Actor | null, { title }: ConversationFacts, isMention: boolean): string {
  // A message without an author comes from the conversation itself.
  if (sender === null) return title ?? 'Announcement';
  const name = sender.name ?? 'Someone';
  const where = title === null ? '' : ` in ${title}`;
  return isMention ? `${name} mentioned you${where}` : `${name}${where}`;
}

/** Returns the type; agents and keys count as the system (docs/contract.md#notifications). */
export function senderType(sender: Pick<Actor, 'type'> | null): NotificationPlan['senderType'] {
  return sender?.type === 'user' || sender?.type === 'group' ? sender.type : 'system';
}
