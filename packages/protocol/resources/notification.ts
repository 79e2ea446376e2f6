import { type Static, Type } from 'typebox';
import { IdBy, IdOf } from '../schema/external-ids.ts';
import {
  Body,
  demand,
  describe,
  Identity,
  Line,
  Nullable,
  OneOf,
  Text,
  Times,
  Timestamp,
  together,
} from '../schema/schema.ts';
import { MEMBERS_SINCE, type MembersSince, Since } from '../schema/since.ts';
import { Actor, ENTITY_TYPES, Entity } from './actor.ts';

/** Categories of chats, by which feeds can be filtered (docs/contract.md#notifications). */
const MESSAGING_CATEGORIES = ['chat.message', 'chat.mention', 'chat.added'] as const;
/** The categories that Parley itself makes. Producers add others. */
export const NOTIFICATION_CATEGORIES = [
  ...MESSAGING_CATEGORIES,
  'agent.alert',
  'agent.run_completed',
  'approval.requested',
  'draft.proposed',
  'conversation.assigned',
  'email.failed',
  'system.broadcast',
  'webhook.disabled',
] as const;
/** The form of any category: `<area>.<what happened>`. */
export const CATEGORY = {
  pattern: '^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)+$',
  sentence: 'Must be an area and, behind a dot, what happened in it, in lower case: order.updated.',
  maxLength: 64,
} as const;
export const NOTIFICATION_STATUSES = ['unseen', 'seen', 'read', 'dismissed'] as const;
const PRIORITIES = ['low', 'normal', 'high'] as const;

/** Characters of a message that a notification shows (docs/contract.md#notifications). */
export const PREVIEW_CHARACTERS = 140;

/** An entry of a feed (docs/contract.md#notifications). */
export const Notification = Type.Object({
  ...Identity('notification'),
  category: Type.String(),
  title: Type.String(),
  body: Nullable(Type.String()),
  status: OneOf(NOTIFICATION_STATUSES),
  priority: OneOf(PRIORITIES),
  sender: Nullable(Actor),
  resource: Nullable(Entity),
  message_id: Since('1.2.harbor', Nullable(Type.String())),
  agent_run_id: Since('1.2.harbor', Nullable(Type.String())),
  seen_at: Nullable(Timestamp),
  read_at: Nullable(Timestamp),
  dismissed_at: Nullable(Timestamp),
  ...Times,
  sender_id: Since('1.2.harbor', Nullable(Type.String())),
  resource_type: Since('1.2.harbor', Nullable(OneOf(ENTITY_TYPES))),
  resource_id: Since('1.2.harbor', Nullable(Type.String())),
  conversation_id: Since('1.4.harbor', Nullable(Type.String())),
});
export type Notification = Static<typeof Notification>;

describe(Notification, {
  category:
    'Kind of event, such as `chat.message` (a new message), `chat.mention` (a mention, also in muted conversations), `chat.added` (added to a conversation), `approval.requested`, `draft.proposed` and `conversation.assigned` (work that waits) or `agent.run_completed`. The set is open-ended and may grow.',
  title: 'One line for people.',
  body: 'Preview of the text, which follows its edits. Null where there is none, and once the message was deleted.',
  status: '`unseen`, `seen` in the list, `read` when opened, or `dismissed`. It never goes back.',
  priority: 'How urgent the notification is.',
  sender:
    'The actor that caused the notification. Null for notifications of the service, and unless expanded.',
  resource: 'The resource that the notification is about. Null where there is none, and unless expanded.',
  message_id: 'The message that the notification is about. Null: none.',
  agent_run_id:
    'The agent run that the notification is about: one that ended, or waits for approval. Null: none.',
  seen_at: 'When the notification was first seen. Null until then.',
  read_at: 'When the notification was opened. Null until then.',
  dismissed_at: 'When the notification was dismissed. Null until then.',
  sender_id: 'Id of the actor that `sender` expands. Null for notifications of the service.',
  resource_type: 'Kind of the resource that `resource_id` names. Null where there is none.',
  resource_id: 'Id of the resource that `resource` expands. Null where there is none.',
  conversation_id: 'The conversation that the notification is about, which a click opens. Null: none.',
});

/** The values of `include[]` of List Notifications (docs/contract.md#expansion). */
export const NOTIFICATION_INCLUDES = ['sender', 'resource'] as const;
/** The filter `category` of List Notifications: earlier versions know three. */
export const CategoryFilter = Type.Union([
  Since('1.2.harbor', Type.String({ ...CATEGORY })),
  OneOf(MESSAGING_CATEGORIES),
]);
/** Filters of List Notifications (docs/contract.md#notifications). */
export const StatusFilter = OneOf(NOTIFICATION_STATUSES, {
  [MEMBERS_SINCE]: { dismissed: '1.2.harbor' } satisfies MembersSince<(typeof NOTIFICATION_STATUSES)[number]>,
});
export const SENDER_TYPES = ['user', 'group', 'system'] as const;
/** Limits of each filter that takes several values. */
export const FEED_FILTER_LIMITS = { items: 100 } as const;

/** The counts of a recipient's feed (docs/contract.md#notifications). */
export const NotificationSummary = Type.Object({
  object: Type.Literal('notification_summary'),
  unseen: Type.Integer({ minimum: 0 }),
  unread: Type.Integer({ minimum: 0 }),
  total: Type.Integer({ minimum: 0 }),
});
export type NotificationSummary = Static<typeof NotificationSummary>;

describe(NotificationSummary, {
  unseen: 'Number of notifications with the status `unseen`, as a badge shows it.',
  unread: 'Number of notifications that were not opened, seen or not.',
  total: 'Number of notifications that are not dismissed, as the list shows them.',
});

/** The states that mark-all can set. */
export const MARK_ALL_STATUSES = ['seen', 'read', 'dismissed'] as const;
export type MarkAllStatus = (typeof MARK_ALL_STATUSES)[number];

export const MarkAllBody = Body({ status: OneOf(MARK_ALL_STATUSES) });
describe(MarkAllBody, {
  status:
    'The status to bring the notifications to; those that have reached it or a later one stay as they are.',
});

/** Sizes of a producer's notifications (docs/contract.md#producing-notifications). */
const PRODUCED_LIMITS = { recipients: 100, titleCharacters: 200, bodyCharacters: 2_000 } as const;

/**
 * Body of Create Notifications (docs/contract.md#producing-notifications).
 * core/notifications/causes/create-notifications.ts checks what a schema cannot say.
 */
export const CreateNotificationsBody = Body({
  recipient_ids: Type.Array(IdOf('user'), {
    minItems: 1,
    maxItems: PRODUCED_LIMITS.recipients,
    uniqueItems: true,
  }),
  category: Type.String({ ...CATEGORY, examples: ['order.updated'] }),
  title: Line(PRODUCED_LIMITS.titleCharacters),
  body: Type.Optional(Text(PRODUCED_LIMITS.bodyCharacters)),
  priority: Type.Optional(OneOf(PRIORITIES)),
  resource_type: Type.Optional(OneOf(ENTITY_TYPES)),
  resource_id: Type.Optional(IdBy('resource_type')),
});
export type CreateNotificationsBody = Static<typeof CreateNotificationsBody>;

describe(CreateNotificationsBody, {
  recipient_ids: 'Ids of the users to notify (`act_…`), each once.',
  category:
    'Kind of event, such as `order.updated`, or `system.broadcast`. The other categories of areas of Parley itself, such as `chat.message`, are refused.',
  title: 'One line for people.',
  body: 'Text below the title.',
  priority: 'How urgent it is. Default `normal`.',
  resource_type: 'Kind of the resource that `resource_id` names. Required with `resource_id`.',
  resource_id:
    'Id of the resource that the notifications are about, such as an entity (`ent_…`). Required with `resource_type`.',
});
demand(CreateNotificationsBody, together('resource_type', 'resource_id'));

/** Sizes of an alert (docs/contract.md#alerts). Together they fit into the text of a message. */
const ALERT_LIMITS = { titleCharacters: 200, bodyCharacters: 39_000 } as const;

/** Body of Create Alert (docs/contract.md#alerts). */
export const CreateAlertBody = Body({
  title: Line(ALERT_LIMITS.titleCharacters),
  body: Type.Optional(Text(ALERT_LIMITS.bodyCharacters)),
  conversation_id: Type.Optional(IdOf('conversation')),
  priority: Type.Optional(OneOf(PRIORITIES)),
});
export type CreateAlertBody = Static<typeof CreateAlertBody>;

describe(CreateAlertBody, {
  title: 'One line that says what happened: the first line of the message.',
  body: 'Further text, which follows the title behind an empty line.',
  conversation_id:
    "The conversation to raise the alert in, where the caller may send. Default: the account's `system` conversation, whose members are the admins.",
  priority: 'Of the notifications that the alert causes. Default `normal`.',
});
