/** What of a document's bytes a model reads, and what Postgres can keep of it. */

/** UTF-8 bytes of a text that a model is given at once. */
export const TEXT_BYTES = 262_144;

export interface CutText {
  readonly text: string;
  /** There is more of it. */
  readonly truncated: boolean;
}

/** Whether a type says text: whatever is written to be read by people or parsers. */
export function isTextType(contentType: string): boolean {
  return TEXT_TYPE.test(essenceOf(contentType));
}

export function isHtml(contentType: string): boolean {
  return HTML_TYPE.test(essenceOf(contentType));
}

/**
 * The bytes as text: in the character set that their type or, in HTML, they themselves name, else in UTF-8. A
 * character that is cut off at the end is left out; what is no character is U+FFFD.
 */
export function decodeText(bytes: Buffer, contentType: string): string {
  const named = CHARSET.exec(contentType)?.[1];
  const label =
    named ?? (isHtml(contentType) ? META.exec(bytes.toString('latin1', 0, 1024))?.[1] : undefined);
  return keepable(decoderFor(label).decode(bytes, { stream: true }));
}

/** At most so many bytes of it in UTF-8, never half a character. */
export function cutText(text: string, bytes: number): CutText {
  const encoded = Buffer.from(text);
  if (encoded.length <= bytes) return { text, truncated: false };
  const cut = new TextDecoder().decode(encoded.subarray(0, bytes), { stream: true });
  return { text: cut, truncated: true };
}

/** With what Postgres refuses replaced: U+0000 and halves of pairs. */
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
