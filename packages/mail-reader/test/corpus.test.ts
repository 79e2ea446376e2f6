/** What is read of each mail of the corpus. */

import t from 'tap';
import { mailParse } from '../../../test/campaigns/mail-parse.ts';
import { CORPUS } from './corpus/corpus.ts';
import { type ExpectedMail, PLAIN } from './corpus/corpus-mail.ts';
import { type ReadParts, readInPieces } from './read-in-pieces.ts';

/** Returns the fields that are not as expected: `[expected, actual]` by name. */
function differences({ mail, attachments }: ReadParts, name: string, expected: ExpectedMail) {
  const { text = expected.visibleText, html, headers = {}, ...rest } = expected;
  const whole = {
    rfcId: `${name}@customer.example`,
    inReplyTo: null,
    references: [],
    replyTo: null,
    cc: [],
    ...PLAIN,
    attachments: [],
    report: null,
    complaint: null,
    protection: null,
    isDamaged: false,
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

t.test('the names of the mails of the corpus are unique', async (t) => {
  t.equal(new Set(CORPUS.map(({ name }) => name)).size, CORPUS.length);
  t.ok(CORPUS.length >= 60, `${CORPUS.length} mails`);
});

t.test('each mail is read as expected, in whatever pieces it arrives', async (t) => {
  for (const { name, source, parsed } of CORPUS) {
    const bytes = source();
    const whole = await readInPieces(bytes, 65_536);
    t.strictSame(differences(whole, name, parsed), {}, name);
    if (bytes.length > 10_000) continue;
    for (const size of [1, 7, 100])
      t.strictSame(await readInPieces(bytes, size), whole, `${name} in pieces of ${size}`);
  }
});

t.test('each mail is read alike with each line end that mails come with', async (t) => {
  for (const { name, source } of CORPUS) {
    const bytes = source();
    if (bytes.length > 10_000) continue;
    const { mail, attachments } = await readInPieces(bytes, 65_536);
    const files = attachments.map(([filename, type]) => [filename, type]);
    for (const end of ['\n', '\r', '\r\r\n']) {
      const changed = Buffer.from(bytes.toString('latin1').replaceAll('\r\n', end), 'latin1');
      for (const size of [65_536, 7]) {
        const read = await readInPieces(changed, size);
        t.strictSame(
          [read.mail, read.attachments.map(([filename, type]) => [filename, type])],
          [mail, files],
          `${name} with ${JSON.stringify(end)} in pieces of ${size}`,
        );
      }
    }
  }
});

t.test('a short run of the campaign of changed mails', async (t) => {
  const figures = await mailParse(t, { seed: 1, mails: 400 });
  t.strictSame(figures.problems, []);
  t.ok(figures.damaged > 20 && figures.attached > 20 && figures.reports > 5, JSON.stringify(figures));
});
