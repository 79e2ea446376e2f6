/**
 * Whether the sender of a mail is proven: by our own checks, and by the notes of a server in front
 * of us.
 */

import { generateKeyPairSync } from 'node:crypto';
import { dkimSign } from 'mailauth/lib/dkim/sign.js';
import t from 'tap';
import { authenticateMail, type Resolve } from '../../src/features/mail/incoming/authentication.ts';
import type { Arrival } from '../../src/features/mail/transports/intake.ts';
import { box } from './accepting.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

const DNS: Readonly<Record<string, readonly string[]>> = {
  'TXT bank.example': ['v=spf1 ip4:8.8.8.8 -all'],
  'TXT _dmarc.bank.example': ['v=DMARC1; p=none'],
  'TXT key._domainkey.bank.example': [`v=DKIM1; p=${publicKey.toString('base64')}`],
  'TXT plain.example': ['v=spf1 ip4:8.8.8.8 -all'],
  'TXT key._domainkey.plain.example': [`v=DKIM1; p=${publicKey.toString('base64')}`],
  'TXT mallory.example': ['v=spf1 ip4:8.8.4.4 -all'],
  'TXT key._domainkey.mallory.example': [`v=DKIM1; p=${publicKey.toString('base64')}`],
};

const resolve: Resolve = async (name, type) => {
  if (name.endsWith('.silent.example') || name === 'silent.example') {
    throw Object.assign(new Error('timeout'), { code: 'ETIMEOUT' });
  }
  const records = DNS[`${type} ${name.toLowerCase()}`];
  if (records === undefined) throw Object.assign(new Error('none'), { code: 'ENOTFOUND' });
  return records.map((record) => [record]);
};

function mailFrom(from: string, lines: readonly string[] = []): string {
  return [
    ...lines,
    `From: ${from}`,
    'To: support@harbor.example',
    'Subject: Hello',
    '',
    'Where is my order?',
    '',
  ].join('\r\n');
}

async function signed(source: string, domain: string, maxBodyLength?: number): Promise<string> {
  const key = { signingDomain: domain, selector: 'key', privateKey };
  const { signatures } = await dkimSign(source, {
    ...key,
    canonicalization: 'relaxed/relaxed',
    signTime: new Date(),
    signatureData: [{ ...key, ...(maxBodyLength !== undefined && { maxBodyLength }) }],
  });
  return signatures + source;
}

interface Asked {
  readonly source: string;
  readonly shown?: string;
  readonly sender?: string | null;
  readonly address?: string;
  readonly transport?: Arrival['envelope']['transport'];
  readonly authserv?: string | null;
  readonly resolve?: Resolve;
  readonly timeoutMs?: number;
}

async function verdictOf({
  source,
  shown,
  sender = null,
  address = '8.8.8.8',
  transport = 'smtp',
  authserv = null,
  ...checks
}: Asked) {
  const bytes = Buffer.from(source);
  const store = {
    open: async () => ({
      size: bytes.length,
      read: async function* () {
        yield bytes;
      },
    }),
  };
  const head = source.slice(0, source.indexOf('\r\n\r\n')).replace(/\r\n[ \t]+/g, ' ');
  const headers = head.split('\r\n').map((line) => ({
    name: line.slice(0, line.indexOf(':')).trim().toLowerCase(),
    value: line.slice(line.indexOf(':') + 1).trim(),
  }));
  const from = box(shown ?? headers.find(({ name }) => name === 'from')!.value);
  const client = transport === 'smtp' ? { address, helo: 'mx.example' } : null;
  return authenticateMail(
    { store, authserv, resolve, ...checks },
    {
      envelope: { transport, sender, recipients: null, client },
      source: { key: 'k', sizeBytes: bytes.length },
      mail: { headers, from },
    },
  );
}

const short = ({ source, spf, dkim, dmarc, result }: Awaited<ReturnType<typeof verdictOf>>) =>
  `${source}: spf ${spf}, dkim ${dkim}, dmarc ${dmarc}: ${result}`;

t.test('where this server is the MX, it checks SPF, DKIM and DMARC', async (t) => {
  const plain = mailFrom('Bank <ada@bank.example>');
  const own = await signed(plain, 'bank.example');
  const others = await signed(plain, 'mallory.example');
  for (const [asked, expected] of [
    [{ source: plain, sender: 'ada@bank.example' }, 'spf pass, dkim none, dmarc pass: pass'],
    [{ source: own, sender: 'x@mallory.example' }, 'spf fail, dkim pass, dmarc pass: pass'],
    [{ source: own.replace('my order', 'our money') }, 'spf none, dkim neutral, dmarc fail: fail'],
    [
      { source: others, sender: 'x@mallory.example', address: '8.8.4.4' },
      'spf pass, dkim pass, dmarc fail: fail',
    ],
    [
      { source: plain, sender: 'ada@bank.example', address: '8.8.4.4' },
      'spf fail, dkim none, dmarc fail: fail',
    ],
    // A signature of the first line says nothing of what was written behind it.
    [
      { source: `${await signed(plain, 'bank.example', 5)}Pay me.\r\n` },
      'spf none, dkim neutral, dmarc fail: fail',
    ],
    [
      { source: mailFrom('a@plain.example'), sender: 'a@plain.example' },
      'spf pass, dkim none, dmarc none: pass',
    ],
    [
      { source: mailFrom('a@plain.example'), sender: 'a@plain.example', address: '8.8.4.4' },
      'spf fail, dkim none, dmarc none: fail',
    ],
    [
      { source: mailFrom('a@sub.plain.example'), sender: 'a@plain.example' },
      'spf pass, dkim none, dmarc none: pass',
    ],
    [
      { source: mailFrom('a@plain.example'), sender: 'x@mallory.example', address: '8.8.4.4' },
      'spf pass, dkim none, dmarc none: none',
    ],
    [
      { source: mailFrom('a@silent.example'), sender: 'a@silent.example' },
      'spf temperror, dkim none, dmarc temperror: none',
    ],
    // What a reader is shown is another address than the one that was checked.
    [
      { source: plain, shown: 'ada@other.example', sender: 'ada@bank.example' },
      'spf pass, dkim none, dmarc pass: fail',
    ],
    [
      {
        source: mailFrom('Bank <ada@bank.example>', ['From: x@mallory.example']),
        sender: 'x@mallory.example',
        address: '8.8.4.4',
      },
      /: fail$/,
    ],
    [
      {
        source: mailFrom(
          'ada@bank.example',
          Array.from({ length: 3_000 }, (_, n) => `X-Filler: ${'x'.repeat(90)}${n}`),
        ),
        sender: 'ada@bank.example',
      },
      'spf permerror, dkim permerror, dmarc fail: fail',
    ],
  ] as const) {
    const found = short(await verdictOf(asked));
    if (typeof expected === 'string') t.equal(found, `checked: ${expected}`);
    else t.match(found, expected);
  }
});

t.test('what cannot be checked is not proven; a store that fails is tried again', async (t) => {
  const source = mailFrom('ada@bank.example');
  const many = mailFrom(
    'ada@bank.example',
    Array.from({ length: 20 }, (_, n) => `DKIM-Signature: v=1; l=${n}`),
  );
  const unchecked = 'checked: spf permerror, dkim permerror, dmarc fail: fail';
  const sender = 'ada@bank.example';
  t.equal(
    short(await verdictOf({ source: many, sender })),
    unchecked,
    'each signature costs a reading of the body',
  );
  // The limit of time itself keeps no process alive.
  const held = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(held));
  const silent = { resolve: () => new Promise<never>(() => {}), timeoutMs: 20 };
  t.equal(short(await verdictOf({ source, sender, ...silent })), unchecked, 'name servers that never answer');
  const read = async function* () {
    yield Buffer.from(source.slice(0, -10));
    throw new Error('the store is away');
  };
  const store = { open: async () => ({ size: source.length, read }) };
  const envelope = {
    transport: 'smtp',
    sender,
    recipients: null,
    client: { address: '8.8.8.8', helo: 'mx.example' },
  } as const;
  await t.rejects(
    authenticateMail(
      { store, authserv: null, resolve },
      { envelope, source: { key: 'k', sizeBytes: 1 }, mail: { headers: [], from: box(sender) } },
    ),
    { message: 'the store is away' },
  );
});

t.test('a mail without an author, and one of a domain with letters of its own', async (t) => {
  const authserv = 'mx.harbor.example';
  const headers = [
    { name: 'authentication-results', value: `${authserv}; spf=fail smtp.mailfrom=bank.example` },
  ];
  const envelope = { transport: 'http', sender: 'ada@bank.example', recipients: null, client: null } as const;
  const ask = (mail: Parameters<typeof authenticateMail>[1]['mail'], server: string | null) =>
    authenticateMail(
      { store: { open: async () => undefined }, authserv: server },
      { envelope, source: { key: 'k', sizeBytes: 1 }, mail },
    );
  t.equal(
    (await ask({ headers, from: null }, authserv)).result,
    'fail',
    'the envelope alone names the sender',
  );
  t.equal((await ask({ headers, from: null }, null)).result, 'none');
  const two = [
    { name: 'authentication-results', value: `${authserv}; dkim=pass header.d=bank.example` },
    { name: 'from', value: 'ada@bank.example, x@mallory.example' },
  ];
  t.equal(
    (await ask({ headers: two, from: box('ada@bank.example') }, authserv)).result,
    'fail',
    'two authors',
  );
  const own = [
    { name: 'authentication-results', value: `${authserv}; dmarc=pass header.from=xn--mller-kva.example` },
    { name: 'from', value: 'Jo <jo@müller.example>' },
  ];
  t.equal((await ask({ headers: own, from: box('jo@müller.example') }, authserv)).result, 'pass');
  const claimed = [
    {
      name: 'authentication-results',
      value: `${authserv}; spf=pass smtp.mailfrom=x@mallory.example; dmarc=none`,
    },
    { name: 'from', value: '<>' },
    { name: 'sender', value: 'ada@bank.example' },
  ];
  const bySender = { headers: claimed, from: box('ada@bank.example') };
  t.equal((await ask(bySender, authserv)).result, 'fail', 'Sender alone names the sender');
  t.equal((await ask(bySender, null)).result, 'none');
});

t.test('behind another server, what that has noted on top is believed, and nothing else', async (t) => {
  const note = (text: string) => `Authentication-Results: ${text}`;
  const pass =
    'spf=pass smtp.mailfrom=bank.example; dkim=pass header.d=bank.example; dmarc=pass header.from=bank.example';
  const fail =
    'spf=softfail smtp.mailfrom=x@mallory.example; dkim=none; dmarc=fail (p=NONE) header.from=bank.example';
  for (const [lines, expected] of [
    [[note(`mx.harbor.example; ${pass}`)], 'header: spf pass, dkim pass, dmarc pass: pass'],
    [[note(`mx.harbor.example 1;\r\n\t${pass}`)], 'header: spf pass, dkim pass, dmarc pass: pass'],
    [
      [note(`mx.harbor.example; ${fail}`), note(`mx.harbor.example; ${pass}`)],
      'header: spf softfail, dkim none, dmarc fail: fail',
    ],
    [
      [note(`other.example; ${fail}`), note(`mx.harbor.example; ${pass}`)],
      'header: spf pass, dkim pass, dmarc pass: pass',
    ],
    [[note(`MX.harbor.example; ${pass}`)], 'none: spf none, dkim none, dmarc none: none'],
    [[note(`(mx.harbor.example) mx.harbor.example; ${pass}`)], 'none: spf none, dkim none, dmarc none: none'],
    [[note(`mx.harbor.example(x); ${pass}`)], 'none: spf none, dkim none, dmarc none: none'],
    [[note(`mx.harbor\r\n .example; ${pass}`)], 'none: spf none, dkim none, dmarc none: none'],
    [[note('mx.harbor.example; none')], 'header: spf none, dkim none, dmarc none: none'],
    [
      [note(`mx.harbor.example; ${pass}`), 'From: Bank <ada@bank.example>, x@mallory.example'],
      'header: spf pass, dkim pass, dmarc pass: fail',
    ],
    // What a sender chooses stands in quotes and comments.
    [
      [
        note(
          'mx.harbor.example; spf=pass smtp.mailfrom="a; dmarc=pass header.from=bank.example"@mallory.example',
        ),
      ],
      'header: spf pass, dkim none, dmarc none: none',
    ],
    [
      [note('mx.harbor.example; spf=none (a\\); dmarc=pass header.from=bank.example)')],
      'header: spf none, dkim none, dmarc none: none',
    ],
    [
      [note('mx.harbor.example; spf=none smtp.helo="; dmarc=pass header.from=bank.example')],
      'header: spf none, dkim none, dmarc fail: fail',
    ],
    [
      [note('mx.harbor.example; dmarc=pass header.from=bank.example; dmarc=none header.from=bank.example')],
      'header: spf none, dkim none, dmarc fail: fail',
    ],
    [
      [note('mx.harbor.example; dmarc=pass header.from=mallory.example')],
      'header: spf none, dkim none, dmarc pass: fail',
    ],
    [
      [note('mx.harbor.example; dkim=fail header.d=x.example; dkim = pass header.i=@bank.example')],
      'header: spf none, dkim pass, dmarc none: pass',
    ],
    [
      [note('mx.harbor.example; spf=hardfail smtp.mailfrom=ada@bank.example')],
      'header: spf fail, dkim none, dmarc none: fail',
    ],
    [
      [note(`mx.harbor.example; ${pass}`), 'From: x@mallory.example'],
      'header: spf pass, dkim pass, dmarc pass: fail',
    ],
  ] as const) {
    const source = mailFrom('Bank <ada@bank.example>', lines);
    const verdict = await verdictOf({
      source,
      shown: 'ada@bank.example',
      transport: 'http',
      authserv: 'mx.harbor.example',
    });
    t.equal(short(verdict), expected, lines[0]);
    t.equal((await verdictOf({ source, transport: 'http' })).source, 'none', 'no server is trusted');
    const relayed = { source, shown: 'ada@bank.example', address: '10.1.2.3', authserv: 'mx.harbor.example' };
    t.equal(short(await verdictOf(relayed)), expected, 'by SMTP from the server in front');
  }
});
