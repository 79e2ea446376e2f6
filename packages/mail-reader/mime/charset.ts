/** Text of bytes whose declared character set may be wrong. */

import { isUtf8 } from 'node:buffer';

export interface DecodedText {
  readonly text: string;
  /** Whether characters were lost. */
  readonly isDamaged: boolean;
}

/**
 * Decodes by the bytes rather than the declaration. Valid UTF-8 is UTF-8 under every label of a
 * single-byte character set, because no text in one is valid UTF-8 by accident. Text that is
 * wrongly declared as UTF-8 was nearly always written in windows-1252. `label` is null if none is
 * declared.
 */
export function decodeText(bytes: Buffer, label: string | null): DecodedText {
  const name = nameOf(label);
  if (name === 'utf-7') return { text: decodeUtf7(bytes.toString('latin1')), isDamaged: false };
  // ASCII, unless the bytes switch to Japanese characters.
  if (label === null && bytes.includes('\x1b$')) return decodeAs(bytes, 'iso-2022-jp');
  const decoder = name === null || WESTERN.has(name) ? null : decoderOf(name);
  const isUnicode =
    decoder === null || decoder.encoding === 'utf-8' || /^(iso-8859|windows-)/.test(decoder.encoding);
  if (isUnicode && isUtf8(bytes)) return { text: UTF_8.decode(bytes), isDamaged: false };
  if (decoder === null) return decodeAs(bytes, 'windows-1252');
  const text = decoder.decode(bytes);
  const lost = count(text, /\ufffd/g);
  if (decoder.encoding !== 'utf-8' || lost === 0) return { text, isDamaged: lost > 0 };
  // If most characters are valid, the rest is damaged; otherwise the label is wrong.
  const isMostlyUtf8 = count(text, /[\u0080-\ufffc]/g) >= lost;
  return isMostlyUtf8 ? { text, isDamaged: true } : decodeAs(bytes, 'windows-1252');
}

const UTF_8 = new TextDecoder('utf-8');
/** Labels that mailers use for any character set. */
const WESTERN = new Set([
  'us-ascii',
  'ascii',
  'iso-8859-1',
  'latin1',
  'windows-1252',
  'cp1252',
  'unknown-8bit',
  '8bit',
]);
/** Names that mailers use and that the Encoding Standard lacks. */
const ALIASES: Readonly<Record<string, string>> = {
  utf7: 'utf-7',
  'unicode-1-1-utf-7': 'utf-7',
  cp932: 'shift_jis',
  ms932: 'shift_jis',
  cp936: 'gbk',
  cp949: 'euc-kr',
  'ks_c_5601-1987': 'euc-kr',
  cp950: 'big5',
  'iso-8859-8-e': 'iso-8859-8',
  'iso-2022-jp-2': 'iso-2022-jp',
  'iso-2022-jp-ms': 'iso-2022-jp',
  utf8mb4: 'utf-8',
};

function nameOf(label: string | null): string | null {
  if (label === null) return null;
  // RFC 2231 allows a language after an asterisk.
  const name = label
    .trim()
    .toLowerCase()
    .replace(/^["']|["']$/g, '')
    .replace(/\*.*$/, '')
    .replace(/^cp-?(?=125\d$)/, 'windows-');
  return name === '' ? null : (ALIASES[name] ?? name);
}

/** Returns null for an unknown name. */
function decoderOf(name: string): InstanceType<typeof TextDecoder> | null {
  try {
    return new TextDecoder(name);
  } catch {
    return null;
  }
}

function decodeAs(bytes: Buffer, name: string): DecodedText {
  const text = new TextDecoder(name).decode(bytes);
  return { text, isDamaged: text.includes('\ufffd') };
}

/** Decodes RFC 2152: text outside `+…-` is ASCII, text inside is UTF-16 in base64. */
function decodeUtf7(text: string): string {
  return text.replace(/\+([A-Za-z0-9+/]*)-?/g, (_, base64: string) => {
    if (base64 === '') return '+';
    const bytes = Buffer.from(base64, 'base64');
    return bytes
      .subarray(0, bytes.length & ~1)
      .swap16()
      .toString('utf16le');
  });
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
