import { type Static, Type } from 'typebox';
import { describe, Identity, Nullable, OneOf, Timestamp } from '../schema/schema.ts';
import { Since } from '../schema/since.ts';
import { Entity } from './actor.ts';
import { METADATA_TEXTS, MetadataField } from './metadata.ts';

export const ATTACHMENT_KINDS = ['file', 'image', 'link', 'resource'] as const;
export type AttachmentKind = (typeof ATTACHMENT_KINDS)[number];

/** A file, link or resource of a message (docs/contract.md#attachments). */
export const Attachment = Type.Object({
  ...Identity('message_attachment'),
  kind: OneOf(ATTACHMENT_KINDS),
  filename: Nullable(Type.String()),
  content_type: Nullable(Type.String()),
  size_bytes: Nullable(Type.Integer()),
  url: Nullable(Type.String()),
  resource: Nullable(Entity),
  removed_at: Since('1.2.harbor', Nullable(Timestamp)),
  created_at: Timestamp,
  metadata: MetadataField,
  picture_metadata: Since('1.4.harbor', Nullable(OneOf(['removed', 'kept']))),
});
export type Attachment = Static<typeof Attachment>;

describe(Attachment, {
  kind: '`image` is an uploaded image and `file` any other upload, `link` is an address elsewhere, and `resource` is a resource of the app.',
  filename: 'Original name of the file. Null for `link` and `resource`.',
  content_type: 'MIME type of the file. Null for `link` and `resource`.',
  size_bytes: 'Size of the file in bytes. Null for `link` and `resource`, and where it is not known.',
  url: 'Time-limited address to download the file from, or the address of the `link`. Null for `resource`, and for a file that was removed.',
  removed_at:
    'When the file was removed because the account keeps files for a shorter time than messages. Null while it is there.',
  resource:
    'The linked resource of a `resource` attachment. Null for other kinds, to customers, and in the answers of Send Message and Reject Reply Draft.',
  metadata: METADATA_TEXTS.shown,
  picture_metadata:
    '`removed`: the picture tells nothing of its place, its device and its time. `kept`: it could not be read, and is as it was uploaded. Null for other kinds, and where the account keeps such data.',
});
