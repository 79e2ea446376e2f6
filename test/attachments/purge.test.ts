/** Files without a message are removed; all others stay. */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { FileStore } from '../../src/core/attachments/file-store.ts';
import { FileUrls } from '../../src/core/attachments/file-urls.ts';
import { insertUpload, purgeUploads } from '../../src/core/attachments/uploads.ts';
import { AccountRows, openTestDatabase } from '../access/rows.ts';
import { freshDirectory } from '../start/parley.ts';

const database = await openTestDatabase(t);
const directory = join(freshDirectory(t), 'uploads');
const urls = new FileUrls({ secret: 'secret', baseUrl: () => '' });
const store = new FileStore({ directory, urls });
const account = await AccountRows.insert(database);
const owner = { account_id: account.accountId, actor_id: await account.actor() };

t.test('an upload that was never attached is removed after a day and an hour', async (t) => {
  const old = await upload(25.1);
  const young = await upload(24.9);
  const never = await upload(30, { withBytes: false });
  await purge();
  t.same(await files(), [young]);
  t.same(await rows(), [young]);
  t.not(old, never);
});

t.test('attached: as long as a message has it', async (t) => {
  const kept = await upload(30);
  const shared = await upload(30);
  const messages = [await attach(kept), await attach(shared), await attach(shared)] as const;
  await purge();
  await purge();
  t.same((await files()).filter((key) => key === kept || key === shared).sort(), [kept, shared].sort());

  await database.kysely.deleteFrom('attachments').where('message_id', '=', messages[1]).execute();
  await purge();
  t.ok((await files()).includes(shared), 'another message has it');
  await database.kysely.deleteFrom('attachments').where('message_id', '=', messages[2]).execute();
  await purge();
  t.notOk((await files()).includes(shared));
  t.ok((await files()).includes(kept));
  t.notOk((await rows()).includes(shared));
});

t.test('more than one round takes', async (t) => {
  const before = await rows();
  await database.query(
    {
      name: 'many-uploads',
      text: `
        INSERT INTO uploads (s3_key, account_id, actor_id, filename, content_type, size_bytes, created_at)
        SELECT 'upl_' || lpad(n::text, 24, '0'), $1, $2, 'a', 'a/b', 1, now() - interval '2 days'
        FROM generate_series(1, 1100) n`,
    },
    owner.account_id,
    owner.actor_id,
  );
  await purge();
  t.same(await rows(), before);
});

t.test('after a failure of the storage, the files to remove are found again', async (t) => {
  const key = await upload(30);
  class Failing extends FileStore {
    override remove = () => Promise.reject(new Error('the disk says no'));
  }
  const failing = new Failing({ directory, urls });
  await t.rejects(purgeUploads(database, failing), { message: 'the disk says no' });
  t.ok((await rows()).includes(key));
  await purge();
  t.notOk((await rows()).includes(key));
});

function purge(): Promise<void> {
  return purgeUploads(database, store);
}

/** Asked for so many hours ago. */
async function upload(hours: number, { withBytes = true } = {}): Promise<string> {
  const key = newId('upload');
  const upload = { ...owner, s3_key: key, filename: 'a', content_type: 'a/b', size_bytes: 1 };
  await database.transaction((tx) => insertUpload(tx, upload, null));
  const age = {
    name: 'age-upload',
    text: "UPDATE uploads SET created_at = now() - $2 * interval '1 hour' WHERE s3_key = $1",
  };
  await database.query(age, key, hours);
  async function* bytes() {
    yield Buffer.from('x');
  }
  if (withBytes) await store.write(key, bytes(), 1);
  return key;
}

async function attach(s3_key: string): Promise<string> {
  const message_id = newId('message');
  await database.kysely
    .insertInto('attachments')
    .values({
      id: newId('attachment'),
      conversation_id: newId('conversation'),
      message_id,
      position: 0,
      s3_key,
      kind: 'file',
      filename: 'a',
      content_type: 'a/b',
      size_bytes: 1,
      url: null,
      resource_type: null,
      resource_id: null,
    })
    .execute();
  return message_id;
}

async function files(): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name !== 'incoming');
}

async function rows(): Promise<string[]> {
  const found = await database.kysely.selectFrom('uploads').select('s3_key').orderBy('s3_key').execute();
  return found.map(({ s3_key }) => s3_key);
}
