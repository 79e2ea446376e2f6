import { ApiError } from '@parley/protocol/errors/errors.ts';

/** Throws ApiError `unsupported_media_type` unless the Content-Type, if any, is JSON in UTF-8. */
export function requireJsonType(contentType: string | undefined): void {
  // Nearly every client sends one of these.
  if (contentType === undefined || contentType === 'application/json' || contentType === '') return;
  const message = 'Send JSON in UTF-8, with the Content-Type application/json.';
  if (!JSON_TYPE.test(contentType)) throw unsupportedType(message);
  const charset = CHARSET.exec(contentType)?.[1] ?? 'utf-8';
  if (!UTF_8.test(charset)) throw unsupportedType(message);
}

export function unsupportedType(message: string): ApiError {
  return new ApiError('unsupported_media_type', message, { param: 'Content-Type' });
}

/** Types with the suffix `+json` are JSON too (RFC 6839). */
const JSON_TYPE = /^application\/(?:[\w!#$&^.+-]+\+)?json\s*(?:;|$)/i;
const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]*)/i;
const UTF_8 = /^utf-?8$/i;
