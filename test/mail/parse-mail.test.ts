/** A mail in the store becomes a ParsedMail with its attachments in the store. */

import { join } from 'node:path';
import { eml } from '@parley/mail-reader/test/corpus/corpus-mail.ts';
import { TWO_FILES } from '@parley/mail-reader/test/corpus/two-files.ts';
import { newId } from '@parley/protocol/ids.ts';
import t, { type Test } from 'tap';
import { FileStore } from '../../src/core/attachments/file-store.ts';
import { FileUrls } from '../../src/core/attachments/file-urls.ts';
import type { ObjectStore } from '../../src/core/attachments/storage.ts';
import { parseMail } from '../../src/features/mail/transports/parse-mail.ts';
import type { MailFiles } from '../../src/features/mail/transports/registered-files.ts';
import { Load } from '../../src/platform/background.ts';
import { freshDirectory } from '../start/parley.ts';

function storeOf(t: Test): FileStore {
  const urls = new FileUrls({ secret: 'a secret of all nodes', baseUrl: () => '' });
  return new FileStore({ directory: join(freshDirectory(t), 'uploads'), urls });
}

async function stored(store: ObjectStore, bytes: Buffer): Promise<string> {
  const key = newId('upload');
  await store.put({ key, contentType: 'message/rfc822' }, bytes);
  return key;
}

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
