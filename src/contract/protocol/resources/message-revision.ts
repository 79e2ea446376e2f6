import { type Static, Type } from 'typebox';
import { describe, Nullable, Timestamp } from '../schema/schema.ts';
import { Actor } from './actor.ts';

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
  message_id: 'Id of the message.',
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
