/**
 * What a CMS object (RFC 5652) is, in which S/MIME puts a mail: `signed` has its bytes in the open;
 * of `encrypted` only a key can read them; `other` are objects without a content, such as
 * certificates, and bytes that are no such object.
 */
type CmsKind = 'signed' | 'encrypted' | 'other';

/**
 * Takes the bytes of a CMS object as they arrive, in every form that ASN.1 has (BER), and gives
 * those of the mail in it. Holds no more than the beginning. No signature is checked.
 */
export class CmsContent {
  /** Undefined until the beginning of the object has arrived. */
  kind: CmsKind | undefined;
  /** Bytes that wait for more; of an object that is not signed, all that have arrived with it. */
  begun: Buffer = Buffer.alloc(0);
  /** Bytes that are left of the current piece of the content. */
  #left = 0;
  /** Number of open pieces that consist of pieces and end with a mark. */
  #open = 0;
  /** Whether the content is one piece. */
  #isSimple = false;
  #isOver = false;

  /** Whether the end of the content is missing. */
  get isCut(): boolean {
    return this.kind === 'signed' && !this.#isOver;
  }

  /** Returns the pieces of the content in the next bytes, which share their memory. */
  *write(bytes: Buffer, isLast = false): Generator<Buffer> {
    if (this.#isOver) return;
    let rest = this.begun.length === 0 ? bytes : Buffer.concat([this.begun, bytes]);
    if (this.kind === undefined) {
      const content = contentOf(rest);
      if (typeof content === 'string') {
        const isOpen = content === 'more' && !isLast && rest.length < MAX_BEGINNING;
        if (!isOpen) this.kind = content === 'more' ? 'other' : content;
        this.begun = Buffer.from(rest);
        return;
      }
      this.kind = 'signed';
      this.#isSimple = content.tag === OCTETS;
      // Pieces whose length is known end with another element.
      this.#open = content.length === null ? 0 : 1;
      this.#take(content);
      rest = rest.subarray(content.start);
    }
    yield* this.#pieces(rest);
  }

  *#pieces(bytes: Buffer): Generator<Buffer> {
    let at = 0;
    while (!this.#isOver) {
      const piece = bytes.subarray(at, at + this.#left);
      this.#left -= piece.length;
      at += piece.length;
      if (piece.length > 0) yield piece;
      if (this.#left > 0) break;
      const next = this.#isSimple ? END : elementAt(bytes, at);
      if (next === null) break;
      at = next.start;
      this.#take(next);
    }
    this.begun = Buffer.from(bytes.subarray(this.#isOver ? bytes.length : at));
  }

  /** Goes on with an element of the content. */
  #take({ tag, length }: Element): void {
    if (tag === OCTETS && length !== null) this.#left = length;
    else if (tag === PIECES) this.#open += length === null ? 1 : 0;
    else {
      if (tag === 0) this.#open -= 1;
      this.#isOver = tag !== 0 || this.#open <= 0;
    }
  }
}

interface Element {
  readonly tag: number;
  /** Position behind tag and length. */
  readonly start: number;
  /** Bytes, or null where a mark ends it. */
  readonly length: number | null;
}

const [OCTETS, PIECES, SEQUENCE, OBJECT_ID, CONTENT] = [0x04, 0x24, 0x30, 0x06, 0xa0];
const END: Element = { tag: 0, start: 0, length: 0 };
/** More than names, versions and algorithms before the content take. */
const MAX_BEGINNING = 16 * 1024;
const MAX_DEPTH = 8;

const SIGNED = '2a864886f70d010702';
/** EnvelopedData, EncryptedData, AuthEnvelopedData. */
const ENCRYPTED = new Set(['2a864886f70d010703', '2a864886f70d010706', '2a864886f70d0109100117']);

/** Returns the element with the content of a signed object, or what the object is instead. */
function contentOf(bytes: Buffer): Element | Exclude<CmsKind, 'signed'> | 'more' {
  const walk = new Walk(bytes);
  walk.enter(SEQUENCE);
  const id = walk.read(OBJECT_ID);
  if (ENCRYPTED.has(id)) return 'encrypted';
  if (walk.problem === null && id !== SIGNED) return 'other';
  walk.enter(CONTENT);
  walk.enter(SEQUENCE);
  // Version, algorithms.
  walk.skip();
  walk.skip();
  const encapsulated = walk.enter(SEQUENCE);
  // The type of the content, which may be all.
  walk.skip();
  const end = encapsulated.start + (encapsulated.length ?? Number.POSITIVE_INFINITY);
  if (walk.problem === null && walk.at >= end) return 'other';
  walk.enter(CONTENT);
  const content = walk.enter(OCTETS, PIECES);
  if (walk.problem === null && content.tag === OCTETS && content.length === null) return 'other';
  return walk.problem ?? content;
}

/** Goes through elements until one is not as expected, or has not arrived. */
class Walk {
  at = 0;
  problem: 'other' | 'more' | null = null;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Goes into an element that has one of these tags. */
  enter(...tags: readonly number[]): Element {
    const element = this.problem === null ? elementAt(this.#bytes, this.at) : null;
    if (element === null) this.problem ??= 'more';
    else if (!tags.includes(element.tag)) this.problem = 'other';
    else this.at = element.start;
    return element ?? END;
  }

  /** Returns the bytes of an element with this tag in hexadecimal digits, or ''. */
  read(tag: number): string {
    const { start, length } = this.enter(tag);
    const end = start + (length ?? 0);
    if (this.problem === null && end > this.#bytes.length) this.problem = 'more';
    if (this.problem !== null) return '';
    this.at = end;
    return this.#bytes.toString('hex', start, end);
  }

  skip(): void {
    const end = this.problem === null ? endOf(this.#bytes, this.at, MAX_DEPTH) : null;
    if (end === null) this.problem ??= 'more';
    else this.at = end;
  }
}

/** Returns null if tag and length have not arrived. */
function elementAt(bytes: Buffer, at: number): Element | null {
  const [tag, size] = [bytes[at], bytes[at + 1]];
  if (tag === undefined || size === undefined) return null;
  if (size <= 0x80) return { tag, start: at + 2, length: size === 0x80 ? null : size };
  const start = at + 2 + (size & 0x7f);
  if (start > bytes.length) return null;
  const length = bytes.subarray(at + 2, start).reduce((sum, byte) => sum * 256 + byte, 0);
  return { tag, start, length };
}

/** Returns the position behind an element, or null if that has not arrived or is too deep. */
function endOf(bytes: Buffer, at: number, depth: number): number | null {
  const element = elementAt(bytes, at);
  if (element === null || depth === 0) return null;
  if (element.length !== null) return element.start + element.length;
  let child: number | null = element.start;
  while (child !== null && bytes[child] !== 0) child = endOf(bytes, child, depth - 1);
  return child === null ? null : child + 2;
}
