import { type Static, Type } from 'typebox';
import { Body, describe, Line, Timestamp } from '../schema/schema.ts';

/** Largest files, by where they are stored (docs/contract.md#sizes). */
export const UPLOAD_LIMITS = {
  /** In object storage. */
  s3Bytes: 100 * 1024 * 1024,
  /** On the server's own disk. */
  localBytes: 25 * 1024 * 1024,
  filenameCharacters: 255,
  contentTypeCharacters: 255,
} as const;

/** Hours from the request for its URL in which an uploaded file may be attached. */
export const ATTACHABLE_HOURS = 24;

/** Seconds for which a URL for an upload or a download works. */
export const FILE_URL_S = 15 * 60;

/** Body of Create Upload URL (docs/contract.md#attachments); the storage decides `maxBytes`. */
export function UploadRequest(maxBytes: number) {
  const schema = Body({
    filename: Line(UPLOAD_LIMITS.filenameCharacters),
    content_type: Type.String({ format: 'media-type', maxLength: UPLOAD_LIMITS.contentTypeCharacters }),
    size_bytes: Type.Integer({ minimum: 1, maximum: maxBytes }),
  });
  describe(schema, {
    filename: 'Name of the file, as readers download it.',
    content_type: 'MIME type of the file, such as `image/png`.',
    size_bytes: 'Size of the file in bytes, exactly.',
  });
  return schema;
}
export type UploadRequest = Static<ReturnType<typeof UploadRequest>>;

/** The request for the bytes: once, until `expires_at`, with exactly these `headers`. */
export const UploadUrl = Type.Object({
  object: Type.Literal('upload_url'),
  s3_key: Type.String(),
  method: Type.Literal('PUT'),
  url: Type.String(),
  headers: Type.Record(Type.String(), Type.String()),
  expires_at: Timestamp,
});
export type UploadUrl = Static<typeof UploadUrl>;

describe(UploadUrl, {
  s3_key: 'Key of the upload, which an attachment of kind `file` or `image` names.',
  method: 'Method with which to send the bytes: always `PUT`.',
  url: 'Where to send the bytes, once.',
  headers: 'Headers to send with the bytes, exactly these.',
  expires_at: 'Until when the address works.',
});
