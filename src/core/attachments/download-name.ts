/**
 * The headers with which a user's file is downloaded (RFC 6266, RFC 8187). Their content is user
 * text, and headers are sent unchecked, so this file lets no character pass that could end a
 * header.
 */

/**
 * Returns a name that a browser may save: no path, no control characters, nothing that reverses
 * text, at most 255 bytes.
 */
export function downloadName(filename: string): string {
  const clean = filename.toWellFormed().replace(UNSAFE, '_').trim();
  return shortened(clean) || 'file';
}

/**
 * Returns the Content-Disposition for a downloadName: files are saved, never shown in our origin.
 */
export function contentDisposition(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const plain = `attachment; filename="${ascii}"`;
  return ascii === name ? plain : `${plain}; filename*=UTF-8''${percentEncoded(name)}`;
}

/**
 * Returns the type under which the bytes are sent: that of pictures, PDF and plain text, else
 * bytes.
 */
export function downloadType(contentType: string | null): string {
  const essence = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (essence === 'text/plain') return 'text/plain; charset=utf-8';
  return SHOWN_TYPES.has(essence) ? essence : 'application/octet-stream';
}

/** Types that cannot carry scripts, unlike SVG, HTML and XML. */
const SHOWN_TYPES = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'application/pdf',
]);

/** Separators of paths, control characters, and the marks that display `exe.gpj` as `jpg.exe`. */
const UNSAFE = /[/\\:*?"<>|\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/gu;

/**
 * The limit of file systems; it also keeps the head of a request well below the 4,096 bytes that
 * some servers allow.
 */
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

/** Leaves only attr-char of RFC 8187 unencoded. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
