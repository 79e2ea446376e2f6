/**
 * A trusted server's finding against a sender holds, however it is written. The sender chooses some
 * parts of such a note (its address, the name of its machine, some of its signature), which many
 * servers write without quotes.
 */

import { readInPieces } from '@parley/mail-reader/test/read-in-pieces.ts';
import t from 'tap';
import { authenticateMail } from '../../src/features/mail/incoming/authentication.ts';
import { Random } from '../support/random.ts';

const SERVER = 'mx.harbor.example';
const NOTES = 3_000;

/** Returns what is judged of a mail of bank.example with these lines on top. */
async function resultOf(lines: readonly string[]): Promise<string> {
  const source = [...lines, 'From: Ada <ada@bank.example>', 'Subject: Hi', '', 'Hello', ''].join('\r\n');
  const { mail } = await readInPieces(Buffer.from(source, 'latin1'), 64 * 1024);
  const { result } = await authenticateMail(
    { store: { open: async () => undefined }, authserv: SERVER },
    {
      envelope: { transport: 'http', sender: 'x@evil.example', recipients: null, client: null },
      source: { key: 'k', sizeBytes: 1 },
      mail,
    },
  );
  return result;
}

const resultOfNotes = (notes: readonly string[]) =>
  resultOf(notes.map((note) => `Authentication-Results: ${note}`));
const only = (note: string) => resultOfNotes([`${SERVER}; ${note}`]);

t.test('a note that ends within a comment or a quoted text counts as failed', async (t) => {
  for (const note of [
    'spf=fail smtp.mailfrom=a(b@evil.example; dmarc=fail header.from=bank.example',
    'spf=fail smtp.mailfrom=a"b@evil.example; dmarc=fail header.from=bank.example',
    'spf=none smtp.helo=a(b; dmarc=fail (p=none dis=none) header.from=bank.example',
    'spf=none smtp.helo="a\\; dmarc=fail header.from=bank.example"',
    'spf=none smtp.helo=(((; dmarc=none',
    'dkim=pass header.d=bank.example; spf=none (a',
  ]) {
    t.equal(await only(note), 'fail', note);
  }
});

t.test('a failure does not hide between two texts of the sender', async (t) => {
  for (const note of [
    'spf=none smtp.mailfrom=a(b@evil.example; dmarc=fail header.from=bank.example; dkim=none header.i=c)@evil.example',
    'spf=none smtp.mailfrom=a"b@evil.example; dmarc=fail header.from=bank.example; dkim=none header.i=c"@evil.example',
    'dkim=pass header.d=evil.example header.i=(@evil.example; spf=fail smtp.mailfrom=bank.example smtp.helo=)',
    'spf=fail smtp.mailfrom=evil.example (@bank.example; iprev=pass smtp.helo=)',
    'spf=fail smtp.mailfrom=(@bank.example; dkim=none header.i=)@evil.example',
    'dkim=none header.i=(@evil.example; (policy) dmarc/1 = HardFail header.from=bank.example; spf=none smtp.helo=)',
  ]) {
    t.equal(await only(note), 'fail', note);
  }
});

t.test('the sender writes no property of another domain into its address', async (t) => {
  for (const note of [
    'spf=pass smtp.mailfrom=ada@bank.example smtp.helo=b@evil.example',
    'spf=pass smtp.mailfrom=bank.example smtp.helo=b@evil.example',
    'spf=pass smtp.mailfrom=ada@bank.example x@evil.example',
    'spf=pass smtp.mailfrom=a smtp.mailfrom=ada@bank.example smtp.helo=b@evil.example',
    'spf=pass smtp.mailfrom=x@evil.example@bank.example',
    'spf=fail smtp.mailfrom=x@evil.example smtp.helo=b@bank.example',
  ]) {
    t.equal(await only(note), 'fail', note);
  }
});

t.test('words that are no result count as failed, results of other methods do not count', async (t) => {
  for (const note of [
    'dmarc',
    'dmarc=',
    'dmarc="fail"',
    'dm\0arc=fail',
    'dmarc=fa\0il',
    'dmarc fail',
    'spf=pass+',
    '"; dmarc=none',
  ]) {
    t.equal(await only(note), 'fail', JSON.stringify(note));
  }
  for (const note of [
    'none',
    'dmarc=none;',
    'x-vs=clean score=-51 state=0; arc=pass (i=1 spf=fail dmarc=fail); dmarc=pass action=none header.from=bank.example;compauth=pass reason=100',
    'dkim=pass (2048-bit key; unprotected) header.d=bank.example header.i=@bank.example header.b="a b+/c=="',
    'auth=pass (cram-md5) smtp.auth=me@x.example; iprev=pass policy.iprev=192.0.2.1 (mx.bank.example)',
    'spf=pass (sender SPF authorized) smtp.mailfrom=a@bank.example (client-ip=192.0.2.1; helo=x; envelope-from=<a@bank.example>)',
  ]) {
    t.not(await only(note), 'fail', note);
  }
});

t.test('a failure in another header of the server counts, a success there does not', async (t) => {
  t.equal(
    await resultOfNotes([`${SERVER}; dkim=none`, `${SERVER}; dmarc=fail header.from=bank.example`]),
    'fail',
  );
  t.equal(
    await resultOfNotes([`${SERVER}; dkim=none`, `${SERVER}; spf=fail smtp.mailfrom=a@bank.example`]),
    'fail',
  );
  t.equal(await resultOfNotes([`${SERVER} (a; dmarc=fail header.from=bank.example`]), 'fail');
  t.equal(
    await resultOfNotes([`${SERVER}; dkim=none`, `${SERVER}; dmarc=pass header.from=bank.example`]),
    'none',
  );
  t.equal(await resultOfNotes([`${SERVER}.evil.example; dmarc=fail`]), 'none', 'of another server');
});

t.test('where no header could be read, the trusted server was not heard', async (t) => {
  const mail = { headers: [], from: null };
  const source = { key: 'k', sizeBytes: 1 };
  const envelope = { transport: 'http', sender: 'ada@bank.example', recipients: null, client: null } as const;
  const store = { open: async () => undefined };
  const { result } = await authenticateMail({ store, authserv: SERVER }, { envelope, source, mail });
  t.equal(result, 'fail');
});

t.test('what the server has noted is neither decoded nor cut', async (t) => {
  const hidden = '; dmarc=fail header.from=bank.example; x=';
  for (const local of ['=?utf-8?b?', '\x1b$B', '=?utf-8?q?=28', 'a'.repeat(20_000)]) {
    const note = `${SERVER}; spf=none smtp.mailfrom=${local}${hidden}?=@evil.example`;
    t.equal(await resultOfNotes([note]), 'fail', JSON.stringify(local.slice(0, 20)));
  }
  const switching = ['Received: from a\x1b$B!', `Authentication-Results: ${SERVER}; dmarc=fail`];
  t.equal(await resultOf(switching), 'fail', 'behind a line in another character set');
});

t.test(
  `${NOTES} notes that say fail, with texts of the sender in every place, never give pass or none`,
  async (t) => {
    const seed = 25;
    const random = new Random(seed);
    const weaker: string[] = [];
    for (let n = 0; n < NOTES; n++) {
      const notes = failingNotes(random);
      const result = await resultOfNotes(notes);
      if (result !== 'fail') weaker.push(`${result}: ${JSON.stringify(notes)}`);
    }
    t.strictSame(weaker, [], `seed ${seed}`);
  },
);

/**
 * What a sender tries: the ends and beginnings of comments, quotes and results, and other character
 * sets.
 */
const PIECES = [
  '(',
  ')',
  '"',
  '\\',
  ';',
  '=',
  ' ',
  '\t',
  '@',
  '<',
  '>',
  '.',
  ',',
  '/',
  '\0',
  '\r',
  '\x1b$B',
  '\xa0',
  '\xff',
  '=?utf-8?b?',
  '=?utf-8?q?=28',
  '=?iso-2022-jp?b?GyRC',
  '?=',
  'a',
  'evil.example',
  'bank.example',
  'dmarc=pass',
  'spf=pass',
  'dkim=pass',
  'header.from=bank.example',
  'header.d=bank.example',
  'smtp.mailfrom=ada@bank.example',
  'none',
  `${SERVER}; dmarc=pass`,
  '\r\n\t',
  '\r\n ',
];

function textOf(random: Random): string {
  return Array.from({ length: random.below(7) }, () => random.pick(PIECES)).join('');
}

/**
 * Returns the headers of a server that says of DMARC, or without it of SPF, that the mail of
 * bank.example is forged.
 */
function failingNotes(random: Random): string[] {
  const hasDmarc = random.below(3) > 0;
  const written = () => {
    const text = textOf(random);
    if (random.below(6) === 0) return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
    // A server without DMARC that writes semicolons without quotes lets the sender write a result
    // of DMARC.
    return hasDmarc ? text : text.replaceAll(';', '');
  };
  const comment = () => (random.below(3) === 0 ? ` (${textOf(random).replaceAll(/[()\\]/g, '')})` : '');
  const word = random.pick(['fail', 'FAIL', 'hardfail', 'Fail']);
  const equals = random.pick(['=', '=', ' = ', '=\r\n\t']);
  const verdict = hasDmarc
    ? `dmarc${equals}${word}${comment()} header.from=bank.example`
    : `spf${equals}${word}${comment()} smtp.mailfrom=${written()}@bank.example`;
  const others = [
    ...(hasDmarc
      ? [
          `spf=${random.pick(['none', 'softfail', 'fail', 'pass'])}${comment()} smtp.mailfrom=${written()}@evil.example smtp.helo=${written()}`,
        ]
      : []),
    `dkim=${random.pick(['none', 'pass', 'neutral'])}${comment()} header.d=evil.example header.i=${written()}@evil.example`,
    `iprev=pass${comment()} policy.iprev=192.0.2.1 smtp.helo=${written()}`,
  ];
  const results = [verdict, ...others].sort(() => random.next() - 0.5);
  const cut = random.below(4) === 0 ? 1 + random.below(results.length - 1) : results.length;
  return [results.slice(0, cut), results.slice(cut)]
    .filter((some) => some.length > 0)
    .map(
      (some) =>
        `${SERVER}${random.pick(['', ' 1'])};${random.pick([' ', '\r\n\t'])}${some.join(random.pick(['; ', ';\r\n\t', ';']))}`,
    );
}
