import { Header, type StructuredField, structuredField } from './header.ts';
import { UsualLines } from './line-ends.ts';

/** A part of a mail: the mail itself, a multipart, or a leaf. */
export interface MimePart {
  readonly header: Header;
  readonly type: StructuredField;
  readonly parent: MimePart | null;
  readonly depth: number;
  /** The boundary between the parts of a multipart, or null for a leaf. */
  readonly boundary: string | null;
  /** The number of its parts so far. */
  children: number;
}

/**
 * The events of a mail. Parts open and close in the order of the mail, each leaf with its raw
 * bytes. The bytes of a multipart are those before its first part. Bytes are valid until the next
 * event.
 */
export type MimeEvent =
  | { readonly kind: 'open'; readonly part: MimePart }
  | { readonly kind: 'bytes'; readonly part: MimePart; readonly bytes: Buffer }
  | { readonly kind: 'close'; readonly part: MimePart };

const MIME_LIMITS = {
  /** Bytes of a header, of the mail or a part: mail to hundreds of recipients has 60 KB. */
  headerBytes: 256 * 1024,
  partHeaderBytes: 32 * 1024,
  parts: 1_000,
  depth: 32,
  /** RFC 2046 allows 70 characters. */
  boundaryCharacters: 400,
} as const;

/**
 * Splits a mail into its parts while it arrives. Work and memory grow only with the number of
 * bytes: a line is compared with all open boundaries at once, and a header is kept up to its limit.
 * Parts beyond the limits are skipped.
 */
export class MimeSplitter {
  /** Whether anything is skipped or missing. */
  isDamaged = false;
  /** Undecided bytes, at the start of the memory that every piece is read into. */
  #memory: Buffer = Buffer.alloc(0);
  #rest: Buffer = this.#memory;
  /** The header that is being read, or null while a body is read. */
  #header: { readonly parent: MimePart | null; bytes: Buffer[]; size: number } | null;
  /** The part to which the bytes belong, or null if they are skipped. */
  #part: MimePart | null = null;
  /** Open multiparts, outermost first. */
  readonly #open: MimePart[] = [];
  readonly #count: { parts: number };
  #atLineStart = true;
  readonly #lines = new UsualLines();
  /** Bytes of the rest whose line ends were not looked at. */
  #unseen = 0;

  constructor(parent: MimePart | null = null, count: { parts: number } = { parts: 0 }) {
    this.#header = { parent, bytes: [], size: 0 };
    this.#count = count;
  }

  /**
   * Returns a splitter for the content of a leaf, which has a mail in it, or null where that would
   * be too deep. Its limit of parts is that of the whole.
   */
  within(leaf: MimePart): MimeSplitter | null {
    return leaf.depth < MIME_LIMITS.depth ? new MimeSplitter(leaf, this.#count) : null;
  }

  *write(bytes: Buffer): Generator<MimeEvent> {
    const kept = this.#rest.length;
    const memory = this.#memory;
    if (kept + bytes.length > memory.length) this.#memory = Buffer.alloc(2 * (kept + bytes.length));
    // The rest may overlap with its new place, which `copy` allows.
    this.#rest.copy(this.#memory);
    bytes.copy(this.#memory, kept);
    this.#rest = this.#memory.subarray(0, kept + bytes.length);
    this.#unseen += bytes.length;
    yield* this.#read(false);
  }

  *end(): Generator<MimeEvent> {
    yield* this.#read(true);
    if (this.#header !== null) yield* this.#endHeader();
    // The mail was cut off, or its mailer omitted the last boundary, which looks the same.
    if (this.#open.length > 0) this.isDamaged = true;
    yield* this.#closeTo(0);
  }

  *#read(isLast: boolean): Generator<MimeEvent> {
    if (!this.#lines.canBegin(this.#rest, isLast)) return;
    const seen = this.#rest.length - this.#unseen;
    this.#rest = this.#rest.subarray(0, seen + this.#lines.change(this.#rest.subarray(seen)));
    this.#unseen = 0;
    for (;;) {
      const before = this.#rest;
      if (this.#header !== null) yield* this.#readHeader(isLast);
      else yield* this.#readBody(isLast);
      // Nothing more can be decided about the rest.
      if (this.#rest === before || this.#rest.length === 0) return;
    }
  }

  /** Consumes one line, or a piece of a longer one. */
  *#readHeader(isLast: boolean): Generator<MimeEvent> {
    const header = this.#header;
    if (header === null) return;
    let at = 0;
    const bytes = this.#rest;
    while (at < bytes.length) {
      const found = bytes.indexOf(LF, at);
      if (found === -1 && !isLast && bytes.length - at < MIME_LIMITS.headerBytes) break;
      const end = found === -1 ? bytes.length : found + 1;
      const line = bytes.subarray(at, end);
      const isBlank = this.#atLineStart && (line[0] === LF || (line[0] === CR && line[1] === LF));
      if (isBlank && (header.size > 0 || header.parent !== null)) {
        this.#rest = bytes.subarray(end);
        this.#atLineStart = true;
        yield* this.#endHeader();
        return;
      }
      const boundary = this.#atLineStart && header.parent !== null ? this.#boundaryOf(line) : null;
      if (boundary !== null) {
        // The part ends within its header.
        this.#rest = bytes.subarray(at);
        yield* this.#endHeader();
        return;
      }
      const limit = header.parent === null ? MIME_LIMITS.headerBytes : MIME_LIMITS.partHeaderBytes;
      if (isBlank) {
        // Skips blank lines before the first field.
      } else if (header.size + line.length <= limit) {
        header.bytes.push(Buffer.from(line));
        header.size += line.length;
      } else {
        header.size = limit;
        this.isDamaged = true;
      }
      this.#atLineStart = found !== -1;
      at = end;
    }
    if (at > 0) this.#rest = bytes.subarray(at);
  }

  *#endHeader(): Generator<MimeEvent> {
    const ended = this.#header;
    if (ended === null) return;
    this.#header = null;
    const header = new Header(Buffer.concat(ended.bytes));
    if (header.isDamaged) this.isDamaged = true;
    const part = this.#partOf(header, ended.parent);
    this.#part = part;
    yield { kind: 'open', part };
    if (header.bodyLines !== '') yield { kind: 'bytes', part, bytes: Buffer.from(`${header.bodyLines}\n`) };
  }

  #partOf(header: Header, parent: MimePart | null): MimePart {
    this.#count.parts += 1;
    if (parent !== null) parent.children += 1;
    const depth = parent === null ? 0 : parent.depth + 1;
    const type = typeOf(header, parent);
    let boundary: string | null = null;
    if (type.value.startsWith('multipart/')) {
      boundary = type.parameters.get('boundary') ?? '';
      if (depth >= MIME_LIMITS.depth || boundary === '' || boundary.length > MIME_LIMITS.boundaryCharacters) {
        this.isDamaged = true;
        boundary = null;
      }
    }
    const part: MimePart = { header, type, parent, depth, boundary, children: 0 };
    if (boundary !== null) this.#open.push(part);
    return part;
  }

  *#readBody(isLast: boolean): Generator<MimeEvent> {
    const bytes = this.#rest;
    let from = 0;
    for (;;) {
      const at = this.#open.length === 0 ? -1 : nextDashes(bytes, from, this.#atLineStart && from === 0);
      if (at === -1) break;
      const lineEnd = bytes.indexOf(LF, at);
      if (lineEnd === -1 && !isLast && bytes.length - at < MAX_BOUNDARY_LINE) {
        // The line is incomplete.
        yield* this.#emit(bytes.subarray(0, beforeBreak(bytes, at)));
        this.#keepFrom(beforeBreak(bytes, at));
        return;
      }
      const end = lineEnd === -1 ? bytes.length : lineEnd + 1;
      const boundary = end - at > MAX_BOUNDARY_LINE ? null : this.#boundaryOf(bytes.subarray(at, end));
      if (boundary === null) {
        from = at + 2;
        continue;
      }
      yield* this.#emit(bytes.subarray(0, beforeBreak(bytes, at)));
      this.#rest = bytes.subarray(end);
      this.#atLineStart = true;
      const index = this.#open.indexOf(boundary.multipart);
      if (boundary.isLast) {
        yield* this.#closeTo(index);
      } else {
        yield* this.#closeTo(index + 1);
        // Beyond the limit, its bytes and header belong to no part.
        if (this.#count.parts >= MIME_LIMITS.parts) this.isDamaged = true;
        else this.#header = { parent: boundary.multipart, bytes: [], size: 0 };
      }
      return;
    }
    // A line break at the end may belong to a boundary.
    const kept = isLast ? bytes.length : breakAtEnd(bytes);
    yield* this.#emit(bytes.subarray(0, kept));
    this.#keepFrom(kept);
  }

  #keepFrom(from: number): void {
    if (from === 0) return;
    this.#atLineStart = this.#rest[from - 1] === LF;
    this.#rest = this.#rest.subarray(from);
  }

  *#emit(bytes: Buffer): Generator<MimeEvent> {
    if (bytes.length > 0 && this.#part !== null) yield { kind: 'bytes', part: this.#part, bytes };
  }

  /** Closes the current leaf, and the open multiparts from this one on. */
  *#closeTo(index: number): Generator<MimeEvent> {
    const part = this.#part;
    this.#part = null;
    if (part !== null && part.boundary === null) yield { kind: 'close', part };
    while (this.#open.length > index) {
      const multipart = this.#open.pop();
      if (multipart !== undefined) yield { kind: 'close', part: multipart };
    }
  }

  #boundaryOf(line: Buffer): { readonly multipart: MimePart; readonly isLast: boolean } | null {
    if (line.length > MAX_BOUNDARY_LINE || line[0] !== DASH || line[1] !== DASH) return null;
    const text = line.toString('latin1').slice(2).trimEnd();
    const multipart = this.#find(text);
    if (multipart !== undefined) return { multipart, isLast: false };
    const closed = text.endsWith('--') ? this.#find(text.slice(0, -2)) : undefined;
    return closed === undefined ? null : { multipart: closed, isLast: true };
  }

  /** Returns the innermost matching multipart; at most MIME_LIMITS.depth are open. */
  #find(boundary: string): MimePart | undefined {
    return this.#open.findLast((multipart) => multipart.boundary === boundary);
  }
}

const [LF, CR, DASH] = [0x0a, 0x0d, 0x2d];
const MAX_BOUNDARY_LINE = 2 * MIME_LIMITS.boundaryCharacters;
const LINE_OF_DASHES = Buffer.from('\n--');

/** Returns the start of the next line with two dashes, or -1. */
function nextDashes(bytes: Buffer, from: number, atLineStart: boolean): number {
  if (atLineStart && bytes[0] === DASH && bytes[1] === DASH) return 0;
  const at = bytes.indexOf(LINE_OF_DASHES, Math.max(0, from - 1));
  return at === -1 ? -1 : at + 1;
}

/** Leaves out the line break before a boundary, which belongs to it. */
function beforeBreak(bytes: Buffer, at: number): number {
  if (at === 0 || bytes[at - 1] !== LF) return at;
  return at > 1 && bytes[at - 2] === CR ? at - 2 : at - 1;
}

/** Returns where the end may begin a boundary: at a line break and at most one dash. */
function breakAtEnd(bytes: Buffer): number {
  let end = bytes.length;
  if (bytes[end - 1] === DASH) end -= 1;
  if (end === 0) return 0;
  if (bytes[end - 1] === LF) end -= 1;
  else if (end < bytes.length) return bytes.length;
  return bytes[end - 1] === CR ? end - 1 : end;
}

/** Returns the type: without one, a part is text, but in a digest a mail. */
function typeOf(header: Header, parent: MimePart | null): StructuredField {
  const type = structuredField(header.raw('content-type'));
  if (/^[a-z0-9!#$&^_.+-]{1,100}\/[a-z0-9!#$&^_.+-]{1,100}$/.test(type.value)) return type;
  const value = parent?.type.value === 'multipart/digest' ? 'message/rfc822' : 'text/plain';
  return { value, parameters: type.parameters };
}
