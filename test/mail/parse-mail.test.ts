/** A mail in the store becomes a ParsedMail, its attachments in the store as well. */

import { join } from 'node:path';
import t, { type Test } from 'tap';
import { newId } from '../../src/contract/protocol/ids.ts';
import { FileStore } from '../../src/core/attachments/file-store.ts';
import { FileUrls } from '../../src/core/attachments/file-urls.ts';
import type { ObjectStore } from '../../src/core/attachments/storage.ts';
import { MailReading } from '../../src/features/mail/reading/mail-reading.ts';
import { parseMail } from '../../src/features/mail/reading/parse-mail.ts';
import { ReaderThread } from '../../src/features/mail/reading/reader-thread.ts';
import type { MailFiles } from '../../src/features/mail/transports/registered-files.ts';
import { Load } from '../../src/platform/background.ts';
import { freshDirectory } from '../start/parley.ts';
import { base64, eml } from './corpus/corpus-mail.ts';

function storeOf(t: Test): FileStore {
  const urls = new FileUrls({ secret: 'a secret of all nodes', baseUrl: () => '' });
  return new FileStore({ directory: join(freshDirectory(t), 'uploads'), urls });
}

async function stored(store: ObjectStore, bytes: Buffer): Promise<string> {
  const key = newId('upload');
  await store.put({ key, contentType: 'message/rfc822' }, bytes);
  return key;
}

const TWO_FILES = `
From: Ada <ada@example.test>
Message-ID: <1@example.test>
Content-Type: multipart/mixed; boundary="b"

--b

Two files.
--b
Content-Type: application/pdf; name=a.pdf
Content-Transfer-Encoding: base64

${base64('%PDF-1.7')}
--b
Content-Type: text/calendar; method=REQUEST

BEGIN:VCALENDAR
--b--
`;

t.test('attachments are in the store when the mail is read', async (t) => {
  const store = storeOf(t);
  const mail = await parseMail(store, await stored(store, eml(TWO_FILES)), new Load());
  t.equal(mail.rfcId, '1@example.test');
  t.equal(mail.visibleText, 'Two files.');
  t.match(mail.attachments, [
    { filename: 'a.pdf', contentType: 'application/pdf', sizeBytes: 8 },
    { filename: 'invite.ics', contentType: 'text/calendar', sizeBytes: 15 },
  ]);
  const texts = mail.attachments.map(async ({ key }) => (await store.read(key, 100))?.toString());
  t.strictSame(await Promise.all(texts), ['%PDF-1.7', 'BEGIN:VCALENDAR']);
});

t.test('a store that fails is the error of the caller, and nothing is left', async (t) => {
  const store = storeOf(t);
  const key = await stored(store, eml(TWO_FILES));
  const keys: string[] = [];
  const failing: MailFiles = {
    open: (key) => store.open(key),
    remove: (keys) => store.remove(keys),
    putStream: (object, bytes) => {
      keys.push(object.key);
      if (keys.length === 2) return Promise.reject(new Error('the store is full'));
      return store.putStream(object, bytes);
    },
  };
  await t.rejects(parseMail(failing, key, new Load()), { message: 'the store is full' });
  t.equal(keys.length, 2);
  for (const key of keys) t.equal(await store.sizeOf(key), undefined);
  await t.rejects(parseMail(store, newId('upload'), new Load()), /is not in the store/);
  t.equal((await parseMail(store, key, new Load())).attachments.length, 2, 'the next mail is read');
});

t.test('a thread that dies leaves what was read by then', async (t) => {
  const store = storeOf(t);
  const bytes = eml(TWO_FILES);
  const thread = new ReaderThread();
  // Within the second attachment.
  const end = bytes.indexOf('BEGIN:VCALENDAR') + 3;
  async function* dying() {
    yield bytes.subarray(0, end);
    await thread.close();
    yield bytes.subarray(end);
  }
  const mail = await new MailReading(thread, store, dying()).run();
  t.notOk(thread.isAlive);
  t.equal(mail.rfcId, '1@example.test');
  t.match(mail.from, { address: 'ada@example.test', name: 'Ada' });
  t.ok(mail.isDamaged);
  t.match(
    mail.attachments.map(({ filename }) => filename),
    ['a.pdf'],
  );
});
