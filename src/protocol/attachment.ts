import { type Static, Type } from 'typebox';
import { Entity } from './actor.ts';
import { Nullable, OneOf, Timestamp } from './schema.ts';

export const ATTACHMENT_KINDS = ['file', 'image', 'link', 'resource'] as const;
export type AttachmentKind = (typeof ATTACHMENT_KINDS)[number];

/** Specification, message_attachment. */
export const Attachment = Type.Object({
  id: Type.String(),
  object: Type.Literal('message_attachment'),
  kind: OneOf(ATTACHMENT_KINDS),
  filename: Nullable(Type.String()),
  content_type: Nullable(Type.String()),
  size_bytes: Nullable(Type.Integer()),
  url: Nullable(Type.String()),
  resource: Nullable(Entity),
  created_at: Timestamp,
});
export type Attachment = Static<typeof Attachment>;
