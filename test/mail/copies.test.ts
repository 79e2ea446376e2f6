/** Mails that are one, and mails that share a Message-ID. */

import t from 'tap';
import { answering, box, type MailFields, openAccepting } from './accepting.ts';

const house = await openAccepting(t);
const { accept, messagesOf } = house;

function header(name: string, value: string) {
  return { headers: [{ name, value }] };
}

t.test('the same mail is one message, whatever its copies meet', async (t) => {
  const arrival = house.arrivalOf({ text: 'once' });
  const rows = await Promise.all([1, 2, 3].map(() => house.acceptArrival(arrival)));
  t.equal(new Set(rows.map(({ message_id }) => message_id)).size, 1);
  t.equal((await messagesOf(rows[0]!.conversation_id!)).length, 1);
  t.strictSame(await house.acceptArrival(arrival), rows[0]);
  t.not(
    (await accept({ rfcId: arrival.mail.rfcId, from: box('mallory@strangers.example') })).id,
    rows[0]!.id,
  );
  const nameless = { rfcId: null, text: 'I have no Message-ID' };
  const [one, two, three] = [
    await accept(nameless),
    await accept(nameless),
    await accept({ ...nameless, text: 'Nor I' }),
  ];
  t.equal(one.id, two.id);
  t.not(one.id, three.id);
  t.match(await accept({ rfcId: 'nul\0@x.example', subject: 'a\0b\uD800', text: '\0' }), {
    status: 'accepted',
  });
});

t.test('two texts under one Message-ID are two messages, of which the second is quiet', async (t) => {
  const list = header('list-id', '<talk.lists.example>');
  const FOOTER = '_______________\nTalk mailing list\nhttps://lists.example';
  const rows: [what: string, first: MailFields, second: MailFields, isOne: boolean][] = [
    ['a counter in the text', { text: 'Report 17' }, { text: 'Report 18' }, false],
    ['more text', { text: 'Yes.' }, { text: 'Yes. But not today.' }, false],
    ['a line that is no signature', { text: 'A.' }, { text: 'A.\n--\nB.' }, false],
    ['the same before', { text: 'A.\n--\nB.' }, { text: 'A.' }, false],
    ['a text after none', { text: '' }, { text: 'Now with a text.' }, false],
    ['none after a text', { text: 'A text.' }, { text: '' }, false],
    ['line breaks', { text: 'One\ntwo  three\n' }, { text: 'One two\r\nthree' }, true],
    ['the footer of a list', { text: 'Hello' }, { text: `Hello\n\n${FOOTER}`, ...list }, true],
    ['the list first', { text: `Hello\n${FOOTER}`, ...list }, { text: 'Hello' }, true],
    ['another text of the list', { text: 'Hello' }, { text: `Goodbye\n${FOOTER}`, ...list }, false],
  ];
  for (const [what, first, second, isOne] of rows) {
    const rfcId = `${what.replaceAll(' ', '-')}@senders.example`;
    const one = await accept({ rfcId, ...first });
    const two = await accept({ rfcId, ...second });
    t.equal(two.id === one.id, isOne, what);
    if (isOne) continue;
    const reason = second.headers === undefined ? 'same_id' : 'list';
    t.match(two, {
      status: 'accepted',
      purpose: 'message',
      automatic: true,
      reason,
      body_text: second.text || null,
    });
    t.not(two.message_id, one.message_id);
    t.equal((await accept({ rfcId, ...second })).id, two.id, 'each is known again');
    t.equal((await accept({ rfcId, ...first })).id, one.id);
    const third = await accept({ rfcId, text: `${second.text} Another one.` });
    t.equal(new Set([one.id, two.id, third.id]).size, 3);
    const answer = { ...answering(one), text: `An answer with the id of ${what}.` };
    t.match(await accept({ rfcId, ...answer }), { automatic: true, conversation_id: one.conversation_id });
  }
  const [before, after] = [house.arrivalOf({ text: 'It took too long.' }), house.arrivalOf()];
  const again = { ...after, source: before.source, mail: { ...before.mail, text: 'What it says.' } };
  t.equal((await house.acceptArrival(again)).id, (await house.acceptArrival(before)).id, 'the same bytes');
});

t.test('of two texts under one Message-ID at once, each is a message', async (t) => {
  for (let n = 0; n < 20; n++) {
    const rfcId = `at-once-${n}@senders.example`;
    const mails = ['A', 'B', 'C', 'A', 'B'].map((text) => house.arrivalOf({ rfcId, text }));
    const rows = await Promise.all(mails.map((arrival) => house.acceptArrival(arrival)));
    const texts = new Map(rows.map(({ id, body_text }) => [id, body_text]));
    t.strictSame([...texts.values()].sort(), ['A', 'B', 'C']);
    t.strictSame(
      rows.map(({ body_text }) => body_text),
      ['A', 'B', 'C', 'A', 'B'],
    );
    t.equal(rows.filter(({ automatic }) => !automatic).length >= 1, true);
    t.equal(new Set(rows.map(({ message_id }) => message_id)).size, 3);
  }
});
