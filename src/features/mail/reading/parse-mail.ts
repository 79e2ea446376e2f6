import { KeyedLimiter } from '../../../platform/lifecycle.ts';
import type { MailFiles } from '../transports/registered-files.ts';
import { MailReading } from './mail-reading.ts';
import type { ParsedMail } from './parsed-mail.ts';
import { ReaderThread } from './reader-thread.ts';

export interface MailSource {
  readonly store: MailFiles;
  /** The key of the mail's source. */
  readonly key: string;
}

/**
 * Reads a mail in its own thread and stores its attachments. A bad mail is no error: the result has
 * what could be read and is marked as damaged. Throws only if the store fails, and then leaves no
 * attachment behind. The caller must refer to the attachments or remove them.
 */
export async function parseMail({ store, key }: MailSource): Promise<ParsedMail> {
  return threads.run({}, async () => {
    const source = await store.open(key);
    if (source === undefined) throw new Error(`the mail ${key} is not in the store`);
    const thread = idleThread() ?? new ReaderThread();
    const reading = new MailReading(thread, store, source.read({ isTransient: true }));
    try {
      const mail = await reading.run();
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

/** A thread takes a core and tens of megabytes. Further mails wait, with nothing in memory. */
const MAX_THREADS = 1;
const threads = new KeyedLimiter(MAX_THREADS);
/** Threads without a mail, some of which may have ended in the meantime. */
const idle: ReaderThread[] = [];

function idleThread(): ReaderThread | undefined {
  for (;;) {
    const thread = idle.pop();
    if (thread === undefined || thread.isAlive) return thread;
  }
}
