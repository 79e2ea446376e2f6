/** Outgoing mail: its parts, its fate, and who is told. */

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { derivedId, newId } from '@parley/protocol/ids.ts';
import type { Permission } from '@parley/protocol/permissions.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Email } from '@parley/protocol/resources/email.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { pino } from 'pino';
import { SMTPServer } from 'smtp-server';
import t from 'tap';
import { createActor } from '../../src/core/accounts/actors/actors.ts';
import { createRole } from '../../src/core/accounts/rights/roles.ts';
import { mail, mailBy } from '../../src/features/mail/feature.ts';
import { readMailOfMessage } from '../../src/features/mail/mails/mail-store.ts';
import { readBounceAddress } from '../../src/features/mail/outgoing/bounce-address.ts';
import { composeMail } from '../../src/features/mail/outgoing/compose-mail.ts';
import { mailDigests } from '../../src/features/mail/outgoing/digest-mails.ts';
import { openMailKey } from '../../src/features/mail/outgoing/mail-key.ts';
import { readMessageId } from '../../src/features/mail/outgoing/message-ids.ts';
import { SEND_TIMES } from '../../src/features/mail/outgoing/send-times.ts';
import { SmtpTransport } from '../../src/features/mail/outgoing/transport.ts';
import { Digests, readDigest } from '../../src/features/push/digests/digests.ts';
import { pushMetrics } from '../../src/features/push/metrics.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { closed, gatesOf } from '../accounts/fixture.ts';
import { asNeighbour } from '../agents/bodies.ts';
import { insertRow, newReader } from '../notifications/readers.ts';
import { refusalOf, startTestApp } from '../support/app.ts';
import { featuresWith } from '../support/features-with.ts';
import { hastenJobs } from '../support/hasten-jobs.ts';
import { MailServer, type ReceivedMail } from '../support/mail-server.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { addBridgedCase, addGroup, addInbox, addMail, type BridgedCase } from './fixture.ts';

const server = await MailServer.start(t);
const app = await startTestApp(t, { PARLEY_SMTP_URL: server.url }, log, {
  features: featuresWith(mail, mailBy({ ...SEND_TIMES, lookEveryMs: 50 })),
});
const { database, demo } = app;
const owner = { database, accountId: demo.account_id, actorId: demo.users.ada.id };
const key = await openMailKey(database);
const ada = demo.users.ada.access_token;
const NEWEST = { token: ada, headers: { 'Service-Version': NEWEST_VERSION } };

t.beforeEach(() => {
  server.received.length = 0;
  server.answerTo = () => undefined;
  server.answerMail = () => undefined;
});

t.test('a reply leaves once, in the name of the persona and with nothing of its author', async (t) => {
  const group = await addGroup(owner, 'Ärger & "Co", Billing\r\nBcc: x@example.com');
  const inbox = await addInbox(owner, { group_id: group.id });
  const one = await addBridgedCase(owner, inbox.id, { email: 'cleo@customers.example' });
  const message = await send(one, {
    body: 'See https://harbor.example/a?b=1&c=2.\n<b>not bold</b> & "quoted"',
    subject: 'Order Bcc: y@example.com 🙂',
    cc: ['Friend@Example.com', inbox.address, 'friend@example.com', one.customerAddress],
  });
  const stored = database.kysely.selectFrom('messages').select('cc').where('id', '=', message.id);
  const once = ['Friend@Example.com', inbox.address, one.customerAddress];
  t.strictSame((await stored.executeTakeFirstOrThrow()).cc, once, 'letter case makes no other recipient');
  const mail = await received();
  const { headers } = mail;
  t.strictSame(mail.recipients, [one.customerAddress, 'friend@example.com'], 'no inbox, and nobody twice');
  t.equal(headers.to, one.customerAddress);
  t.equal(headers.cc, 'friend@example.com');
  t.notOk('bcc' in headers || /\r\n[ \t]*Bcc:/i.test(mail.raw), 'no header is injected');
  t.match(decoded(headers.from!), /^"?Ärger & .*Billing Bcc: x@example.com"? <support-/);
  t.equal(decoded(headers.subject!), 'Order Bcc: y@example.com 🙂');
  for (const name of [
    'auto-submitted',
    'x-auto-response-suppress',
    'x-mailer',
    'list-id',
    'sender',
    'reply-to',
  ]) {
    t.notOk(name in headers, `no ${name}`);
  }
  t.notMatch(mail.raw, /\bada\b|act_|msg_/i, 'nothing of the author');
  const mailId = derivedId('mail', message.id);
  t.strictSame(readMessageId(key, headers['message-id']!), { conversationId: one.id, mailId });
  t.strictSame(readBounceAddress(key, mail.sender), { mailId, mailboxAddress: inbox.address });
  t.notOk('in-reply-to' in headers || 'references' in headers);
  const text = bodyOf(mail);
  t.match(text, 'See https://harbor.example/a?b=1&c=2.\n<b>not bold</b> & "quoted"\n\n-- \n');
  t.match(
    text,
    '<a href="https://harbor.example/a?b=1&amp;c=2">https://harbor.example/a?b=1&amp;c=2</a>.<br>',
  );
  t.match(text, '&lt;b&gt;not bold&lt;/b&gt; &amp; &quot;quoted&quot;');

  await statusOf(message.id, 'sent');
  const row = (await readMailOfMessage(database, message.id))!;
  t.match(row, { status: 'sent', reason: null, attempts: 1, next_try_at: null, automatic: false });
  t.ok(row.sent_at);
  t.strictSame(
    row.recipients.map(({ kind, status, code }) => [kind, status, code]),
    [
      ['to', 'sent', null],
      ['cc', 'sent', null],
    ],
  );
  const { body } = await app.call<ChatMessage>('GET', `/v1/messaging/messages/${message.id}`, NEWEST);
  t.equal(body.email_status, 'sent');
  t.ok(body.updated_at > body.created_at, 'the change is one of the message');
});

t.test('an inbox writes to every address but its own, whoever has it', async (t) => {
  const [inbox, second] = [await addInbox(owner), await addInbox(owner)];
  const [{ id: accountId } = { id: '' }] = await database.kysely
    .selectFrom('accounts')
    .select('id')
    .where('id', '<>', demo.account_id)
    .execute();
  const abroad = await addInbox({ ...owner, accountId });
  for (const { address } of [second, abroad]) {
    const one = await addBridgedCase(owner, inbox.id, { email: address });
    await send(one, { cc: [inbox.address.replace('@', '+tag@'), abroad.address, second.address] });
    const expected = [address, ...[abroad.address, second.address].filter((other) => other !== address)];
    t.strictSame(
      (await received()).recipients,
      expected.map((one) => one.toLowerCase()),
    );
    server.received.length = 0;
  }
  // A mail to two inboxes of the account has a case at each.
  const one = await addBridgedCase(owner, inbox.id);
  const cc = [second.address.replace('@', '+tag@').toUpperCase(), abroad.address, 'boss@customers.example'];
  await database.kysely
    .updateTable('mail_threads')
    .set({ cc })
    .where('conversation_id', '=', one.id)
    .execute();
  await send(one, {});
  t.strictSame((await received()).recipients, [
    one.customerAddress,
    abroad.address,
    'boss@customers.example',
  ]);
});

t.test('the next mail goes on with the thread', async (t) => {
  const inbox = await addInbox(owner);
  const one = await addBridgedCase(owner, inbox.id);
  await send(one, { subject: 'Lamp' });
  const first = await received();
  const ids = [first.headers['message-id']!];
  for (let n = 0; n < 25; n++) {
    const { id, rfc_id } = await addMail(owner, {
      conversation_id: one.id,
      rfc_id: `answer${n}@customers.example`,
      inbox_id: inbox.id,
      from_address: one.customerAddress,
      reply_to: 'Desk@customers.example',
    });
    ids.push(`<${rfc_id}>`);
    await database.kysely
      .updateTable('mail_threads')
      .set({ last_in_id: id, cc: ['boss@customers.example'] })
      .where('conversation_id', '=', one.id)
      .execute();
  }
  server.received.length = 0;
  await send(one, {});
  const { headers, recipients, raw } = await received();
  t.strictSame(recipients, ['desk@customers.example', 'boss@customers.example']);
  t.equal(headers.subject, 'Re: Lamp');
  t.equal(headers['in-reply-to'], '<answer24@customers.example>');
  t.strictSame(headers.references!.split(' '), [ids[0], ...ids.slice(-19)], 'the first and the last ones');
  t.ok(raw.split('\r\n').every((line) => Buffer.byteLength(line) <= 998));
  t.match(raw, /^References:\r?\n? <[^>]+>\r\n <answer6@/m, 'folded');
});

t.test('attachments: files in the mail, or links where they are too large together', async (t) => {
  const one = await addBridgedCase(owner, (await addInbox(owner)).id);
  const small = await upload('Überblick.txt', Buffer.from('hello file'));
  await send(one, {
    attachments: [
      { kind: 'file', s3_key: small },
      { kind: 'link', url: 'https://harbor.example/manual' },
      { kind: 'resource', resource_type: 'actor', resource_id: demo.users.ada.id },
    ],
  });
  const mail = await received();
  t.match(mail.raw, /Content-Disposition: attachment/);
  t.match(mail.raw, Buffer.from('hello file').toString('base64'));
  t.match(bodyOf(mail), 'https://harbor.example/manual');
  t.notMatch(mail.raw, /\bada\b/i);

  server.received.length = 0;
  const large = await upload('large.bin', Buffer.alloc(10 * 1024 * 1024 + 1, 'x'));
  const message = await send(one, { attachments: [{ kind: 'file', s3_key: large }] });
  const text = bodyOf(await received());
  t.match(text, /The file is too large for a mail\. The link works until \w+ \d+, \d{4} \(UTC\)\./);
  const [link] = /http:\/\/\S+\/v1\/mail\/files\/att_\S+/.exec(text)!;
  const answer = await fetch(link);
  t.strictSame([answer.status, (await answer.arrayBuffer()).byteLength], [200, 10 * 1024 * 1024 + 1]);
  t.equal((await fetch(link.replace(/.$/, '!'))).status, 403, 'a changed link');
  await app.call('DELETE', `/v1/messaging/messages/${message.id}`, { token: ada });
  t.equal((await fetch(link)).status, 410, 'the file of a deleted message');
});

t.test('a refusal ends the mail, and its author is notified', async (t) => {
  const one = await addBridgedCase(owner, (await addInbox(owner)).id);
  server.answerTo = () => 550;
  const message = await send(one, {});
  await statusOf(message.id, 'failed');
  const row = (await readMailOfMessage(database, message.id))!;
  t.match(row, { status: 'failed', reason: 'rejected', attempts: 1, next_try_at: null, sent_at: null });
  t.match(row.recipients, [{ status: 'failed', code: '5.1.1' }]);
  const [notified] = await until(() => notifications(message.id), { what: 'the notification' });
  t.match(notified, { category: 'email.failed', title: 'Your mail in Where is my order? could not be sent' });
  t.equal(notified!.body, null);
  t.equal(server.received.length, 0);
});

t.test('what may pass is tried again, and only for those that do not have it', async (t) => {
  const one = await addBridgedCase(owner, (await addInbox(owner)).id);
  let isDown = true;
  server.answerTo = (address) => (address.startsWith('full@') && isDown ? 452 : undefined);
  const message = await send(one, { cc: ['full@example.com', 'gone@example.com'] });
  await statusOf(message.id, 'deferred');
  const row = (await readMailOfMessage(database, message.id))!;
  t.match(row, { status: 'deferred', reason: 'delayed', attempts: 1 });
  t.match(row.recipients, [{ status: 'sent' }, { status: 'deferred', code: '4.1.1' }, { status: 'sent' }]);
  const waitsMs = Date.parse(row.next_try_at!) - Date.parse(row.updated_at);
  t.ok(waitsMs > 50_000 && waitsMs < 70_000, 'a minute');
  t.notOk((await notifications(message.id)).length);

  isDown = false;
  await edit(message.id, 'the text as it is now');
  const [first] = server.received.splice(0);
  await tryNow(message.id);
  await statusOf(message.id, 'sent');
  const second = await received();
  t.strictSame(second.recipients, ['full@example.com']);
  t.equal(second.headers['message-id'], first!.headers['message-id']);
  t.equal(second.headers.cc, first!.headers.cc);
  t.match(bodyOf(second), 'the text as it is now');
});

t.test('a server that is away, and one that drops the connection', async (t) => {
  const one = await addBridgedCase(owner, (await addInbox(owner)).id);
  server.answerMail = () => 'drop';
  const message = await send(one, {});
  await statusOf(message.id, 'deferred');
  t.match(await readMailOfMessage(database, message.id), { reason: 'connection_error', attempts: 1 });
  server.answerMail = () => undefined;
  await tryNow(message.id);
  await statusOf(message.id, 'sent');
  const ids = server.received.map(({ headers }) => headers['message-id']);
  t.strictSame([ids.length, new Set(ids).size], [2, 1], 'twice, under one Message-ID');
});

t.test('after five days it has failed', async (t) => {
  const one = await addBridgedCase(owner, (await addInbox(owner)).id);
  server.answerMail = () => 451;
  const message = await send(one, {});
  await statusOf(message.id, 'deferred');
  await database.kysely
    .updateTable('mails')
    .set({ attempts: 26 })
    .where('message_id', '=', message.id)
    .execute();
  await tryNow(message.id);
  await statusOf(message.id, 'failed');
  t.match(await readMailOfMessage(database, message.id), { reason: 'expired', attempts: 27 });
  await until(async () => (await notifications(message.id)).length === 1, { what: 'the notification' });
});

t.test('a message that is deleted before its mail leaves', async (t) => {
  const one = await addBridgedCase(owner, (await addInbox(owner)).id);
  server.answerTo = () => 451;
  const message = await send(one, {});
  await statusOf(message.id, 'deferred');
  server.answerTo = () => undefined;
  await app.call('DELETE', `/v1/messaging/messages/${message.id}`, { token: ada });
  await statusOf(message.id, 'canceled');
  t.match(await readMailOfMessage(database, message.id), { reason: 'message_deleted', next_try_at: null });
  t.equal(server.received.length, 0);
});

t.test('a customer without an address, and an inbox that is gone', async (t) => {
  const inbox = await addInbox(owner);
  const one = await addBridgedCase(owner, inbox.id);
  await database.kysely
    .updateTable('actors')
    .set({ handle: null })
    .where('id', '=', one.customerId)
    .execute();
  const message = await send(one, {});
  await statusOf(message.id, 'failed');
  t.match(await readMailOfMessage(database, message.id), { reason: 'no_recipient', attempts: 0 });
});

t.test('every way into the timeline is one mail; what an agent decided alone is marked', async (t) => {
  const inbox = await addInbox(owner);
  const agent = await newAgent(['messaging:create', 'messaging:send_external', 'messaging:read']);
  const one = await addBridgedCase(owner, inbox.id, {}, [{ type: 'agent', actorId: agent.id }]);
  const marks = async (messageId: string) => {
    await statusOf(messageId, 'sent');
    const mails = server.received.filter(({ headers }) => headers['message-id']?.includes(hexOf(messageId)));
    const { automatic } = (await readMailOfMessage(database, messageId))!;
    const [{ headers } = { headers: {} as Record<string, string> }] = mails;
    return [mails.length, automatic, headers['auto-submitted'], headers['x-auto-response-suppress']];
  };
  const draft = await send(one, { mode: 'draft', client_message_id: undefined }, agent.token);
  t.equal(draft.status, 'draft');
  await app.call('POST', `/v1/messaging/messages/${draft.id}/actions/approve`, NEWEST);
  t.strictSame(await marks(draft.id), [1, false, undefined, undefined], 'a draft that a person approved');

  const later = { scheduled_at: new Date(Date.now() + 3_600_000).toISOString() };
  const scheduled = await send(one, later);
  t.equal(await readMailOfMessage(database, scheduled.id), undefined, 'nothing before its time');
  await app.call('POST', `/v1/messaging/messages/${scheduled.id}/actions/send-now`, NEWEST);
  t.strictSame(await marks(scheduled.id), [1, false, undefined, undefined], 'sent before its time');
  const timely = await send(one, later);
  await database.pool.query('UPDATE messages SET scheduled_at = now() WHERE id = $1', [timely.id]);
  await hastenJobs(database, { key: one.id });
  t.strictSame(await marks(timely.id), [1, false, undefined, undefined], 'a schedule');

  const own = await send(one, {}, agent.token);
  t.strictSame(await marks(own.id), [1, true, 'auto-replied', 'All'], 'an agent that may send');
  // Beyond the limit the mail stays here, and the assignee, else nobody, is notified.
  for (let n = 0; n < 9; n++) {
    await addMail(owner, { from_address: one.customerAddress, automatic: true, inbox_id: inbox.id });
  }
  const beyond = await send(one, {}, agent.token);
  await statusOf(beyond.id, 'failed');
  t.match(await readMailOfMessage(database, beyond.id), { reason: 'loop_limit', automatic: true });
});

t.test('an agent writes to a proven sender alone, a person to the address for answers', async (t) => {
  const inbox = await addInbox(owner);
  const agent = await newAgent(['messaging:create', 'messaging:send_external', 'messaging:read']);
  const home = 'home@customers.example';
  const rows: [what: string, mail: object, handle: string | null, byAgent: string | null][] = [
    ['the sender', {}, 'work@customers.example', 'work@customers.example'],
    ['named alone', { reason: 'unproven' }, null, null],
    ['another address since', { reason: 'unproven' }, 'else@customers.example', null],
    ['proven since', { reason: 'unproven' }, home.toUpperCase(), home],
  ];
  for (const [what, fields, handle, byAgent] of rows) {
    const one = await addBridgedCase(owner, inbox.id, {}, [{ type: 'agent', actorId: agent.id }]);
    await database.kysely.updateTable('actors').set({ handle }).where('id', '=', one.customerId).execute();
    const { id } = await addMail(owner, {
      conversation_id: one.id,
      inbox_id: inbox.id,
      actor_id: one.customerId,
      from_address: 'work@customers.example',
      reply_to: home,
      ...fields,
    });
    await database.kysely
      .updateTable('mail_threads')
      .set({ last_in_id: id })
      .where('conversation_id', '=', one.id)
      .execute();
    const message = await send(one, {}, agent.token);
    await statusOf(message.id, byAgent === null ? 'failed' : 'sent');
    const reason = byAgent === null ? 'unproven' : null;
    t.match(await readMailOfMessage(database, message.id), { reason, automatic: true }, what);
    t.strictSame(
      server.received.flatMap(({ recipients }) => recipients),
      byAgent === null ? [] : [byAgent],
      what,
    );
    server.received.length = 0;
    await send(one, {});
    t.strictSame((await received()).recipients, [home], what);
    server.received.length = 0;
  }
});

t.test('a mail that failed is sent again', async (t) => {
  const one = await addBridgedCase(owner, (await addInbox(owner)).id);
  let isFull = true;
  server.answerTo = (address) => (address.startsWith('full@') && isFull ? 552 : undefined);
  const message = await send(one, { cc: ['full@example.com'] });
  const path = `/v1/messaging/messages/${message.id}/actions/resend`;
  await statusOf(message.id, 'failed');
  t.match(await readMailOfMessage(database, message.id), {
    recipients: [{ status: 'sent' }, { status: 'failed' }],
  });
  const [first] = server.received.splice(0);
  isFull = false;
  await edit(message.id, 'mended');
  const options = { ...NEWEST, headers: { ...NEWEST.headers, 'Idempotency-Key': 'resend-1' } };
  const answer = await app.call<Email>('POST', path, options);
  t.equal(answer.status, 200);
  t.match(answer.body, { object: 'email', status: 'queued', reason: null, attempts: 0 });
  const again = await received();
  t.strictSame(again.recipients, ['full@example.com'], 'only those that do not have it');
  t.equal(again.headers['message-id'], first!.headers['message-id']);
  t.match(bodyOf(again), 'mended');
  await statusOf(message.id, 'sent');
  const replay = await app.call<Email>('POST', path, options);
  t.equal(replay.text, answer.text, 'a replay sends nothing');
  t.equal(server.received.length, 1);
  const { rows } = await database.pool.query(
    "SELECT actor_id, details FROM audit_events WHERE action = 'email.resent' AND conversation_id = $1",
    [one.id],
  );
  t.strictSame(rows, [{ actor_id: owner.actorId, details: { message_id: message.id } }]);

  t.equal(
    refusalOf(await app.call('POST', path, NEWEST)),
    '409 resource_conflict null',
    'a mail that was sent',
  );
  const note = await send(one, { audience: 'internal', channel: 'message' });
  const of = (id: string) => `/v1/messaging/messages/${id}/actions/resend`;
  t.equal(refusalOf(await app.call('POST', of(note.id), NEWEST)), '409 resource_conflict null', 'no mail');
  t.equal(refusalOf(await app.call('POST', of(newId('message')), NEWEST)), '404 resource_not_found id');
  t.equal(
    refusalOf(await app.call('POST', path, { ...NEWEST, body: { to: 'x' } })),
    '422 validation_failed to',
  );
  const neighbour = asNeighbour(app);
  const foreign = { ...neighbour, headers: { ...neighbour.headers, ...NEWEST.headers } };
  t.equal(refusalOf(await app.call('POST', path, foreign)), '404 resource_not_found id');
  const endpoint = { method: 'POST', path, permission: 'messaging:create', agents: false } as const;
  t.strictSame(await gatesOf(app, { ...endpoint, version: NEWEST_VERSION }), closed({ agents: false }));

  server.answerTo = (address) => (address === 'busy@example.com' ? 451 : 550);
  const half = await send(one, { cc: ['busy@example.com'] });
  await statusOf(half.id, 'failed');
  t.ok((await readMailOfMessage(database, half.id))!.next_try_at);
  t.equal(
    refusalOf(await app.call('POST', of(half.id), NEWEST)),
    '409 resource_conflict null',
    'a copy is tried',
  );

  server.answerTo = () => undefined;
  const other = await addBridgedCase(owner, (await addInbox(owner)).id);
  await database.kysely
    .updateTable('actors')
    .set({ handle: null })
    .where('id', '=', other.customerId)
    .execute();
  const lost = await send(other, {});
  await statusOf(lost.id, 'failed');
  t.equal(refusalOf(await app.call('POST', of(lost.id), NEWEST)), '409 resource_conflict null', 'no address');
  const handle = 'new@customers.example';
  await database.kysely.updateTable('actors').set({ handle }).where('id', '=', other.customerId).execute();
  server.received.length = 0;
  t.equal((await app.call('POST', of(lost.id), NEWEST)).status, 200);
  t.strictSame((await received()).recipients, [handle], 'the address that the customer has by now');
  await statusOf(lost.id, 'sent');
  await app.call('DELETE', `/v1/messaging/messages/${lost.id}`, NEWEST);
  t.equal(refusalOf(await app.call('POST', of(lost.id), NEWEST)), '410 resource_gone null');
});

t.test('a digest is mailed once over two nodes, with what is unseen when it leaves', async (t) => {
  const reader = await newReader(app);
  const settings = { digest_after_minutes: 5 };
  await app.call('PUT', '/v1/messaging/notification-settings', {
    body: settings,
    token: reader.token,
    headers: NEWEST.headers,
  });
  const unseen = (title: string) =>
    insertRow(app, reader, { title, created_at: new Date(Date.now() - 3_600_000).toISOString() });
  const mails = () =>
    database.kysely.selectFrom('mails').selectAll().where('actor_id', '=', reader.id).execute();
  const from = { name: 'Parley', address: 'no-reply@localhost' };
  const onTwoNodes = () => Promise.all([1, 2].map(() => mailDigests(database, from, () => {})));
  const queue = async () => {
    const queued = new Digests({ database, metrics: pushMetrics(createMetrics()), log });
    await queued.look();
    await queued.close();
    await onTwoNodes();
  };
  server.answerTo = () => 451;
  await unseen('first');
  const seen = await unseen('seen meanwhile');
  await queue();
  const [mail] = await until(async () => ((await mails())[0]?.status === 'deferred' ? mails() : undefined), {
    what: 'the first try',
  });
  await app.call('POST', `/v1/messaging/notifications/${seen}/actions/see`, { token: reader.token });
  await unseen('second');
  await queue();
  let late: Promise<unknown> | undefined;
  server.answerTo = () => undefined;
  server.answerMail = async () => {
    late ??= unseen('while it was sent').then(() => queue());
    await late;
    return undefined;
  };
  const due = { next_try_at: new Date(0).toISOString() };
  await database.kysely.updateTable('mails').set(due).where('id', '=', mail!.id).execute();
  await until(async () => (await mails()).some(({ status }) => status === 'sent'), { what: 'the digest' });
  const sent = server.received[0]!;
  const { email } = await database.kysely
    .selectFrom('users')
    .select('email')
    .where('id', '=', reader.id)
    .executeTakeFirstOrThrow();
  t.strictSame([sent.headers.to, sent.recipients], [email, [email]]);
  t.equal(sent.headers.from, 'Parley <no-reply@localhost>');
  t.strictSame([sent.sender, sent.headers['auto-submitted']], ['no-reply@localhost', 'auto-generated']);
  const text = bodyOf(sent);
  t.match(text, /first/);
  t.match(text, /second/);
  t.notMatch(text, /seen meanwhile|while it was sent/);
  await onTwoNodes();
  await until(() => server.received.length === 2, { what: 'the mail about what came later' });
  t.match(bodyOf(server.received[1]!), 'while it was sent');
  t.notMatch(bodyOf(server.received[1]!), /first|second/);
  await until(async () => (await mails()).every(({ status }) => status === 'sent'), { what: 'the end' });
  t.equal((await mails()).length, 2);
  t.equal(await readDigest(database, reader.id), undefined, 'nothing waits');
  t.match((await mails())[0], { subject: null, automatic: true, body_text: null }, 'no text is stored');
});

t.test('mails are signed with the key of the domain', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  });
  const dkim = { domainName: 'harbor.example', keySelector: 'mail2026', privateKey };
  const transport = new SmtpTransport({ url: server.url, dkim });
  t.teardown(() => transport.close());
  const recipients = ['cleo@customers.example'];
  const row = await addMail(owner, {
    direction: 'out',
    purpose: 'reply',
    status: 'sent',
    rfc_id: 'a@harbor.example',
    from_name: 'Support',
    from_address: 'support@harbor.example',
    recipients: JSON.stringify([{ address: recipients[0], kind: 'to', status: 'queued', code: null }]),
  });
  const content = {
    sender: 'support@harbor.example',
    subject: 'Ahoy',
    text: 'ahoy',
    html: '<p>ahoy',
    attachments: [
      { filename: 'a.bin', contentType: 'multipart/mixed', bytes: Readable.from([Buffer.alloc(3e6)]) },
    ],
  };
  const mail = composeMail(row, content, recipients);
  const tried = await transport.send(mail, recipients, AbortSignal.timeout(60_000));
  t.equal(tried.reason, null);
  const { raw, headers } = await received();
  t.match(raw, /Content-Type: application\/octet-stream/, 'a type that would nest mails');
  t.match(headers['dkim-signature'], /d=harbor\.example;.*s=mail2026/);
  const record = `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`;
  const { results } = await dkimVerify(raw, { resolver: async () => [[record]] });
  t.match(results, [{ signingDomain: 'harbor.example', status: { result: 'pass' } }]);
});

t.test('a login that is refused ends no mail, nor does one that hangs block the others', async (t) => {
  const mail = { from: 'a@harbor.example', to: 'b@customers.example', text: 'ahoy' };
  const refusing = new SMTPServer({
    logger: false,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: (_auth, _session, done) => done(new Error('no')),
  });
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise<void>((resolve) => refusing.close(() => resolve())));
  const url = `smtp://user:wrong@127.0.0.1:${(refusing.server.address() as AddressInfo).port}`;
  const other = new SmtpTransport({ url, dkim: null });
  t.teardown(() => other.close());
  const to = ['b@customers.example'];
  t.match(await other.send(mail, to, AbortSignal.timeout(60_000)), {
    recipients: [{ address: to[0], status: 'deferred', code: '535' }],
    reason: 'not_authorized',
  });

  const strict = new SmtpTransport({ url: server.url, requireTls: true, dkim: null });
  t.teardown(() => strict.close());
  t.match(await strict.send(mail, to, AbortSignal.timeout(60_000)), {
    recipients: [{ status: 'deferred' }],
    reason: 'connection_error',
  });
  const hanging = new SmtpTransport({ url: server.url, dkim: null });
  t.teardown(() => hanging.close());
  server.answerTo = (address) => (address.startsWith('gone@') ? 550 : undefined);
  const both = ['gone@bücher.example', 'b@bücher.example'];
  t.match(await hanging.send({ ...mail, to: both }, both, AbortSignal.timeout(60_000)), {
    recipients: [{ status: 'failed', code: '5.1.1' }, { status: 'sent' }],
  });
  server.answerMail = ({ raw }) => (raw.includes('hang') ? new Promise(() => {}) : undefined);
  const slow = hanging.send({ ...mail, text: 'hang' }, to, AbortSignal.timeout(500));
  t.match(await hanging.send(mail, to, AbortSignal.timeout(60_000)), { reason: null });
  t.match(await slow, { recipients: [{ status: 'deferred', code: null }], reason: 'timeout' });
});

t.test('without an SMTP server mail waits, and the demo shows it in its log', async (t) => {
  const lines: { msg: string; subject?: string; to?: string[]; text?: string }[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const quiet = await startTestApp(t, {}, pino({ level: 'info' }, stream));
  const other = {
    database: quiet.database,
    accountId: quiet.demo.account_id,
    actorId: quiet.demo.users.ada.id,
  };
  const { id, customerAddress } = await addBridgedCase(other, (await addInbox(other)).id);
  const { body } = await quiet.call<ChatMessage>('POST', `/v1/messaging/conversations/${id}/messages`, {
    token: quiet.demo.users.ada.access_token,
    body: { body: 'ahoy', audience: 'customer', channel: 'email', client_message_id: randomUUID() },
  });
  const shown = await until(() => lines.find(({ msg }) => msg.startsWith('mail stays here')), {
    what: 'the mail',
  });
  t.match(shown, { subject: 'Where is my order?', to: [customerAddress.toLowerCase()], text: /ahoy/ });
  const row = await readMailOfMessage(quiet.database, body.id);
  t.match(row, { status: 'queued', reason: 'no_transport', attempts: 0 });
});

async function send(one: BridgedCase, fields: object, token = ada): Promise<ChatMessage> {
  const { status, body } = await app.call<ChatMessage>(
    'POST',
    `/v1/messaging/conversations/${one.id}/messages`,
    {
      headers: NEWEST.headers,
      token,
      body: {
        body: 'ahoy',
        audience: 'customer',
        channel: 'email',
        client_message_id: randomUUID(),
        ...fields,
      },
    },
  );
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body;
}

async function edit(messageId: string, body: string): Promise<void> {
  await app.call('PATCH', `/v1/messaging/messages/${messageId}`, { token: ada, body: { body } });
}

function received(): Promise<ReceivedMail> {
  return until(() => server.received[0], { what: 'a mail' });
}

async function statusOf(messageId: string, status: string): Promise<void> {
  await until(async () => (await readMailOfMessage(database, messageId))?.status === status, {
    what: `a mail that is ${status}`,
  });
}

/** Lets the time of the next try come. */
async function tryNow(messageId: string): Promise<void> {
  await database.kysely
    .updateTable('mails')
    .set({ next_try_at: new Date(0).toISOString() })
    .where('message_id', '=', messageId)
    .execute();
}

async function newAgent(permissions: readonly Permission[]): Promise<{ id: string; token: string }> {
  const { id } = await database.transaction(async (tx) => {
    const accountId = demo.account_id;
    const role = await createRole(tx, { accountId, name: newId('role'), permissions });
    return createActor(tx, { account_id: accountId, type: 'agent', name: 'Agent', role_id: role.id });
  });
  return { id, token: await app.tokenOf(id) };
}

/** The part of a Message-ID that names the mail of a message. */
function hexOf(messageId: string): string {
  return derivedId('mail', messageId).slice('mai_'.length);
}

function notifications(messageId: string) {
  return database.kysely
    .selectFrom('notifications')
    .selectAll()
    .where('message_id', '=', messageId)
    .where('category', '=', 'email.failed')
    .where('recipient_id', '=', demo.users.ada.id)
    .execute();
}

async function upload(filename: string, bytes: Buffer): Promise<string> {
  const { body } = await app.call<{ s3_key: string; url: string; headers: Record<string, string> }>(
    'POST',
    '/v1/messaging/attachments/upload-url',
    { token: ada, body: { filename, content_type: 'text/plain', size_bytes: bytes.length } },
  );
  await fetch(body.url, { method: 'PUT', headers: body.headers, body: new Uint8Array(bytes) });
  return body.s3_key;
}

/** Decodes the encoded words of a header (RFC 2047). */
function decoded(header: string): string {
  return header
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?utf-8\?(q|b)\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
      kind.toLowerCase() === 'b'
        ? Buffer.from(text, 'base64').toString('latin1')
        : text
            .replaceAll('_', ' ')
            .replaceAll(/=([0-9a-f]{2})/gi, (_, hex: string) =>
              String.fromCharCode(Number.parseInt(hex, 16)),
            ),
    )
    .replace(/^.*$/s, (text) => Buffer.from(text, 'latin1').toString());
}

/** The texts of a mail, decoded. */
function bodyOf({ raw }: ReceivedMail): string {
  const text = raw
    .slice(raw.indexOf('\r\n\r\n'))
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(text, 'latin1').toString().replaceAll('\r\n', '\n');
}
