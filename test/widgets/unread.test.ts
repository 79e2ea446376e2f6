/** Answers that a customer has not read: their count, and their mail (docs/contract.md#widgets). */

import { connect } from '@parley/client';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { UnreadAnswers, VisitorSession, Widget } from '@parley/protocol/resources/widget.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { AUDIENCE, provide } from '../identity/fixture.ts';
import { signed } from '../mail/arrivals.ts';
import { addInbox } from '../mail/fixture.ts';
import { callsAt, startTestApp } from '../support/app.ts';
import { hastenJobs } from '../support/hasten-jobs.ts';
import { MailServer } from '../support/mail-server.ts';
import { testRedisUrl } from '../support/redis.ts';
import { TokenIssuer } from '../support/token-issuer.ts';
import { until } from '../support/until.ts';
import { OPEN, visitorsOf } from './fixture.ts';

const SECRET = 's'.repeat(32);
const mail = await MailServer.start(t);
const NODE = {
  PARLEY_SMTP_URL: mail.url,
  PARLEY_MAIL_SECRET: SECRET,
  PARLEY_FETCH_ALLOW: '127.0.0.1',
  REDIS_URL: await testRedisUrl(t),
};
const app = await startTestApp(t, NODE);
const { demo, database } = app;
const { call, refusal } = callsAt(app, NEWEST_VERSION);
const { need, widget, visitor, openCase, send, textsOf } = visitorsOf(app);
const inbox = await addInbox({ database, accountId: demo.account_id, actorId: demo.users.ada.id });
const shop = await widget({ inbox_id: inbox.id });

const unreadAt = (token: string, id = shop.id) =>
  call<UnreadAnswers>('GET', `/v1/widgets/${id}/visitors/unread-answers`, { token });

function reply(conversationId: string, body: string, token = demo.api_key): Promise<ChatMessage> {
  return need<ChatMessage>('POST', `/v1/messaging/conversations/${conversationId}/messages`, {
    token,
    body: { body, audience: 'customer', client_message_id: crypto.randomUUID() },
  });
}

/** Delivers a mail as a relay does. */
async function arrives(...lines: string[]): Promise<void> {
  const source = lines.join('\r\n');
  const { status, text } = await app.call('POST', '/v1/mail/inbound', {
    rawBody: new TextEncoder().encode(source),
    headers: {
      ...OPEN,
      'Service-Version': undefined,
      'Content-Type': 'message/rfc822',
      'Parley-Signature': signed(source, SECRET),
    },
  });
  if (status !== 200) throw new Error(text);
}

function answer(address: string, rfcId: string, body: string): Promise<void> {
  return arrives(
    `From: Maya <${address}>`,
    `To: ${inbox.address}`,
    `Message-ID: <${crypto.randomUUID()}@home.example>`,
    `In-Reply-To: ${rfcId}`,
    'Subject: Re: rope',
    '',
    body,
    '',
  );
}

/** A server reports that the last mail to an address came back. */
async function bounce(address: string): Promise<void> {
  const { sender } = mailsTo(address).at(-1)!;
  await arrives(
    'Return-Path: <>',
    `Delivered-To: ${sender}`,
    'From: Mail Delivery System <MAILER-DAEMON@mx.home.example>',
    `To: ${sender}`,
    `Message-ID: <${crypto.randomUUID()}@mx.home.example>`,
    'Subject: Undelivered Mail Returned to Sender',
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="r"',
    '',
    '--r',
    'Content-Type: text/plain',
    '',
    `<${address}>: 550 5.1.1 User unknown`,
    '--r',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.home.example',
    '',
    `Final-Recipient: rfc822; ${address}`,
    'Action: failed',
    'Status: 5.1.1',
    '',
    '--r--',
    '',
  );
}

async function read(token: string, { conversation_id: id, sequence }: ChatMessage): Promise<void> {
  await need('POST', `/v1/messaging/conversations/${id}/actions/mark-read`, { token, body: { sequence } });
}

async function emailStatusOf({ id, conversation_id: of }: ChatMessage) {
  const { data } = await need<{ data: ChatMessage[] }>('GET', `/v1/messaging/conversations/${of}/messages`);
  return data.find((message) => message.id === id)!.email_status;
}

/** Makes the time pass after which unread answers are mailed, and waits for the decision. */
async function passTime(conversationId: string): Promise<void> {
  const key = `answer unread ${conversationId}`;
  const waits = () => database.kysely.selectFrom('jobs').select('id').where('key', '=', key).execute();
  await until(async () => (await waits()).length > 0, { what: 'the answer to be noted' });
  await hastenJobs(database, { key });
}

const mailsTo = (address: string) =>
  mail.received.filter(({ recipients, raw }) => recipients.includes(address) && !raw.includes('#confirm='));

async function mailTo(address: string, number = 1): Promise<string> {
  const { raw } = await until(() => mailsTo(address)[number - 1], { what: `mail ${number} to ${address}` });
  // Long headers are folded.
  return raw.replaceAll(/\r\n[ \t]+/g, ' ');
}

/** Returns a visitor that has confirmed the address by its code. */
async function confirmed(address: string, of: Pick<Widget, 'id'> = shop): Promise<VisitorSession> {
  const { access_token: token } = await visitor(of);
  const path = `/v1/widgets/${of.id}/visitors/actions`;
  const asked = await need<{ confirmation_token: string }>('POST', `${path}/confirm-address`, {
    token,
    body: { email: address },
  });
  const { raw } = await until(() => mail.received.find(({ recipients }) => recipients.includes(address)), {
    what: 'the mail with the code',
  });
  const [, code] = /there: (\d{6})/.exec(raw.replaceAll(/=\r?\n/g, '')) ?? [];
  return need<VisitorSession>('POST', `${path}/enter-code`, {
    headers: OPEN,
    body: { confirmation_token: asked.confirmation_token, code },
  });
}

t.test('what is unread is counted for its customer, with the first words of the newest answer', async (t) => {
  const { access_token: token } = await visitor(shop);
  t.match((await unreadAt(token)).body, { object: 'unread_answers', unread: 0, newest: null });
  const { id } = await openCase(token);
  await send(token, id, 'Do you have rope?');
  await reply(id, 'We **do**.');
  const newest = await reply(id, 'Five metres\n\nare left.');
  await need('POST', `/v1/messaging/conversations/${id}/messages`, {
    body: { body: 'A note', audience: 'internal', client_message_id: crypto.randomUUID() },
  });
  const { body } = await unreadAt(token);
  t.match(body, {
    unread: 1,
    newest: { conversation_id: id, message_id: newest.id, text: 'Five metres are left.' },
  });
  t.equal(body.newest!.sender_name, 'Customer Service');
  await need('POST', `/v1/messaging/conversations/${id}/actions/mark-read`, {
    token,
    body: { sequence: newest.sequence },
  });
  t.match((await unreadAt(token)).body, { unread: 0, newest: null });
});

t.test('who may count', async (t) => {
  const path = `/v1/widgets/${shop.id}/visitors/unread-answers`;
  const { access_token: token } = await visitor(shop);
  t.equal(
    await refusal('GET', path, { headers: { Authorization: undefined } }),
    '401 invalid_credentials Authorization',
  );
  t.equal(await refusal('GET', path, { token: demo.api_key }), '403 insufficient_permissions null');
  t.equal(
    await refusal('GET', '/v1/widgets/wgt_none/visitors/unread-answers', { token }),
    '404 resource_not_found id',
  );
  t.equal(
    (await callsAt(app, '1.3.harbor').call('GET', path, { token })).status,
    400,
    'the endpoint is of a later version',
  );
});

t.test(
  'an unread answer is mailed once until it is read, and an answer by mail enters the case',
  async (t) => {
    const address = 'maya@home.example';
    const { access_token: token } = await confirmed(address);
    const { id } = await openCase(token);
    await send(token, id, 'Do you have rope?');
    const first = await reply(id, 'We do, in red.');
    await reply(id, 'And in blue.');
    await passTime(id);
    const raw = await mailTo(address);
    t.match(raw, /^Auto-Submitted: auto-generated\r$/m);
    t.match(raw, 'We do, in red.');
    t.match(raw, 'And in blue.');
    t.match(raw, new RegExp(`^From: .*<${inbox.address}>`, 'm'));
    t.match(raw, /^Message-ID: <c\.cnv_/m);
    t.notMatch(raw, 'Do you have rope?', 'a reply quotes nothing');

    await reply(id, 'Still there?');
    await passTime(id);
    t.equal(mailsTo(address).length, 1, 'one mail until it is read');
    const [, rfcId] = /^Message-ID: (<.*>)/m.exec(raw)!;
    await answer(address, rfcId!, 'The red one, please.');
    const said = await textsOf(token, id);
    t.match(
      said.find(({ body }) => body === 'The red one, please.'),
      { kind: 'email' },
    );

    // Who writes has read, so the next answer begins another mail.
    const next = await reply(id, 'It is on its way.');
    await passTime(id);
    const second = await mailTo(address, 2);
    t.match(second, 'It is on its way.');
    t.notMatch(second, 'in red', 'what was read is not in it');
    t.match(second, /^In-Reply-To: <.*@home.example>/m);
    t.match(second, /^References: .*<c\.cnv_/m);
    await until(async () => (await emailStatusOf(next)) === 'sent', {
      what: 'the team to see that it was mailed',
    });
    t.equal(await emailStatusOf(first), null);
  },
);

t.test('nothing is mailed that was read, withdrawn or is read live', async (t) => {
  const address = 'reader@home.example';
  const { access_token: token } = await confirmed(address);
  const { id } = await openCase(token);
  await send(token, id, 'Hello');
  await read(token, await reply(id, 'Read at once'));
  await passTime(id);
  const gone = await reply(id, 'A slip');
  await need('DELETE', `/v1/messaging/messages/${gone.id}`);
  await passTime(id);

  const client = connect({ url: app.baseUrl, account: demo.account_id, getToken: () => token });
  client.conversation(id);
  await until(async () => (await presences()) === 1, { what: 'the socket to be noted' });
  await reply(id, 'While you are here');
  await passTime(id);
  t.equal(mailsTo(address).length, 0);
  client.close();
  await until(async () => (await presences('until IS NULL')) === 0, { what: 'the end of the socket' });
  await database.pool.query('UPDATE presences SET until = clock_timestamp()');
  await passTime(id);
  t.match(await mailTo(address), 'While you are here');
  t.notMatch(await mailTo(address), 'A slip');
});

t.test(
  'the team sees that such a mail came back, and the address gets no other until a mail comes from it',
  async (t) => {
    const address = 'gone@home.example';
    const { access_token: token } = await confirmed(address);
    const { id } = await openCase(token);
    await send(token, id, 'Hello');
    const first = await reply(id, 'Hello too', demo.users.ada.access_token);
    await passTime(id);
    const [, rfcId] = /^Message-ID: (<.*>)/m.exec(await mailTo(address))!;
    await bounce(address);
    t.equal(await emailStatusOf(first), 'bounced');
    t.match(await need('GET', `/v1/messaging/messages/${first.id}/email`), {
      recipients: [{ address, status: 'bounced', code: '5.1.1' }],
    });
    const feed = () =>
      need<{ data: { category: string; message_id: string }[] }>('GET', '/v1/messaging/notifications', {
        token: demo.users.ada.access_token,
      });
    await until(
      async () =>
        (await feed()).data.some(
          ({ category, message_id }) => category === 'email.failed' && message_id === first.id,
        ),
      { what: 'the author to be notified' },
    );

    await read(token, first);
    const next = await reply(id, 'Where are you?');
    await passTime(id);
    const other = await openCase(token);
    await reply(other.id, 'In another case');
    await passTime(other.id);
    t.equal(mailsTo(address).length, 1);
    t.equal(await emailStatusOf(next), null);

    await need('POST', `/v1/messaging/messages/${first.id}/actions/resend`, { body: {} });
    await until(async () => (await emailStatusOf(first)) !== 'queued', { what: 'the second try' });
    t.match(await mailTo(address, 2), 'Where are you?', 'the team sends it again, with what is unread now');
    await bounce(address);
    await answer(address, rfcId!, 'Here again');
    const late = await reply(id, 'Good to see you');
    await passTime(id);
    t.match(await mailTo(address, 3), 'Good to see you');
    await until(async () => (await emailStatusOf(late)) === 'sent', { what: 'the outcome' });
  },
);

t.test('what is redacted or deleted while a mail waits is not in it', async (t) => {
  const address = 'slow@home.example';
  const { access_token: token } = await confirmed(address);
  const { id } = await openCase(token);
  await send(token, id, 'Hello');
  const [redacted, kept, deleted] = [
    await reply(id, 'REDACTED words'),
    await reply(id, 'Kept words'),
    await reply(id, 'DELETED words'),
  ];
  mail.answerTo = (recipient) => (recipient === address ? 451 : undefined);
  await passTime(id);
  await until(async () => (await emailStatusOf(deleted)) === 'deferred', { what: 'a server that is slow' });
  await need('POST', `/v1/messaging/messages/${redacted.id}/actions/redact`, { body: { reason: 'a slip' } });
  await need('DELETE', `/v1/messaging/messages/${deleted.id}`);
  mail.answerTo = () => undefined;
  await passTime(id);
  t.match(await mailTo(address), 'Kept words');
  t.notMatch(await mailTo(address), /REDACTED|DELETED/);
  t.equal(mailsTo(address).length, 1);
  await until(async () => (await emailStatusOf(kept)) === 'sent', { what: 'the outcome' });

  const { access_token: other } = await confirmed('none@home.example');
  const { id: second } = await openCase(other);
  await send(other, second, 'Hello');
  const only = await reply(second, 'The only words');
  mail.answerTo = () => 451;
  await passTime(second);
  await until(async () => (await emailStatusOf(only)) === 'deferred', { what: 'a server that is slow' });
  await need('POST', `/v1/messaging/messages/${only.id}/actions/redact`, { body: { reason: 'a slip' } });
  mail.answerTo = () => undefined;
  await passTime(second);
  t.equal(mailsTo('none@home.example').length, 0, 'nothing is left');
  t.equal(await emailStatusOf(only), 'canceled');
});

t.test('the answers of a case that is resolved at once are mailed, and its events are not', async (t) => {
  const address = 'done@home.example';
  const { access_token: token } = await confirmed(address);
  const { id } = await openCase(token);
  await send(token, id, 'Do you open on Sunday?');
  await reply(id, 'We do, at ten.');
  await need('PATCH', `/v1/messaging/conversations/${id}`, { body: { workflow_status: 'resolved' } });
  await passTime(id);
  t.match(await mailTo(address), 'We do, at ten.');
  t.notMatch(await mailTo(address), 'resolved');
});

t.test('two nodes make one mail, and none while a socket is open at the other', async (t) => {
  const other = await startTestApp(t, {
    ...NODE,
    DATABASE_URL: app.databaseUrl,
    PARLEY_DATA_DIR: app.dataDir,
  });
  const address = 'two@home.example';
  const { access_token: token } = await confirmed(address);
  const { id } = await openCase(token);
  await send(token, id, 'Hello');
  const client = connect({ url: other.baseUrl, account: demo.account_id, getToken: () => token });
  client.conversation(id);
  await until(async () => (await presences('until IS NULL')) === 1, { what: 'the socket to be noted' });
  await reply(id, 'While you are there');
  await passTime(id);
  t.equal(mailsTo(address).length, 0);
  client.close();
  await until(async () => (await presences('until IS NULL')) === 0, { what: 'the end of the socket' });
  await database.pool.query('UPDATE presences SET until = clock_timestamp()');
  // As jobs that nodes take over from others: any of them may run more than once, and at once.
  await database.pool.query(
    `INSERT INTO jobs (topic, payload, due_at)
    SELECT 'mail.answer_unread', jsonb_build_object('conversation_id', $1::text), now() FROM generate_series(1, 20)`,
    [id],
  );
  await hastenJobs(database, { topic: 'mail.answer_unread' });
  t.match(await mailTo(address), 'While you are there');
  t.equal(await mailCount(id), 1);
  await until(
    async () => (await database.pool.query('SELECT FROM mails WHERE status = $1', ['queued'])).rowCount === 0,
    {
      what: 'all mails to have left',
    },
  );
  t.equal(mailsTo(address).length, 1);
});

t.test(
  'an address that was merely typed gets no answer, nor does any by a widget without an inbox',
  async (t) => {
    const a = await visitor(shop);
    const { id } = await openCase(a.access_token);
    await send(a.access_token, id, 'Hello');
    await need('PATCH', `/v1/customers/${a.customer_id}`, { body: { email: 'typed@home.example' } });
    await reply(id, 'For whoever you are');
    await passTime(id);
    t.equal(await mailCount(id), 0);

    const plain = await widget();
    t.match(await need('GET', `/v1/widgets/${plain.id}/public`), { mails_answers: false });
    const b = await confirmed('plain@home.example', plain);
    const other = await openCase(b.access_token, { widget_id: plain.id });
    await send(b.access_token, other.id, 'Hello');
    await reply(other.id, 'Only here');
    t.equal(
      (
        await database.kysely
          .selectFrom('jobs')
          .select('id')
          .where('key', '=', `answer unread ${other.id}`)
          .execute()
      ).length,
      0,
    );
  },
);

t.test('a token of the application proves an address', async (t) => {
  const issuer = await TokenIssuer.start(t);
  const provider = await provide(app, issuer, {
    person: 'customer',
    subject: 'external_id',
    provision: 'first_use',
    algorithms: ['RS256'],
  });
  await need('PATCH', `/v1/widgets/${shop.id}`, { body: { identity_provider_id: provider.id } });
  const tokenOf = (more: object) => issuer.token({ iss: issuer.origin, aud: AUDIENCE, sub: 'ines', ...more });
  const token = tokenOf({ email: 'Ines@home.example', email_verified: true });
  const { id } = await openCase(token, { widget_id: shop.id });
  await send(token, id, 'It is me');
  await reply(id, 'Hello Ines');
  await passTime(id);
  t.match(await mailTo('ines@home.example'), 'Hello Ines');
});

t.test('an inbox of a widget is one of the account, and goes with it', async (t) => {
  const create = (inbox_id: string) =>
    refusal('POST', '/v1/widgets', { body: { name: 'W', sites: ['https://w.example'], inbox_id } });
  t.equal(await create('inb_none'), '404 resource_not_found inbox_id');
  t.notOk(
    'inbox_id' in (await callsAt(app, '1.3.harbor').call<Widget>('GET', `/v1/widgets/${shop.id}`)).body,
  );
  t.match(await need('GET', `/v1/widgets/${shop.id}/public`), { mails_answers: true });
  await need('DELETE', `/v1/messaging/inboxes/${inbox.id}`);
  t.match(await need('GET', `/v1/widgets/${shop.id}`), { inbox_id: null });
  t.match(await need('GET', `/v1/widgets/${shop.id}/public`), { mails_answers: false });
  t.equal(await create(inbox.id), '404 resource_not_found inbox_id', 'a deleted one');
});

async function presences(which = 'true'): Promise<number> {
  const { rows } = await database.pool.query(`SELECT FROM presences WHERE ${which}`);
  return rows.length;
}

async function mailCount(conversationId: string): Promise<number> {
  const rows = await database.kysely
    .selectFrom('mails')
    .select('id')
    .where('conversation_id', '=', conversationId)
    .execute();
  return rows.length;
}
