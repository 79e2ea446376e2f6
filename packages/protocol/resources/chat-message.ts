import { type Static, Type } from 'typebox';
import { IdBy, IdOf } from '../schema/external-ids.ts';
import {
  Body,
  demand,
  describe,
  described,
  Identity,
  Include,
  Label,
  LineOrNone,
  Nullable,
  OneOf,
  Text,
  Times,
  Timestamp,
  together,
  where,
  whereOrNull,
} from '../schema/schema.ts';
import { SINCE, Since } from '../schema/since.ts';
import { Actor, ENTITY_TYPES, Entity, MentionedMessage } from './actor.ts';
import { AgentRun, INCOMPLETE_REASONS } from './agent-run.ts';
import { ATTACHMENT_KINDS, Attachment } from './attachment.ts';
import { Conversation } from './conversation.ts';
import { SENT_EMAIL_STATUSES } from './email.ts';
import { MESSAGE_LIMITS } from './message-limits.ts';
import { METADATA_TEXTS, MetadataField, MetadataPatch } from './metadata.ts';
import { Question, QuestionInput } from './question.ts';
import { MessageReaction, REACTION_LIMITS } from './reaction.ts';
import { Thread } from './thread.ts';

export const MESSAGE_STATUSES = [
  'draft',
  'scheduled',
  'sent',
  'canceled',
  'rejected',
  'failed',
  'superseded',
] as const;
const CHANNELS = ['message', 'email'] as const;

export { MESSAGE_LIMITS };

export type MessageStatus = (typeof MESSAGE_STATUSES)[number];
export type Channel = (typeof CHANNELS)[number];

/** The redaction of a tombstone (docs/contract.md#redaction). */
const MessageRedaction = Type.Object({
  by: Nullable(Type.String()),
  reason: Nullable(Type.String()),
  at: Timestamp,
});

describe(MessageRedaction, {
  by: 'Id of the actor that redacted the message. Null to customers.',
  reason: 'Why, as that actor stated it. Null to customers.',
  at: 'When the message was redacted.',
});

/**
 * The events of a conversation that a message of the service states
 * (docs/contract.md#system-messages).
 */
const SYSTEM_EVENT_TYPES = ['resolved', 'reopened'] as const;

const StatedEvent = Type.Object({
  type: OneOf(SYSTEM_EVENT_TYPES),
  by: Nullable(Type.String()),
});

describe(StatedEvent, {
  type: 'What happened: the case was `resolved` or `reopened`. Later versions may have more.',
  by: 'Id of the actor that did it. Null where no actor did, and to customers.',
});

export type StatedEvent = Static<typeof StatedEvent>;

/** The import that wrote a message (docs/contract.md#imported-messages). */
const ImportMark = Type.Object({
  import_id: Type.String(),
  at: Timestamp,
  by: Nullable(Type.String()),
});

describe(ImportMark, {
  import_id: 'The import, or the call of Import Messages, that wrote the message.',
  at: 'When the message was written into the timeline.',
  by: 'Id of the actor that imported it. Null for the operator, and to customers.',
});

/** A message (docs/contract.md#messages). Sub-objects are null unless the caller asked for them. */
export const ChatMessage = Type.Object({
  ...Identity('chat_message'),
  kind: OneOf(['chat', 'system_event', 'agent', 'scheduled', 'alert', 'email']),
  status: OneOf(MESSAGE_STATUSES),
  visibility: OneOf(['internal', 'external', 'system']),
  conversation: Nullable(Conversation),
  sequence: Nullable(Type.Integer({ minimum: 1 })),
  body: Nullable(Type.String()),
  subject: Nullable(Type.String()),
  sender: Nullable(Actor),
  author: Nullable(Actor),
  attachments: Nullable(Type.Array(Attachment)),
  reply_to: Nullable(MentionedMessage),
  resource: Nullable(Entity),
  channel: OneOf(CHANNELS),
  scheduled_at: Nullable(Timestamp),
  agent_run: Nullable(AgentRun),
  streaming_state: Nullable(OneOf(['streaming', 'complete'])),
  client_message_id: Nullable(Type.String()),
  edited_at: Nullable(Timestamp),
  deleted_at: Nullable(Timestamp),
  ...Times,
  sender_id: Since('1.2.harbor', Nullable(Type.String())),
  author_id: Since('1.2.harbor', Nullable(Type.String())),
  edited_by: Since('1.2.harbor', Nullable(Type.String())),
  sent_at: Since('1.2.harbor', Nullable(Timestamp)),
  cc: Since('1.2.harbor', Nullable(Type.Array(Type.String()))),
  redaction: Since('1.2.harbor', Nullable(MessageRedaction)),
  email_status: Since('1.2.harbor', Nullable(OneOf(SENT_EMAIL_STATUSES))),
  reply_to_id: Since('1.2.harbor', Nullable(Type.String())),
  reactions: Since('1.2.harbor', Nullable(Type.Array(MessageReaction, { maxItems: REACTION_LIMITS.kinds }))),
  thread: Since('1.2.harbor', Nullable(Thread)),
  mentions: Since('1.2.harbor', Nullable(Type.Array(Type.String()))),
  conversation_id: Since('1.2.harbor', Type.String()),
  resource_type: Since('1.2.harbor', Nullable(OneOf(ENTITY_TYPES))),
  resource_id: Since('1.2.harbor', Nullable(Type.String())),
  agent_run_id: Since('1.2.harbor', Nullable(Type.String())),
  metadata: MetadataField,
  imported: Since('1.3.harbor', Nullable(ImportMark)),
  incomplete: Since('1.4.harbor', Nullable(OneOf(INCOMPLETE_REASONS))),
  event: Since('1.4.harbor', Nullable(StatedEvent)),
  approved_by: Since('1.4.harbor', Nullable(Type.String())),
  question: Since('1.5.harbor-preview.1', Nullable(Question)),
});
export type ChatMessage = Static<typeof ChatMessage>;
export type Visibility = ChatMessage['visibility'];
export type MessageKind = ChatMessage['kind'];

declare module './actor.ts' {
  interface MentionedMessage extends ChatMessage {}
}

describe(ChatMessage, {
  kind: 'What the message is: `chat` was written by a person, `agent` by an automated agent, `scheduled` was sent at its time, `system_event` and `alert` come from the service, and `email` came in by mail.',
  status:
    'Where the message stands. Only `sent` messages are in the timeline; `draft` waits for approval, `scheduled` for its time, and the others have ended without being sent.',
  visibility:
    'Who can read the message: `internal` is a note of the team, `external` was exchanged with the customer, and `system` is an event that both see. Customers are shown `external` and `system` messages alone.',
  conversation: 'The conversation that the message belongs to. Null unless expanded.',
  sequence:
    'Position in the timeline of the conversation, growing from message to message. Null unless `status` is `sent`.',
  body: 'The text. Null for deleted messages and for messages without text.',
  subject: 'Email subject of a customer reply. Null for every other message.',
  sender:
    'The actor as displayed: the persona where the message was sent under one, otherwise its author. Null for messages of the service, and unless expanded.',
  author:
    'The actor behind the message. Null for messages of the service, where the caller may not see past a persona, and unless expanded.',
  attachments: 'Files, images, links and resources of the message. Null unless expanded.',
  reply_to: 'The message that this one replies to. Null where there is none, and unless expanded.',
  resource: 'The app resource that the message links to. Null where there is none, and unless expanded.',
  channel:
    'How the message travels: `message` in the conversation, `email` through the bridged inbox. For a draft, how it will be delivered once approved.',
  scheduled_at:
    'When a scheduled message is due. Null for messages that were not scheduled, and to customers for those of the team.',
  agent_run: 'The agent run that wrote the message. Null for messages of people, and unless expanded.',
  streaming_state:
    '`streaming` while an agent writes the body, `complete` once it is final. Null for ordinary messages.',
  client_message_id:
    'The key under which the author sent the message, for deduplication. Only shown to the author, and null for messages of the service.',
  edited_at:
    'When the message was last edited. Null if it never was; to customers also where that was before it was sent.',
  deleted_at:
    'When the message was deleted; the tombstone keeps its place in the timeline. Null unless deleted.',
  created_at: 'When the message was written; to customers, when it was sent.',
  sender_id: 'Id of the actor that `sender` expands. Null for messages of the service.',
  author_id: 'Id of the actor that `author` expands. Null for messages of the service, and to customers.',
  edited_by:
    'Id of the actor that edited the message last. Null if it never was edited, for drafts edited before this field existed, and to customers.',
  sent_at: 'When the message entered the timeline. Null unless `status` is `sent`.',
  cc: 'Further email recipients of a customer reply. Null for every other message, and to customers.',
  redaction:
    'By whom and why the message was redacted, and when. Null for every other message, deleted ones included.',
  email_status:
    'What became of the mail of a customer reply: `queued`, `sent` to the next server, `deferred` until its next try, `bounced`, `failed`, or `canceled` before it left. Null for messages that are not sent by mail, and to customers.',
  reply_to_id:
    'Id of the message that `reply_to` expands. Null where there is none, and to customers for messages of the team.',
  reactions:
    'The reactions to the message, by emoji, in the order in which each emoji was first used. Null unless expanded.',
  thread: 'The replies to the message in numbers. Null unless expanded.',
  mentions:
    'Ids of the actors that the message mentions, those that its text names included. Null to customers.',
  conversation_id: 'Id of the conversation that `conversation` expands.',
  resource_type: 'Kind of the resource that `resource_id` names. Null where there is none.',
  resource_id: 'Id of the app resource that `resource` expands. Null where there is none.',
  agent_run_id: 'Id of the run that `agent_run` expands. Null for messages of people, and to customers.',
  metadata: `${METADATA_TEXTS.shown} A deleted message has none.`,
  imported:
    'The import that wrote the message, whose `created_at` is then the time that the import states. Null for messages that were sent here.',
  incomplete:
    'Why the text of an agent is not whole: `length` where the model or a limit cut it, `content_filter` where the provider withheld the rest, `error` where the run failed or was stopped. Null where it is whole, once a person has edited it, and to customers.',
  event:
    'The event that a message of the service states, for clients that word it themselves; `body` has it in English. Null for every other message.',
  approved_by:
    'Id of the actor that approved the draft of the message. Null for every other message, for drafts approved before this field existed, and to customers.',
  question: 'What the message asks, and the answer. Null where it asks nothing; `body` has it as plain text.',
});

/** The parameter `include[]` of Send Message and others that answer with the caller's message. */
export const IncludeInSend = Include(['sender', 'author', 'resource', 'attachments', 'reply_to'], {
  attachments: '1.2.harbor',
  reply_to: '1.2.harbor',
});

/** The values of `include[]` of companions that show messages (docs/contract.md#expansion). */
export const MESSAGE_INCLUDES = [
  'conversation',
  'sender',
  'author',
  'attachments',
  'reply_to',
  'resource',
  'agent_run',
  'reactions',
  'thread',
] as const;
export type MessageInclude = (typeof MESSAGE_INCLUDES)[number];

/** The parameter `include[]` of these companions. */
export const IncludeInMessage = Include(MESSAGE_INCLUDES, { reactions: '1.2.harbor', thread: '1.2.harbor' });

const Mentions = Type.Array(IdOf('actor'), { maxItems: MESSAGE_LIMITS.mentions, uniqueItems: true });
const Addresses = Type.Array(Type.String({ format: 'email' }), { maxItems: MESSAGE_LIMITS.cc });

export const AttachmentInput = Body({
  kind: OneOf(ATTACHMENT_KINDS),
  s3_key: Type.Optional(Text(1_024)),
  filename: Type.Optional(LineOrNone(255)),
  content_type: Type.Optional(Text(255)),
  size_bytes: Type.Optional(Type.Integer({ minimum: 0 })),
  url: Type.Optional(Text(MESSAGE_LIMITS.urlCharacters)),
  resource_type: Type.Optional(OneOf(ENTITY_TYPES)),
  resource_id: Type.Optional(IdBy('resource_type')),
  metadata: MetadataField,
});
describe(AttachmentInput, {
  kind: 'What is attached: an uploaded `image`, another uploaded `file`, a `link` to another site, or a `resource` of the app. An upload whose MIME type begins with `image/` is an `image`.',
  s3_key: 'Key of the upload, from Create Upload URL. Required for `file` and `image`.',
  filename: 'Original name of the file, for `file` and `image`.',
  content_type: 'MIME type of the file, for `file` and `image`.',
  size_bytes: 'Size of the file in bytes, for `file` and `image`.',
  url: 'Address with `http:` or `https:`. Required for `link`.',
  resource_type: 'Kind of the resource that `resource_id` names. Required for `resource`.',
  resource_id: 'Id of the resource. Required for `resource`.',
  metadata: METADATA_TEXTS.given,
});
export type AttachmentInput = Static<typeof AttachmentInput>;
const KINDS_OF_ATTACHMENT = [
  where('kind', 'file', 's3_key'),
  where('kind', 'image', 's3_key'),
  where('kind', 'link', 'url'),
  where('kind', 'resource', 'resource_type', 'resource_id'),
];
demand(AttachmentInput, KINDS_OF_ATTACHMENT);

/**
 * An attachment in an edit: an attachment of the message, by its id and perhaps with changes of its
 * metadata, or a new one.
 */
const { kind: inputKind, metadata: _, ...inputFields } = AttachmentInput.properties;
const EditedAttachment = Body({
  id: Type.Optional(
    Type.String({ maxLength: 64, description: 'Id of an attachment that the message keeps.' }),
  ),
  kind: Type.Optional(inputKind),
  ...inputFields,
  metadata: described(
    MetadataPatch,
    'What the application keeps with the attachment. Beside `id` it states changes, in which null removes a key.',
  ),
});
demand(EditedAttachment, [
  { required: ['id'] },
  ...KINDS_OF_ATTACHMENT.map((kind) => ({ ...kind, required: ['kind', ...(kind.required ?? [])] })),
]);

/** Body of Send Message (docs/contract.md#sending-a-message). send-rules.ts has further rules. */
export const SendMessageBody = Body({
  body: Type.Optional(Text(MESSAGE_LIMITS.bodyCharacters)),
  mode: Type.Optional(Nullable(OneOf(['send', 'draft']))),
  channel: Type.Optional(OneOf(CHANNELS)),
  source_thread_message_id: Type.Optional(Text(64)),
  client_message_id: Type.Optional(Text(MESSAGE_LIMITS.clientMessageIdCharacters)),
  audience: Type.Optional(OneOf(['internal', 'customer'])),
  subject: Type.Optional(LineOrNone(MESSAGE_LIMITS.subjectCharacters)),
  cc: Type.Optional(Addresses),
  scheduled_at: Type.Optional(Timestamp),
  reply_to_message_id: Type.Optional(Text(64)),
  link_resource_type: Type.Optional(OneOf(ENTITY_TYPES)),
  link_resource_id: Type.Optional(IdBy('link_resource_type')),
  attachments: Type.Optional(Type.Array(AttachmentInput, { maxItems: MESSAGE_LIMITS.attachments })),
  mentions: Type.Optional(Mentions),
  metadata: MetadataField,
  question: Since('1.5.harbor-preview.1', QuestionInput),
});
export type SendMessageBody = Static<typeof SendMessageBody>;

describe(SendMessageBody, {
  body: 'The text. Required unless the message has an attachment or a resource link; an empty or blank text counts as absent.',
  mode: '`send` delivers the message now, or at `scheduled_at`. `draft` proposes a customer reply that a person approves or rejects; it requires `channel`. Default `send`, for null as well.',
  channel:
    'Channel of a customer reply: `message` in the conversation, `email` through the bridged inbox. Required when `mode` is `draft`; `email` requires a case with a bridged inbox.',
  source_thread_message_id:
    'The internal message that a draft is composed from. A newer draft for the same message supersedes the open one, and a newer draft of an agent its own. Only with `mode` `draft`.',
  client_message_id:
    "The sender's own key for this message: sending it again with the same key returns the first message. Required when `mode` is `send`; ignored for drafts.",
  audience:
    '`customer` sends a reply that the customer sees, under the persona Customer Service or that of the inbox of the case; `internal` is for the team alone. Default `internal`. `internal` is refused for a draft, which is always for the customer, and from customers, because everyone in the case reads what they send.',
  subject: 'Email subject of a customer reply. Only on a case with a bridged inbox, with `channel` `email`.',
  cc: 'Further email recipients of a customer reply. Only on a case with a bridged inbox, with `channel` `email`.',
  scheduled_at:
    'A time in the future at which to send the message; until then its status is `scheduled`. Not with `mode` `draft`.',
  reply_to_message_id: 'The message of the same conversation that this one replies to.',
  link_resource_type: 'Kind of the resource that the message links to. Required with `link_resource_id`.',
  link_resource_id: 'Id of the resource that the message links to. Required with `link_resource_type`.',
  attachments: 'What the message carries beside its text.',
  mentions:
    "Actor ids of participants who are mentioned. They are notified even where they have muted the conversation. `@slug` of an agent and `@name`, the part of a user's email address before its `@`, mention participants in the body as well, outside of code, quotes, links and addresses; at most 50 together.",
  metadata: METADATA_TEXTS.given,
  question:
    'What the message asks, with buttons, a selection or a form. Without `body`, its text and its choices become the body. Not in a draft or a scheduled message, and not from customers.',
});
demand(
  SendMessageBody,
  [
    { required: ['body'], properties: { body: { minLength: 1 } } },
    { required: ['attachments'], properties: { attachments: { minItems: 1 } } },
    { required: ['link_resource_type', 'link_resource_id'] },
    Object.assign({ required: ['question'] }, { [SINCE]: '1.5.harbor-preview.1' }),
  ],
  [where('mode', 'draft', 'mode', 'channel'), whereOrNull('mode', 'send', 'client_message_id')],
  together('link_resource_type', 'link_resource_id'),
);

/**
 * Body of Update Message (docs/contract.md#editing-and-deleting): absent fields stay, "" and []
 * clear. core/messages/rules/edit-rules.ts checks which fields a message accepts in its state.
 */
export const EditMessageBody = Body({
  body: Type.Optional(Text(MESSAGE_LIMITS.bodyCharacters)),
  subject: Type.Optional(LineOrNone(MESSAGE_LIMITS.subjectCharacters)),
  cc: Type.Optional(Addresses),
  scheduled_at: Type.Optional(Timestamp),
  mentions: Since('1.2.harbor', Mentions),
  attachments: Since('1.2.harbor', Type.Array(EditedAttachment, { maxItems: MESSAGE_LIMITS.attachments })),
  metadata: MetadataPatch,
});
export type EditMessageBody = Static<typeof EditMessageBody>;

describe(EditMessageBody, {
  body: 'The new text. An empty text clears it, which needs an attachment or a resource link.',
  subject: 'The new email subject of a customer reply; an empty text clears it.',
  cc: 'The new email recipients in copy; an empty list clears them.',
  scheduled_at: 'The new time of a scheduled message, in the future. Only while it is scheduled.',
  mentions:
    'Actor ids of the participants that the message mentions from now on, beside those that its text names. Participants that are mentioned for the first time are notified.',
  attachments:
    'What the message carries from now on, in this order: attachments that it has, by `id`, and new ones. The others are removed, which a legal hold prevents.',
  metadata: `${METADATA_TEXTS.changed} A message whose metadata alone changes is not edited.`,
});

/** Body of Forward Message (docs/contract.md#forwarding). */
export const ForwardMessageBody = Body({
  conversation_id: IdOf('conversation'),
  client_message_id: Text(MESSAGE_LIMITS.clientMessageIdCharacters),
  body: Type.Optional(Text(MESSAGE_LIMITS.bodyCharacters)),
  audience: Type.Optional(OneOf(['internal', 'customer'])),
});
export type ForwardMessageBody = Static<typeof ForwardMessageBody>;

describe(ForwardMessageBody, {
  conversation_id: 'Id of the conversation that gets the message. The caller must be able to send there.',
  client_message_id:
    "The sender's own key for the new message: forwarding again with the same key returns the first one.",
  body: "The sender's own words. They stand before the text, with an empty line between.",
  audience:
    '`customer` sends a reply that the customer of the case sees; `internal` is for the team alone. Default `internal`, whatever the audience of the message was.',
});

/** Body of Redact Message (docs/contract.md#redaction). */
export const RedactMessageBody = Body({ reason: Label(MESSAGE_LIMITS.redactionReasonCharacters) });

describe(RedactMessageBody, {
  reason:
    'Why the message is redacted. The team sees it on the tombstone and in the audit: it must not repeat the text.',
});

/** Body of Approve Reply Draft (docs/contract.md#drafts): the state that the approver saw. */
export const ApproveDraftBody = Body({
  if_version: Type.Optional(Timestamp),
  if_last_sequence: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
});
export type ApproveDraftBody = Static<typeof ApproveDraftBody>;

describe(ApproveDraftBody, {
  if_version:
    'The `updated_at` of the draft as the approver has read it. A draft that was changed since answers `resource_conflict`.',
  if_last_sequence:
    'The highest `sequence` of the conversation that the approver has read. A newer message answers `resource_conflict`.',
});

/** Body of Reject Reply Draft (docs/contract.md#drafts). */
export const RejectDraftBody = Body({
  reason: Since('1.3.harbor', Label(MESSAGE_LIMITS.rejectionReasonCharacters)),
});
export type RejectDraftBody = Static<typeof RejectDraftBody>;

describe(RejectDraftBody, {
  reason: 'Why the draft is rejected, for the team. It becomes the reason of its outcome.',
});

/** The content of a message before an edit, kept while its conversation is under legal hold. */
export const MessageRevision = Type.Object({
  object: Type.Literal('message_revision'),
  message_id: Type.String(),
  revision: Type.Integer({ minimum: 1 }),
  body: Nullable(Type.String()),
  subject: Nullable(Type.String()),
  cc: Nullable(Type.Array(Type.String())),
  mentions: Nullable(Type.Array(Type.String())),
  attachment_ids: Nullable(Type.Array(Type.String())),
  replaced_by: Nullable(Actor),
  replaced_at: Timestamp,
});
export type MessageRevision = Static<typeof MessageRevision>;

describe(MessageRevision, {
  revision: 'Number of the revision within its message, from 1 for the oldest one that was kept.',
  body: 'The text before the edit. Null where the message had none.',
  subject: 'The email subject before the edit. Null where there was none.',
  cc: 'The email recipients in copy before the edit. Null where there were none.',
  mentions:
    'Ids of the actors that the message mentioned before the edit. Null for edits that were made before this field existed.',
  attachment_ids:
    'Ids of the attachments that the message had before the edit. Null for edits that were made before this field existed.',
  replaced_by: 'The actor that made the edit.',
  replaced_at: 'When the edit was made.',
});

/** The ends of a draft or a scheduled message. */
export const MESSAGE_RESULTS = ['sent', 'canceled', 'failed', 'rejected', 'superseded'] as const;

/** The outcome of a message (docs/contract.md#outcomes). Fields are null until there is one. */
export const MessageOutcome = Type.Object({
  object: Type.Literal('message_outcome'),
  message_id: Type.String(),
  status: OneOf(MESSAGE_STATUSES),
  result: Nullable(OneOf(MESSAGE_RESULTS)),
  reason: Nullable(Type.String()),
  at: Nullable(Timestamp),
});
export type MessageOutcome = Static<typeof MessageOutcome>;

describe(MessageOutcome, {
  status: 'The status of the message now.',
  result: 'How the draft or scheduled message ended. Null while that is open.',
  reason: 'Why, where there is more to say than the result does. Null otherwise.',
  at: 'When it ended. Null while that is open.',
});
