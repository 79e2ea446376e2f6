/** The thread that reads mails, and its limits: a mail that breaks one is kept as a file. */

import { fileURLToPath } from 'node:url';
import t from 'tap';
import { READING_LIMITS } from '../mail-limits.ts';
import { MailReader } from '../mail-reader.ts';
import { type AttachmentStore, MailReading } from '../thread/mail-reading.ts';
import { ReaderThread } from '../thread/reader-thread.ts';
import { eml } from './corpus/corpus-mail.ts';
import { TWO_FILES } from './corpus/two-files.ts';

const HOSTILE = ['--require', fileURLToPath(new URL('hostile-thread.cjs', import.meta.url))];

/** The two files stand before the text that does harm. */
function hostileMail(word: string): Buffer {
  const text = ['', '--b', 'Content-Type: text/plain', '', word, '--b--', ''].join('\r\n');
  return Buffer.from(
    eml(TWO_FILES)
      .toString()
      .replace(/\r\n--b--\r\n$/, text),
  );
}

class MemoryStore implements AttachmentStore {
  readonly files = new Map<string, Buffer>();

  async putStream({ key }: { readonly key: string }, bytes: AsyncIterable<Buffer>): Promise<number> {
    const pieces: Buffer[] = [];
    for await (const piece of bytes) pieces.push(Buffer.from(piece));
    const whole = Buffer.concat(pieces);
    this.files.set(key, whole);
    return whole.length;
  }

  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.files.delete(key);
  }
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 100) yield bytes.subarray(at, at + 100);
}

const BREAKING = [
  ['spin-without-end', 'time', /took too long/],
  ['eat-memory', 'memory', /too much memory/],
  ['eat-buffers', 'memory', /too much memory/],
  ['end-the-thread', 'failure', /reader failed/],
] as const;

for (const [word, cause, says] of BREAKING) {
  t.test(`${word}: the mail is a file with its header, and the next one is read`, async (t) => {
    const limits = {
      ...READING_LIMITS,
      // A new thread on a busy machine needs most of a second for an honest mail.
      processorMs: cause === 'time' ? 2_000 : 60_000,
    };
    const reader = new MailReader(HOSTILE, limits);
    const store = new MemoryStore();
    const bytes = hostileMail(word);
    const mail = await reader.read(() => inPieces(bytes), store);
    t.equal(mail.unread, cause);
    t.match(mail.visibleText, says);
    t.match(mail.visibleText, /attached as it came, as mail\.eml\./);
    t.match(mail, {
      rfcId: '1@example.test',
      from: { address: 'ada@example.test', name: 'Ada' },
      html: null,
    });
    t.ok(mail.isDamaged);
    const [file, ...others] = mail.attachments;
    t.match(file, { filename: 'mail.eml', contentType: 'message/rfc822', sizeBytes: bytes.length });
    t.strictSame(others, []);
    t.strictSame([...store.files.keys()], [file!.key], 'attachments that were stored by then are removed');
    t.ok(store.files.get(file!.key)!.equals(bytes), 'byte for byte');

    const next = await reader.read(() => inPieces(eml(TWO_FILES)), store);
    t.match(next, { unread: null, visibleText: 'Two files.', attachments: { length: 2 } });
  });
}

t.test('a thread that says nothing is ended, whatever it does', async (t) => {
  const reader = new MailReader(HOSTILE, { ...READING_LIMITS, processorMs: 600_000, silentMs: 500 });
  const mail = await reader.read(() => inPieces(hostileMail('spin-without-end')), new MemoryStore());
  t.equal(mail.unread, 'time');
});

t.test('a store that fails under the file is the error of the caller', async (t) => {
  const reader = new MailReader(HOSTILE);
  const store = new MemoryStore();
  store.putStream = async ({ key }, bytes) => {
    if (store.files.size === 2) throw new Error('the store is full');
    return MemoryStore.prototype.putStream.call(store, { key }, bytes);
  };
  store.remove = async () => undefined;
  const reading = reader.read(() => inPieces(hostileMail('end-the-thread')), store);
  await t.rejects(reading, { message: 'the store is full' });
});

t.test('a thread that is ended within an attachment leaves nothing of it', async (t) => {
  const bytes = eml(TWO_FILES);
  const thread = new ReaderThread();
  const end = bytes.indexOf('BEGIN:VCALENDAR') + 3;
  let opened = 0;
  async function* dying() {
    opened += 1;
    yield bytes.subarray(0, end);
    if (opened === 1) await thread.close();
    yield bytes.subarray(end);
  }
  const store = new MemoryStore();
  const mail = await new MailReading(thread, store, dying).run();
  t.notOk(thread.isAlive);
  t.match(mail, { unread: 'failure', rfcId: '1@example.test' });
  t.strictSame(
    [...store.files.values()].map((file) => file.toString()),
    [bytes.toString()],
  );
});
