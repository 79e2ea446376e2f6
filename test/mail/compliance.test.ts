/** Retention, redaction, erasure and export of mails, their sources and their references. */

import { newId } from '@parley/protocol/ids.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Email } from '@parley/protocol/resources/email.ts';
import type { EmailComplaint } from '@parley/protocol/resources/email-complaint.ts';
import type { Erasure } from '@parley/protocol/resources/erasure.ts';
import { sql } from 'kysely';
import t from 'tap';
import { purgeConversation } from '../../src/features/compliance/purge.ts';
import { addComplaint, readStopped } from '../../src/features/mail/complaints/complaint-store.ts';
import type { MailRow } from '../../src/features/mail/mails/mail-store.ts';
import { updateThread } from '../../src/features/mail/mails/thread-store.ts';
import { removeOldMails } from '../../src/features/mail/removal/mail-removal.ts';
import { removeOldSources } from '../../src/features/mail/removal/purge-store.ts';
import { ask, downloaded, exported, lines } from '../compliance/export-fixture.ts';
import { Cases } from '../messages/cases.ts';
import { borrowTestApp } from '../support/app.ts';
import { storedText } from '../support/stored-text.ts';
import { until } from '../support/until.ts';
import { addBridgedCase, addInbox, addMail, type BridgedCase, readThread } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const cases = new Cases(app);
const owner = { database, accountId: demo.account_id, actorId: demo.users.ada.id };
const inbox = await addInbox(owner);
const signal = new AbortController().signal;

t.test('the mail of a message loses its content with it, and one that waits does not leave', async (t) => {
  const bridged = await newCase();
  const { messageId, mail, word } = await received(bridged);
  await database.transaction((tx) => updateThread(tx, bridged.id, { subject: word, last_in_id: mail.id }));
  const answer = await sent(bridged, { audience: 'customer' });
  const answerMail = () => until(async () => (await emailOf(answer.id)) ?? undefined, { what: 'the answer' });
  t.equal((await answerMail()).subject, `Re: ${word}`);
  const redacted = await ask(app, 'POST', `/v1/messaging/messages/${messageId}/actions/redact`, {
    body: { reason: 'a number' },
  });
  t.equal(redacted.status, 200);
  const { body } = await ask<Email>(app, 'GET', `/v1/messaging/messages/${messageId}/email`);
  t.match(body, { id: mail.id, subject: null, text: null, html: null, source_url: null, recipients: [] });
  t.equal(body.from_address, bridged.customerAddress, 'the answer to it finds its way');
  t.strictSame(await storedText(database, word), []);
  t.equal(await isWithdrawn(mail.source_key!), true);

  t.equal((await answerMail()).subject, 'Re: Your message to Demo', 'the subject does not leave again');
  const next = await sent(bridged, { audience: 'customer' });
  const nextMail = await until(async () => (await emailOf(next.id)) ?? undefined, { what: 'the next mail' });
  t.equal(nextMail.subject, 'Re: Your message to Demo');

  const reply = await sent(bridged, { audience: 'customer', subject: 'Ahoy' });
  const waiting = await until(async () => (await emailOf(reply.id)) ?? undefined, { what: 'the mail' });
  t.equal(waiting.status, 'queued');
  await database.kysely
    .updateTable('mails')
    .set({ status: 'failed', next_try_at: null })
    .where('id', '=', waiting.id)
    .execute();
  const again = { headers: { 'Idempotency-Key': newId('mail') } };
  const resend = () => ask<Email>(app, 'POST', `/v1/messaging/messages/${reply.id}/actions/resend`, again);
  t.match((await resend()).body, { subject: 'Ahoy', recipients: [{ kind: 'to' }] });
  await ask(app, 'DELETE', `/v1/messaging/messages/${reply.id}`);
  t.match(await emailOf(reply.id), { status: 'canceled', reason: 'message_deleted', recipients: [] });
  t.match((await resend()).body, { subject: null, recipients: [] }, 'nor the stored answer');
  const tombstone = await ask<ChatMessage>(app, 'GET', `/v1/messaging/messages/${reply.id}`);
  t.equal(tombstone.body.email_status, 'canceled');
});

t.test('a purge takes the mails of a conversation, unless it is held', async (t) => {
  const bridged = await newCase();
  const { mail } = await received(bridged);
  await addMail(owner, { conversation_id: bridged.id, status: 'ignored' });
  const purge = () => database.transaction((tx) => purgeConversation(tx, bridged.id));
  await hold(bridged.id, 'held');
  t.equal(await purge(), undefined);
  t.equal((await mailsOf(bridged.id)).length, 2);
  await hold(bridged.id, 'released');
  while ((await purge())?.more === true);
  t.strictSame(await mailsOf(bridged.id), []);
  t.equal(await isWithdrawn(mail.source_key!), true);
});

t.test('old mails without a message go, and old sources by the policy for files', async (t) => {
  const [free, held] = [await newCase(), await newCase()];
  await hold(held.id, 'held');
  const ignored = [free.id, held.id, null].map((conversation_id) => addMail(owner, { conversation_id }));
  const kept = [
    await received(free),
    await received(held),
    { mail: await addMail(owner, { direction: 'out', purpose: 'digest', status: 'deferred' }) },
  ];
  const ids = [...(await Promise.all(ignored)), ...kept.map(({ mail }) => mail)].map(({ id }) => id);
  const young = await addMail(owner);
  await database.kysely
    .updateTable('mails')
    .set({ created_at: sql<string>`now() - interval '31 days'` })
    .where('id', 'in', ids)
    .execute();
  await removeOldMails(database, 30, signal);
  t.strictSame(await present([...ids, young.id]), [ids[1], ids[3], ids[4], ids[5], young.id].sort());

  const { keys } = await database.transaction((tx) => removeOldSources(tx, demo.account_id, 30, 100));
  t.strictSame(keys, [kept[0]!.mail.source_key], 'not of a held conversation');
  await hold(held.id, 'released');
});

t.test('an erased person is in no mail any more, but for what is held', async (t) => {
  const person = await newCase();
  const other = await newCase();
  const held = await newCase();
  const [{ mail, word }, toOthers] = [await received(person), await received(other)];
  const address = person.customerAddress;
  const cc = JSON.stringify([
    { address: 'else@where.example', kind: 'to', status: null, code: null },
    { address: address.toUpperCase(), kind: 'cc', status: null, code: null },
  ]);
  const copied = await sent(other, { audience: 'customer', cc: [address, 'else@where.example'] });
  await until(() => emailOf(copied.id), { what: 'the mail' });
  const inCopy = await addMail(owner, { conversation_id: other.id, recipients: cc });
  const inHeld = await addMail(owner, { conversation_id: held.id, recipients: cc });
  for (const { id } of [other, held]) {
    await database.transaction((tx) => updateThread(tx, id, { cc: [address, 'else@where.example'] }));
  }
  await hold(held.id, 'held');
  await complain(mail, [address, 'else@where.example']);
  const { body } = await ask<Erasure>(app, 'POST', `/v1/users/${person.customerId}/actions/erase`, {
    body: { messages: 'keep' },
  });
  await until(
    async () => (await ask<Erasure>(app, 'GET', `/v1/erasures/${body.id}`)).body.status === 'complete',
    { what: 'the end of the erasure' },
  );
  const read = async (id: string) => {
    const rows = await database.kysely.selectFrom('mails').selectAll().where('id', '=', id).execute();
    return rows[0]!;
  };
  const erased = await read(mail.id);
  t.match(erased, { from_address: null, from_name: null, reply_to: null, source_key: null, body_text: word });
  t.equal(await isWithdrawn(mail.source_key!), true, 'its headers have the name');
  t.strictSame((await read(inCopy.id)).recipients, [{ ...JSON.parse(cc)[0] }]);
  const shown = await ask<ChatMessage>(app, 'GET', `/v1/messaging/messages/${copied.id}`);
  t.strictSame(shown.body.cc, ['else@where.example']);
  t.equal((await read(inHeld.id)).recipients.length, 2);
  t.equal((await read(toOthers.mail.id)).source_key, toOthers.mail.source_key);
  t.strictSame((await readThread(database, other.id))!.cc, ['else@where.example']);
  t.equal((await readThread(database, held.id))!.cc.length, 2);
  const addresses = [address, 'else@where.example'];
  t.strictSame(await readStopped(database, { accountId: demo.account_id, addresses }), [addresses[1]]);
  await hold(held.id, 'released');
});

t.test('exports have mails with their sources', async (t) => {
  const bridged = await newCase();
  const { mail, word } = await received(bridged);
  await complain(mail, [bridged.customerAddress, 'other@where.example']);
  const paths = [
    `/v1/messaging/conversations/${bridged.id}/exports`,
    `/v1/users/${bridged.customerId}/exports`,
  ];
  for (const path of paths) {
    const { files } = await downloaded(await exported(app, path), t.testdir());
    const [email, ...more] = lines<Email>(files, 'emails.jsonl');
    t.strictSame(more, [], path);
    const source_url = `files/${mail.source_key}`;
    t.match(email, { id: mail.id, text: word, from_address: bridged.customerAddress, source_url }, path);
    t.ok(files.has(source_url), path);
    const complaints = path === paths[0] ? undefined : lines<EmailComplaint>(files, 'email_complaints.jsonl');
    t.match(complaints, complaints && [{ address: bridged.customerAddress, email_id: mail.id }]);
    t.equal(complaints?.length, path === paths[0] ? undefined : 1, 'of its own addresses');
  }
});

async function complain({ account_id, conversation_id, id }: MailRow, addresses: string[]): Promise<void> {
  const complaint = { account_id, conversation_id, kind: 'abuse', mail_id: id };
  for (const address of addresses)
    await database.transaction((tx) => addComplaint(tx, { ...complaint, address }));
}

function newCase(): Promise<BridgedCase> {
  return addBridgedCase(owner, inbox.id);
}

/** A mail of the customer, with its message and its source, and a word that is in all of them. */
async function received(bridged: BridgedCase): Promise<{ messageId: string; mail: MailRow; word: string }> {
  const word = newId('mail');
  const token = await app.tokenOf(bridged.customerId);
  const { id: messageId } = await cases.sent(bridged.id, { body: word }, { token });
  const mail = await addMail(owner, {
    conversation_id: bridged.id,
    message_id: messageId,
    inbox_id: inbox.id,
    actor_id: bridged.customerId,
    from_address: bridged.customerAddress,
    from_name: 'Cleo',
    reply_to: bridged.customerAddress,
    subject: word,
    body_text: word,
    body_html: word,
    source_key: await cases.upload('mail.eml'),
  });
  return { messageId, mail, word };
}

async function sent({ id }: BridgedCase, fields: object): Promise<ChatMessage> {
  const { body } = await ask<ChatMessage>(app, 'POST', `/v1/messaging/conversations/${id}/messages`, {
    body: { body: 'ahoy', client_message_id: newId('message'), ...fields },
  });
  return body;
}

async function emailOf(messageId: string): Promise<Email | undefined> {
  const { status, body } = await ask<Email>(app, 'GET', `/v1/messaging/messages/${messageId}/email`);
  return status === 200 ? body : undefined;
}

async function hold(id: string, legal_hold: string): Promise<void> {
  await ask(app, 'POST', `/v1/messaging/conversations/${id}/actions/set-legal-hold`, {
    body: { legal_hold },
  });
}

async function mailsOf(conversationId: string): Promise<string[]> {
  const rows = await database.kysely
    .selectFrom('mails')
    .select('id')
    .where('conversation_id', '=', conversationId)
    .execute();
  return rows.map(({ id }) => id);
}

async function present(ids: readonly string[]): Promise<string[]> {
  const rows = await database.kysely.selectFrom('mails').select('id').where('id', 'in', ids).execute();
  return rows.map(({ id }) => id).sort();
}

async function isWithdrawn(key: string): Promise<boolean> {
  const rows = await database.kysely
    .selectFrom('uploads')
    .select('withdrawn_at')
    .where('s3_key', '=', key)
    .execute();
  return rows.every(({ withdrawn_at }) => withdrawn_at !== null);
}
