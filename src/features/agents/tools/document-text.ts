/** Conversion of a document's bytes to text that models can read and Postgres can store. */

/** UTF-8 bytes of text that a model gets at once. */
export const TEXT_BYTES = 262_144;

export interface CutText {
  readonly text: string;
  /** Whether the document is longer than the text. */
  readonly truncated: boolean;
}

/** Returns whether a content type is text, for people or for parsers. */
export function isTextType(contentType: string): boolean {
  return TEXT_TYPE.test(essenceOf(contentType));
}

export function isHtml(contentType: string): boolean {
  return HTML_TYPE.test(essenceOf(contentType));
}

/**
 * Decodes the bytes in the character set named by their type or, for HTML, by the document itself,
 * else in UTF-8. A character that is cut off at the end is dropped; invalid bytes become U+FFFD.
 */
export function decodeText(bytes: Buffer, contentType: string): string {
  const named = CHARSET.exec(contentType)?.[1];
  const label =
    named ?? (isHtml(contentType) ? META.exec(bytes.toString('latin1', 0, 1024))?.[1] : undefined);
  return keepable(decoderFor(label).decode(bytes, { stream: true }));
}

/** Returns at most `bytes` bytes of UTF-8, without splitting a character. */
export function cutText(text: string, bytes: number): CutText {
  const encoded = Buffer.from(text);
  if (encoded.length <= bytes) return { text, truncated: false };
  const cut = new TextDecoder().decode(encoded.subarray(0, bytes), { stream: true });
  return { text: cut, truncated: true };
}

/** Replaces characters that Postgres rejects: U+0000 and lone surrogates. */
export function keepable(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}

const TEXT_TYPE =
  /^(text\/.+|application\/(json|xml|yaml|x-yaml|toml|javascript|ecmascript|x-ndjson|ndjson|sql|rtf|x-www-form-urlencoded|.+\+(json|xml|yaml))|message\/rfc822|image\/svg\+xml)$/;
const HTML_TYPE = /^(text\/html|application\/xhtml\+xml)$/;
const CHARSET = /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i;
const META = /<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})/i;

function essenceOf(contentType: string): string {
  return contentType.split(';')[0]!.trim().toLowerCase();
}

function decoderFor(label: string | undefined) {
  try {
    return new TextDecoder(label ?? 'utf-8');
  } catch {
    return new TextDecoder();
  }
}
