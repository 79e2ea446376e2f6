/** The results of an incoming mail: its case, its author, its message, its thread. */

import { derivedId, newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { createCustomer } from '../../src/core/accounts/actors/actors.ts';
import { makeMessageId } from '../../src/features/mail/outgoing/message-ids.ts';
import { answering, box, openAccepting } from './accepting.ts';
import { addBridgedCase, addGroup, addInbox, addMail, readThread } from './fixture.ts';

const house = await openAccepting(t);
const { database, accountId, admin, inbox, key, accept, messagesOf } = house;

async function conversationOf(id: string) {
  return database.kysely
    .selectFrom('conversations')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
}

async function rosterOf(id: string) {
  const rows = await database.kysely
    .selectFrom('participants')
    .innerJoin('actors', 'actors.id', 'participants.actor_id')
    .select(['participants.type', 'participants.role', 'actors.name', 'actors.handle'])
    .where('conversation_id', '=', id)
    .orderBy('participants.created_at')
    .execute();
  return rows.map(({ type, role, name, handle }) => `${type} ${role} ${name} ${handle}`);
}

t.test('a first mail opens a case of its sender, which the admins are in', async (t) => {
  const from = box('Ada Moss <ada@customers.example>');
  const row = await accept({
    from,
    subject: 'Re: Hull paint',
    text: 'Hello\n\nAda',
    visibleText: 'Hello',
    cc: [box('bo@customers.example')],
    attachments: [{ key: 'upl_1', filename: 'hull.png', contentType: 'image/png', sizeBytes: 7 }],
  });
  t.match(row, {
    status: 'accepted',
    purpose: 'message',
    reason: null,
    automatic: false,
    inbox_id: inbox.id,
  });
  const id = row.conversation_id!;
  t.match(await conversationOf(id), {
    audience: 'customer',
    title: 'Re: Hull paint',
    inbox_id: inbox.id,
    workflow_status: 'open',
    assignee_id: null,
  });
  t.strictSame(await rosterOf(id), [
    'user owner Grace grace@harbor.example',
    'customer member Ada Moss ada@customers.example',
  ]);
  const [message, ...more] = await messagesOf(id);
  t.strictSame(more, []);
  t.match(message, {
    id: row.message_id,
    kind: 'email',
    visibility: 'external',
    channel: 'email',
    body: 'Hello\n\nAda',
    subject: 'Re: Hull paint',
    author_id: row.actor_id,
    client_message_id: row.id,
    has_attachments: true,
  });
  t.match(house.committed.at(-1)!.messages[0]!.attachments[0], {
    kind: 'image',
    filename: 'hull.png',
    url: 'https://files.example/upl_1',
  });
  t.match(await database.transaction((tx) => readThread(tx, id)), {
    last_in_id: row.id,
    subject: 'Hull paint',
    cc: ['bo@customers.example'],
  });
  const events = (await house.topics()).filter(({ topic }) => topic === 'mail.received');
  t.match(events.at(-1), { payload: { mail_id: row.id } });
});

t.test(
  'the group and the assignee of the inbox are in its cases, and an address that is known is that customer',
  async (t) => {
    const group = await addGroup(house.owner, 'Sales');
    const cleo = await createCustomer(database, {
      accountId,
      name: 'Cleo',
      email: 'Cleo.M@customers.example',
    });
    const agent = await database.kysely
      .insertInto('actors')
      .values({ id: 'act_agent', account_id: accountId, type: 'agent', name: 'Bot' })
      .returning('id')
      .executeTakeFirstOrThrow();
    const members = [house.ground.authorId, agent.id].map((actor_id, position) => ({
      group_id: group.id,
      actor_id,
      position,
    }));
    await database.kysely.insertInto('group_members').values(members).execute();
    const sales = await addInbox(house.owner, { group_id: group.id, assignee_id: admin.id });
    const row = await accept({ inbox: sales, from: box('Somebody <cleo.m@customers.example>') });
    t.equal(row.actor_id, cleo.id);
    t.match(await conversationOf(row.conversation_id!), { group_id: group.id, assignee_id: admin.id });
    t.strictSame(await rosterOf(row.conversation_id!), [
      'user owner Ada null',
      'agent member Bot null',
      'user member Grace grace@harbor.example',
      'customer member Cleo Cleo.M@customers.example',
    ]);
  },
);

t.test('answers find their case by our Message-ID, else by References, never by their subject', async (t) => {
  const first = await accept();
  const id = first.conversation_id!;
  const sent = { conversationId: id, mailId: derivedId('mail', 'a reply') };
  const ours = makeMessageId(key, sent, 'harbor.example');
  const other = await accept();
  t.not(other.conversation_id, id, 'the same sender and subject');
  const [byOwnId, byReference, changed] = [
    await accept({ references: ['gone@elsewhere.example', ours.toUpperCase(), other.rfc_id] }),
    await accept({ references: [other.rfc_id, first.rfc_id, 'gone@elsewhere.example'] }),
    await accept({ ...answering(first), subject: 'Something else' }),
  ];
  // The letters of the id of the conversation are gone, and there is no row of the mail.
  t.equal(byOwnId.conversation_id, other.conversation_id);
  t.equal((await accept({ references: [other.rfc_id], inReplyTo: ours })).conversation_id, id);
  t.equal((await accept({ references: [ours, other.rfc_id] })).conversation_id, id, 'before what is nearer');
  t.equal(byReference.conversation_id, id);
  t.equal(changed.conversation_id, id);
  t.equal((await messagesOf(id)).length, 5);
  const forged = `${ours.slice(0, -20)}${ours.at(-20) === '0' ? '1' : '0'}${ours.slice(-19)}`;
  t.not((await accept({ inReplyTo: forged })).conversation_id, id);
});

t.test(
  'only a customer of the case writes in it: others, other inboxes and other accounts begin a new one',
  async (t) => {
    const first = await accept();
    const stranger = await accept({ ...answering(first), from: box('Mallory <mallory@strangers.example>') });
    t.not(stranger.conversation_id, first.conversation_id);
    t.equal(stranger.status, 'accepted');
    const otherInbox = await addInbox(house.owner);
    t.not((await accept({ ...answering(first), inbox: otherInbox })).conversation_id, first.conversation_id);
    const abroad = await openAccepting(t);
    const ours = makeMessageId(
      key,
      { conversationId: first.conversation_id!, mailId: first.id },
      'harbor.example',
    );
    t.match(await abroad.accept({ inReplyTo: ours }), { account_id: abroad.accountId, status: 'accepted' });
    await database.kysely
      .updateTable('participants')
      .set({ membership: 'removed' })
      .where('actor_id', '=', first.actor_id)
      .where('conversation_id', '=', first.conversation_id)
      .execute();
    t.not((await accept(answering(first))).conversation_id, first.conversation_id, 'a former participant');
  },
);

t.test('a sender who may be forged gets a case and a name of its own, and no address', async (t) => {
  const first = await accept({ from: box('Cleo <cleo@proven.example>'), verdict: 'pass' });
  const row = await accept({ ...answering(first), from: box('Cleo <cleo@proven.example>'), verdict: 'fail' });
  t.match(row, { status: 'accepted', reason: 'unverified', verdict: { result: 'fail' } });
  t.not(row.conversation_id, first.conversation_id);
  t.strictSame((await rosterOf(row.conversation_id!))[1], 'customer member Cleo (unverified) null');
  t.match(await database.transaction((tx) => readThread(tx, row.conversation_id!)), { last_in_id: null });
  const said = (await house.topics()).filter(({ topic }) => topic === 'messages.system').at(-1);
  t.match(said?.payload, {
    conversation_id: row.conversation_id,
    visibility: 'internal',
    body: /cleo@proven\.example/,
  });
  t.equal(
    (await accept({ ...answering(first), from: box('cleo@proven.example') })).conversation_id,
    first.conversation_id,
  );
});

t.test(
  'a resolved case is open again; one that was archived or deleted is answered in a new one',
  async (t) => {
    const first = await accept();
    const set = (change: object) =>
      database.kysely
        .updateTable('conversations')
        .set(change)
        .where('id', '=', first.conversation_id)
        .execute();
    await set({ workflow_status: 'resolved' });
    t.equal((await accept(answering(first))).conversation_id, first.conversation_id);
    t.equal((await conversationOf(first.conversation_id!)).workflow_status, 'open');
    for (const change of [
      { status: 'archived' },
      { status: 'active', deleted_at: new Date().toISOString() },
    ]) {
      await set(change);
      const again = await accept(answering(first));
      t.not(again.conversation_id, first.conversation_id);
      t.equal(again.actor_id, first.actor_id);
    }
  },
);

t.test('mail of a customer that the team has blocked becomes nothing, proven or not', async (t) => {
  const from = box('Moe <moe@customers.example>');
  const first = await accept({ from });
  await database.kysely
    .insertInto('blocks')
    .values({ id: newId('block'), account_id: accountId, actor_id: first.actor_id!, created_by: admin.id })
    .execute();
  const refused = { status: 'ignored', reason: 'blocked', message_id: null };
  const shouted = box('Moe <MOE@customers.example>');
  for (const fields of [{}, answering(first), { from: shouted }, { verdict: 'fail' }] as const) {
    t.match(await accept({ from, ...fields }), refused);
  }
  t.equal((await messagesOf(first.conversation_id!)).length, 1);
  t.match(await accept({ from: box('bo@customers.example') }), { status: 'accepted' }, 'others write');
  await database.kysely.deleteFrom('blocks').execute();
  t.match(await accept({ from, ...answering(first) }), { status: 'accepted' });
});

t.test('what a team member writes is a note in a case that it takes part in, else nothing', async (t) => {
  const from = box('Grace <grace@harbor.example>');
  const first = await accept();
  const note = await accept({ ...answering(first), from });
  t.match(note, {
    status: 'accepted',
    purpose: 'note',
    conversation_id: first.conversation_id,
    actor_id: admin.id,
  });
  t.match((await messagesOf(first.conversation_id!))[1], { visibility: 'internal', author_id: admin.id });
  t.equal((await conversationOf(first.conversation_id!)).workflow_status, 'open');
  const elsewhere = await addBridgedCase({ ...house.owner, actorId: house.ground.authorId }, inbox.id);
  const id = makeMessageId(
    key,
    { conversationId: elsewhere.id, mailId: derivedId('mail', 'x') },
    'harbor.example',
  );
  for (const [fields, reason] of [
    [{}, 'team_member'],
    [{ inReplyTo: id }, 'team_member'],
    [{ ...answering(first), verdict: 'fail' }, 'unverified'],
  ] as const) {
    t.match(await accept({ ...fields, from }), {
      status: 'ignored',
      reason,
      conversation_id: null,
      message_id: null,
    });
  }
});

function header(name: string, value: string) {
  return { headers: [{ name, value }] };
}

/** Headers that lists, groups, ticket systems and CRMs add to mail of people. */
const OF_DISTRIBUTION = [
  ['list-id', '<talk.lists.example>', 'list'],
  ['list-unsubscribe', '<mailto:u@x.example>', 'list'],
  ['list-unsubscribe', '<https://x.example/u>', 'list'],
  ['list-post', '<mailto:talk@lists.example>', 'list'],
  ['list-help', '<mailto:help@lists.example>', 'list'],
  ['list-owner', '<mailto:owner@lists.example>', 'list'],
  ['list-archive', '<https://lists.example>', 'list'],
  ['list-subscribe', '<mailto:join@lists.example>', 'list'],
  ['precedence', 'list', 'list'],
  ['precedence', 'Bulk', 'bulk'],
  ['precedence', 'junk (really)', 'bulk'],
  ['precedence', 'auto_reply', 'bulk'],
  ['feedback-id', '17:campaign:crm', 'bulk'],
] as const;

t.test('a header of a list alone drops nothing: the message is automatic, and its case quiet', async (t) => {
  const first = await accept();
  const set = (workflow_status: 'waiting_external' | 'resolved') =>
    database.kysely
      .updateTable('conversations')
      .set({ workflow_status })
      .where('id', '=', first.conversation_id)
      .execute();
  const laneOf = async (id: string) => (await conversationOf(id)).workflow_status;
  const group = await addGroup(house.owner, 'Assigned');
  const assigned = await addInbox(house.owner, { group_id: group.id, assignee_id: admin.id });
  const { waiting_since: since } = await conversationOf(first.conversation_id!);
  t.type(since, 'string', 'the customer waits');
  await accept({ ...answering(first), ...header('precedence', 'bulk') });
  t.equal((await conversationOf(first.conversation_id!)).waiting_since, since, 'and no longer or shorter');
  for (const [name, value, reason] of OF_DISTRIBUTION) {
    const what = `${name}: ${value}`;
    const shown = { status: 'accepted', purpose: 'message', automatic: true, reason };
    await set('waiting_external');
    const answer = await accept({ ...answering(first), ...header(name, value) });
    t.match(answer, { ...shown, conversation_id: first.conversation_id }, what);
    t.equal(await laneOf(first.conversation_id!), 'waiting_external', 'the case stays');
    const message = (await messagesOf(first.conversation_id!)).at(-1)!;
    t.match(message, { id: answer.message_id, visibility: 'external', kind: 'email' });
    await set('resolved');
    await accept({ ...answering(first), ...header(name, value) });
    t.equal(await laneOf(first.conversation_id!), 'new', 'a resolved case is seen again');
    t.equal((await conversationOf(first.conversation_id!)).waiting_since, null, 'and no customer waits');

    const opening = await accept({ ...header(name, value), inbox: assigned });
    t.match(opening, shown, what);
    t.equal(await laneOf(opening.conversation_id!), 'new');
    const ofCase = (await house.topics()).filter(
      ({ payload }) => (payload as { conversation_id?: string }).conversation_id === opening.conversation_id,
    );
    t.match(
      ofCase.filter(({ topic }) => topic.startsWith('conversations.')),
      [{ topic: 'conversations.created', payload: { quiet: true } }],
    );
    const forged = await accept({ ...header(name, value), verdict: 'fail' });
    t.match(forged, { status: 'accepted', automatic: true, reason: 'unverified' });
  }
});

t.test(
  'the next reply answers what a person wrote, and an automatic mail where nothing else is',
  async (t) => {
    const list = { ...header('list-id', '<talk.lists.example>'), replyTo: box('talk@lists.example') };
    const first = await accept({ cc: [box('bo@customers.example')] });
    await accept({ ...answering(first), ...list, cc: [box('all@lists.example')] });
    const thread = (id: string) => database.transaction((tx) => readThread(tx, id));
    t.match(await thread(first.conversation_id!), { last_in_id: first.id, cc: ['bo@customers.example'] });
    const opening = await accept(header('list-id', '<talk.lists.example>'));
    t.match(await thread(opening.conversation_id!), { last_in_id: opening.id });
  },
);

t.test('a list does not make a note of a team member an automatic mail', async (t) => {
  const first = await accept();
  const from = box('Grace <grace@harbor.example>');
  for (const [name, value] of OF_DISTRIBUTION) {
    const note = await accept({ ...answering(first), ...header(name, value), from });
    t.match(note, { status: 'accepted', purpose: 'note', automatic: false, reason: null }, name);
  }
});

t.test('what a machine wrote is noted in its case, or ignored; it opens none', async (t) => {
  const first = await accept();
  const unsubscribe = { name: 'list-unsubscribe', value: '<mailto:u@x.example>' };
  for (const [fields, reason] of [
    [header('auto-submitted', 'auto-replied (vacation)'), 'auto_submitted'],
    [header('x-autoreply', 'yes'), 'auto_reply'],
    [header('return-path', '<>'), 'empty_sender'],
    [{ envelope: { sender: '' } }, 'empty_sender'],
    [{ headers: [unsubscribe, { name: 'auto-submitted', value: 'auto-generated' }] }, 'auto_submitted'],
    [
      { headers: [{ name: 'precedence', value: 'bulk' }, ...header('x-vacation', 'yes').headers] },
      'auto_reply',
    ],
  ] as const) {
    t.match(await accept({ ...answering(first), ...fields }), {
      status: 'accepted',
      conversation_id: first.conversation_id,
      purpose: 'automatic',
      automatic: true,
      reason,
    });
    t.match(await accept(fields), { status: 'ignored', reason, conversation_id: null, message_id: null });
  }
  for (const fields of [
    header('auto-submitted', 'no; a="b"'),
    header('x-auto-response-suppress', 'All'),
    header('precedence', 'first-class'),
  ]) {
    t.match(await accept(fields), { status: 'accepted', purpose: 'message', automatic: false });
  }
  const notes = await messagesOf(first.conversation_id!);
  t.strictSame(
    notes.map(({ visibility }) => visibility),
    ['external', ...Array(6).fill('internal')],
  );
  for (const from of ['support@harbor.example', 'Support+b-1@HARBOR.example']) {
    const asInbox = await accept({ from: box(from) });
    t.match(asInbox, { status: 'accepted', automatic: true, reason: 'unverified' });
    t.match((await rosterOf(asInbox.conversation_id!)).at(-1), /\(unverified\) null$/);
  }
  t.match(await accept({ from: null }), { status: 'ignored', reason: 'no_sender' });
  const headers = [{ name: 'from', value: 'Mona <The Boss> <mona@customers.example>' }];
  t.match(await accept({ from: null, headers }), {
    status: 'accepted',
    reason: 'unverified',
    from_address: null,
  });
});

t.test('inboxes write to each other, and only what an inbox sent itself comes back', async (t) => {
  const abroad = await openAccepting(t, 'harbour.example');
  const second = await addInbox(house.owner, { address: 'sales@harbor.example' });
  const sent = await addBridgedCase(house.owner, inbox.id, { email: second.address });
  const named = { conversationId: sent.id, mailId: derivedId('mail', 'to another inbox') };
  const rfcId = makeMessageId(key, named, 'harbor.example');
  const ours = { rfcId, from: box(`Support <${inbox.address}>`), subject: 'Berth 4' };
  const row = () =>
    addMail(house.owner, {
      id: named.mailId,
      rfc_id: rfcId,
      direction: 'out',
      purpose: 'reply',
      inbox_id: inbox.id,
      conversation_id: sent.id,
    });
  const digest = await addMail(house.owner, {
    rfc_id: 'd.1@harbor.example',
    direction: 'out',
    purpose: 'digest',
  });
  const mails = [
    [house, { ...ours, inbox: second }, 'accepted', 'another inbox of the account'],
    [abroad, ours, 'accepted', 'an inbox of another account'],
    [house, ours, 'ignored', 'the inbox itself'],
    [house, { ...ours, from: box('list@lists.example') }, 'ignored', 'by a list that names itself'],
    [house, { rfcId: digest.rfc_id, from: box('no-reply@harbor.example') }, 'ignored', 'without an inbox'],
  ] as const;
  for (const isKept of [false, true]) {
    if (isKept) await row();
    for (const [at, fields, status, what] of mails) {
      // Otherwise it is the mail of the first round again.
      const { address } = fields.from;
      const from = box(isKept ? address.replace('@', '+2@') : address);
      const fate = await at.accept({ ...fields, from });
      t.match(fate, { status, ...(status === 'ignored' && { reason: 'own_mail' }) }, what);
    }
  }
  t.match(await accept({ ...ours, rfcId: rfcId.toUpperCase() }), { reason: 'own_mail' }, 'changed letters');
  for (const at of [second.address, abroad.inbox.address]) {
    const first = await accept({ from: box(at) });
    t.match(first, { status: 'accepted', purpose: 'message', reason: null, automatic: false });
    t.match((await rosterOf(first.conversation_id!)).at(-1), new RegExp(`${at}$`));
  }
});
