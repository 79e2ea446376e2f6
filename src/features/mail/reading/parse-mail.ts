import { BackgroundWork, type Load } from '../../../platform/background.ts';
import { KeyedLimiter } from '../../../platform/lifecycle.ts';
import type { MailFiles } from '../transports/registered-files.ts';
import { MailReading } from './mail-reading.ts';
import type { ParsedMail } from './parsed-mail.ts';
import { ReaderThread } from './reader-thread.ts';

/**
 * Reads a mail in its own thread and stores its attachments. A bad mail is no error: the result has
 * what could be read and is marked as damaged. Throws only if the store fails, and then leaves no
 * attachment behind. The caller must refer to the attachments or remove them.
 */
export async function parseMail(store: MailFiles, key: string, load: Load): Promise<ParsedMail> {
  return oneByOne.run({}, async () => {
    const source = await store.open(key);
    if (source === undefined) throw new Error(`the mail ${key} is not in the store`);
    const thread = lastThread?.isAlive ? lastThread : new ReaderThread();
    lastThread = thread;
    const pieces = new BackgroundWork(load, WITHIN_MS).paced(source.read({ isTransient: true }));
    const reading = new MailReading(thread, store, pieces);
    try {
      const mail = await reading.run();
      if (thread.isAlive) thread.rest();
      return mail;
    } catch (error) {
      await thread.close();
      await reading.discard();
      throw error;
    }
  });
}

/** Other mails wait behind it, and its sender. */
const WITHIN_MS = 20_000;

/** A thread takes a core and tens of megabytes. Further mails wait, with nothing in memory. */
const oneByOne = new KeyedLimiter(1);
let lastThread: ReaderThread | undefined;
