import { type Static, Type } from 'typebox';
import { describe, Identity, Nullable, OneOf, Timestamp } from '../schema/schema.ts';
import { Actor } from './actor.ts';
import { Attachment } from './attachment.ts';

/** A sent file in the list of its conversation's files (docs/contract.md#attachments). */
export const ConversationFile = Type.Object({
  ...Identity('conversation_file'),
  kind: OneOf(['file', 'image']),
  filename: Nullable(Type.String()),
  content_type: Nullable(Type.String()),
  size_bytes: Nullable(Type.Integer()),
  url: Nullable(Type.String()),
  removed_at: Nullable(Timestamp),
  message_id: Type.String(),
  sequence: Type.Integer(),
  sender: Nullable(Actor),
  sent_at: Timestamp,
  picture_metadata: Attachment.properties.picture_metadata,
});
export type ConversationFile = Static<typeof ConversationFile>;

describe(ConversationFile, {
  id: 'Id of the attachment.',
  kind: 'How the sender attached it: as an `image` to show, or as a `file`.',
  filename: 'Original name of the file.',
  content_type: 'MIME type of the file.',
  size_bytes: 'Size of the file in bytes. Null where it is not known.',
  url: 'Time-limited address to download the file from. Null for a file that was removed.',
  removed_at:
    'When the file was removed because the account keeps files for a shorter time than messages. Null while it is there.',
  message_id: 'Id of the message that the file was sent with.',
  sequence: 'The `sequence` of that message.',
  sender: 'The sender that the message shows. Null for messages of the service.',
  sent_at: 'When the message was sent.',
  picture_metadata: 'As in the attachment of the message.',
});
