/** Complaints about mail (docs/contract.md#complaints): what stops mail, shows it and lifts it. */

import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { ConversationEmail } from '@parley/protocol/resources/email.ts';
import type { EmailComplaint } from '@parley/protocol/resources/email-complaint.ts';
import t from 'tap';
import { addComplaint, readStopped } from '../../src/features/mail/complaints/complaint-store.ts';
import { makeBounceAddress } from '../../src/features/mail/outgoing/bounce-address.ts';
import { makeMessageId } from '../../src/features/mail/outgoing/message-ids.ts';
import { closed, type Guarded, gatesOf } from '../accounts/fixture.ts';
import { asNeighbour } from '../agents/bodies.ts';
import { type CallOptions, type Refusal, refusalOf, startTestApp } from '../support/app.ts';
import { box, openAccepting } from './accepting.ts';
import { addBridgedCase, addInbox, addMail } from './fixture.ts';

const house = await openAccepting(t);
const { database, accountId, inbox, key, accept, messagesOf } = house;

/** A reply to a new customer of a case, and to these addresses in copy. */
async function addReply(copies: readonly string[] = []) {
  const { id, customerAddress: address } = await addBridgedCase(house.owner, inbox.id);
  const to = { address, kind: 'to', status: 'sent', code: null };
  const recipients = [to, ...copies.map((copy) => ({ ...to, address: copy, kind: 'cc' }))];
  const mail = await addMail(house.owner, {
    direction: 'out',
    purpose: 'reply',
    status: 'sent',
    inbox_id: inbox.id,
    conversation_id: id,
    recipients: JSON.stringify(recipients),
  });
  const rfcId = makeMessageId(key, { conversationId: id, mailId: mail.id }, 'harbor.example');
  const envelope = { sender: '', recipients: [makeBounceAddress(key, mail.id, inbox.address)] };
  return { mail, address, conversationId: id, rfcId, signed: { envelope } };
}

function complaint(originalRfcId: string | null, addresses: readonly string[] = [], kind = 'abuse') {
  const from = box('Feedback <fbl@provider.example>');
  const headers = [{ name: 'content-type', value: 'multipart/report; report-type=feedback-report' }];
  return { from, headers, text: 'This is a report.', complaint: { kind, addresses, originalRfcId } };
}

async function stopped(...addresses: string[]): Promise<string[]> {
  return (await readStopped(database, { accountId, addresses })).sort();
}

function auditOf(conversationId: string) {
  return database.kysely
    .selectFrom('audit_events')
    .select(['action', 'actor_id', 'details'])
    .where('conversation_id', '=', conversationId)
    .where('action', 'like', 'email.%')
    .orderBy('created_at')
    .execute();
}

t.test('a complaint at the return path, or with one of our ids, stops mail to its recipient', async (t) => {
  const [first, second] = [await addReply(), await addReply()];
  const other = await addInbox(house.owner);
  for (const [reply, fields] of [
    [first, { ...complaint(null), ...first.signed }],
    [second, { ...complaint(second.rfcId), inbox: other }],
  ] as const) {
    const { conversationId, address, mail } = reply;
    const row = await accept(fields);
    t.match(row, { status: 'accepted', purpose: 'automatic', reason: 'complaint' });
    t.strictSame(await stopped(address.toUpperCase()), [address.toUpperCase()]);
    const [shown] = await messagesOf(conversationId);
    t.match(shown, { visibility: 'internal', body: 'This is a report.', sender_id: null });
    const details = { kind: 'abuse', email_id: mail.id };
    const audited = [{ action: 'email.complained', actor_id: null, details }];
    t.match(await auditOf(conversationId), audited);
    await accept(fields);
    t.equal((await auditOf(conversationId)).length, 1, 'another complaint changes nothing');
  }
});

t.test('a complaint of several recipients stops those that it names', async (t) => {
  const copy = 'bo@customers.example';
  const reply = await addReply([copy]);
  const { address } = reply;
  await accept({ ...complaint(null), ...reply.signed });
  await accept({ ...complaint(null, ['a@elsewhere.example']), ...reply.signed });
  t.strictSame(await stopped(address, copy), []);
  t.match(
    (await messagesOf(reply.conversationId)).map(({ body }) => body),
    ['This is a report.', 'This is a report.'],
    'a person reads them',
  );
  await accept({ ...complaint(null, [copy]), ...reply.signed });
  t.strictSame(await stopped(address, copy), [copy]);
});

t.test('what anyone could write, and what is no complaint, stops nothing', async (t) => {
  const reply = await addReply();
  const { address, rfcId, signed } = reply;
  const forged = rfcId.replace(/[0-9a-f]@/, 'g@');
  const other = newId('account');
  await database.kysely.insertInto('accounts').values({ id: other, name: 'Other' }).execute();
  const theirs = await addInbox({ ...house.owner, accountId: other });
  const wrong = makeBounceAddress(key, reply.mail.id, inbox.address).replace(/[0-9a-f]@/, 'g@');
  for (const [name, fields] of [
    ['no id', complaint(null, [address])],
    ['an id of no mail of ours', complaint('x@elsewhere.example', [address])],
    ['our id without its seal', complaint(forged, [address])],
    ['the return path without its seal', { ...complaint(null), envelope: { recipients: [wrong] } }],
    ['our id in a forged mail', { ...complaint(rfcId), verdict: 'fail' as const }],
    ['the id that a plain mail has', { ...complaint(reply.mail.rfc_id) }],
    ['our id at an inbox of another account', { ...complaint(rfcId), inbox: theirs }],
    ['not spam', { ...complaint(rfcId, [address], 'not-spam'), ...signed }],
    ['a failure of DMARC', { ...complaint(rfcId, [address], 'auth-failure'), ...signed }],
  ] as const) {
    t.not((await accept(fields)).reason, 'complaint', name);
    t.strictSame(await stopped(address), [], name);
  }
});

t.test('the next mail of the customer lifts it, and none that may be by another', async (t) => {
  const reply = await addReply();
  const { address, conversationId, signed } = reply;
  await accept({ ...complaint(null), ...signed });
  const from = box(address);
  const away = [{ name: 'auto-submitted', value: 'auto-replied' }];
  for (const fields of [
    { from, verdict: 'fail' as const },
    { from, headers: away, ...signed },
    { from: box('bo@customers.example'), inReplyTo: reply.rfcId },
  ]) {
    await accept(fields);
    t.strictSame(await stopped(address), [address]);
  }
  await accept({ from });
  t.strictSame(await stopped(address), []);
  t.match((await auditOf(conversationId))[1], { action: 'email.complaint_lifted', actor_id: null });
});

t.test('admins see and lift complaints', async (t) => {
  const app = await startTestApp(t);
  const { demo } = app;
  const headers = { 'Service-Version': '1.4.harbor' };
  const path = '/v1/messaging/email-complaints';
  const call = <Body = Refusal>(method: string, at: string, options: CallOptions = {}) =>
    app.call<Body>(method, at, { headers, ...options });
  const owner = { database: app.database, accountId: demo.account_id, actorId: demo.users.ada.id };
  const mailbox = await addInbox(owner);
  const email = 'cleo@customers.example';
  const { id: conversationId } = await addBridgedCase(owner, mailbox.id, { email });
  const mail = await addMail(owner, { direction: 'out', purpose: 'reply', conversation_id: conversationId });
  const of = (address: string) => ({
    account_id: demo.account_id,
    conversation_id: conversationId,
    address,
    kind: 'abuse',
    mail_id: mail.id,
  });
  for (const address of ['Cleo@customers.example', 'bo@customers.example'])
    await app.database.transaction((tx) => addComplaint(tx, of(address)));
  const { data } = (await call<List<EmailComplaint>>('GET', `${path}?q=cleo`)).body;
  const [made] = data;
  t.strictSame(data, [
    {
      id: made!.id,
      object: 'email_complaint',
      address: 'cleo@customers.example',
      kind: 'abuse',
      email_id: mail.id,
      conversation_id: conversationId,
      created_at: made!.created_at,
    },
  ]);
  const at = `${path}/${made!.id}`;
  t.strictSame((await call('GET', at)).body, made);
  const ofCase = `/v1/messaging/conversations/${conversationId}/email`;
  const complaintsOf = async (version: string) =>
    (await call<ConversationEmail>('GET', ofCase, { headers: { 'Service-Version': version } })).body
      .complaints;
  t.strictSame(await complaintsOf(headers['Service-Version']), [made], 'of its customer alone');
  t.equal(await complaintsOf('1.3.harbor'), undefined);
  const guarded: Pick<Guarded, 'method' | 'path' | 'permission'>[] = [
    { method: 'GET', path, permission: 'users:read' },
    { method: 'GET', path: at, permission: 'users:read' },
    { method: 'DELETE', path: at, permission: null },
  ];
  for (const one of guarded) {
    const gates = await gatesOf(app, { ...one, agents: false, version: headers['Service-Version'] });
    t.match(gates, closed({ agents: false }), `${one.method} ${one.path}`);
    if (one.path === path) continue;
    const theirs = { ...asNeighbour(app), headers: { ...asNeighbour(app).headers, ...headers } };
    t.equal(refusalOf(await app.call(one.method, one.path, theirs)), '404 resource_not_found id');
  }

  const token = demo.users.ada.access_token;
  t.strictSame((await call('DELETE', at, { token })).body, made);
  t.equal(refusalOf(await call('GET', at)), '404 resource_not_found id');
  t.equal(refusalOf(await call('DELETE', at)), '404 resource_not_found id');
  t.equal((await call<List<EmailComplaint>>('GET', path)).body.data.length, 1);
  const query = `conversation_id=${conversationId}&action=email.complaint_lifted`;
  const { body } = await call<List<AuditEvent>>('GET', `/v1/account/audit?${query}`);
  t.match(body.data, [{ actor: { id: demo.users.ada.id }, details: { complaint_id: made!.id } }]);
});
