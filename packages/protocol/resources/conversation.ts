import { type Static, Type } from 'typebox';
import { ChangedOwnId, IdBy, IdOf, NewOwnId, OWN_ID_TEXTS, OwnId } from '../schema/external-ids.ts';
import {
  Body,
  ByType,
  describe,
  described,
  Id,
  Identity,
  Label,
  Name,
  Nullable,
  OneOf,
  Times,
  Timestamp,
} from '../schema/schema.ts';
import { Since } from '../schema/since.ts';
import { Actor, ENTITY_TYPES, Entity, MentionedMessage, MessagingGroup } from './actor.ts';
import {
  AUDIENCES,
  CONVERSATION_STATUSES,
  CONVERSATION_TYPES,
  WORKFLOW_STATUSES,
} from './conversation-values.ts';
import { METADATA_TEXTS, MetadataField, MetadataPatch } from './metadata.ts';
import { DirectUserInput, PARTICIPANT_LIMITS, Participant, ParticipantInput } from './participant.ts';

const LEGAL_HOLDS = ['released', 'held'] as const;
/** Length of the reason of a hold or its release. */
const HOLD_REASON_CHARACTERS = 500;

export type ConversationType = (typeof CONVERSATION_TYPES)[number];
export type ConversationAudience = (typeof AUDIENCES)[number];
export type WorkflowStatus = (typeof WORKFLOW_STATUSES)[number];

/** A conversation (docs/contract.md#conversations) with the reader's own `status` and `unread`. */
export const Conversation = Type.Object({
  ...Identity('conversation'),
  type: OneOf(CONVERSATION_TYPES),
  audience: OneOf(AUDIENCES),
  title: Nullable(Type.String()),
  workflow_status: Nullable(OneOf(WORKFLOW_STATUSES)),
  group: Nullable(MessagingGroup),
  status: OneOf(CONVERSATION_STATUSES),
  legal_hold: OneOf(LEGAL_HOLDS),
  assignee: Nullable(Actor),
  participants: Nullable(Type.Array(Participant)),
  topic: Nullable(Entity),
  unread: Type.Integer({ minimum: 0 }),
  last_message_at: Nullable(Timestamp),
  last_message: Nullable(MentionedMessage),
  ...Times,
  deleted_at: Since('1.2.harbor', Nullable(Timestamp)),
  inbox_id: Since('1.2.harbor', Nullable(Type.String())),
  last_read_sequence: Since('1.2.harbor', Nullable(Type.Integer({ minimum: 0 }))),
  blocked: Since('1.2.harbor', Type.Boolean()),
  snoozed: Since('1.2.harbor', Type.Boolean()),
  snoozed_until: Since('1.2.harbor', Nullable(Timestamp)),
  group_id: Since('1.2.harbor', Nullable(Type.String())),
  assignee_id: Since('1.2.harbor', Nullable(Type.String())),
  topic_type: Since('1.2.harbor', Nullable(OneOf(ENTITY_TYPES))),
  topic_id: Since('1.2.harbor', Nullable(Type.String())),
  activity_at: Since('1.3.harbor', Timestamp),
  metadata: MetadataField,
  external_id: OwnId,
  waiting_since: Since('1.4.harbor', Nullable(Timestamp)),
});
export type Conversation = Static<typeof Conversation>;

describe(Conversation, {
  type: '`direct_message` is between two users, `group` is a named thread of several members, customer cases among them, and `system` is the channel for alerts of the account.',
  audience: '`internal` for the team alone, `customer` for a case with a customer.',
  title: 'Title of a group. Null for direct messages and for groups without a title.',
  workflow_status: 'Triage lane of a customer case. Null unless `audience` is `customer`.',
  group:
    'The reusable roster that the conversation was started from; its members were copied in at creation. Null where there was none, and unless expanded.',
  status:
    "The caller's own view: `hidden` where the caller has hidden the conversation, otherwise the `active` or `archived` that all readers see.",
  legal_hold: '`held` keeps the conversation from being purged or redacted, `released` does not.',
  assignee: 'The user or group that owns the case. Null without an assignee, and unless expanded.',
  participants: 'The active participants. Null unless expanded.',
  topic: 'The app resource that the conversation is about. Null where there is none, and unless expanded.',
  unread: 'Number of messages that the caller has not read.',
  last_message_at:
    'When the latest message was sent. Deleted messages do not count. Null while there is none.',
  last_message: 'The latest message that is not deleted. Null while there is none, and unless expanded.',
  deleted_at:
    'When the conversation was deleted; only the answers of the actions that a deleted conversation allows show it. Null otherwise.',
  inbox_id:
    'Id of the inbox that the case was made with; it stays where the inbox was removed since, though no mail goes through it any more. Null for conversations without one, and to customers.',
  last_read_sequence:
    'The `sequence` through which the caller has read; what is behind it is new. Null for callers that are not participants.',
  blocked:
    'Whether a block keeps the caller from writing: one of the two users of a direct message has blocked the other, or the team has blocked the customer that asks.',
  snoozed:
    'Whether the caller has snoozed the conversation. It ends at `snoozed_until`, or with the next message of another author.',
  snoozed_until:
    'When the snooze ends at the latest. Null where only a message ends it, and while nothing is snoozed.',
  group_id: 'Id of the roster that `group` expands. Null where there was none, and to customers.',
  assignee_id:
    'Id of the actor of the user or group that `assignee` expands. Null without an assignee, and to customers.',
  topic_type: 'Kind of the resource that `topic_id` names. Null where there is none, and to customers.',
  topic_id: 'Id of the resource that `topic` expands. Null where there is none, and to customers.',
  activity_at:
    'When something was last sent that the caller may see, whether or not it was deleted since; when the conversation was created where nothing was. Lists with `order=activity` are in its order.',
  metadata: METADATA_TEXTS.shown,
  external_id: `${OWN_ID_TEXTS.field} Null to customers.`,
  waiting_since:
    'Since when the customer of a case waits for an answer: when the customer sent its first message behind the last reply. Notes, drafts, automatic mail, and messages that were deleted or imported do not count. Null where no customer waits, in resolved cases, and to customers.',
});

/** Values of `include[]` where companions show conversations (docs/contract.md#expansion). */
export const CONVERSATION_INCLUDES = ['assignee', 'group', 'participants', 'topic', 'last_message'] as const;
export type ConversationInclude = (typeof CONVERSATION_INCLUDES)[number];

/** The values of `include[]` of Set Legal Hold (docs/contract.md#expansion). */
export const LEGAL_HOLD_INCLUDES = ['assignee', 'group', 'participants'] as const;

const Topic = Body({
  type: described(OneOf(ENTITY_TYPES), 'Kind of the resource that `id` names.'),
  id: described(IdBy('type'), 'Id of the resource.'),
});

/** Between two users: the caller and another user, or two users if the caller is an API key. */
const DIRECT_MESSAGE = {
  type: Type.Literal('direct_message'),
  audience: Type.Optional(Type.Literal('internal')),
  participants: Type.Array(DirectUserInput, { minItems: 1, maxItems: 2 }),
  topic: Type.Optional(Topic),
  metadata: MetadataField,
};
const DIRECT_MESSAGE_TEXTS = {
  audience: 'Direct messages are always `internal`.',
  participants:
    'The other user. An API key, which takes no part itself, names both users. Where the two have a direct message already, it is returned with 200.',
  topic: 'The app resource that the conversation is about.',
  metadata: METADATA_TEXTS.given,
};

const GROUP = {
  type: Type.Literal('group'),
  audience: Type.Optional(OneOf(AUDIENCES)),
  title: Type.Optional(Name),
  participants: Type.Optional(Type.Array(ParticipantInput, { maxItems: PARTICIPANT_LIMITS.inARequest })),
  group_id: Type.Optional(IdOf('group')),
  topic: Type.Optional(Topic),
  inbox_id: Since('1.2.harbor', Id),
  metadata: MetadataField,
};
const GROUP_TEXTS = {
  audience: '`customer` makes a customer case. Default `internal`.',
  title: 'Title of the group.',
  participants:
    'Members beside the caller, who becomes the owner; an API key does not take part. Default: none.',
  group_id: 'A reusable roster whose members are copied in beside `participants`.',
  topic: 'The app resource that the conversation is about.',
  inbox_id:
    'The inbox through which replies of a customer case leave as mail. Only with `audience` `customer`, and at least one customer; each has an email address. The case is assigned to the assignee of the inbox.',
  metadata: METADATA_TEXTS.given,
};

const DirectMessageInput = Body({ ...DIRECT_MESSAGE, external_id: NewOwnId });
describe(DirectMessageInput, { ...DIRECT_MESSAGE_TEXTS, external_id: OWN_ID_TEXTS.create });
const GroupInput = Body({
  ...GROUP,
  external_id: NewOwnId,
  widget_id: Since('1.3.harbor', Id),
});
describe(GroupInput, {
  ...GROUP_TEXTS,
  external_id: OWN_ID_TEXTS.create,
  widget_id:
    'The widget through which a customer opens the case, so that the team writes under its name. Only from customers. Default: that by which the visitor came.',
});

/** Body of Create Conversation (docs/contract.md#creating-a-conversation). `system` is reserved. */
export const CreateConversationBody = ByType([DirectMessageInput, GroupInput]);
export type CreateConversationBody = Static<typeof CreateConversationBody>;

/**
 * Body of PUT for a conversation. Absent fields stay, its type among them, so the type of an
 * existing conversation decides which fields it may have.
 */
export const PutConversationBody = Body({
  ...GROUP,
  type: Type.Optional(OneOf(['direct_message', 'group'])),
});
export type PutConversationBody = Static<typeof PutConversationBody>;
describe(PutConversationBody, {
  ...GROUP_TEXTS,
  type: 'Required to create. A conversation that is there keeps its type.',
  audience: 'Direct messages are `internal`, and `customer` makes a customer case. Default `internal`.',
  title: 'Title of a group.',
  participants:
    'Members to be. Those that are none yet join a group; a direct message has the users that it was created with.',
});

/** Body of PUT for a direct message. */
export const PutDirectMessageBody = Body({
  ...DIRECT_MESSAGE,
  participants: Type.Optional(DIRECT_MESSAGE.participants),
});
describe(PutDirectMessageBody, DIRECT_MESSAGE_TEXTS);

/** Body of Update Conversation (docs/contract.md#updating-a-conversation): null clears. */
export const UpdateConversationBody = Body({
  title: Type.Optional(Nullable(Name)),
  workflow_status: Type.Optional(OneOf(WORKFLOW_STATUSES)),
  assignee_id: Type.Optional(Nullable(IdOf('user', 'group'))),
  topic: Type.Optional(Nullable(Topic)),
  status: Type.Optional(OneOf(['active', 'archived'])),
  metadata: MetadataPatch,
  external_id: ChangedOwnId,
});
export type UpdateConversationBody = Static<typeof UpdateConversationBody>;

describe(UpdateConversationBody, {
  title: 'The new title of a group; null clears it.',
  workflow_status:
    'The lane to move a customer case to: `open`, `waiting_internal`, `waiting_external` or `resolved`. The service itself sets the others.',
  assignee_id: 'Id of the user or group (`act_…`, `grp_…`) that is to own the case; null clears it.',
  topic: 'The app resource that the conversation is about; null clears it.',
  status: '`archived` closes the conversation to new messages from all actors, `active` opens it again.',
  metadata: METADATA_TEXTS.changed,
  external_id: OWN_ID_TEXTS.change,
});

/** Body of Set Legal Hold (docs/contract.md#legal-hold). */
export const SetLegalHoldBody = Body({
  legal_hold: OneOf(LEGAL_HOLDS, { examples: ['held'] }),
  reason: Since('1.3.harbor', Label(HOLD_REASON_CHARACTERS)),
});
export type SetLegalHoldBody = Static<typeof SetLegalHoldBody>;
describe(SetLegalHoldBody, {
  legal_hold:
    'The status to set: `held` suppresses retention purging and redaction, `released` allows them again.',
  reason: 'Why it is held or released. The team sees it in the audit of the conversation.',
});

export const MarkReadBody = Body({
  sequence: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
});
describe(MarkReadBody, {
  sequence:
    'The `sequence` of the last message that was read. A position that is behind the present one changes nothing.',
});

export const SnoozeBody = Body({ until: Type.Optional(Nullable(Timestamp)) });
describe(SnoozeBody, {
  until:
    'When the snooze ends: a time within the next year. Null or absent: only the next message of another author ends it.',
});

export const CustomerTokenBody = Body({ participant_id: Id });
describe(CustomerTokenBody, { participant_id: "Id of the customer's participant in this conversation." });
