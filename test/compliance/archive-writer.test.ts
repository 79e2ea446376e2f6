/** Archives of exports while they are written. */

import t from 'tap';
import { ArchiveWriter } from '../../src/features/compliance/exports/archive.ts';

t.test('an archive is written with little in memory, at the pace of its reader', async (t) => {
  const archive = new ArchiveWriter();
  const piece = Buffer.alloc(1024 * 1024, 'x');
  let [produced, consumed, most] = [0, 0, 0];
  async function* source() {
    for (let index = 0; index < 64; index++) {
      produced += piece.length;
      most = Math.max(most, produced - consumed);
      yield piece;
    }
  }
  const added = archive.add('large', source(), { compress: false }).then((file) => {
    archive.end();
    return file;
  });
  for await (const bytes of archive.bytes) consumed += bytes.length;
  t.match(await added, { path: 'large', bytes: 64 * piece.length });
  t.ok(consumed > 64 * piece.length);
  t.ok(most <= 8 * piece.length, `${most} bytes were read ahead`);

  const unread = new ArchiveWriter();
  unread.abort(new Error('nothing reads it yet'));
  await t.rejects(async () => {
    for await (const _ of unread.bytes);
  });

  const broken = new ArchiveWriter();
  async function* failing() {
    yield piece;
    throw new Error('the bytes are gone');
  }
  const failed = broken.add('large', failing(), { compress: false });
  failed.catch((error) => broken.abort(error));
  await t.rejects(failed, { message: 'the bytes are gone' });
  await t.rejects(async () => {
    for await (const _ of broken.bytes);
  });
});
