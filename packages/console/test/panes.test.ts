/** What the panes of the console work out without a page. */

import './english.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Email } from '@parley/protocol/resources/email.ts';
import type { Me } from '@parley/protocol/resources/me.ts';
import { jsonText } from '@parley/ui/data/json-text.ts';
import { costText, durationText } from '@parley/ui/text/amounts.ts';
import t from 'tap';
import { excerptOf } from '../details/excerpt.ts';
import { rightsOf } from '../details/rights.ts';
import { holdChangeOf } from '../holds/hold-change.ts';
import { hasRemotePictures, withPictures } from '../mail/mail-pictures.ts';
import { hasTable } from '../mail/mail-table.ts';
import { bareSubject, whyOf } from '../mail/mail-words.ts';
import { toneOf } from '../runs/run-words.ts';
import { hasLongNumber, splitArguments } from '../runs/split-arguments.ts';

t.test('rights follow from the role in the conversation and in the account', async (t) => {
  const of = (role: string | null, account = 'user', permissions = ['messaging:update'], type = 'group') => {
    const me = { actor: { id: 'act_1' }, role: { type: account }, permissions } as unknown as Me;
    const others = [{ id: 'prt_2', actor_id: 'act_2', type: 'user', role: 'member' }];
    const own = role === null ? [] : [{ id: 'prt_1', actor_id: 'act_1', type: 'user', role }];
    const rights = rightsOf(me, { type, participants: [...own, ...others] } as unknown as Conversation);
    const { mayWrite, mayManage, mayArchive, mayOwn, mayLeave } = rights;
    return Object.entries({ mayWrite, mayManage, mayArchive, mayOwn, mayLeave })
      .flatMap(([name, may]) => (may ? name.slice(3) : []))
      .join(' ');
  };
  t.equal(of('owner'), 'Write Manage Archive Own', 'the last owner stays');
  t.equal(of('admin'), 'Write Manage Archive Leave');
  t.equal(of('member'), 'Write Leave');
  t.equal(of('viewer'), 'Leave');
  t.equal(of('owner', 'user', []), '', 'the role in the account bounds it');
  t.equal(of(null, 'admin'), 'Write Manage Archive Own');
  t.equal(of('viewer', 'admin'), 'Leave');
  t.equal(of('member', 'user', ['messaging:update'], 'direct_message'), 'Write Archive');
});

t.test('a mail: subjects and reasons', async (t) => {
  t.equal(bareSubject('Re: AW: fwd: Where is my order?'), 'Where is my order?');
  t.equal(bareSubject('Regarding re: this'), 'Regarding re: this');
  const mail = { status: 'bounced', reason: 'rejected', next_try_at: null } as Email;
  const recipients = [{ address: 'a@example.net', kind: 'to', status: 'bounced', code: '5.1.1' }] as const;
  t.equal(whyOf({ ...mail, recipients: [...recipients] }), 'the server of the recipient refused it, 5.1.1');
  t.equal(whyOf({ ...mail, reason: 'new_reason', recipients: [] }), 'new reason');
});

t.test('pictures of a mail: those of the mail at once, those of others when asked for', async (t) => {
  const html =
    '<p title=" data-remote-src=&quot;t&quot;"> data-remote-src="text" data-attachment="0"</p>' +
    '<img alt="a" data-attachment="1" /><img data-attachment="7" /><img data-remote-src="https://x.example/?a=1&amp;b=2" />';
  const own = html.replace('data-attachment="1"', 'src="/f?a=1&amp;n=&quot;"');
  t.ok(hasRemotePictures(html));
  t.equal(withPictures(html, [null, '/f?a=1&n="'], false), own);
  t.equal(withPictures(html, [null, '/f?a=1&n="'], true), own.replace('<img data-remote-src', '<img src'));
  const text = '<p> data-remote-src="text" data-attachment="0"</p>';
  t.notOk(hasRemotePictures(text));
  t.equal(withPictures(text, ['/f'], true), text);
});

t.test('an excerpt is one line', async (t) => {
  const of = (body: string | null, attachments: { filename: string | null }[] | null = null) =>
    excerptOf({ body, attachments, deleted_at: null });
  t.equal(of('One\n\ttwo  three'), 'One two three');
  t.equal([...of('🙂'.repeat(200))].length, 141);
  t.equal(of(' ', [{ filename: 'plan.pdf' }]), 'plan.pdf');
  t.equal(excerptOf({ body: 'x', attachments: null, deleted_at: '2026-01-01T00:00:00Z' }), 'Deleted message');
});

t.test('a change of a hold is read from the audit', async (t) => {
  const event: Omit<AuditEvent, 'details'> = {
    id: 'aud_1',
    object: 'audit_event',
    conversation_id: 'cnv_1',
    actor: null,
    action: 'conversation.legal_hold_set',
    created_at: '2026-01-01T00:00:00Z',
  };
  const details = { from: 'released', to: 'held', reason: 'Case 12' };
  const change = { id: 'aud_1', isHeld: true, by: null, at: event.created_at, reason: 'Case 12' };
  t.strictSame(holdChangeOf({ ...event, details }), change);
  t.strictSame(holdChangeOf({ ...event, details: { to: 'released' } }), {
    ...change,
    isHeld: false,
    reason: null,
  });
  t.equal(holdChangeOf({ ...event, action: 'conversation.renamed', details }), null);
});

t.test('costs, times and states of runs', async (t) => {
  t.equal(costText(0.000016), '$0.000016');
  t.equal(durationText(940), '940 ms');
  t.equal(durationText(4_541), '4.5 s');
  t.equal(durationText(125_000), '2 min 5 s');
  t.strictSame(['completed', 'failed', 'running', 'cancelled'].map(toneOf), ['good', 'bad', 'busy', 'quiet']);
});

t.test('arguments are shown exactly, and nothing in them is hidden', async (t) => {
  const value = {
    name: 'a\u202egpj.exe',
    note: 'two\nlines\u200b',
    flag: '\u{e0041}',
    n: 1.5,
    list: [null, true],
  };
  const text = jsonText(value);
  t.strictSame(JSON.parse(text), value);
  t.match(text, 'a\\u202egpj.exe');
  t.match(text, '\\u200b');
  t.match(text, '\\udb40\\udc41');
  t.equal(jsonText(undefined), 'null');
});

t.test('arguments of a call: texts to read, and the rest', async (t) => {
  const text = '# Summary\n\nAll is well.';
  t.strictSame(splitArguments({ body: { content: text, to: 7 }, path: 'a' }), {
    texts: [{ name: 'content', text }],
    rest: { body: { to: 7 }, path: 'a' },
  });
  t.strictSame(splitArguments({ content: text }), { texts: [{ name: 'content', text }], rest: undefined });
  const hidden = { content: `${text}\u202e`, list: [text] };
  t.strictSame(splitArguments(hidden), { texts: [], rest: hidden }, 'what cannot be seen stays JSON');
  t.strictSame(splitArguments('a\nb'), { texts: [], rest: 'a\nb' });
  t.ok(hasLongNumber({ at: [{ amount: 2 ** 53 + 2 }] }));
  t.notOk(hasLongNumber({ amount: 9007199254740991, share: 0.5, id: '9007199254740993' }));
});

t.test('a mail has a table of data where it has heads', async (t) => {
  t.ok(hasTable('<table><tr><TH scope="row">Order</TH></tr></table>'));
  t.notOk(hasTable('<thead><table><tr><td>Order</td></tr></table>'));
});
