/** The words of a mail that its message has: all of a first mail, and of an answer what it says. */

import { derivedId, newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import type { MailRow } from '../../src/features/mail/mails/mail-store.ts';
import { box, openAccepting } from './accepting.ts';
import { addMail } from './fixture.ts';

const house = await openAccepting(t);
const { database, accountId, admin, inbox, accept, bodyOf } = house;
const HTML = { 'Content-Type': 'text/html; charset=utf-8' };
const ANSWER = { 'In-Reply-To': '<something@elsewhere.example>' };
const QUOTE = 'On 3 Nov 2026 at 16:02, Support wrote:\n> When should we deliver your boat?';
const HEAD =
  'Von: Support <support@harbor.example>\nGesendet: Dienstag, 3. November 2026 16:02\nAn: Cleo\nBetreff: Boot\n\nWann sollen wir das Boot liefern?';

/** What an answer loses, and nothing else does. */
const ANSWERS = [
  ['Tomorrow.', QUOTE],
  ['Morgen.', HEAD],
  ['Tomorrow.', '-- \nCleo\nPhone 123'],
  ['Tomorrow.', 'Sent from my iPhone'],
  ['Demain.', 'Envoyé de mon iPhone'],
  ['明日。', 'iPhoneから送信'],
] as const;

t.test('a mail that answers nothing is shown whole', async (t) => {
  for (const [words, rest] of ANSWERS) t.equal(await bodyOf(`${words}\n\n${rest}`), `${words}\n\n${rest}`);
  const html = '<p>It says:</p><blockquote>npm start</blockquote>';
  t.equal(await bodyOf(html, HTML), 'It says:\n\n> npm start');
  t.equal(await bodyOf('<blockquote>npm start</blockquote><p>fails.</p>', HTML), '> npm start\n\nfails.');
});

t.test('an answer is shown without what it quotes, and without its signature', async (t) => {
  for (const header of [ANSWER, { References: '<a@elsewhere.example> <b@elsewhere.example>' }]) {
    for (const [words, rest] of ANSWERS) t.equal(await bodyOf(`${words}\n\n${rest}`, header), words, rest);
  }
  const html = `<p>Tomorrow.</p><p>-- <br>Cleo</p><p>${QUOTE.split('\n')[0]}</p><blockquote>When?</blockquote>`;
  t.equal(await bodyOf(html, { ...HTML, ...ANSWER }), 'Tomorrow.');
});

t.test('words of a person stay in an answer too', async (t) => {
  const texts = [
    'A.\n--\nB.',
    'A\n--\nB\n--\nC',
    'Please book this:\nFrom: Berlin\nTo: Paris\nDate: 3 May',
    'It says:\n> npm start',
    '> npm start\nis what it says.',
    'Ready.\n\nSent from my warehouse on Monday, parcel 1234.',
    'See below.\n\n---------- Forwarded message ---------\nFrom: Shop <a@shop.example>\nDate: 3 Nov 2026 16:02\nTo: Cleo\nSubject: Invoice\n\nPay.\n-- \nShop',
  ];
  for (const text of texts) t.equal(await bodyOf(text, ANSWER), text);
  const html = '<p>It says:</p><blockquote>npm start</blockquote>';
  t.equal(await bodyOf(html, { ...HTML, ...ANSWER }), 'It says:\n\n> npm start');
  const forwarded = `Look at this.\n\n${HEAD}`;
  for (const subject of ['FW: Boot', 'WG: Boot', 'TR : Boot', '转发：Boot'])
    t.equal(await bodyOf(forwarded, { ...ANSWER, Subject: subject }), forwarded, subject);
});

t.test('a mail that names none, and repeats what the inbox wrote to its sender, is an answer', async (t) => {
  const answer = `Tomorrow.\n\n${QUOTE}`;
  t.equal(await bodyOf(answer), answer, 'nothing was written to her');
  await reply(
    await accept({ from: box('Cleo <cleo@customer.example>') }),
    'Hi,\n\n**When** should we _deliver_ your boat?\n',
  );
  t.equal(await bodyOf(answer), 'Tomorrow.');
  t.equal(await bodyOf(`Morgen.\n\n${HEAD}`), `Morgen.\n\n${HEAD}`, 'a mail of somebody else');
  t.equal(await bodyOf(`Morgen.\n\n${HEAD}\nWhen should we\ndeliver your boat?`), 'Morgen.', 'wrapped');
  t.equal(await bodyOf(answer, { From: 'Dan <dan@customer.example>' }), answer, 'it was written to Cleo');
  t.equal(await bodyOf(answer, {}, { verdict: 'fail' }), answer, 'and not to one who says to be her');
  const short = 'Tomorrow.\n\nOn 3 Nov 2026 at 16:02, Support wrote:\n> Hi,';
  t.equal(await bodyOf(short), short, 'a greeting is no mail');
  const person = 'It says:\n> When should we deliver your boat?';
  t.equal(await bodyOf(person), person);
});

/** A reply of the team in the case of a mail. */
async function reply({ conversation_id }: MailRow, body: string): Promise<void> {
  const id = newId('message');
  await database.kysely
    .insertInto('messages')
    .values({
      id,
      account_id: accountId,
      conversation_id: conversation_id!,
      sequence: 99,
      kind: 'chat',
      status: 'sent',
      visibility: 'external',
      channel: 'email',
      body,
      author_id: admin.id,
      sender_id: admin.id,
      email_status: 'sent',
    })
    .execute();
  await addMail(house.owner, {
    id: derivedId('mail', id),
    direction: 'out',
    purpose: 'reply',
    status: 'sent',
    inbox_id: inbox.id,
    conversation_id: conversation_id!,
    message_id: id,
  });
}
