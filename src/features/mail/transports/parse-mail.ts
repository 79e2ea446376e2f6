import { fileURLToPath } from 'node:url';
import { MailReader } from '@parley/mail-reader/mail-reader.ts';
import type { ParsedMail } from '@parley/mail-reader/parsed-mail.ts';
import { BackgroundWork, type Load } from '../../../platform/background.ts';
import { KeyedLimiter } from '../../../platform/lifecycle.ts';
import type { MailFiles } from './registered-files.ts';

/**
 * Reads a mail of the store, and stores its attachments there (`MailReader.read`). Throws only if
 * the store fails, and then leaves no attachment behind. The caller must refer to the attachments
 * or remove them.
 */
export type ParseMail = (store: MailFiles, key: string, load: Load) => Promise<ParsedMail>;

/** Returns the function by which `reader` reads mails, one after the other. */
export function mailParser(reader: MailReader): ParseMail {
  // A thread takes a core and tens of megabytes. Further mails wait, with nothing in memory.
  const oneByOne = new KeyedLimiter(1);
  return (store, key, load) =>
    oneByOne.run({}, async () => {
      const source = await store.open(key);
      if (source === undefined) throw new Error(`the mail ${key} is not in the store`);
      const work = new BackgroundWork(load, WITHIN_MS);
      return reader.read(() => work.paced(source.read({ isTransient: true })), store);
    });
}

/** Limits a mail, because other mails and its sender wait for it. */
const WITHIN_MS = 20_000;

/** The thread loads its modules as fast as a node does. */
export const parseMail = mailParser(
  new MailReader(['--require', fileURLToPath(new URL('../../../../bin/quick-thread.cjs', import.meta.url))]),
);
