/** On a whole server, a mail becomes one message, whichever way and however often it comes in. */

import { fileURLToPath } from 'node:url';
import { READING_LIMITS } from '@parley/mail-reader/mail-limits.ts';
import { MailReader } from '@parley/mail-reader/mail-reader.ts';
import { CORPUS } from '@parley/mail-reader/test/corpus/corpus.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Email, MailReceipt } from '@parley/protocol/resources/email.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import nodemailer from 'nodemailer';
import t from 'tap';
import { mail, mailBy } from '../../src/features/mail/feature.ts';
import { SEND_TIMES } from '../../src/features/mail/outgoing/send-times.ts';
import { mailParser } from '../../src/features/mail/transports/parse-mail.ts';
import { callsAt, startTestApp } from '../support/app.ts';
import { featuresWith } from '../support/features-with.ts';
import { freePort } from '../support/free-port.ts';
import { signed } from './arrivals.ts';
import { addInbox } from './fixture.ts';

const SECRET = 's'.repeat(32);
const port = await freePort();
const hostile = new URL('../../packages/mail-reader/test/hostile-thread.cjs', import.meta.url);
const reader = new MailReader(['--require', fileURLToPath(hostile)], {
  ...READING_LIMITS,
  processorMs: 3_000,
});
const app = await startTestApp(
  t,
  { PARLEY_MAIL_SECRET: SECRET, PARLEY_SMTP_LISTEN: `127.0.0.1:${port}` },
  undefined,
  { features: featuresWith(mail, mailBy(SEND_TIMES, mailParser(reader))) },
);
const { database, demo } = app;
const inbox = await addInbox({ database, accountId: demo.account_id, actorId: demo.users.ada.id });

t.test('over HTTP and SMTP at once, and again, it is one message with its attachment', async (t) => {
  const composed = nodemailer.createTransport({ streamTransport: true, buffer: true });
  const { message } = await composed.sendMail({
    from: 'Cleo <cleo@customers.example>',
    to: inbox.address,
    subject: 'Where is my order?',
    messageId: '<order-1@customers.example>',
    text: 'It has not come.',
    attachments: [{ filename: 'receipt.txt', content: 'paid' }],
  });
  const raw = message as Buffer;
  const receipts = await Promise.all([post(raw), post(raw), smtp(raw), smtp(raw)]);
  const [first, second] = receipts as [MailReceipt, MailReceipt, unknown, unknown];
  t.strictSame(second, first);
  t.strictSame(await post(raw), first);
  const [mail] = first.mails;
  t.match(mail, { inbox_id: inbox.id, status: 'accepted' });
  t.strictSame(
    (await mailsOf(mail!.conversation_id!)).map(({ id, body, subject }) => [id, body, subject]),
    [[mail!.message_id, 'It has not come.', 'Where is my order?']],
  );
  const [attachment] = await attachmentsOf(mail!.message_id!);
  t.equal(await (await fetch(attachment!.url!)).text(), 'paid');
  const uploads = await database.kysely.selectFrom('uploads').select('s3_key').execute();
  t.equal(uploads.length, 2, 'the source and the attachment of one copy');
});

const SAYS = {
  time: 'This mail could not be read, because that took too long. It is attached as it came, as mail.eml.',
  memory:
    'This mail could not be read, because that took too much memory. It is attached as it came, as mail.eml.',
};

t.test('mails that break a limit are messages of their case with a file, and others come in', async (t) => {
  const mailWith = (id: string, word: string, field = '') =>
    Buffer.from(
      `From: Cleo <cleo@customers.example>\r\nTo: ${inbox.address}\r\nSubject: Re: Order\r\n` +
        `Message-ID: <${id}@customers.example>\r\n${field}\r\n${word}\r\n.. and \0 \xff`,
      'latin1',
    );
  const [first] = (await post(mailWith('first', 'harmless'))).mails;
  const answers = 'References: <first@customers.example>\r\n';
  const slow = mailWith('slow', 'spin-without-end', answers);
  const [receipt] = await Promise.all([
    post(slow),
    smtp(mailWith('large', 'eat-memory', answers)),
    post(mailWith('next', 'behind-them', answers)),
  ]);
  t.strictSame(await post(slow), receipt, 'it is accepted, and sent again it is the same mail');
  const messages = await mailsOf(first!.conversation_id!);
  const { time, memory } = SAYS;
  const bodies = ['harmless', 'behind-them', time, memory];
  t.strictSame(messages.map(({ body }) => body?.split('\n')[0]).sort(), bodies.sort());
  const [file, ...others] = await attachmentsOf(receipt!.mails[0]!.message_id!);
  t.match(file, { filename: 'mail.eml', content_type: 'message/rfc822', size_bytes: slow.length });
  t.strictSame(others, []);
  const bytes = Buffer.from(await (await fetch(file!.url!)).arrayBuffer());
  t.ok(bytes.equals(slow), 'byte for byte');
});

t.test('mail by S/MIME is a message with its text and files, and says so from 1.4 on', async (t) => {
  const emailAt = async (version: string, messageId: string) => {
    const { call } = callsAt(app, version);
    return (await call<Email>('GET', `/v1/messaging/messages/${messageId}/email`)).body;
  };
  const protections = { 'smime-signed': 'signed', 'smime-encrypted': 'encrypted', plain: null };
  for (const [name, protection] of Object.entries(protections)) {
    const { source, parsed } = CORPUS.find((one) => one.name === name)!;
    const raw = source().toString('latin1').replaceAll('support@harbor.example', inbox.address);
    const [mail] = (await post(Buffer.from(raw, 'latin1'))).mails;
    const [message] = await mailsOf(mail!.conversation_id!);
    t.equal(message!.body, parsed.visibleText, name);
    const files = (await attachmentsOf(message!.id)).map(({ filename }) => filename);
    t.strictSame(files, parsed.attachments?.map(([filename]) => filename) ?? [], name);
    t.equal((await emailAt(NEWEST_VERSION, message!.id)).protection, protection, name);
    t.notOk('protection' in (await emailAt('1.3.harbor', message!.id)), `${name} before`);
  }
});

t.test('the HTTP transport requires a signature', async (t) => {
  const headers = { 'Content-Type': 'message/rfc822', 'Parley-Signature': undefined };
  const unsigned = await app.call('POST', '/v1/mail/inbound', { rawBody: 'x', headers });
  t.match(unsigned, { status: 401, body: { error: { param: 'Parley-Signature' } } });
});

async function mailsOf(conversationId: string): Promise<ChatMessage[]> {
  const path = `/v1/messaging/conversations/${conversationId}/messages`;
  const { body } = await app.call<List<ChatMessage>>('GET', path);
  return body.data.filter(({ kind }) => kind === 'email');
}

async function attachmentsOf(messageId: string): Promise<NonNullable<ChatMessage['attachments']>> {
  const path = `/v1/messaging/messages/${messageId}?include[]=attachments`;
  const { body } = await app.call<ChatMessage>('GET', path);
  return body.attachments ?? [];
}

async function post(raw: Buffer): Promise<MailReceipt> {
  const { status, body } = await app.call<MailReceipt>('POST', '/v1/mail/inbound', {
    rawBody: new Uint8Array(raw),
    headers: {
      Authorization: undefined,
      'Service-Version': undefined,
      'Service-Account': undefined,
      'Content-Type': 'message/rfc822',
      'Parley-Signature': signed(raw, SECRET),
    },
  });
  t.equal(status, 200);
  return body;
}

async function smtp(raw: Buffer): Promise<void> {
  const transport = nodemailer.createTransport({ host: '127.0.0.1', port, ignoreTLS: true });
  await transport.sendMail({ envelope: { from: 'cleo@customers.example', to: inbox.address }, raw });
  transport.close();
}
