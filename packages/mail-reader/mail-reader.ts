import { READING_LIMITS, type ReadingLimits } from './mail-limits.ts';
import type { ParsedMail } from './parsed-mail.ts';
import { type AttachmentStore, MailReading } from './thread/mail-reading.ts';
import { ReaderThread } from './thread/reader-thread.ts';

/**
 * Reads mails in a thread of its own, so that no mail blocks the process. The thread starts with
 * the first mail, is kept for the next one, and ends when none comes.
 */
export class MailReader {
  readonly #execArgv: readonly string[];
  readonly #limits: ReadingLimits;
  #lastThread: ReaderThread | undefined;

  /** `execArgv`: flags of Node for the thread, such as a module that is loaded first. */
  constructor(execArgv: readonly string[] = [], limits: ReadingLimits = READING_LIMITS) {
    this.#execArgv = execArgv;
    this.#limits = limits;
  }

  /**
   * Reads a mail and stores its attachments, one mail at a time: a call must wait for the one
   * before it. A bad mail is no error: the result has what could be read and is marked as damaged.
   * A mail that breaks a limit of reading has its header, and its bytes as an attachment; `open` is
   * then called a second time. Rejects only if the source or the store fails, and then leaves no
   * attachment behind. The caller must refer to the attachments or remove them.
   */
  async read(open: () => AsyncIterable<Buffer>, store: AttachmentStore): Promise<ParsedMail> {
    const thread = this.#lastThread?.isAlive
      ? this.#lastThread
      : new ReaderThread(this.#execArgv, this.#limits);
    this.#lastThread = thread;
    const reading = new MailReading(thread, store, open);
    try {
      const mail = await reading.run();
      if (thread.isAlive) thread.rest();
      return mail;
    } catch (error) {
      await thread.close();
      await reading.discard();
      throw error;
    }
  }
}
