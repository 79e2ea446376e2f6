/**
 * What a browser is told about a file of somebody's (RFC 6266, RFC 8187). All of it is user text, and headers
 * go out unchecked: nothing leaves here that could end one.
 */

/** As a browser may save it: no path, no control characters, nothing that reverses text, 255 bytes at most. */
export function downloadName(filename: string): string {
  const clean = filename.toWellFormed().replace(UNSAFE, '_').trim();
  return shortened(clean) || 'file';
}

/** The value of Content-Disposition for a downloadName: always saved, never shown in our origin. */
export function contentDisposition(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const plain = `attachment; filename="${ascii}"`;
  return ascii === name ? plain : `${plain}; filename*=UTF-8''${percentEncoded(name)}`;
}

/** What a browser may take the bytes for: pictures, PDF and plain text as what they are, anything else as bytes. */
export function downloadType(contentType: string | null): string {
  const essence = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (essence === 'text/plain') return 'text/plain; charset=utf-8';
  return SHOWN_TYPES.has(essence) ? essence : 'application/octet-stream';
}

/** Of those that can carry scripts (SVG, HTML, XML) none. */
const SHOWN_TYPES = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'application/pdf',
]);

/** Separators of paths, controls, and the marks with which `exe.gpj` is made to read `jpg.exe`. */
const UNSAFE = /[/\\:*?"<>|\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/gu;

/** What file systems take, and what keeps URLs well inside the 4,096 bytes that a request's head may have. */
const MAX_BYTES = 255;
const EXTENSION = /\.[^.]{1,15}$/u;

function shortened(name: string): string {
  if (Buffer.byteLength(name) <= MAX_BYTES) return name;
  const extension = EXTENSION.exec(name)?.[0] ?? '';
  let room = MAX_BYTES - Buffer.byteLength(extension);
  let stem = '';
  for (const character of name.slice(0, name.length - extension.length)) {
    room -= Buffer.byteLength(character);
    if (room < 0) break;
    stem += character;
  }
  return stem + extension;
}

/** RFC 8187: attr-char only. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
