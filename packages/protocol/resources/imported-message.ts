import { type Static, Type } from 'typebox';
import { IdOf } from '../schema/external-ids.ts';
import { Body, demand, describe, OneOf, Text, Timestamp } from '../schema/schema.ts';
import { AttachmentInput, MESSAGE_LIMITS } from './chat-message.ts';
import { REACTION_LIMITS } from './reaction.ts';

export const MESSAGE_IMPORT_LIMITS = {
  /** In one call. */
  messages: 500,
  reactions: 1_000,
  /** RFC 3339; no message is older. */
  earliest: '1970-01-01T00:00:00Z',
} as const;

const ReactionInput = Body({
  emoji: Text(64),
  actor_id: IdOf('actor'),
  created_at: Type.Optional(Timestamp),
});
describe(ReactionInput, {
  emoji: `One emoji; a message can have ${REACTION_LIMITS.kinds} different ones.`,
  actor_id: 'The actor that reacted.',
  created_at: 'When it reacted. Default: the time of the message.',
});

export const ImportedMessageInput = Body({
  client_message_id: Type.String({ minLength: 1, maxLength: MESSAGE_LIMITS.clientMessageIdCharacters }),
  author_id: IdOf('actor'),
  created_at: Timestamp,
  body: Type.Optional(Text(MESSAGE_LIMITS.bodyCharacters)),
  audience: Type.Optional(OneOf(['internal', 'customer'])),
  edited_at: Type.Optional(Timestamp),
  deleted_at: Type.Optional(Timestamp),
  reply_to_client_message_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: MESSAGE_LIMITS.clientMessageIdCharacters }),
  ),
  reply_to_message_id: Type.Optional(Text(64)),
  mentions: Type.Optional(
    Type.Array(IdOf('actor'), { maxItems: MESSAGE_LIMITS.mentions, uniqueItems: true }),
  ),
  attachments: Type.Optional(Type.Array(AttachmentInput, { maxItems: MESSAGE_LIMITS.attachments })),
  reactions: Type.Optional(Type.Array(ReactionInput, { maxItems: MESSAGE_IMPORT_LIMITS.reactions })),
  pinned_by: Type.Optional(IdOf('actor')),
  pinned_at: Type.Optional(Timestamp),
});
export type ImportedMessageInput = Static<typeof ImportedMessageInput>;
describe(ImportedMessageInput, {
  client_message_id:
    'The id of the message in its former system, unique in the conversation: importing it again finds the first message.',
  author_id: 'The actor that wrote the message. It need not be a participant of the conversation.',
  created_at: 'When it was written, to the microsecond; not before 1970 and not in the future.',
  body: 'The text. Required unless the message has an attachment, or was deleted.',
  audience:
    'On a case, `customer` for what the team had sent to the customer. What customers wrote always is. Default `internal`.',
  edited_at: 'When it was last edited by its author.',
  deleted_at: 'When it was deleted: a tombstone without content takes its place.',
  reply_to_client_message_id:
    'The `client_message_id` of the message that it replies to, which is in front of it in this call or was imported before.',
  reply_to_message_id: 'The id of the message of the conversation that it replies to, instead.',
  mentions: 'The actors that the message mentions. They are not notified.',
  attachments: 'What the message carries beside its text. Files are uploaded before, as for Send Message.',
  reactions: 'The reactions to it, in their order.',
  pinned_by: 'The actor that has pinned it. Required with `pinned_at`.',
  pinned_at: 'When it was pinned. Default: the time of the message.',
});
demand(ImportedMessageInput, [
  { required: ['body'], properties: { body: { minLength: 1 } } },
  { required: ['attachments'], properties: { attachments: { minItems: 1 } } },
  { required: ['deleted_at'] },
]);

/** Body of Import Messages (docs/contract.md#imported-messages). */
export const ImportMessagesBody = Body({
  messages: Type.Array(ImportedMessageInput, { minItems: 1, maxItems: MESSAGE_IMPORT_LIMITS.messages }),
});
export type ImportMessagesBody = Static<typeof ImportMessagesBody>;
describe(ImportMessagesBody, {
  messages: 'The messages, in the order in which they are to be shown.',
});

const ImportedItem = Type.Object({
  client_message_id: Type.String(),
  id: Type.String(),
  sequence: Type.Integer({ minimum: 1 }),
  existed: Type.Boolean(),
});
describe(ImportedItem, {
  client_message_id: 'The id that the call gave it.',
  id: 'Id of the message.',
  sequence: 'Its number in the conversation.',
  existed: 'Whether it was there already; it was left as it is then.',
});

/** The outcome of the messages of a call. */
export const MessageImport = Type.Object({
  object: Type.Literal('message_import'),
  import_id: Type.String(),
  conversation_id: Type.String(),
  messages: Type.Array(ImportedItem),
});
export type MessageImport = Static<typeof MessageImport>;
describe(MessageImport, {
  import_id: 'Names this call in `imported` of the messages that it wrote, and in the audit.',
  messages: 'What became of each message, in the order of the call.',
});
