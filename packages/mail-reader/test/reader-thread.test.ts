/** The thread that reads mails, and a reading of which it is the other half. */

import t from 'tap';
import { type AttachmentStore, MailReading } from '../thread/mail-reading.ts';
import { ReaderThread } from '../thread/reader-thread.ts';
import { eml } from './corpus/corpus-mail.ts';
import { TWO_FILES } from './corpus/two-files.ts';

t.test('a thread that dies leaves what was read by then', async (t) => {
  const bytes = eml(TWO_FILES);
  const thread = new ReaderThread();
  // Within the second attachment.
  const end = bytes.indexOf('BEGIN:VCALENDAR') + 3;
  async function* dying() {
    yield bytes.subarray(0, end);
    await thread.close();
    yield bytes.subarray(end);
  }
  const stored: string[] = [];
  const store: AttachmentStore = {
    async putStream(_, bytes) {
      const pieces: Buffer[] = [];
      for await (const piece of bytes) pieces.push(Buffer.from(piece));
      stored.push(Buffer.concat(pieces).toString());
      return Buffer.concat(pieces).length;
    },
    remove: async () => undefined,
  };
  const mail = await new MailReading(thread, store, dying()).run();
  t.notOk(thread.isAlive);
  t.equal(mail.rfcId, '1@example.test');
  t.match(mail.from, { address: 'ada@example.test', name: 'Ada' });
  t.ok(mail.isDamaged);
  t.match(
    mail.attachments.map(({ filename }) => filename),
    ['a.pdf'],
  );
  t.strictSame(stored, ['%PDF-1.7']);
});
