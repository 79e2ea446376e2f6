/**
 * Mail over HTTP: the signature, the limits, and the leftovers
 * (docs/contract.md#mail-that-comes-in).
 */

import { randomBytes } from 'node:crypto';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { derivedId } from '@parley/protocol/ids.ts';
import type { MailReceipt } from '@parley/protocol/resources/email.ts';
import t from 'tap';
import { RateLimiter } from '../../src/api/access/rate-limit.ts';
import { makeBounceAddress } from '../../src/features/mail/outgoing/bounce-address.ts';
import { inboundRoutes } from '../../src/features/mail/transports/inbound-routes.ts';
import { Places } from '../../src/features/mail/transports/places.ts';
import { DatabaseUnavailableError } from '../../src/platform/db/connection/unavailable.ts';
import { serve } from '../http/fixture.ts';
import { inAnyOrder } from '../support/any-order.ts';
import { RawClient } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import { mailTo, openArrivals, signed } from './arrivals.ts';

const [OLD, NEW] = ['o'.repeat(32), 'n'.repeat(32)];
const arrivals = await openArrivals(t);
const { intake, inbox, other, metrics, key, store } = arrivals;
const { database } = arrivals.ground;
const places = new Places({ most: 3, mostPerAddress: 2 });
const server = await serve(t, {
  publicRoutes: inboundRoutes({ intake, places, metrics, secrets: [NEW, OLD] }),
});
const EMPTY = await arrivals.leftovers();

t.test('a mail is committed when it is answered, and the same request again is the same mail', async (t) => {
  const mail = mailTo('Support <SUPPORT+x@harbor.example>', 'one@customers.example');
  const signature = signed(mail, NEW);
  const first = await post(mail, { signature });
  t.equal(first.status, 200);
  const receipt = JSON.parse(first.text) as MailReceipt;
  const [row] = receipt.mails;
  t.strictSame(receipt, {
    object: 'mail_receipt',
    mails: [
      {
        id: row!.id,
        inbox_id: inbox.id,
        status: 'accepted',
        reason: null,
        conversation_id: null,
        message_id: null,
      },
    ],
  });
  const again = await post(mail, { signature });
  t.equal(again.text, first.text);
  const stored = await arrivals.mails();
  t.strictSame(
    stored.map(({ rfc_id, source }) => [rfc_id, source]),
    [['one@customers.example', mail]],
  );
  t.strictSame(await leftovers(), { files: 1, rows: 1 }, 'one source, and no attachment that no message has');
});

t.test('the recipients are those that the headers name, best first', async (t) => {
  const bounce = makeBounceAddress(key, derivedId('mail', 'x'), 'support@harbor.example');
  const forged = bounce.replace(/-[0-9a-f]{16}@/, '-0123456789abcdef@');
  const cases: readonly (readonly [name: string, head: string, ...inboxes: string[]])[] = [
    ['to', 'To: sales@HARBOR.example', other.id],
    [
      'several',
      'To: x@y.example,\r\n\tSupport <support@harbor.example>\r\nCc: sales@harbor.example',
      inbox.id,
      other.id,
    ],
    ['twice', 'To: support+a@harbor.example, support+b@harbor.example', inbox.id],
    ['group', 'To: Team: "Us, all" <sales@harbor.example> (support@harbor.example), x@y.example;', other.id],
    ['envelope', 'Delivered-To: sales@harbor.example\r\nTo: support@harbor.example', other.id],
    ['original', 'X-Original-To: sales@harbor.example\r\nTo: undisclosed-recipients:;', other.id],
    ['exim', 'envelope-to: support@harbor.example, sales@harbor.example', inbox.id, other.id],
    ['elsewhere', 'Delivered-To: x@y.example\r\nTo: sales@harbor.example', other.id],
    ['bounce', `To: ${bounce}`, inbox.id],
    ['name', 'To: "support@harbor.example" <x@y.example>'],
    ['forged', `To: ${forged}`],
    ['none', 'Subject: no recipient'],
    ['body', 'Subject: x\r\n\r\nTo: support@harbor.example'],
  ];
  for (const [name, head, ...inboxes] of cases) {
    const id = `${name}.to@customers.example`;
    const mail = `Message-ID: <${id}>\r\n${head}\r\n\r\nHello\r\n`;
    const { status, text } = await post(mail);
    t.equal(status, inboxes.length === 0 ? 404 : 200, name);
    const found = (JSON.parse(text) as Partial<MailReceipt>).mails ?? [];
    t.strictSame(
      found.map(({ inbox_id }) => inbox_id),
      inboxes,
      name,
    );
    const stored = (await arrivals.mails()).filter(({ rfc_id }) => rfc_id === id);
    t.ok(
      stored.every(({ source }) => source === mail),
      'each has the whole source',
    );
  }
  const { files, rows } = await leftovers();
  t.strictSame({ files, rows }, { files: (await arrivals.mails()).length, rows: files });
});

t.test('inbound mail may have a head of any length and form', async (t) => {
  const long = `Subject: ${'x'.repeat(20_000)}\r\n`.repeat(10);
  t.equal((await post(`${long}To: support@harbor.example\r\nMessage-ID: <long@x>\r\n\r\nHello`)).status, 200);
  const endless = `X: ${'x'.repeat(300_000)}\r\nTo: support@harbor.example\r\n\r\nHello`;
  t.equal((await post(endless)).status, 404, 'recipients beyond 256 KiB do not count');
  for (const [name, end] of Object.entries({ lf: '\n', cr: '\r', crcrlf: '\r\r\n' })) {
    const lines = [
      'X: y',
      'To: support@harbor.example',
      `Message-ID: <${name}@x>`,
      '',
      'To: x@y.example',
      '',
    ];
    t.equal((await post(lines.join(end))).status, 200, `lines that end with ${JSON.stringify(end)}`);
    const ofText = ['X: y', `Message-ID: <${name}@x>`, '', 'To: support@harbor.example', ''];
    t.equal((await post(ofText.join(end))).status, 404, 'a text names no recipient');
  }
  t.equal((await post('To: support@harbor.example')).status, 200, 'no body at all');
  t.equal((await post(randomBytes(100_000))).status, 404);
});

t.test('the signature, and nothing else, is the credential', async (t) => {
  const before = await leftovers();
  const mail = mailTo('support@harbor.example', 'signed@customers.example');
  const now = Math.floor(Date.now() / 1_000);
  const right = signed(mail, NEW);
  const [time = '', v1 = ''] = right.split(',');
  const wrong = `v1=${'0'.repeat(64)}`;
  for (const [name, signature] of Object.entries({
    absent: undefined,
    empty: '',
    'of another body': signed(`${mail} `, NEW),
    'of another secret': signed(mail, 'x'.repeat(32)),
    'of another time': `t=${now - 1},${v1}`,
    old: signed(mail, NEW, now - 330),
    'of the future': signed(mail, NEW, now + 330),
    'without time': v1,
    'two times': `${time},t=${now - 1},${v1}`,
    'without v1': time,
    short: right.slice(0, -1),
    'another scheme': right.replace('v1', 'v0'),
    'no hex': `${time},v1=${'g'.repeat(64)}`,
    'many wrong': [time, ...Array.from({ length: 20 }, () => wrong), v1].join(','),
    huge: `${time},v1=${'0'.repeat(4_000)}`,
  })) {
    const answer = await post(mail, { signature });
    t.equal(refusalOf(answer), '401 invalid_credentials Parley-Signature', name);
  }
  t.strictSame(await leftovers(), before, 'nothing is left of them');
  for (const [name, signature] of Object.entries({
    'the old secret': signed(mail, OLD),
    'several v1': `${time},${wrong},${v1}`,
    blanks: `${time}, ${v1}`,
    'capital letters': `${time},${v1.replace(/[a-f]/g, (digit) => digit.toUpperCase())}`,
    'nearly old': signed(mail, NEW, now - 280),
    'nearly future': signed(mail, NEW, now + 280),
  })) {
    t.equal((await post(mail, { signature })).status, 200, name);
  }
  const unsigned = await post(mailTo('nobody@harbor.example', 'x@x'), { signature: `${time},${wrong}` });
  t.equal(unsigned.status, 401, 'an address is not confirmed to a stranger');
});

t.test('a mail is refused by its head before its body is read', async (t) => {
  const before = await leftovers();
  const mail = mailTo('support@harbor.example', 'head@customers.example');
  t.equal(refusalOf(await post('')), '400 invalid_format null');
  for (const type of ['application/json', 'text/plain', 'message/rfc822x', '']) {
    t.equal(refusalOf(await post(mail, { type })), '415 invalid_format Content-Type', type);
  }
  t.equal((await post(mail, { type: 'Message/RFC822; charset=utf-8' })).status, 200);
  t.equal((await fetch(`${server.url}/v1/mail/inbound`)).status, 405);
  const closed = await serve(t, { publicRoutes: inboundRoutes({ intake, places, metrics, secrets: null }) });
  const answer = await post(mail, { url: closed.url });
  t.equal(refusalOf(answer), '404 resource_not_found null');
  t.match(answer.text, 'PARLEY_MAIL_SECRET');
  const limited = await serve(t, {
    publicRoutes: inboundRoutes({ intake, places, metrics, secrets: [NEW] }),
    addressLimiter: new RateLimiter({ requests: 1, seconds: 60 }),
  });
  t.equal((await post('x', { url: limited.url, signature: '' })).status, 401);
  t.equal(refusalOf(await post(mail, { url: limited.url })), '429 rate_limit_exceeded null');
  const { files, rows } = await leftovers();
  t.strictSame({ files, rows }, { files: before.files + 1, rows: before.rows + 1 });
});

t.test('a mail above 25 MiB is refused', async (t) => {
  const before = await leftovers();
  const head = mailTo('support@harbor.example', 'large@customers.example', '');
  const largest = randomBytes(25 * 1024 * 1024);
  largest.write(head);
  t.equal((await post(largest)).status, 200);
  const rows = database.kysely
    .selectFrom('mails')
    .select('source_key')
    .where('rfc_id', '=', 'large@customers.example');
  const { source_key } = await rows.executeTakeFirstOrThrow();
  t.ok((await store.read(source_key!, largest.length + 1))!.equals(largest), 'every byte of it');
  t.equal((await leftovers()).files, before.files + 1);
  t.equal(refusalOf(await post(Buffer.alloc(largest.length + 1, 'x'))), '413 validation_failed null');
  t.equal((await leftovers()).files, before.files + 1);
});

t.test('few at once, and a sender that goes away leaves nothing', async (t) => {
  const before = await leftovers();
  const mail = mailTo('support@harbor.example', 'slow@customers.example');
  const begun = [begin(mail), begin(mail)];
  await until(async () => (await leftovers()).rows === before.rows + 2, { what: 'two mails on their way' });
  const refused = await post(mail);
  t.equal(refusalOf(refused), '429 rate_limit_exceeded null');
  t.equal(refused.retryAfter, '1');
  begun[0]!.send(mail.slice(-10));
  await until(() => begun[0]!.statuses.length > 0, { what: 'the answer' });
  t.strictSame(begun[0]!.statuses, [200]);
  begun[1]!.destroy();
  await until(async () => (await leftovers()).rows === before.rows + 1, { what: 'nothing is left' });
  t.equal((await leftovers()).files, before.files + 1);
  t.equal((await post(mail)).status, 200, 'its place is free');
});

t.test('what may pass is answered as such, and the sender tries again', async (t) => {
  const before = await leftovers();
  const mail = mailTo('support@harbor.example, sales@harbor.example', 'again@customers.example');
  for (const [error, refusal] of [
    [new DatabaseUnavailableError('gone'), '503 service_unavailable null'],
    [new ApiError('timeout', 'The object storage did not answer in time.'), '504 timeout null'],
    [new Error('a mistake'), '500 internal_error null'],
  ] as const) {
    arrivals.beforeAccept = ({ inbox: { id } }) => {
      if (id === other.id) throw error;
    };
    t.equal(refusalOf(await post(mail)), refusal);
  }
  const { files } = await leftovers();
  t.ok(
    files > before.files + 1,
    'a transaction of unknown outcome may refer to them: they go a minute later',
  );
  arrivals.beforeAccept = () => {};
  t.equal((await post(mail)).status, 200);
  const stored = (await arrivals.mails()).filter(({ rfc_id }) => rfc_id === 'again@customers.example');
  t.strictSame(
    inAnyOrder(stored.map(({ inbox_id }) => inbox_id)),
    inAnyOrder([inbox.id, other.id]),
    'each once',
  );
  const text = await metrics.registry.metrics();
  t.match(text, /parley_mail_received_total\{transport="http",result="accepted"\} \d/);
  t.match(text, /parley_mail_received_total\{transport="http",result="failed"\} 3/);
  t.match(text, /parley_mail_refusals_total\{transport="http",reason="signature"\} \d/);
  t.match(text, /parley_mail_receive_duration_seconds_count\{transport="http"\} \d/);
});

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | null;
}

async function post(
  body: string | Buffer,
  options: { signature?: string | undefined; type?: string; url?: string } = {},
): Promise<Answer> {
  const signature = 'signature' in options ? options.signature : signed(body, NEW);
  const headers = { 'Content-Type': options.type ?? 'message/rfc822' };
  const response = await fetch(`${options.url ?? server.url}/v1/mail/inbound`, {
    method: 'POST',
    headers: signature === undefined ? headers : { ...headers, 'Parley-Signature': signature },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });
  const { status } = response;
  return { status, text: await response.text(), retryAfter: response.headers.get('retry-after') };
}

/** Sends all of the request but its last ten bytes. */
function begin(mail: string): RawClient {
  const head = `POST /v1/mail/inbound HTTP/1.1\r\nHost: x\r\nContent-Type: message/rfc822\r\nContent-Length: ${mail.length}\r\n`;
  return new RawClient(server.port).send(
    `${head}Parley-Signature: ${signed(mail, NEW)}\r\n\r\n${mail.slice(0, -10)}`,
  );
}

function refusalOf({ status, text }: Answer): string {
  const { error } = JSON.parse(text) as { error: { code: string; param: string | null } };
  return `${status} ${error.code} ${error.param}`;
}

async function leftovers(): Promise<{ files: number; rows: number }> {
  const { files, rows } = await arrivals.leftovers();
  return { files: files - EMPTY.files, rows: rows - EMPTY.rows };
}
