/** Persons that Reply-To or X-Original-From names alone: groups that rewrite From, and forms. */

import { derivedId, newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { createCustomer } from '../../src/core/accounts/actors/actors.ts';
import type { MailRow } from '../../src/features/mail/mails/mail-store.ts';
import { makeMessageId } from '../../src/features/mail/outgoing/message-ids.ts';
import { answering, box, type MailFields, openAccepting } from './accepting.ts';
import { addInbox, readThread } from './fixture.ts';

const house = await openAccepting(t);
const { database, accountId, admin, inbox, key, accept } = house;

function customerOf({ actor_id }: MailRow) {
  return database.kysely
    .selectFrom('actors')
    .select(['name', 'handle'])
    .where('id', '=', actor_id)
    .executeTakeFirstOrThrow();
}

/** Conversations that the author of a mail takes part in. */
async function casesOf({ actor_id }: MailRow): Promise<string[]> {
  const rows = await database.kysely
    .selectFrom('participants')
    .select('conversation_id')
    .where('actor_id', '=', actor_id)
    .execute();
  return rows.map(({ conversation_id }) => conversation_id);
}

/** The Message-ID of a reply of ours in the case of this mail. */
function ours({ conversation_id }: MailRow): string {
  const sent = { conversationId: conversation_id!, mailId: derivedId('mail', newId('message')) };
  return makeMessageId(key, sent, 'harbor.example');
}

function headers(...fields: (readonly [name: string, value: string])[]) {
  return { headers: fields.map(([name, value]) => ({ name, value })) };
}

const INBOX = box(`'Cleo' via Support <${inbox.address}>`);
const GROUP = box("'Cleo' via Talk <talk@lists.example>");
const FORM = box('Shop <form@shop.example>');
const LIST = ['list-id', '<talk.lists.example>'] as const;
const CLEO = 'cleo@customers.example';
const ORIGINAL = ['x-original-from', `"Cleo M" <${CLEO}>`] as const;

t.test('who is named alone is a customer of one case, without an address', async (t) => {
  const known = await createCustomer(database, { accountId, name: 'Cleo', email: CLEO });
  const named = { status: 'accepted', purpose: 'message', reason: 'unproven', reply_to: CLEO };
  const rows: [what: string, fields: MailFields, by: string, isAutomatic: boolean][] = [
    [
      'a group that is the inbox',
      { from: INBOX, replyTo: box(CLEO), ...headers(ORIGINAL) },
      'X-Original-From',
      false,
    ],
    ['a group', { from: GROUP, replyTo: box(CLEO), ...headers(LIST) }, 'Reply-To', true],
    [
      'a group that takes the answers',
      { from: GROUP, replyTo: GROUP, ...headers(LIST, ORIGINAL) },
      'X-Original-From',
      true,
    ],
    ['a group without Reply-To', { from: GROUP, ...headers(ORIGINAL) }, 'X-Original-From', false],
    ['a form that sends as the inbox', { from: INBOX, replyTo: box(`Cleo <${CLEO}>`) }, 'Reply-To', false],
    ['a form', { from: FORM, replyTo: box(CLEO) }, 'Reply-To', false],
    ['a form that sends a copy', { from: FORM, replyTo: box(CLEO), cc: [box(CLEO)] }, 'Reply-To', false],
    [
      'a form that sends as an admin',
      { from: box('grace@harbor.example'), replyTo: box(CLEO) },
      'Reply-To',
      false,
    ],
    ['no From', { from: null, replyTo: box(CLEO) }, 'Reply-To', false],
  ];
  const authors = new Set<string>();
  for (const [what, fields, by, automatic] of rows) {
    const row = await accept(fields);
    t.match(row, { ...named, automatic }, what);
    t.match(await customerOf(row), { name: new RegExp(` \\(by ${by}, unproven\\)$`), handle: null }, what);
    t.strictSame(await casesOf(row), [row.conversation_id]);
    authors.add(row.actor_id!);
    const thread = await database.transaction((tx) => readThread(tx, row.conversation_id!));
    t.match(thread, { last_in_id: row.id, cc: [] }, 'it is answered without copies to whom it names');
  }
  t.equal(authors.size, rows.length);
  t.notOk(authors.has(known.id));
  for (const [fields, name] of [
    [rows[0]![1], 'Cleo M (by X-Original-From, unproven)'],
    [
      { from: GROUP, ...headers(['x-original-from', CLEO]) },
      "'Cleo' via Talk (by X-Original-From, unproven)",
    ],
    [{ from: FORM, replyTo: box(CLEO) }, `${CLEO} (by Reply-To, unproven)`],
    [{ from: FORM, replyTo: box(`Boss@harbor.example <${CLEO}>`) }, `${CLEO} (by Reply-To, unproven)`],
    [
      { from: FORM, replyTo: { address: CLEO, name: 'x'.repeat(300) } },
      `${'x'.repeat(176)} (by Reply-To, unproven)`,
    ],
  ] as const) {
    t.equal((await customerOf(await accept(fields))).name, name);
  }
  const said = (await house.topics()).filter(({ topic }) => topic === 'messages.system').at(-1);
  t.match(said?.payload, { visibility: 'internal', body: new RegExp(`Reply-To .* ${CLEO}`) });
});

t.test('two persons of one form are two customers, however well the form is known', async (t) => {
  const [dan, eve] = [box('Dan <dan@customers.example>'), box('Eve <eve@customers.example>')];
  for (const isKnown of [false, true]) {
    const from = isKnown ? box('desk@shop.example') : FORM;
    const before = isKnown ? [await accept({ from, text: 'Does the form work?' })] : [];
    const mails = [...before];
    for (const replyTo of [dan, eve, dan]) mails.push(await accept({ from, replyTo }));
    t.equal(new Set(mails.map(({ actor_id }) => actor_id)).size, mails.length);
    for (const mail of mails) t.strictSame(await casesOf(mail), [mail.conversation_id]);
  }
});

t.test('Reply-To of the sender, of the inbox or of the list names no other person', async (t) => {
  const rows: [what: string, fields: MailFields, replyTo: string | null][] = [
    ['the sender', { replyTo: box('FAY@customers.example') }, 'fay@customers.example'],
    ['the sender with a tag', { replyTo: box('fay+shop@customers.example') }, 'fay+shop@customers.example'],
    ['the inbox', { replyTo: box(inbox.address.replace('@', '+x@')) }, null],
    [
      'the list',
      { replyTo: box('talk@lists.example'), ...headers(['list-post', '<mailto:Talk@lists.example>']) },
      null,
    ],
    [
      'the list in To',
      { replyTo: box('talk@lists.example'), to: [box('talk@lists.example')], ...headers(LIST) },
      null,
    ],
    ['itself', headers(['x-original-from', 'fay@customers.example']), null],
    ['nothing readable', headers(['x-original-from', 'Fay']), null],
  ];
  const authors = new Set<string | null>();
  for (const [what, fields, reply_to] of rows) {
    const row = await accept({ from: box('Fay <fay@customers.example>'), ...fields });
    t.match(row, { status: 'accepted', reply_to, reason: row.automatic ? 'list' : null }, what);
    t.match(await customerOf(row), { name: 'Fay', handle: 'fay@customers.example' });
    authors.add(row.actor_id);
  }
  t.equal(authors.size, 1);
});

t.test('a customer who has always asked for answers at one other address is that customer', async (t) => {
  const gus = await createCustomer(database, { accountId, name: 'Gus', email: 'gus@work.example' });
  const from = box('gus@work.example');
  for (const replyTo of [box('gus@home.example'), box('Gus@home.example')]) {
    t.match(await accept({ from, replyTo }), { actor_id: gus.id, reason: null });
  }
  t.match(await accept({ from, replyTo: box('other@home.example') }), { reason: 'unproven' });
  const first = await accept({ from });
  t.equal(first.actor_id, gus.id);
  const answer = await accept({ ...answering(first), from, replyTo: box('third@home.example') });
  t.match(answer, { actor_id: gus.id, conversation_id: first.conversation_id, reason: null });
});

t.test('its answers through the group or form stay in the case, unproven', async (t) => {
  const via = { from: GROUP, replyTo: box('hal@customers.example') };
  const first = await accept(via);
  const reply = { inReplyTo: ours(first) };
  for (const fields of [reply, answering(first)]) {
    const row = await accept({ ...via, ...fields });
    t.match(row, { conversation_id: first.conversation_id, actor_id: first.actor_id, reason: 'unproven' });
  }
  for (const fields of [
    { replyTo: box('ivy@customers.example') },
    { from: FORM },
    { verdict: 'fail' as const },
    { inbox: await addInbox(house.owner) },
  ]) {
    const row = await accept({ ...via, ...reply, ...fields });
    t.not(row.conversation_id, first.conversation_id);
    t.not(row.actor_id, first.actor_id);
  }
});

t.test('only an answer that comes from the address to a mail of ours proves it', async (t) => {
  const address = 'joy@customers.example';
  const from = box(`Joy <${address}>`);
  const first = await accept({ from: FORM, replyTo: box(`Joy <${address}>`) });
  const others: MailFields[] = [
    answering(first),
    { inReplyTo: ours(first), verdict: 'fail' },
    { inReplyTo: ours(first), from: box('kim@customers.example') },
  ];
  const away = await accept({ from, inReplyTo: ours(first), ...headers(['auto-submitted', 'auto-replied']) });
  t.match(away, { purpose: 'automatic', conversation_id: first.conversation_id });
  for (const fields of others) {
    const row = await accept({ from, ...fields });
    t.not(row.conversation_id, first.conversation_id);
    await database.kysely
      .updateTable('actors')
      .set({ handle: null })
      .where('id', '=', row.actor_id)
      .execute();
  }
  t.match(await customerOf(first), { handle: null, name: 'Joy (by Reply-To, unproven)' });
  const proof = await accept({
    from,
    inReplyTo: ours(first),
    verdict: 'pass',
    replyTo: box('joy@elsewhere.example'),
  });
  t.match(proof, { conversation_id: first.conversation_id, actor_id: first.actor_id, reason: null });
  t.strictSame(await customerOf(first), { handle: address, name: 'Joy' });
  t.equal((await accept({ from })).actor_id, first.actor_id, 'from now on the address is that customer');
  t.match(await accept({ from: FORM, replyTo: from }), { reason: 'unproven' });
});

t.test('a customer that has the address takes part in the case that it proves', async (t) => {
  const address = 'lou@customers.example';
  const lou = await createCustomer(database, { accountId, name: 'Lou', email: address });
  const first = await accept({ from: FORM, replyTo: box(address) });
  const proof = await accept({ from: box(address), inReplyTo: ours(first) });
  t.match(proof, { conversation_id: first.conversation_id, actor_id: lou.id });
  t.strictSame(await casesOf(first), [first.conversation_id]);
  const more = await accept({ from: box(address), inReplyTo: ours(first) });
  t.equal(more.conversation_id, first.conversation_id);
  await database.kysely
    .updateTable('participants')
    .set({ membership: 'removed' })
    .where('actor_id', '=', lou.id)
    .execute();
  const removed = await accept({ from: box(address), inReplyTo: ours(first) });
  t.not(removed.conversation_id, first.conversation_id);
});

t.test('two answers at once prove an address once, and both are in the case', async (t) => {
  for (let n = 0; n < 10; n++) {
    const from = box(`twice-${n}@customers.example`);
    const first = await accept({ from: FORM, replyTo: from });
    const answers = await Promise.all([1, 2, 3].map(() => accept({ from, inReplyTo: ours(first) })));
    t.strictSame(
      answers.map(({ conversation_id, actor_id }) => [conversation_id, actor_id]),
      answers.map(() => [first.conversation_id, first.actor_id]),
    );
  }
});

t.test('a block of the team holds for who is named, and a forged mail is shown as one', async (t) => {
  const mel = await createCustomer(database, { accountId, name: 'Mel', email: 'mel@customers.example' });
  await database.kysely
    .insertInto('blocks')
    .values({ id: newId('block'), account_id: accountId, actor_id: mel.id, created_by: admin.id })
    .execute();
  t.match(await accept({ from: FORM, replyTo: box('MEL@customers.example') }), { reason: 'blocked' });
  const forged = await accept({ from: FORM, replyTo: box('ned@customers.example'), verdict: 'fail' });
  t.match(forged, { status: 'accepted', reason: 'unverified' });
  const thread = await database.transaction((tx) => readThread(tx, forged.conversation_id!));
  t.match(thread, { last_in_id: null });
});
