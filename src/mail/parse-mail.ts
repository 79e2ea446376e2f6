import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { KeyedLimiter } from '../lifecycle.ts';
import { newId } from '../protocol/ids.ts';
import { type FromMailWorker, MailThread } from './mail-thread.ts';
import type { ParsedMail, StoredPart } from './parsed-mail.ts';
import type { ReadMail } from './read-mail.ts';
import type { MailFiles } from './registered-files.ts';

/** The part of a store that reading a mail needs. */
type Files = Pick<MailFiles, 'open' | 'putStream' | 'remove'>;

export interface MailSource {
  readonly store: Files;
  /** Key of the mail as it came. */
  readonly key: string;
}

/**
 * Reads a mail in a thread of its own, and stores its attachments while it does. Bad mail is no error: the result has what
 * could be read and says that it is damaged. Throws only where the store fails, and then leaves no attachment behind. The
 * caller refers to the attachments or removes them.
 */
export async function parseMail({ store, key }: MailSource): Promise<ParsedMail> {
  return threads.run({}, async () => {
    const source = await store.open(key);
    if (source === undefined) throw new Error(`the mail ${key} is not in the store`);
    const thread = idleThread() ?? new MailThread();
    const reading = new Reading(thread, store);
    try {
      const mail = await reading.run(source.read());
      if (thread.isAlive) {
        thread.rest();
        idle.push(thread);
      }
      return mail;
    } catch (error) {
      await thread.close();
      await reading.discard();
      throw error;
    }
  });
}

/** A thread takes a core and tens of megabytes, whatever comes in at once. The others wait, with nothing in memory. */
const MAX_THREADS = 2;
const threads = new KeyedLimiter(MAX_THREADS);
/** Threads without a mail, of which some may have ended meanwhile. */
const idle: MailThread[] = [];

function idleThread(): MailThread | undefined {
  for (;;) {
    const thread = idle.pop();
    if (thread === undefined || thread.isAlive) return thread;
  }
}

/** One mail on its way through a thread. */
class Reading {
  readonly #thread: MailThread;
  readonly #store: Files;
  readonly #attachments: StoredPart[] = [];
  #attachment: IncomingPart | null = null;
  #mail: ReadMail = UNREADABLE;

  constructor(thread: MailThread, store: Files) {
    this.#thread = thread;
    this.#store = store;
  }

  async run(source: AsyncIterable<Buffer>): Promise<ParsedMail> {
    const pieces = source[Symbol.asyncIterator]();
    try {
      this.#thread.start();
      for (let isDone = false; !isDone; ) {
        const message = await this.#thread.next();
        if (message === null) break;
        isDone = message.kind === 'done';
        await this.#take(message, pieces);
      }
    } finally {
      await pieces.return?.();
    }
    await this.#abort();
    return { ...this.#mail, attachments: this.#attachments };
  }

  /** Removes what was stored of a mail that could not be read to its end. */
  async discard(): Promise<void> {
    await this.#abort();
    // The error that led here is the one to report.
    await this.#store.remove(this.#attachments.map(({ key }) => key)).catch(() => undefined);
  }

  async #take(message: FromMailWorker, pieces: AsyncIterator<Buffer>): Promise<void> {
    if (message.kind === 'header' || message.kind === 'done') {
      this.#mail = message.mail;
      return;
    }
    if (message.kind === 'more') {
      const { value, done } = await pieces.next();
      this.#thread.answer(done ? {} : { bytes: new Uint8Array(value) });
      return;
    }
    if (message.kind === 'begin') this.#attachment = new IncomingPart(this.#store, message);
    else if (message.kind === 'write') await this.#attachment?.write(message.bytes);
    else if (this.#attachment !== null) {
      this.#attachments.push(await this.#attachment.end());
      this.#attachment = null;
    }
    this.#thread.answer({});
  }

  async #abort(): Promise<void> {
    await this.#attachment?.abort();
    this.#attachment = null;
  }
}

/** An attachment that is being stored. */
class IncomingPart {
  readonly #part: Omit<StoredPart, 'sizeBytes'>;
  readonly #bytes = new PassThrough();
  readonly #stored: Promise<number>;

  constructor(
    store: Files,
    { filename, contentType }: { readonly filename: string; readonly contentType: string },
  ) {
    this.#part = { key: newId('upload'), filename, contentType };
    this.#stored = store.putStream(this.#part, this.#bytes);
    // Awaited by what comes next, which may be some time later.
    this.#stored.catch(() => undefined);
    // The end of an attachment that the store has stopped reading.
    this.#bytes.on('error', () => undefined);
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#bytes.write(bytes)) return;
    // A store that fails takes nothing more.
    await Promise.race([once(this.#bytes, 'drain'), this.#stored]);
  }

  async end(): Promise<StoredPart> {
    this.#bytes.end();
    return { ...this.#part, sizeBytes: await this.#stored };
  }

  /** The store keeps nothing of it. */
  async abort(): Promise<void> {
    this.#bytes.destroy(new Error('the attachment is incomplete'));
    await this.#stored.catch(() => undefined);
  }
}

/** What is known of a mail whose header could not be read. */
const UNREADABLE: ReadMail = {
  headers: [],
  rfcId: null,
  inReplyTo: null,
  references: [],
  from: null,
  replyTo: null,
  to: [],
  cc: [],
  subject: null,
  sentAt: null,
  text: '',
  visibleText: '',
  html: null,
  report: null,
  isDamaged: true,
};
