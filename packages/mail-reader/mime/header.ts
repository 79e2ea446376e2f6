import { isUtf8 } from 'node:buffer';
import addressparser from 'nodemailer/lib/addressparser';
import type { Mailbox } from '../parsed-mail.ts';
import { cleanLine } from '../text/clean-text.ts';
import { decodeText } from './charset.ts';

/** The header of a mail or of one of its parts. */
export class Header {
  /** Names are in lower case, values unfolded, but not decoded. */
  readonly fields: readonly { readonly name: string; readonly raw: string }[];
  /** Whether fields were left out, or lines were no fields. */
  readonly isDamaged: boolean;
  /** Lines after the last field with which the body begins, because the blank line is missing. */
  readonly bodyLines: string;

  constructor(bytes: Buffer) {
    const plain = lineDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252');
    const decode = bytes.includes('\x1b$') ? lineDecoder('iso-2022-jp') : plain;
    const lines = bytes.toString('latin1').replace(BYTE_ORDER_MARK, '').split(/\r?\n/);
    const fields: { name: string; pieces: string[] }[] = [];
    let junkFrom = -1;
    let isDamaged = false;
    for (const [index, line] of lines.entries()) {
      if (line === '') continue;
      const last = fields.at(-1);
      if (/^[ \t]/.test(line) && last !== undefined && junkFrom === -1) {
        last.pieces.push(line);
        continue;
      }
      const name = /^([!-9;-~]{1,100})[ \t]*:/.exec(line)?.[1];
      if (name === undefined) {
        // The line that begins each mail in an mbox file.
        if (/^>?From /.test(line) && fields.length === 0) continue;
        if (junkFrom === -1) junkFrom = index;
        isDamaged = true;
        // Without it, the server's note would be incomplete.
        if (last !== undefined && isForServers(last.name)) last.pieces.push(line);
      } else if (fields.length === MAX_FIELDS) {
        isDamaged = true;
        break;
      } else {
        junkFrom = -1;
        fields.push({ name: name.toLowerCase(), pieces: [line.slice(line.indexOf(':') + 1)] });
      }
    }
    this.bodyLines = junkFrom === -1 ? '' : lines.slice(junkFrom).map(decode).join('\n');
    this.fields = fields.map(({ name, pieces }) => ({
      name,
      raw: pieces
        .map(isForServers(name) ? plain : decode)
        .join('')
        .trim(),
    }));
    this.isDamaged = isDamaged;
  }

  /** Returns the first field of this name, or null if there is none. */
  raw(name: string): string | null {
    return this.fields.find((field) => field.name === name)?.raw ?? null;
  }

  /** Returns the decoded value on one line, or null if it is missing or empty. */
  text(name: string): string | null {
    return decodeField(this.raw(name) ?? '') || null;
  }

  mailboxes(name: string): Mailbox[] {
    const raw = this.fields.filter((field) => field.name === name).map((field) => field.raw);
    return mailboxesOf(raw.join(', '));
  }

  /**
   * Returns ids without brackets, in the field's order. Python's mail library writes ids that do
   * not fit into a line as encoded words.
   */
  messageIds(name: string): string[] {
    const raw = this.raw(name) ?? '';
    return messageIdsOf(raw.includes('=?') ? decodeField(raw) : raw);
  }
}

const MAX_FIELDS = 1_000;
const MAX_MAILBOXES = 500;
const MAX_IDS = 100;
/** Maximum length of Message-IDs and addresses. Longer ones identify nothing. */
const MAX_ID_CHARACTERS = 900;
const MAX_ADDRESS_CHARACTERS = 320;

/** Of UTF-8, decoded as Latin-1. */
const BYTE_ORDER_MARK = /^\xef\xbb\xbf/;

/**
 * Returns a decoder for single lines, so that a switch to Japanese in one line does not affect the
 * next. Headers should be ASCII; others are in UTF-8, ISO-2022-JP or an old character set.
 */
function lineDecoder(charset: string): (line: string) => string {
  const decoder = new TextDecoder(charset);
  return (line) => decoder.decode(Buffer.from(line, 'latin1'));
}

/** Returns whether servers write it for servers, without encoded words or other charsets. */
export function isForServers(name: string): boolean {
  return name === 'authentication-results';
}
/**
 * Returns an undecoded field on one line. Control characters are replaced, because the field would
 * read differently without them.
 */
export function lineOf(raw: string): string {
  return raw.replace(/[ \t\r]+/g, ' ').replace(/\p{Cc}/gu, '\ufffd');
}

/** Decodes encoded words (RFC 2047), wherever they stand, and removes control characters. */
export function decodeField(raw: string): string {
  return cleanLine(decodeWords(raw));
}

/** Decodes neighbours of one character set together: some mailers split characters over words. */
function decodeWords(text: string): string {
  if (!text.includes('=?')) return text;
  const pieces: (string | { readonly charset: string; readonly bytes: Buffer[] })[] = [];
  let after = 0;
  for (const match of text.matchAll(/=\?([^?\s]{1,60})\?([bq])\?([^?]*)\?=/gi)) {
    const [word, label = '', encoding = '', content = ''] = match;
    const between = text.slice(after, match.index);
    after = match.index + word.length;
    const charset = label.toLowerCase();
    const bytes = /b/i.test(encoding) ? Buffer.from(content, 'base64') : decodeQ(content);
    // Blanks between two words belong to their folding.
    if (typeof pieces.at(-1) !== 'object' || between.trim() !== '') pieces.push(between);
    const last = pieces.at(-1);
    if (typeof last === 'object' && last.charset === charset) last.bytes.push(bytes);
    else pieces.push({ charset, bytes: [bytes] });
  }
  pieces.push(text.slice(after));
  return pieces
    .map((piece) =>
      typeof piece === 'string' ? piece : decodeText(Buffer.concat(piece.bytes), piece.charset).text,
    )
    .join('');
}

function decodeQ(content: string): Buffer {
  return unescaped(content.replace(/_/g, ' '), /=([0-9a-f]{2})/gi);
}

function unescaped(text: string, escapes: RegExp): Buffer {
  const bytes = text.replace(escapes, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  // Characters that should have been encoded.
  return /[^\0-\xff]/.test(bytes) ? Buffer.from(bytes) : Buffer.from(bytes, 'latin1');
}

function mailboxesOf(raw: string): Mailbox[] {
  const found: Mailbox[] = [];
  for (const { address, name } of addressparser(raw, { flatten: true })) {
    const clean = cleanAddress(address ?? '');
    if (clean === null) continue;
    found.push({ address: clean, name: decodeField(name) || null });
    if (found.length === MAX_MAILBOXES) break;
  }
  return found;
}

/** Returns the address in lower case, or null if it is no address. */
export function cleanAddress(text: string): string | null {
  // Routes before the address are obsolete; blanks and brackets in it are mistakes.
  const address = text
    .replace(/^@[^:]*:/, '')
    .trim()
    .toLowerCase();
  if (address.length > MAX_ADDRESS_CHARACTERS || /[\s<>\p{Cc}]/u.test(address)) return null;
  return /^[^@]+@[^@]+$|^"[^"]*"@[^@]+$/.test(address) ? address : null;
}

export function messageIdsOf(raw: string): string[] {
  const bracketed = [...raw.matchAll(/<([^<>]{1,998})>/g)].map(([, id = '']) => id.replace(/\s+/g, ''));
  const ids = bracketed.length > 0 ? bracketed : raw.split(/[\s,]+/).map((id) => id.replace(/[<>]/g, ''));
  const clean = ids.map((id) => cleanLine(id)).filter((id) => id !== '' && id.length <= MAX_ID_CHARACTERS);
  // Keeps the first id of an overlong thread, which began it, and the last ids, which are answered.
  return clean.length <= MAX_IDS ? clean : [...clean.slice(0, 1), ...clean.slice(1 - MAX_IDS)];
}

export interface StructuredField {
  /** In lower case. */
  readonly value: string;
  /** Decoded, by lowercase name. */
  readonly parameters: ReadonlyMap<string, string>;
}

/**
 * Reads parameters with continuations and character sets (RFC 2231), or with encoded words, which
 * mailers write instead.
 */
export function structuredField(raw: string | null): StructuredField {
  const [value = '', ...rest] = splitOutsideQuotes(raw ?? '');
  const plain = new Map<string, string>();
  const pieces = new Map<string, { encoded: boolean; text: string }[]>();
  for (const piece of rest.slice(0, MAX_PARAMETERS)) {
    const equals = piece.indexOf('=');
    if (equals === -1) continue;
    const key = piece.slice(0, equals).trim().toLowerCase();
    const text = unquoted(piece.slice(equals + 1).trim());
    const [, name, index, star] = /^([^*]+)(?:\*(\d{1,3}))?(\*)?$/.exec(key) ?? [];
    if (name === undefined) continue;
    if (index === undefined && star === undefined) {
      if (!plain.has(name)) plain.set(name, decodeField(text));
    } else {
      const ofName = pieces.get(name) ?? [];
      ofName[Number(index ?? 0)] ??= { encoded: star !== undefined, text };
      pieces.set(name, ofName);
    }
  }
  for (const [name, ofName] of pieces) plain.set(name, joined(ofName));
  const [type = ''] = value.trim().toLowerCase().split(/[\s(]/);
  return { value: type, parameters: plain };
}

const MAX_PARAMETERS = 200;

function joined(
  pieces: readonly ({ readonly encoded: boolean; readonly text: string } | undefined)[],
): string {
  const [, charset = '', first] = /^([^']*)'[^']*'(.*)$/s.exec(pieces[0]?.text ?? '') ?? [];
  const bytes: Buffer[] = [];
  for (const [index, piece] of pieces.entries()) {
    // After a gap, the rest would belong to another name.
    if (piece === undefined) break;
    const text = index === 0 && piece.encoded ? (first ?? piece.text) : piece.text;
    bytes.push(piece.encoded ? unescaped(text, /%([0-9a-f]{2})/gi) : Buffer.from(text));
  }
  return cleanLine(decodeText(Buffer.concat(bytes), charset || 'utf-8').text);
}

function unquoted(text: string): string {
  if (!text.startsWith('"')) return text;
  const closing = /^"((?:[^"\\]|\\.)*)"?/s.exec(text)?.[1] ?? '';
  // Some mailers do not escape backslashes of paths.
  return closing.replace(/\\(["\\])/g, '$1');
}

function splitOutsideQuotes(raw: string): string[] {
  const parts: string[] = [];
  let from = 0;
  let isQuoted = false;
  for (let at = 0; at < raw.length; at += 1) {
    const character = raw[at];
    if (isQuoted && character === '\\') at += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === ';' && !isQuoted) {
      parts.push(raw.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(raw.slice(from));
  return parts;
}
