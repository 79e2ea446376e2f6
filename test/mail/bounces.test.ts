/** The fates of outgoing mails: reports of other servers, and the wall against loops. */

import type { DeliveryReport } from '@parley/mail-reader/parsed-mail.ts';
import { derivedId, newId } from '@parley/protocol/ids.ts';
import { sql } from 'kysely';
import t from 'tap';
import { readMessage } from '../../src/core/resources/message.ts';
import { mailCheck } from '../../src/features/mail/mail-check.ts';
import { readMail } from '../../src/features/mail/mails/mail-store.ts';
import { mailMetrics } from '../../src/features/mail/metrics.ts';
import { makeBounceAddress } from '../../src/features/mail/outgoing/bounce-address.ts';
import { countLoops, LOOP_LIMIT, mayAnswer } from '../../src/features/mail/outgoing/loop-limit.ts';
import { makeMessageId } from '../../src/features/mail/outgoing/message-ids.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { box, openAccepting } from './accepting.ts';
import { addBridgedCase, addInbox, addMail } from './fixture.ts';

const house = await openAccepting(t);
const { database, accountId, admin, inbox, key, accept, messagesOf } = house;

/** A reply of Grace that was sent by mail to these addresses. */
async function addReply(
  addresses: readonly string[] = ['cleo@customers.example'],
  fields: Parameters<typeof addMail>[1] = {},
) {
  const { id: conversationId } = await addBridgedCase(house.owner, inbox.id);
  const messageId = newId('message');
  await database.kysely
    .insertInto('messages')
    .values({
      id: messageId,
      account_id: accountId,
      conversation_id: conversationId,
      sequence: 1,
      kind: 'chat',
      status: 'sent',
      visibility: 'external',
      channel: 'email',
      body: 'Soon.',
      author_id: admin.id,
      sender_id: admin.id,
      email_status: 'sent',
    })
    .execute();
  const id = derivedId('mail', messageId);
  const recipients = addresses.map((address) => ({ address, kind: 'to', status: 'sent', code: null }));
  return addMail(house.owner, {
    id,
    direction: 'out',
    purpose: 'reply',
    status: 'sent',
    inbox_id: inbox.id,
    conversation_id: conversationId,
    message_id: messageId,
    recipients: JSON.stringify(recipients),
    rfc_id: makeMessageId(key, { conversationId, mailId: id }, 'harbor.example'),
    ...fields,
  });
}

function report(
  recipients: readonly Partial<DeliveryReport['recipients'][number]>[],
  originalRfcId: string | null = null,
  evidence: DeliveryReport['evidence'] = 'form',
) {
  const whole = { address: 'cleo@customers.example', action: 'failed', status: '5.1.1' } as const;
  return {
    from: box('Mail Delivery System <mailer-daemon@mx.example>'),
    subject: 'Undelivered Mail Returned to Sender',
    report: { recipients: recipients.map((one) => ({ ...whole, ...one })), evidence, originalRfcId },
  };
}

const to = (id: string) => ({
  envelope: { sender: '', recipients: [makeBounceAddress(key, id, inbox.address)] },
});

async function outcomeOf(id: string) {
  const mail = await readMail(database, id);
  return [mail!.status, ...mail!.recipients.map(({ status, code }) => `${status} ${code}`)];
}

t.test('a report ends the mail that its address or its Message-ID names, and tells the author', async (t) => {
  const [first, second] = [await addReply(), await addReply()];
  const noted = {
    status: 'accepted',
    purpose: 'bounce',
    automatic: true,
    reason: 'returned',
    message_id: null,
  };
  t.match(await accept({ ...report([{}]), ...to(first.id) }), {
    ...noted,
    conversation_id: first.conversation_id,
  });
  t.match(await accept(report([{}], second.rfc_id)), { ...noted, conversation_id: second.conversation_id });
  for (const { id, message_id } of [first, second]) {
    t.strictSame(await outcomeOf(id), ['bounced', 'bounced 5.1.1']);
    t.equal((await readMessage(database, message_id!))!.email_status, 'bounced');
    const notified = await database.kysely
      .selectFrom('notifications')
      .select(['category', 'recipient_id'])
      .where('message_id', '=', message_id)
      .execute();
    t.strictSame(notified, [{ category: 'email.failed', recipient_id: admin.id }]);
  }
});

t.test('a delay is noted, the third ends the mail, and a delivery takes it back', async (t) => {
  const reply = await addReply();
  const delayed = () => accept({ ...report([{ action: 'delayed', status: '4.4.1' }]), ...to(reply.id) });
  t.match(await delayed(), { status: 'accepted', reason: 'delayed' });
  t.strictSame(await outcomeOf(reply.id), ['deferred', 'deferred 4.4.1']);
  const delivered = report([{ action: 'delivered', status: '2.0.0' }]);
  t.match(await accept({ ...delivered, ...to(reply.id) }), { status: 'accepted', reason: 'delivered' });
  t.strictSame(await outcomeOf(reply.id), ['sent', 'sent 2.0.0']);
  await delayed();
  t.match((await outcomeOf(reply.id))[0], 'deferred');
  await delayed();
  t.strictSame(await outcomeOf(reply.id), ['bounced', 'bounced 4.4.1']);
  t.match(await delayed(), { status: 'ignored', reason: 'unknown_recipient' });
  const given = await addReply();
  await accept({ ...report([{ action: 'failed', status: '4.4.7' }]), ...to(given.id) });
  t.strictSame(await outcomeOf(given.id), ['bounced', 'bounced 4.4.7'], 'the server has given up');
});

t.test(
  'a report concerns the recipients that it names, and leaves the tries of the others as they are',
  async (t) => {
    const next = new Date(Date.now() + 3_600_000).toISOString();
    const reply = await addReply(['cleo@customers.example', 'bo@customers.example'], {
      status: 'deferred',
      next_try_at: next,
    });
    const states = [
      { kind: 'to', status: 'sent' },
      { kind: 'cc', status: 'deferred' },
    ];
    const recipients = reply.recipients.map((one, n) => ({ ...one, ...states[n] }));
    await database.kysely
      .updateTable('mails')
      .set({ recipients: JSON.stringify(recipients) })
      .where('id', '=', reply.id)
      .execute();
    await accept({
      ...report([{ address: 'CLEO@customers.example' }, { address: 'x@y.example' }]),
      ...to(reply.id),
    });
    t.strictSame(
      await outcomeOf(reply.id),
      ['bounced', 'bounced 5.1.1', 'deferred null'],
      'whatever becomes of the copy',
    );
    const { next_try_at: after } = (await readMail(database, reply.id))!;
    t.ok(Math.abs(Date.parse(after!) - Date.parse(next)) < 60_000, 'tried when it would have been');
    const forwarded = await addReply();
    await accept({ ...report([{ address: 'elsewhere@forward.example' }]), ...to(forwarded.id) });
    t.strictSame(
      await outcomeOf(forwarded.id),
      ['bounced', 'bounced 5.1.1'],
      'the one recipient, under another address',
    );
  },
);

t.test('a report of nothing that the inbox sent changes nothing, and none opens a case', async (t) => {
  const reply = await addReply();
  const other = await addInbox(house.owner);
  const forged = makeBounceAddress(key, reply.id, inbox.address).replace(/[0-9a-f]@/, 'g@');
  const count = () =>
    database.kysely.selectFrom('conversations').select(sql<number>`count(*)::int`.as('n')).execute();
  const before = await count();
  for (const fields of [
    { envelope: { sender: '', recipients: [forged] }, ...report([{}]) },
    report([{}], `c.${reply.conversation_id}.${'0'.repeat(24)}.${'0'.repeat(16)}@harbor.example`),
    report([{}], 'somebody@elsewhere.example'),
    { ...report([{}], reply.rfc_id), inbox: other },
    report([{}]),
  ]) {
    t.match(await accept(fields), {
      status: 'ignored',
      purpose: 'bounce',
      reason: 'unknown_bounce',
      conversation_id: null,
    });
  }
  t.match(await accept({ ...report([{}], reply.rfc_id), report: null }), {
    status: 'ignored',
    reason: 'empty_sender',
  });
  t.strictSame(await outcomeOf(reply.id), ['sent', 'sent null']);
  t.strictSame(await count(), before);
});

t.test('a report that anyone in copy could write changes nothing', async (t) => {
  const reply = await addReply();
  const stranger = { address: 'nobody@evil.example' };
  const forged = { ...report([{}], reply.rfc_id), verdict: 'fail', from: box('x@evil.example') } as const;
  const inReply = { ...report([stranger]), inReplyTo: reply.rfc_id };
  for (const [fields, reason] of [
    [report([stranger], reply.rfc_id), 'unknown_recipient'],
    [inReply, 'unknown_recipient'],
    [{ ...report([stranger], reply.rfc_id), verdict: 'fail' }, 'unverified'],
    [forged, 'unverified'],
    [{ ...forged, ...report([{ action: 'delayed' }], reply.rfc_id) }, 'unverified'],
    [{ ...forged, ...to(newId('mail')) }, 'unverified'],
  ] as const) {
    t.match(await accept(fields), { status: 'ignored', purpose: 'bounce', reason });
  }
  t.strictSame(await outcomeOf(reply.id), ['sent', 'sent null']);
  await accept({ ...forged, ...to(reply.id) });
  t.strictSame(await outcomeOf(reply.id), ['bounced', 'bounced 5.1.1'], 'its own address is proof enough');
});

t.test('a report that names no recipient means the one that the mail had', async (t) => {
  const [unnamed, elsewhere] = [{ address: null }, { address: 'a@forward.example' }];
  for (const [recipients, evidence] of [
    [[unnamed], 'sender'],
    [[elsewhere], 'sender'],
    [[elsewhere, { address: 'b@forward.example' }], 'form'],
    [[{}], 'words'],
  ] as const) {
    const reply = await addReply();
    t.match(await accept({ ...report(recipients, null, evidence), ...to(reply.id) }), { reason: 'returned' });
    t.strictSame(await outcomeOf(reply.id), ['bounced', 'bounced 5.1.1'], evidence);
  }
});

t.test('a machine at the return path that reports nothing is shown in the case, as it is', async (t) => {
  const two = ['cleo@customers.example', 'bo@customers.example'];
  const [unnamed, stranger] = [{ address: null }, { address: 'a@forward.example' }];
  const [list, partly] = [
    [{ name: 'list-id', value: '<x.example>' }],
    [stranger, { action: 'delivered' as const, address: 'b@forward.example' }],
  ];
  for (const [name, addresses, fields] of [
    ['no report that can be read', undefined, { ...report([]), report: null }],
    ['the mail of a list', undefined, { ...report([]), report: null, headers: list }],
    ['no sender', undefined, { ...report([]), report: null, from: null }],
    ['words of a stranger that name no recipient', undefined, report([unnamed], null, 'words')],
    ['a report that names none of two', two, report([unnamed], null, 'sender')],
    ['a report of strangers alone', two, report([stranger])],
    ['a report of two ends at one recipient', undefined, report(partly)],
  ] as const) {
    const reply = await addReply(addresses);
    const row = await accept({ text: 'See the log.', ...fields, ...to(reply.id) });
    const { conversation_id } = reply;
    t.match(row, { status: 'accepted', purpose: 'automatic', automatic: true, conversation_id }, name);
    t.match((await outcomeOf(reply.id))[0], 'sent', name);
    const [shown, ...others] = (await messagesOf(conversation_id!)).slice(1);
    t.match(shown, { visibility: 'internal', kind: 'email', body: 'See the log.', sender_id: null }, name);
    t.strictSame(others, [], name);
  }
});

t.test('a person who writes about returned mail is read, and ends no mail', async (t) => {
  const words = [[{}], null, 'words'] as const;
  const customer = box('Cleo <cleo@customers.example>');
  const reply = await addReply();
  const answer = { inReplyTo: reply.rfc_id, headers: [{ name: 'return-path', value: '<x@y.example>' }] };
  for (const from of [customer, box('Post <postmaster@customers.example>'), box('x@y.example')]) {
    const row = await accept({ ...report(...words), ...answer, from });
    t.not(row.purpose, 'bounce', from.address);
  }
  t.match(await accept({ ...report(...words), from: customer, text: 'It came back.' }), {
    status: 'accepted',
    purpose: 'message',
  });
  const away = { headers: [{ name: 'auto-submitted', value: 'auto-replied' }], from: customer };
  await accept({ ...report(...words), ...away, ...to(reply.id) });
  await accept({ ...report([{}], null, 'sender'), ...away, ...to(reply.id) });
  t.strictSame(await outcomeOf(reply.id), ['sent', 'sent null']);
  const returned = { headers: [{ name: 'return-path', value: '<>' }] };
  await accept({ ...report([{}], reply.rfc_id, 'sender'), ...returned });
  t.strictSame(await outcomeOf(reply.id), ['bounced', 'bounced 5.1.1'], 'what a server writes to the inbox');
});

t.test('an absence note that goes to the return path is found by it', async (t) => {
  const reply = await addReply();
  const customer = await database.kysely
    .selectFrom('actors')
    .innerJoin('participants', 'participants.actor_id', 'actors.id')
    .select('handle')
    .where('conversation_id', '=', reply.conversation_id)
    .where('customer', '=', true)
    .executeTakeFirstOrThrow();
  const headers = [{ name: 'auto-submitted', value: 'auto-replied' }];
  const row = await accept({ headers, from: box(customer.handle!), ...to(reply.id) });
  t.match(row, { status: 'accepted', purpose: 'automatic', conversation_id: reply.conversation_id });
});

t.test('ten automatic mails of an inbox and an address in an hour, until a person writes', async (t) => {
  const far = 'loop@machines.example';
  const may = (to = [far], from = inbox.id) =>
    database.transaction((tx) => mayAnswer(tx, { account_id: house.accountId, inbox_id: from }, to));
  const recipients = (...addresses: string[]) =>
    JSON.stringify(addresses.map((address) => ({ address, kind: 'to', status: 'sent', code: null })));
  // Each in a case of its own, as of a machine that answers nothing.
  const write = (fields: object) =>
    addMail(house.owner, {
      direction: 'out',
      purpose: 'reply',
      inbox_id: inbox.id,
      automatic: true,
      recipients: recipients('Loop@Machines.example'),
      ...fields,
    });
  const received = { direction: 'in', purpose: 'message', recipients: recipients() };
  const ways = [
    {},
    { ...received, from_address: 'LOOP@machines.example' },
    { ...received, from_address: 'list@machines.example', reply_to: far },
    { recipients: recipients('other@machines.example', far) },
  ];
  const old = new Date(Date.now() - (LOOP_LIMIT.minutes + 5) * 60_000).toISOString();
  await write({ created_at: old });
  for (let n = 0; n < LOOP_LIMIT.mails; n++) {
    t.ok(await may(), `${n} so far`);
    await write(ways[n % ways.length]!);
  }
  t.notOk(await may());
  t.notOk(await may(['other@machines.example', far]), 'one of several recipients');
  t.ok(await may(['another@machines.example']));
  t.ok(await may([far], (await addInbox(house.owner)).id), 'another inbox');
  await write({ ...received, from_address: far, automatic: false });
  t.notOk(await may(), 'what comes in may be a machine in disguise');
  await write({ automatic: false, recipients: recipients('another@machines.example') });
  t.notOk(await may(), 'a person has written to another address');
  await write({ automatic: false });
  t.ok(await may(), 'a person of the team has answered');
  await write({ status: 'failed', reason: 'loop_limit' });
  t.ok(await may());
  const { registry } = createMetrics();
  const check = mailCheck('smtp://127.0.0.1', mailMetrics({ registry }), () => countLoops(database));
  t.match(await check.look([]), { state: 'attention', message: /^Stopped within a day: 1 mail of agents/ });
  await database.kysely
    .updateTable('mails')
    .set({ created_at: old })
    .where('reason', '=', 'loop_limit')
    .execute();
  t.match(await check.look([]), { state: 'attention' }, 'an hour later');
  await database.kysely
    .updateTable('mails')
    .set({ created_at: new Date(Date.now() - 25 * 3_600_000).toISOString() })
    .where('reason', '=', 'loop_limit')
    .execute();
  t.match(await check.look([]), { state: 'ok' });
});
