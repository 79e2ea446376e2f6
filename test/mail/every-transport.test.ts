/** On a whole server: a mail becomes one message, whichever way it comes in and however often. */

import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { MailReceipt } from '@parley/protocol/resources/email.ts';
import nodemailer from 'nodemailer';
import t from 'tap';
import { startTestApp } from '../support/app.ts';
import { freePort } from '../support/free-port.ts';
import { signed } from './arrivals.ts';
import { addInbox } from './fixture.ts';

const SECRET = 's'.repeat(32);
const port = await freePort();
const app = await startTestApp(t, { PARLEY_MAIL_SECRET: SECRET, PARLEY_SMTP_LISTEN: `127.0.0.1:${port}` });
const { database, demo } = app;
const inbox = await addInbox({ database, accountId: demo.account_id, actorId: demo.users.ada.id });

t.test('over HTTP and SMTP at once, and again, it is one message with its attachment', async (t) => {
  const composed = nodemailer.createTransport({ streamTransport: true, buffer: true });
  const { message } = await composed.sendMail({
    ...{ from: 'Cleo <cleo@customers.example>', to: inbox.address, subject: 'Where is my order?' },
    ...{ messageId: '<order-1@customers.example>', text: 'It has not come.' },
    attachments: [{ filename: 'receipt.txt', content: 'paid' }],
  });
  const raw = message as Buffer;
  const receipts = await Promise.all([post(raw), post(raw), smtp(raw), smtp(raw)]);
  const [first, second] = receipts as [MailReceipt, MailReceipt, unknown, unknown];
  t.strictSame(second, first);
  t.strictSame(await post(raw), first);
  const [mail] = first.mails;
  t.match(mail, { inbox_id: inbox.id, status: 'accepted' });
  const path = `/v1/messaging/conversations/${mail!.conversation_id}/messages`;
  const { body } = await app.call<List<ChatMessage>>('GET', path);
  const messages = body.data.filter(({ kind }) => kind === 'email');
  t.strictSame(
    messages.map(({ id, body, subject }) => [id, body, subject]),
    [[mail!.message_id, 'It has not come.', 'Where is my order?']],
  );
  const { body: shown } = await app.call<ChatMessage>(
    'GET',
    `/v1/messaging/messages/${mail!.message_id}?include[]=attachments`,
  );
  const [attachment] = shown.attachments ?? [];
  t.equal(await (await fetch(attachment!.url!)).text(), 'paid');
  const uploads = await database.kysely.selectFrom('uploads').select('s3_key').execute();
  t.equal(uploads.length, 2, 'the source and the attachment of one copy');
});

t.test('the HTTP transport requires a signature', async (t) => {
  const headers = { 'Content-Type': 'message/rfc822', 'Parley-Signature': undefined };
  const unsigned = await app.call('POST', '/v1/mail/inbound', { rawBody: 'x', headers });
  t.match(unsigned, { status: 401, body: { error: { param: 'Parley-Signature' } } });
});

async function post(raw: Buffer): Promise<MailReceipt> {
  const { status, body } = await app.call<MailReceipt>('POST', '/v1/mail/inbound', {
    rawBody: new Uint8Array(raw),
    headers: {
      ...{ Authorization: undefined, 'Service-Version': undefined, 'Service-Account': undefined },
      ...{ 'Content-Type': 'message/rfc822', 'Parley-Signature': signed(raw, SECRET) },
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
