/** What is read of each mail of the corpus. */

import t from 'tap';
import { type ReadMail, readMailBytes } from '../../src/mail/read-mail.ts';
import { CORPUS } from './corpus/corpus.ts';
import { type ExpectedMail, PLAIN } from './corpus/corpus-mail.ts';

interface Read {
  readonly mail: ReadMail;
  readonly attachments: [filename: string, contentType: string, sizeBytes: number][];
}

/** Reads the mail as it arrives in pieces of `size` bytes. */
async function read(source: Buffer, size: number): Promise<Read> {
  const attachments: Read['attachments'] = [];
  const mail = await readMailBytes(piecesOf(source, size), {
    begin: async ({ filename, contentType }) => void attachments.push([filename, contentType, 0]),
    write: async (bytes) => {
      const last = attachments.at(-1);
      if (last !== undefined) last[2] += bytes.length;
    },
    end: async () => {},
  });
  return { mail, attachments };
}

async function* piecesOf(source: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < source.length; at += size) yield source.subarray(at, at + size);
}

/** Returns the fields that are not as expected: `[expected, actual]` by name. */
function differences({ mail, attachments }: Read, name: string, expected: ExpectedMail) {
  const { text = expected.visibleText, html, headers = {}, ...rest } = expected;
  const whole = {
    ...{
      rfcId: `${name}@customer.example`,
      inReplyTo: null,
      references: [],
      replyTo: null,
      cc: [],
      ...PLAIN,
    },
    ...{ attachments: [], report: null, isDamaged: false },
    ...rest,
    text,
  };
  const actual: Readonly<Record<string, unknown>> = { ...mail, attachments };
  const found: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(whole)) {
    const isRight = value instanceof RegExp ? value.test(String(actual[field])) : same(value, actual[field]);
    if (!isRight) found[field] = [value, actual[field]];
  }
  for (const [header, value] of Object.entries(headers)) {
    const values = mail.headers.filter((other) => other.name === header).map((other) => other.value);
    if (!values.includes(value)) found[header] = [value, values];
  }
  if ((html === undefined) !== (mail.html === null)) found.html = [html, mail.html];
  for (const pattern of html?.has ?? [])
    if (!pattern.test(mail.html ?? '')) found[`html ${pattern}`] = mail.html;
  for (const pattern of html?.hasNot ?? [])
    if (pattern.test(mail.html ?? '')) found[`no html ${pattern}`] = mail.html;
  return found;
}

function same(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

t.test('names are unique', async (t) => {
  t.equal(new Set(CORPUS.map(({ name }) => name)).size, CORPUS.length);
  t.ok(CORPUS.length >= 60, `${CORPUS.length} mails`);
});

t.test('each mail is read as expected, in whatever pieces it arrives', async (t) => {
  for (const { name, source, parsed } of CORPUS) {
    const bytes = source();
    const whole = await read(bytes, 65_536);
    t.strictSame(differences(whole, name, parsed), {}, name);
    if (bytes.length > 10_000) continue;
    for (const size of [1, 7, 100])
      t.strictSame(await read(bytes, size), whole, `${name} in pieces of ${size}`);
  }
});
