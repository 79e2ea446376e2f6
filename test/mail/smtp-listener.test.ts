/** The listener for SMTP and LMTP: what it takes, what it refuses, and what a client may do. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { derivedId } from '@parley/protocol/ids.ts';
import nodemailer from 'nodemailer';
import t, { type Test } from 'tap';
import { RateLimiter } from '../../src/api/access/rate-limit.ts';
import { makeBounceAddress } from '../../src/features/mail/outgoing/bounce-address.ts';
import type { Envelope } from '../../src/features/mail/transports/envelope.ts';
import { Places } from '../../src/features/mail/transports/places.ts';
import { SmtpListener, type SmtpListenerOptions } from '../../src/features/mail/transports/smtp-listener.ts';
import { DatabaseUnavailableError } from '../../src/platform/db/connection/unavailable.ts';
import { freshDirectory } from '../start/parley.ts';
import { inAnyOrder } from '../support/any-order.ts';
import { RawClient } from '../support/raw-client.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { mailTo, openArrivals } from './arrivals.ts';

const arrivals = await openArrivals(t);
const { intake, inbox, other, metrics, key } = arrivals;
const SUPPORT = 'support@harbor.example';

t.test('a mail is committed when it is answered with 250', async (t) => {
  const { client } = await open(t);
  t.match(client.received, /^220 mail\.harbor\.example ESMTP\r\n$/);
  const greeting = await client.ask('EHLO client.example', 250);
  t.match(greeting, 'SIZE 26214400');
  t.notMatch(greeting, /AUTH|STARTTLS|HELP/);
  await client.ask('MAIL FROM:<cleo@customers.example>', 250);
  await client.ask(`RCPT TO:<Support+${'x'.repeat(10)}@harbor.example>`, 250);
  await client.ask('DATA', 354);
  const mail = mailTo(SUPPORT, 'smtp@customers.example', 'Hello\r\n.hidden\r\n');
  await client.ask(`${mail.replaceAll('\r\n.', '\r\n..')}.`, 250);
  t.strictSame(await stored('smtp@customers.example'), [[inbox.id, 'cleo@customers.example', mail]]);
  t.match(await client.ask('QUIT', 221), '221');
  await client.closed;
});

t.test('the envelope alone decides the inboxes, and an empty sender is one', async (t) => {
  const envelopes: Envelope[] = [];
  arrivals.beforeAccept = ({ envelope }) => void envelopes.push(envelope);
  const { client } = await open(t);
  const bounce = makeBounceAddress(key, derivedId('mail', 'x'), SUPPORT);
  await client.transaction('', [bounce, 'SALES@harbor.example'], mailTo('x@y.example', 'envelope@x'));
  arrivals.beforeAccept = () => {};
  t.strictSame(inAnyOrder((await stored('envelope@x')).map(([id]) => id)), inAnyOrder([inbox.id, other.id]));
  const envelope = {
    transport: 'smtp',
    sender: '',
    recipients: [bounce, 'SALES@harbor.example'],
    client: null,
  };
  t.strictSame(
    envelopes,
    [envelope, envelope],
    'a client of this machine is a server in front, not a sender',
  );
});

t.test('the SMTP listener relays nothing and authenticates no client', async (t) => {
  const { client } = await open(t);
  await client.ask('EHLO x', 250);
  await client.ask('AUTH PLAIN AHgAeA==', 500);
  await client.ask('STARTTLS', 500);
  for (const command of ['WIZ x', 'SHELL x', 'KILL x']) await client.ask(command, 500);
  t.match(await client.ask('VRFY support@harbor.example', 252), '252');
  await client.ask('DATA', 503);
  await client.ask('MAIL FROM:<x@y.example>', 250);
  const forged = makeBounceAddress(key, derivedId('mail', 'x'), SUPPORT).replace(/[0-9a-f]@/, 'g@');
  const unsigned = makeBounceAddress('another key', derivedId('mail', 'x'), SUPPORT);
  for (const address of [
    'x@elsewhere.example',
    'nobody@harbor.example',
    'support%x@harbor.example',
    unsigned,
  ]) {
    t.match(await client.ask(`RCPT TO:<${address}>`, 550), '5.1.1', address);
  }
  t.match(await client.ask(`RCPT TO:<${forged}>`, 250), '250', 'any other tag is the inbox itself');
  await client.ask('RSET', 250);
  await client.ask('MAIL FROM:<x@y.example> SIZE=26214401', 552);
});

t.test('a line end without CR ends no mail, and hides none', async (t) => {
  const { client } = await open(t);
  const second =
    'MAIL FROM:<evil@x>\r\nRCPT TO:<support@harbor.example>\r\nDATA\r\nMessage-ID: <smuggled@x>\r\n\r\nHi\r\n';
  for (const [name, end] of Object.entries({
    'LF . LF': '\n.\n',
    'LF . CRLF': '\n.\r\n',
    'CR . CR': '\r.\r',
    'CRLF . LF': '\r\n.\n',
    'CRLF . CR': '\r\n.\r',
  })) {
    const id = `${name.replaceAll(' ', '-')}@x`;
    const mail = mailTo(SUPPORT, id, `Hello${end}${second}`);
    const answer = await client.transaction('x@y.example', [SUPPORT], mail);
    t.equal(answer.split('\r\n').length, 2, 'one answer');
    t.strictSame((await stored(id)).length, 1, name);
  }
  t.strictSame(await stored('smuggled@x'), []);
});

t.test('25 MiB and no more, in the face of what was announced', async (t) => {
  const { client } = await open(t);
  const before = await arrivals.leftovers();
  const body = `${'x'.repeat(1_022)}\r\n`.repeat(26 * 1_024);
  t.match(await client.transaction('x@y.example', [SUPPORT], mailTo(SUPPORT, 'huge@x', body), 552), '552');
  t.strictSame(await arrivals.leftovers(), before);
  await client.transaction('x@y.example', [SUPPORT], mailTo(SUPPORT, 'after@x'));
  t.equal((await stored('after@x')).length, 1, 'the connection goes on');
  t.match(await client.transaction('x@y.example', [SUPPORT], '', 554), '5.6.0', 'an empty one');
});

t.test('what may pass is answered with 451, and taken when it comes again', async (t) => {
  const { client } = await open(t);
  const mail = mailTo(SUPPORT, 'later@x');
  arrivals.beforeAccept = () => {
    throw new DatabaseUnavailableError('gone');
  };
  t.match(await client.transaction('x@y.example', [SUPPORT], mail, 451), '4.3.0');
  arrivals.beforeAccept = () => {};
  await client.transaction('x@y.example', [SUPPORT], mail);
  t.equal((await stored('later@x')).length, 1);
  const away = { ...intake, mailboxesAt: () => Promise.reject(new DatabaseUnavailableError('gone')) };
  const { client: another } = await open(t, { intake: Object.assign(Object.create(intake), away) });
  await another.ask('EHLO x', 250);
  await another.ask('MAIL FROM:<x@y.example>', 250);
  await another.ask(`RCPT TO:<${SUPPORT}>`, 451);
});

t.test('a client that stops or leaves in the middle leaves nothing', async (t) => {
  const before = await arrivals.leftovers();
  const limits = { idleMs: 300, dataMs: 900, connectionMs: 60_000 };
  const { client, port } = await open(t, { limits });
  const begin = async (client: SmtpClient) => {
    await client.ask('EHLO x', 250);
    await client.ask('MAIL FROM:<x@y.example>', 250);
    await client.ask(`RCPT TO:<${SUPPORT}>`, 250);
    await client.ask('DATA', 354);
    client.send(mailTo(SUPPORT, 'broken@x'));
    await until(async () => (await arrivals.leftovers()).rows > before.rows, {
      what: 'the mail is on its way',
    });
  };
  await begin(client);
  await client.closed;
  t.match(client.received, /421 Timeout/, 'it stops');
  const slow = await SmtpClient.open(port);
  await begin(slow);
  const drip = setInterval(() => slow.send('x\r\n'), 50);
  await slow.closed;
  clearInterval(drip);
  t.match(slow.received, /421 4\.4\.2 The mail took too long/, 'it sends for ever');
  const gone = await SmtpClient.open(port);
  await begin(gone);
  gone.destroy();
  const idle = await SmtpClient.open(port);
  await idle.closed;
  await until(async () => (await arrivals.leftovers()).rows === before.rows, { what: 'nothing is left' });
  t.strictSame(await arrivals.leftovers(), before);
  t.strictSame(await stored('broken@x'), []);
});

t.test('the SMTP listener limits each address', async (t) => {
  const { client, port } = await open(t, {
    limits: { connectionsPerAddress: 2, recipients: 1 },
    limiter: new RateLimiter({ requests: 1, seconds: 60 }),
  });
  await SmtpClient.open(port);
  const third = new SmtpClient(port);
  await third.closed;
  t.match(third.received, /^421 4\.7\.0/);
  await client.ask('EHLO x', 250);
  await client.ask('MAIL FROM:<x@y.example>', 250);
  await client.ask(`RCPT TO:<${SUPPORT}>`, 250);
  await client.ask('RCPT TO:<sales@harbor.example>', 452);
  await client.ask('RSET', 250);
  await client.ask('MAIL FROM:<x@y.example>', 451);
  const { client: full } = await open(t, { places: new Places({ most: 0 }) });
  t.match(await full.transaction('x@y.example', [SUPPORT], mailTo(SUPPORT, 'full@x'), 451), '4.7.1');
});

t.test('LMTP answers for each recipient', async (t) => {
  const { client } = await open(t, { protocol: 'lmtp' });
  t.match(client.received, 'LMTP');
  arrivals.beforeAccept = ({ inbox: { id } }) => {
    if (id === other.id) throw new DatabaseUnavailableError('gone');
  };
  await client.ask('LHLO x', 250);
  await client.ask('MAIL FROM:<x@y.example>', 250);
  for (const to of [SUPPORT, 'sales@harbor.example', 'support+again@harbor.example']) {
    await client.ask(`RCPT TO:<${to}>`, 250);
  }
  await client.ask('DATA', 354);
  const answers = await client.ask(`${mailTo(SUPPORT, 'lmtp@x')}.`, 250, 3);
  arrivals.beforeAccept = () => {};
  t.match(answers, /^250 2\.0\.0.*\r\n451 4\.3\.0.*\r\n250 2\.0\.0.*\r\n$/);
  t.strictSame(
    (await stored('lmtp@x')).map(([id]) => id),
    [inbox.id],
  );
});

t.test('STARTTLS where there is a certificate; two at once are one mail', async (t) => {
  const directory = freshDirectory(t);
  const [certFile, keyFile] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const subject = ['-subj', '/CN=localhost', '-days', '1', '-nodes', '-keyout', keyFile, '-out', certFile];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  execFileSync('openssl', ['req', '-x509', ...curve, ...subject], { stdio: 'ignore' });
  const tls = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  const { port } = await open(t, { tls });
  const transport = nodemailer.createTransport({
    host: '127.0.0.1',
    port,
    pool: true,
    maxConnections: 2,
    requireTLS: true,
    tls: { ca: tls.cert, servername: 'localhost' },
  });
  t.teardown(() => transport.close());
  const mail = { from: 'cleo@customers.example', to: SUPPORT, messageId: '<tls@x>', text: 'Hello' };
  await Promise.all([transport.sendMail(mail), transport.sendMail(mail)]);
  t.equal((await stored('tls@x')).length, 1);
});

t.test('what is on its way in is taken in before the listener closes', async (t) => {
  const { client, listener, port } = await open(t);
  const idle = await SmtpClient.open(port);
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let isHeld = false;
  arrivals.beforeAccept = () => {
    isHeld = true;
    return held;
  };
  const answered = client.transaction('x@y.example', [SUPPORT], mailTo(SUPPORT, 'drained@x'));
  await until(() => isHeld, { what: 'the mail is being accepted' });
  const drained = listener.drain(60_000);
  await idle.closed;
  t.match(idle.received, /421 4\.4\.2/);
  goOn();
  t.match(await answered, '250');
  await drained;
  arrivals.beforeAccept = () => {};
  t.equal((await stored('drained@x')).length, 1);
  const late = new SmtpClient(port);
  await late.closed;
  t.equal(late.received, '');
});

async function open(
  t: Test,
  options: Partial<SmtpListenerOptions> = {},
): Promise<{ client: SmtpClient; listener: SmtpListener; port: number }> {
  const listener = new SmtpListener({
    protocol: 'smtp',
    host: '127.0.0.1',
    port: 0,
    name: 'mail.harbor.example',
    tls: null,
    log,
    metrics,
    intake,
    places: new Places(),
    limiter: new RateLimiter(null),
    ...options,
  });
  const port = await listener.listen();
  t.teardown(() => listener.drain(0));
  return { client: await SmtpClient.open(port), listener, port };
}

/** A client that sends exactly what it is given. */
class SmtpClient extends RawClient {
  static async open(port: number): Promise<SmtpClient> {
    const client = new SmtpClient(port);
    await until(() => client.received.endsWith('\r\n') || client.over, { what: 'the greeting' });
    return client;
  }

  /**
   * Sends a line, or several, and returns the answer. Rejects if it has another code. `answers`:
   * how many there will be.
   */
  async ask(line: string, code: number, answers = 1): Promise<string> {
    const from = this.received.length;
    this.send(`${line}\r\n`);
    const answer = () => this.received.slice(from);
    const last = /^\d{3} .*\r\n/gm;
    await until(() => (answer().match(last)?.length ?? 0) >= answers || this.over, {
      what: `the answer to ${line.slice(0, 60)}`,
    });
    if (!answer().startsWith(String(code))) throw new Error(`${line.slice(0, 200)} is answered: ${answer()}`);
    return answer();
  }

  async transaction(from: string, to: readonly string[], mail: string, code = 250): Promise<string> {
    await this.ask('EHLO x', 250);
    await this.ask(`MAIL FROM:<${from}>`, 250);
    for (const address of to) await this.ask(`RCPT TO:<${address}>`, 250);
    await this.ask('DATA', 354);
    return this.ask(`${mail}.`, code);
  }
}

/** The mails with this Message-ID: inbox, sender of the envelope, source. */
async function stored(id: string): Promise<(string | null)[][]> {
  const rows = (await arrivals.mails()).filter(({ rfc_id }) => rfc_id === id);
  return rows.map(({ inbox_id, from_address, source }) => [inbox_id, from_address, source]);
}
