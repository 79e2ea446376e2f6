import { KeyedLimiter } from '../../../platform/lifecycle.ts';
import { MailReading, type ReadFiles } from './mail-reading.ts';
import type { ParsedMail } from './parsed-mail.ts';
import { ReaderThread } from './reader-thread.ts';

export interface MailSource {
  readonly store: ReadFiles;
  /** Key of the mail as it came. */
  readonly key: string;
}

/**
 * Reads a mail in a thread of its own, and stores its attachments while it does. Bad mail is no
 * error: the result has what could be read and says that it is damaged. Throws only where the store
 * fails, and then leaves no attachment behind. The caller refers to the attachments or removes
 * them.
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

/**
 * A thread takes a core and tens of megabytes, whatever comes in at once. The others wait, with
 * nothing in memory.
 */
const MAX_THREADS = 1;
const threads = new KeyedLimiter(MAX_THREADS);
/** Threads without a mail, of which some may have ended meanwhile. */
const idle: ReaderThread[] = [];

function idleThread(): ReaderThread | undefined {
  for (;;) {
    const thread = idle.pop();
    if (thread === undefined || thread.isAlive) return thread;
  }
}
