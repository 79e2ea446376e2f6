import { newId } from '@parley/protocol/ids.ts';
import {
  NOTHING_READ,
  type ParsedMail,
  type ReadMail,
  type StoredPart,
  type UnreadCause,
} from '../parsed-mail.ts';
import type { FromMailWorker, ReaderThread } from './reader-thread.ts';

/** The methods of a store of files that reading a mail needs. */
export interface AttachmentStore {
  /**
   * Stores bytes under a new key, and returns their number. `bytes` may reuse its memory for the
   * next piece. Rejects with the error of `bytes`, and then keeps no bytes.
   */
  putStream(
    object: { readonly key: string; readonly contentType: string },
    bytes: AsyncIterable<Buffer>,
  ): Promise<number>;
  /** Removes files; keys without one are ignored. */
  remove(keys: readonly string[]): Promise<void>;
}

/** A mail while a thread reads it. */
export class MailReading {
  readonly #thread: ReaderThread;
  readonly #store: AttachmentStore;
  readonly #open: () => AsyncIterable<Buffer>;
  #attachments: StoredPart[] = [];
  #attachment: IncomingPart | null = null;
  #mail: ReadMail = { ...NOTHING_READ, isDamaged: true };
  readonly #pieces: AsyncIterator<Buffer>;
  /** The rest of the last piece of the source. */
  #piece: Buffer = Buffer.alloc(0);

  constructor(thread: ReaderThread, store: AttachmentStore, open: () => AsyncIterable<Buffer>) {
    this.#thread = thread;
    this.#store = store;
    this.#open = open;
    this.#pieces = open()[Symbol.asyncIterator]();
  }

  /**
   * Rejects if the source or the store fails. If the thread ends before the mail does, the mail has
   * its header and is its only attachment.
   */
  async run(): Promise<ParsedMail> {
    const isRead = await this.#read();
    if (!isRead) return this.#kept(this.#thread.endedBy);
    await this.#abort();
    return { ...this.#mail, attachments: this.#attachments, unread: null };
  }

  /** Removes stored parts of a mail that could not be read to its end. */
  async discard(): Promise<void> {
    await this.#abort();
    const keys = this.#attachments.map(({ key }) => key);
    this.#attachments = [];
    // The error that led here is the one to report.
    await this.#store.remove(keys).catch(() => undefined);
  }

  /** Returns false if the thread has ended before the mail. */
  async #read(): Promise<boolean> {
    try {
      this.#thread.start();
      for (;;) {
        const message = await this.#thread.next();
        if (message === null) return false;
        await this.#take(message);
        if (message.kind === 'done') return true;
      }
    } finally {
      await this.#pieces.return?.();
    }
  }

  /** Stores the mail as a file, and says so in place of its text. */
  async #kept(unread: UnreadCause): Promise<ParsedMail> {
    await this.discard();
    const part = { key: newId('upload'), ...WHOLE_MAIL };
    const sizeBytes = await this.#store.putStream(part, this.#open());
    const text = `${UNREAD[unread]} It is attached as it came, as ${part.filename}.`;
    return { ...this.#mail, text, visibleText: text, unread, attachments: [{ ...part, sizeBytes }] };
  }

  async #take(message: FromMailWorker): Promise<void> {
    if (message.kind === 'header' || message.kind === 'done') {
      this.#mail = message.mail;
      return;
    }
    if (message.kind === 'more') {
      await this.#giveMore();
      return;
    }
    if (message.kind === 'begin') this.#attachment = new IncomingPart(this.#store, message);
    else if (message.kind === 'write') await this.#attachment?.write(this.#thread.decoded(message.size));
    else if (this.#attachment !== null) {
      this.#attachments.push(await this.#attachment.end());
      this.#attachment = null;
    }
    this.#thread.confirm();
  }

  async #giveMore(): Promise<void> {
    while (this.#piece.length === 0) {
      const { value, done } = await this.#pieces.next();
      if (done) break;
      this.#piece = value;
    }
    this.#piece = this.#piece.subarray(this.#thread.give(this.#piece));
  }

  async #abort(): Promise<void> {
    await this.#attachment?.abort();
    this.#attachment = null;
  }
}

const WHOLE_MAIL = { filename: 'mail.eml', contentType: 'message/rfc822' };

/** The texts of such a mail's message. */
const UNREAD: Readonly<Record<UnreadCause, string>> = {
  time: 'This mail could not be read, because that took too long.',
  memory: 'This mail could not be read, because that took too much memory.',
  failure: 'This mail could not be read, because its reader failed.',
};

/** An attachment that is stored one piece at a time. */
class IncomingPart {
  readonly #part: Omit<StoredPart, 'sizeBytes'>;
  readonly #stored: Promise<number>;
  #offered = Promise.withResolvers<Buffer | null>();
  #taken = Promise.withResolvers<void>();

  constructor(
    store: AttachmentStore,
    { filename, contentType }: Pick<StoredPart, 'filename' | 'contentType'>,
  ) {
    this.#part = { key: newId('upload'), filename, contentType };
    this.#stored = store.putStream(this.#part, this.#pieces());
    // Awaited by a later call, possibly after some time.
    this.#stored.catch(() => undefined);
  }

  /** Resolves once the store no longer needs the bytes. */
  async write(bytes: Buffer): Promise<void> {
    this.#taken = Promise.withResolvers();
    this.#offered.resolve(bytes);
    // A failed store takes nothing more.
    await Promise.race([this.#taken.promise, this.#stored]);
  }

  async end(): Promise<StoredPart> {
    this.#offered.resolve(null);
    return { ...this.#part, sizeBytes: await this.#stored };
  }

  /** Makes the store drop the part. */
  async abort(): Promise<void> {
    this.#offered.promise.catch(() => undefined);
    this.#offered.reject(new Error('The attachment is incomplete.'));
    await this.#stored.catch(() => undefined);
  }

  async *#pieces(): AsyncGenerator<Buffer> {
    for (;;) {
      const bytes = await this.#offered.promise;
      if (bytes === null) return;
      this.#offered = Promise.withResolvers();
      yield bytes;
      this.#taken.resolve();
    }
  }
}
