/** What a caller gets of a response. */
export interface ResponseHead {
  readonly status: number;
  /** The header Retry-After as it was sent. */
  readonly retryAfter: string | undefined;
}

/**
 * Reads one HTTP/1.1 response from the bytes of a connection: its status, and then where it ends,
 * so that the connection can serve another request. Nothing of the body is kept. What is not
 * plainly one response makes the connection `unusable`: it is closed, and costs the next request a
 * new one.
 */
export class ResponseReader {
  /** Undefined until the head is complete. */
  head: ResponseHead | undefined;
  /** `unusable` without a head: this is no response. */
  place: 'head' | 'body' | 'end' | 'unusable' = 'head';
  #text = '';
  #interim = 0;
  #bodyBytes = 0;
  /** Bytes that are left of the body, or of the current chunk with its line end. */
  #left = 0;
  #isChunked = false;
  /** The last chunk was read: trailers follow. */
  #isLast = false;

  read(bytes: Buffer): void {
    switch (this.place) {
      case 'head':
        this.#readHead(bytes.toString('latin1'));
        break;
      case 'body':
        this.#bodyBytes += bytes.length;
        if (this.#bodyBytes > MAX_BODY_BYTES) this.place = 'unusable';
        else if (this.#isChunked) this.#readChunks(bytes.toString('latin1'));
        else this.#readCounted(bytes.length);
        break;
      default:
        // Nothing was asked.
        this.place = 'unusable';
    }
  }

  #readHead(piece: string): void {
    this.#text += piece;
    const end = this.#text.indexOf('\r\n\r\n');
    if (end > MAX_HEAD_BYTES || (end === -1 && this.#text.length > MAX_HEAD_BYTES)) {
      this.place = 'unusable';
    } else if (end !== -1) {
      const head = this.#text.slice(0, end + 2);
      const rest = this.#text.slice(end + 4);
      this.#text = '';
      this.#understand(head, rest);
    } else if (!STATUS_LINE.test(this.#text) && this.#text.includes('\n')) {
      this.place = 'unusable';
    }
  }

  #understand(head: string, rest: string): void {
    const [, minor, code] = STATUS_LINE.exec(head) ?? [];
    const status = Number(code);
    // An interim response: the one that counts follows.
    const isInterim = status < 200 && status !== 101 && this.#interim < MAX_INTERIM;
    if (code === undefined || (status < 200 && !isInterim)) {
      this.place = 'unusable';
      return;
    }
    if (isInterim) {
      this.#interim += 1;
      this.#readHead(rest);
      return;
    }
    const fields = new Map<string, string>();
    let isClear = minor === '1';
    for (const [, name = '', value = ''] of head.matchAll(FIELDS)) {
      const key = name.toLowerCase();
      if (fields.has(key)) isClear = false;
      fields.set(key, value.trim());
    }
    this.head = { status, retryAfter: fields.get('retry-after') };
    this.place = this.#framed(status, fields, isClear) ? 'body' : 'unusable';
    if (this.place === 'unusable') return;
    if (!this.#isChunked && this.#left === 0) this.place = 'end';
    if (rest !== '') this.read(Buffer.from(rest, 'latin1'));
  }

  /** Returns whether the end of the body can be found and the connection is to be kept. */
  #framed(status: number, fields: ReadonlyMap<string, string>, isClear: boolean): boolean {
    const [length, coding, connection] = ['content-length', 'transfer-encoding', 'connection'].map((name) =>
      fields.get(name),
    );
    if (!isClear || (connection !== undefined && /\bclose\b/i.test(connection))) return false;
    if (status === 204 || status === 304) return true;
    if (coding !== undefined) {
      this.#isChunked = coding.toLowerCase() === 'chunked';
      return this.#isChunked && length === undefined;
    }
    if (length === undefined || !/^\d{1,9}$/.test(length)) return false;
    this.#left = Number(length);
    return this.#left <= MAX_BODY_BYTES;
  }

  #readCounted(count: number): void {
    this.#left -= count;
    if (this.#left === 0) this.place = 'end';
    else if (this.#left < 0) this.place = 'unusable';
  }

  #readChunks(piece: string): void {
    let text = this.#text + piece;
    while (this.place === 'body') {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, text.length);
        this.#left -= taken;
        text = text.slice(taken);
        if (this.#left > 0) break;
      }
      const end = text.indexOf('\r\n');
      if (end === -1) break;
      const line = text.slice(0, end);
      text = text.slice(end + 2);
      this.#readLine(line, text === '');
    }
    this.#text = text;
    if (text.length > MAX_LINE_BYTES) this.place = 'unusable';
  }

  /** `line`: the size of a chunk, or a trailer. */
  #readLine(line: string, isAll: boolean): void {
    if (this.#isLast) {
      if (line === '') this.place = isAll ? 'end' : 'unusable';
      return;
    }
    const [, size] = /^([0-9a-f]{1,6})[ \t]*(?:;.*)?$/i.exec(line) ?? [];
    if (size === undefined) {
      this.place = 'unusable';
      return;
    }
    const bytes = Number.parseInt(size, 16);
    this.#isLast = bytes === 0;
    // With the line end behind it.
    this.#left = bytes === 0 ? 0 : bytes + 2;
  }
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |\r\n)/;
const FIELDS = /\r\n(content-length|transfer-encoding|connection|retry-after):([^\r\n]*)/gi;
/** Interim responses before the one that counts. */
const MAX_INTERIM = 8;
const MAX_HEAD_BYTES = 16 * 1024;
const MAX_LINE_BYTES = 1024;
/** More is not read for the sake of a connection. */
const MAX_BODY_BYTES = 64 * 1024;
