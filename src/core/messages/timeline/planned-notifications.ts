import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { ConversationFacts } from '../../conversations/directory/directory.ts';
import type { MessageRow } from '../../resources/message.ts';
import type { NotificationRow } from '../../resources/notification.ts';

/** Notifications of one message that differ only in their recipients. */
export interface PlannedNotification {
  readonly category: 'chat.message' | 'chat.mention' | 'agent.alert' | 'system.broadcast';
  readonly title: string;
  readonly recipients: readonly string[];
}

/**
 * The notifications of a message, planned before its commit from the facts that this node has of
 * the conversation. They are written with the message if the roster has that version at the commit;
 * otherwise they are planned again (docs/architecture.md#recipients).
 */
export interface NotificationPlan {
  readonly rosterVersion: number;
  readonly senderType: 'user' | 'group' | 'system';
  /** The beginning of the text that they were planned with. */
  readonly preview: string | null;
  readonly notifications: readonly PlannedNotification[];
}

/**
 * Plans a message's notifications; undefined if they are due later, as for a streaming text. `by`
 * approved the message, and is not notified of it.
 */
export type PlanNotifications = (
  message: Pick<MessageRow, 'kind' | 'body' | 'mentions' | 'author_id' | 'streaming_state'>,
  sender: Actor | null,
  facts: ConversationFacts,
  by?: string,
) => NotificationPlan | undefined;

export function sizeOf({ notifications }: NotificationPlan): number {
  return notifications.reduce((sum, { recipients }) => sum + recipients.length, 0);
}

/** Returns a plan as the rows of a JSON parameter (notified-store.ts). */
export function planRows(
  messageId: string,
  { rosterVersion, senderType, preview, notifications }: NotificationPlan,
) {
  return notifications.map(({ category, title, recipients }) => ({
    id: messageId,
    roster_version: rosterVersion,
    sender_type: senderType,
    preview,
    category,
    title,
    recipients,
  }));
}

/** The recipients of the notifications written with a message, with the id of each. */
export interface WrittenNotifications {
  readonly recipientIds: string[];
  readonly notificationIds: string[];
}

/** Returns the written notifications of a plan as stored; `at` is the moment of the message. */
export function asNotifications(
  message: MessageRow,
  plan: NotificationPlan,
  { recipientIds, notificationIds }: WrittenNotifications,
  at: string,
  priority: NotificationRow['priority'] = 'normal',
): NotificationRow[] {
  const plannedFor = byRecipient(plan);
  return recipientIds.map((recipientId, index) => {
    const { category, title } = plannedFor(recipientId);
    return {
      id: notificationIds[index]!,
      account_id: message.account_id,
      recipient_id: recipientId,
      category,
      title,
      body: plan.preview,
      status: 'unseen',
      priority,
      sender_id: message.sender_id,
      resource_type: 'entity',
      resource_id: message.conversation_id,
      message_id: message.id,
      agent_run_id: null,
      seen_at: null,
      read_at: null,
      dismissed_at: null,
      created_at: at,
      updated_at: at,
    };
  });
}

function byRecipient({ notifications }: NotificationPlan): (recipientId: string) => PlannedNotification {
  if (notifications.length === 1) return () => notifications[0]!;
  const planned = new Map(notifications.flatMap((one) => one.recipients.map((id) => [id, one])));
  return (recipientId) => planned.get(recipientId)!;
}
