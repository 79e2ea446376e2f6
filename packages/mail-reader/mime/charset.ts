/** Text of bytes whose declared character set may be wrong. */

import { isUtf8 } from 'node:buffer';
import iconv from 'iconv-lite';

export interface DecodedText {
  readonly text: string;
  /** Whether characters were lost. */
  readonly isDamaged: boolean;
}

/**
 * Decodes by the bytes rather than the declaration. Valid UTF-8 is UTF-8 under every label of a
 * single-byte character set, because no text in one is valid UTF-8 by accident; under other labels
 * a few characters may be, so that more of them must agree. Text that is wrongly declared as UTF-8
 * was nearly always written in windows-1252. `label` is null if none is declared.
 */
export function decodeText(bytes: Buffer, label: string | null): DecodedText {
  const name = nameOf(label) ?? switchedTo(bytes);
  const isUnicode = name === null || name === 'utf-8' || name.startsWith('utf-16');
  const wide = isUnicode ? wideUnicode(bytes, name) : null;
  if (wide !== null) return decodeAs(bytes, wide);
  const isValidUtf8 = isUtf8(bytes);
  if (isValidUtf8 && (isUnicode || SINGLE_BYTES.test(name) || isSurelyUtf8(bytes)))
    return decodeAs(bytes, 'utf-8');
  if (name === null || name.startsWith('utf-16')) return decodeAs(bytes, 'windows-1252');
  const decoded = decodeAs(bytes, name);
  if (isValidUtf8 && decoded.isDamaged) return decodeAs(bytes, 'utf-8');
  if (name !== 'utf-8' || !decoded.isDamaged) return decoded;
  // If most characters are valid, the rest is damaged; otherwise the label is wrong.
  const isMostlyUtf8 = count(decoded.text, /[\u0080-\ufffc]/g) >= count(decoded.text, /\ufffd/g);
  return isMostlyUtf8 ? decoded : decodeAs(bytes, 'windows-1252');
}

const UTF_8 = new TextDecoder('utf-8');
/** Names of the Encoding Standard whose letters beyond ASCII are never valid UTF-8 together. */
const SINGLE_BYTES = /^(iso-8859|windows-)/;
/** Labels that mailers use for any character set, without punctuation. */
const WESTERN = new Set(
  'usascii ascii iso88591 latin1 windows1252 unknown8bit 8bit binary base64 hex'.split(' '),
);
/** Names that mailers use and that neither the Encoding Standard nor `iconv-lite` has. */
const ALIASES: readonly (readonly [RegExp, string])[] = [
  [/^(x-)?(cp-?|windows-)(?=125\d$)/, 'windows-'],
  [/^(x-windows|dos)-?(?=\d{3}$)/, 'cp'],
  [/^iso-2022-jp-.+/, 'iso-2022-jp'],
  [/^iso-8859-8-e$/, 'iso-8859-8'],
  [/^utf8mb4$/, 'utf-8'],
];

/**
 * Sets of which the decoders of Node have a part, as `iconv-lite` calls them: 8,824 Korean
 * syllables and 4,908 Cantonese characters are not in that part.
 */
const WHOLE: ReadonlyMap<string, string> = new Map([
  ['euc-kr', 'cp949'],
  ['big5', 'big5hkscs'],
]);
/** Sets of seven bits: the set that has their pairs with high bits, and how to add these. */
const SEVEN_BITS: ReadonlyMap<string, readonly [set: string, withHighBits: (text: string) => string]> =
  new Map([
    ['iso-2022-kr', ['cp949', (text) => shiftedOut(text.replaceAll('\x1b$)C', ''))]],
    ['iso-2022-cn', ['gbk', (text) => shiftedOut(text.replaceAll('\x1b$)A', ''))]],
    [
      'hz-gb-2312',
      [
        'gbk',
        (text) =>
          text.replace(
            /~(?:\{((?:[!-w][!-~])*)(?:~\})?|\r?\n|(~))/g,
            (_, pairs = '', tilde = '') => withHighBits(pairs) + tilde,
          ),
      ],
    ],
  ]);

/** Returns the name of a known set; null for an unknown set and for labels that say nothing. */
function nameOf(label: string | null): string | null {
  // RFC 2231 allows a language after an asterisk.
  const given = (label ?? '')
    .trim()
    .toLowerCase()
    .replace(/^["']|["']$/g, '')
    .replace(/\*.*$/, '');
  if (given === '' || given === 'utf-8') return given || null;
  const name = ALIASES.reduce((text, [pattern, other]) => text.replace(pattern, other), given);
  if (WESTERN.has(name.replace(/[^a-z0-9]/g, ''))) return null;
  if (SEVEN_BITS.has(name)) return name;
  try {
    const { encoding } = new TextDecoder(name);
    return WHOLE.get(encoding) ?? encoding;
  } catch {
    return iconv.encodingExists(name) ? name : null;
  }
}

/** Returns the set that the bytes switch to, though none is declared. */
function switchedTo(bytes: Buffer): string | null {
  if (!bytes.includes('\x1b$')) return null;
  return bytes.includes('\x1b$)C') ? 'iso-2022-kr' : 'iso-2022-jp';
}

/**
 * Returns the form of UTF-16 in which the bytes are, or null if they are in none. They say it by a
 * byte order mark; without one the zeros of ASCII characters do, and after them the label.
 */
function wideUnicode(bytes: Buffer, name: string | null): string | null {
  const mark = bytes.length % 2 === 0 ? bytes.toString('hex', 0, 2) : '';
  if (mark === 'feff') return 'utf-16be';
  if (mark === 'fffe') return 'utf-16le';
  if (!name?.startsWith('utf-16')) return null;
  const zeros: [number, number] = [0, 0];
  const pairs = bytes.subarray(0, bytes.length & ~1);
  for (let at = pairs.indexOf(0); at !== -1; at = pairs.indexOf(0, at + 1)) zeros[at % 2 === 0 ? 0 : 1] += 1;
  if (zeros[0] === 0 && zeros[1] === 0 && isUtf8(bytes) && (bytes.length > 20 || isSurelyUtf8(bytes)))
    return null;
  if (zeros[0] === zeros[1]) return name;
  return zeros[0] > zeros[1] ? 'utf-16be' : 'utf-16le';
}

/**
 * Returns whether valid UTF-8 is more than an accident: few pairs of bytes of Chinese, Japanese and
 * Korean sets are valid, and a text of them is not.
 */
function isSurelyUtf8(bytes: Buffer): boolean {
  const text = bytes.toString();
  return (
    count(text, /[^\0-\x7f]/gu) >= SURE_CHARACTERS ||
    /[\u0e00-\u0eff\u1e00-\u9fff\uac00-\uffff]|[a-z][\u00c0-\u024f]{1,2}[a-z]/i.test(text)
  );
}

const SURE_CHARACTERS = 6;

function decodeAs(bytes: Buffer, name: string): DecodedText {
  const text = decoded(bytes, name);
  return { text, isDamaged: text.includes('\ufffd') };
}

function decoded(bytes: Buffer, name: string): string {
  const sevenBits = SEVEN_BITS.get(name);
  if (sevenBits !== undefined) {
    const [set, highBits] = sevenBits;
    return decoded(Buffer.from(highBits(bytes.toString('latin1')), 'latin1'), set);
  }
  if (name === 'utf-8') return UTF_8.decode(bytes);
  try {
    return new TextDecoder(name).decode(bytes);
  } catch {
    return iconv.decode(bytes, name);
  }
}

/** Adds the high bits between the characters that shift out and in; a line ends shifted in. */
function shiftedOut(text: string): string {
  const [first = '', ...runs] = text.split('\x0e');
  return (
    first +
    runs
      .map((run) => {
        const end = [run.indexOf('\x0f'), run.indexOf('\n'), run.length].filter((at) => at !== -1);
        const at = Math.min(...end);
        return withHighBits(run.slice(0, at)) + run.slice(at).replace('\x0f', '');
      })
      .join('')
  );
}

function withHighBits(text: string): string {
  return text.replace(/[!-~]/g, (character) => String.fromCharCode(character.charCodeAt(0) | 0x80));
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
