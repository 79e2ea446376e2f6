/** The marks of an outgoing mail: its Message-ID, its return path, its subject. */

import { derivedId, newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { makeBounceAddress, readBounceAddress } from '../../src/features/mail/outgoing/bounce-address.ts';
import { makeMessageId, readMessageId } from '../../src/features/mail/outgoing/message-ids.ts';
import { SEND_TIMES } from '../../src/features/mail/outgoing/send-times.ts';
import { replySubject, withoutPrefixes } from '../../src/features/mail/outgoing/subject.ts';
import { delayAfter } from '../../src/platform/backoff.ts';

const KEY = 'key of these tests';
const mailId = derivedId('mail', 'msg_1');
const conversationId = newId('conversation');

t.test('a Message-ID names its conversation and its mail, and nobody else can make one', async (t) => {
  const id = makeMessageId(KEY, { conversationId, mailId }, 'Example.com');
  t.match(id, /^c\.cnv_[0-9A-Za-z]{24}\.[0-9a-f]{24}\.[0-9a-f]{16}@example\.com$/);
  for (const text of [id, `<${id}>`, ` <${id}> `, id.replace('@example.com', '@relay.example')]) {
    t.strictSame(readMessageId(KEY, text), { conversationId, mailId }, text);
  }
  t.strictSame(readMessageId(KEY, id.toUpperCase())?.mailId, mailId, 'also where a server changes its case');
  const other = makeMessageId(KEY, { conversationId: newId('conversation'), mailId }, 'example.com');
  for (const text of [
    id.replace(/.@/, '!@'),
    id.replace(/^c\.[^.]+/, other.match(/^c\.[^.]+/)![0]),
    `x${id}`,
    '',
    makeMessageId('another key', { conversationId, mailId }, 'example.com'),
    'abc@example.com',
  ]) {
    t.equal(readMessageId(KEY, text), undefined, text);
  }
});

t.test('a return path names its mail and its inbox', async (t) => {
  const address = makeBounceAddress(KEY, mailId, 'Support@Example.com');
  t.match(address, /^support\+b-[0-9a-f]{24}-[0-9a-f]{16}@example\.com$/);
  const read = { mailId, mailboxAddress: 'support@example.com' };
  for (const text of [address, `<${address.toUpperCase()}>`]) {
    t.strictSame(readBounceAddress(KEY, text), read, text);
  }
  t.strictSame(
    readBounceAddress(KEY, makeBounceAddress(KEY, mailId, 'a+b@example.com'))?.mailboxAddress,
    'a+b@example.com',
  );
  const other = makeBounceAddress(KEY, derivedId('mail', 'msg_2'), 'support@example.com');
  for (const text of [
    'support@example.com',
    'support+b-1@example.com',
    address.replace(/-[^-]+@/, '-0123456789abcdef@'),
    address.replace(/b-[^-]+/, other.match(/b-[^-]+/)![0]),
    makeBounceAddress('other', mailId, 'a@b.c'),
  ]) {
    t.equal(readBounceAddress(KEY, text), undefined, text);
  }
  const long = `${'x'.repeat(21)}@example.com`;
  t.equal(makeBounceAddress(KEY, mailId, long), long, 'no local part is longer than 64 characters');
});

t.test('tries go on for five days, with pauses that grow', async (t) => {
  const { retries } = SEND_TIMES;
  const hours = Array.from({ length: 27 }, (_, tries) => (delayAfter(retries, tries + 1) ?? 0) / 3_600_000);
  const total = hours.reduce((sum, one) => sum + one, 0);
  t.ok(total > 5 * 24 && total < 5.3 * 24, `${total} hours`);
  t.ok(hours[0]! * 60 >= 1 && hours[0]! * 60 <= 1.06, 'the first after a minute');
  t.equal(delayAfter(retries, 27), null);
});

t.test('the subject: `Re:` once, on one line', async (t) => {
  const none = { subject: null, thread_subject: null, title: null, account_name: 'Acme', answers: null };
  const subject = (facts: object) =>
    replySubject({ ...none, ...facts } as Parameters<typeof replySubject>[0]);
  const answers = 'x@example.com';
  t.equal(subject({}), 'Your message to Acme');
  t.equal(subject({ title: 'Broken lamp' }), 'Broken lamp');
  t.equal(subject({ title: 'Broken lamp', thread_subject: 'Lamp', answers }), 'Re: Lamp');
  t.equal(subject({ subject: 'New lamp', thread_subject: 'Lamp', answers }), 'New lamp', 'the own subject');
  t.equal(subject({ subject: 'Re: AW: Lamp', thread_subject: 'Lamp', answers }), 'Re: Lamp');
  t.equal(subject({ subject: 'Lamp', thread_subject: 'Lamp', answers }), 'Re: Lamp');
  t.equal(subject({ subject: 'a\r\nBcc: b@example.com\u2028c', answers }), 'a Bcc: b@example.com c');
  t.equal(withoutPrefixes('RE[2]: Antw: Re : Fwd: x'), 'Fwd: x');
  t.equal(withoutPrefixes('Reply: x'), 'Reply: x');
  t.equal([...withoutPrefixes('🙂'.repeat(300))].length, 250);
});
