import type { List } from '@parley/protocol/lists.ts';
import { MESSAGE_LIMITS } from '@parley/protocol/resources/chat-message.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t, { type Test } from 'tap';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import type { NewParticipant } from '../../src/core/conversations/rows/participant-store.ts';
import { mentionedNames } from '../../src/core/messages/rules/mentioned-names.ts';
import { borrowTestApp, refusalOf } from '../support/app.ts';
import { until } from '../support/until.ts';
import { Cases, message, user } from './cases.ts';

t.test('the names in a text', async (t) => {
  const texts: [text: string, names: string[]][] = [
    ['@grace', ['grace']],
    ['Hi @Grace, ask @ADA.LOVELACE!', ['grace', 'ada.lovelace']],
    ["(@grace) [@ada], «@vera»: @linus's; **@tim** _@kim_", ['grace', 'ada', 'vera', 'linus', 'tim', 'kim']],
    ['@grace @grace @GRACE', ['grace']],
    ['@night-shift… @a_b+c, @müller', ['night-shift', 'a_b+c', 'müller']],
    ['@@grace', ['grace']],
    ['nothing, @ nobody, a@', []],
    ['mail grace@example.org or <a.b-@example.org>', []],
    ['@grace@example.org is elsewhere', []],
    ['https://example.org/@grace?x=@ada and www.example.org/@vera, example.org/@tim', []],
    ['npm i @scope/name, then (https://x.example/@grace) @ada', ['scope/name', 'ada']],
    ['`@grace` and ``a ` @ada``, not `@vera', ['vera']],
    ['```\n@grace\n```\n@ada\n~~~~ text\n@vera\n~~~\n@tim\n~~~~\n@kim', ['ada', 'kim']],
    ['```\n@grace never closed\n@ada', []],
    ['a ```@grace``` b', []],
    ['```@grace``` starts a line @ada', ['ada']],
    ['\r\n```js\r\n@grace\r\n```\r\n@ada', ['ada']],
    ['> @grace\n>> @ada\n > @vera\n@tim what do you think?', ['tim']],
    ['- > @grace\n- a\n  > @ada\n\n  @vera', ['vera']],
    ['    @grace\n\t@ada\n\nThen\n    @vera\n\n    @tim', ['vera']],
    ['- a\n\n    @grace\n\n          @ada', ['grace']],
    ['<pre>@grace</pre> <code>@ada</code> <b>@vera</b>', ['vera']],
    ['<PRE>\n@grace\n\n@ada\n</PRE>\n@vera <pre> @tim', ['vera', 'tim']],
    ['<blockquote>\n@grace\n</blockquote>\n<kbd>@ada</kbd>', []],
    ['\\@grace \\\\@ada @vera\\_x', ['ada', 'vera_x']],
    ['[@grace](https://x.example) [ask @ada][1] ![@vera](https://x.example)\n\n[1]: https://x.example', []],
    ['[**@grace**](mailto:x@x.example) <https://x.example/@ada> [@tim], [@kim](here)', ['tim', 'kim']],
    ['# @grace\n| @ada | `@vera` |\n|---|---|\n| ~~@tim~~ | *@kim* |', ['grace', 'ada', 'tim', 'kim']],
    ['see https://x.example/a。@grace', ['grace']],
  ];
  for (const [text, names] of texts) t.strictSame([...mentionedNames(text)], names, JSON.stringify(text));
});

t.test('no text takes long to look through', async (t) => {
  const most = MESSAGE_LIMITS.bodyCharacters;
  const hostile = [
    '@',
    '@a',
    '@a.',
    'a.',
    '._',
    '`',
    '``a`',
    '`@ ``@ ```@ ',
    'a://',
    'www.',
    '```\n',
    '~~~\n',
    '@a-!',
    '> @a\n',
    '[@a](',
    '**_@a',
    '<pre>@',
    '|@',
    'http://@a/((',
  ].map((piece) => `${piece.repeat(most / piece.length)}@`);
  // Runs of backticks that are all of different lengths.
  hostile.push(Array.from({ length: 280 }, (_, n) => '`'.repeat(n + 1)).join('@'));
  for (const text of hostile) mentionedNames(text);
  const before = process.cpuUsage();
  for (const text of hostile) mentionedNames(text);
  const { user: microseconds } = process.cpuUsage(before);
  t.ok(microseconds < hostile.length * 1_000_000, `${microseconds} µs of processor time`);
});

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const { group } = demo.conversations;
const asAda = { token: ada.access_token };
const cases = new Cases(app);

t.test('an @ mentions participants, as a list does', async (t) => {
  const by = asAda;
  const names = [nameOf(grace.email), nameOf(vera.email).toUpperCase()];
  const sent = await cases.sent(group, { body: `@${names[0]}, @${names[1]}: look` }, by);
  t.strictSame(await mentionsOf(sent.id), [grace.id, vera.id]);
  const listed = await cases.sent(group, { body: `@${names[0]} look`, mentions: [vera.id, grace.id] }, by);
  t.strictSame(await mentionsOf(listed.id), [vera.id, grace.id], 'the listed ones first, each once');
  const nobody = await cases.sent(group, { body: `\`@${names[0]}\` ${grace.email} @nobody @linus` }, by);
  t.equal(await mentionsOf(nobody.id), null);
  for (const version of ['1.0.harbor', '1.1.harbor']) {
    const old = await cases.sent(
      group,
      { body: `@${names[0]}` },
      { ...by, headers: { 'Service-Version': version } },
    );
    t.strictSame(await mentionsOf(old.id), [grace.id], version);
  }
  const resent = await cases.sent(
    group,
    { body: `@${names[1]}`, client_message_id: sent.client_message_id },
    by,
  );
  t.strictSame(
    [resent.id, await mentionsOf(resent.id)],
    [sent.id, [grace.id, vera.id]],
    'a resend changes nothing',
  );
});

t.test('a mention in the text pierces the mute', async (t) => {
  const id = await cases.conversation('internal');
  await database.kysely
    .updateTable('participants')
    .set({ notifications: 'muted' })
    .where('conversation_id', '=', id)
    .where('actor_id', '=', grace.id)
    .execute();
  await cases.sent(id, { body: 'ahoy all' }, asAda);
  await cases.sent(id, { body: `ahoy @${nameOf(grace.email)}` }, asAda);
  const told = await until(
    async () => {
      const { data } = await feedOf(grace.access_token);
      return data.find(({ category, body }) => category === 'chat.mention' && body?.startsWith('ahoy @'));
    },
    { what: 'the mention' },
  );
  t.match(told, { title: 'Ada Lovelace mentioned you in Pier' });
  t.notOk((await feedOf(grace.access_token)).data.some(({ body }) => body === 'ahoy all'));
});

t.test('a name that two participants have mentions none of them, a slug wins', async (t) => {
  const [twin, namesake] = [
    await newUser('Twin', 'grace@elsewhere.example'),
    await newUser('Bot', 'assistant@demo.example'),
  ];
  const id = await cases.conversation('internal', user(twin), user(namesake), AGENT);
  const both = await cases.sent(id, { body: '@grace and @assistant' }, asAda);
  t.strictSame(await mentionsOf(both.id), [demo.agent.actor_id]);
  const alone = await cases.conversation('internal', user(namesake));
  t.strictSame(await mentionsOf((await cases.sent(alone, { body: '@grace, @assistant' }, asAda)).id), [
    grace.id,
    namesake,
  ]);
});

t.test('the text of a customer mentions no actor, and a text mentions no customer', async (t) => {
  const { id, customerToken, customerId } = await cases.open(AGENT);
  await database.kysely
    .updateTable('actors')
    .set({ handle: 'cleo@example.net' })
    .where('id', '=', customerId)
    .execute();
  const asked = await cases.sent(id, { body: '@grace @assistant help' }, { token: customerToken });
  t.equal(await mentionsOf(asked.id), null);
  const reply = await cases.sent(id, { audience: 'customer', body: '@cleo: @grace will see' }, asAda);
  t.strictSame(await mentionsOf(reply.id), [grace.id]);
});

t.test('at most fifty: a longer list is refused, further names in the text are ignored', async (t) => {
  const ids: string[] = [];
  for (let n = 0; n < 51; n++) ids.push(await newUser(`Crew ${n}`, `crew${n}@demo.example`));
  const id = await cases.conversation('internal', ...ids.map((crew) => user(crew)));
  const everybody = ids.map((_, n) => `@crew${n}`).join(' ');
  t.strictSame(await mentionsOf((await cases.sent(id, { body: everybody }, asAda)).id), ids.slice(0, 50));
  const listed = await cases.sent(id, { body: everybody, mentions: [grace.id, ...ids.slice(40)] }, asAda);
  const found = await mentionsOf(listed.id);
  t.strictSame(found, [grace.id, ...ids.slice(40), ...ids.slice(0, 38)]);
  const tooMany = await cases.send(id, { body: 'x', mentions: ids }, asAda);
  t.equal(refusalOf(tooMany), '422 validation_failed mentions');
});

t.test('drafts and schedules: found when composed, and when edited before they are sent', async (t) => {
  const { id } = await cases.open();
  const scheduled = await cases.sent(id, { body: '@ada', scheduled_at: '2027-01-01T00:00:00Z' });
  const draft = await cases.draft(id, { body: '@ada', mentions: [grace.id] });
  t.strictSame([await mentionsOf(scheduled.id), await mentionsOf(draft.id)], [[ada.id], [grace.id, ada.id]]);
  await edit(t, scheduled.id, 'now @grace too');
  t.strictSame(await mentionsOf(scheduled.id), [ada.id, grace.id], 'what was mentioned stays');
  const sent = await cases.sent(id, { body: 'plain' });
  await edit(t, sent.id, '@ada');
  t.equal(await mentionsOf(sent.id), null, 'the edit of a sent message mentions nobody');
});

t.test('a text that is forwarded mentions no participant, nor does an edit that keeps it', async (t) => {
  const { id } = await cases.open();
  const original = await cases.sent(id, { body: 'ask @assistant or @grace' });
  const path = `/v1/messaging/messages/${original.id}/actions/forward`;
  const words = { conversation_id: group, client_message_id: 'forwarded', body: 'for @vera' };
  const newest = { ...asAda, headers: { 'Service-Version': NEWEST_VERSION } };
  const copy = message(await app.call('POST', path, { ...newest, body: words }), 201);
  t.equal(copy.body, 'for @vera\n\nask @assistant or @grace');
  t.strictSame(await mentionsOf(copy.id), [vera.id]);
  const edited = async (fields: object) => {
    const edit = { ...newest, body: fields };
    message(await app.call('PATCH', `/v1/messaging/messages/${copy.id}`, edit), 200);
    return mentionsOf(copy.id);
  };
  t.strictSame(await edited({ mentions: [] }), [vera.id], 'the own words do');
  t.equal(await edited({ mentions: [], body: 'ask @assistant or @grace' }), null);
  t.strictSame(await edited({ mentions: [grace.id] }), [grace.id], 'unless it is listed');
  t.strictSame(await edited({ mentions: [], body: '> @assistant\n@vera' }), [vera.id], 'or written');
  t.equal(await edited({ mentions: [], body: '> @assistant\n`@vera`' }), null);
});

t.test('"@assistant how are you?" is answered; what agents write mentions people alone', async (t) => {
  const { id: question } = await cases.sent(group, { body: `@assistant how are you, ask @grace?` }, asAda);
  t.strictSame(await mentionsOf(question), [demo.agent.actor_id, grace.id]);
  const answer = await until(
    () =>
      database.kysely
        .selectFrom('messages')
        .selectAll()
        .where('conversation_id', '=', group)
        .where('author_id', '=', demo.agent.actor_id)
        .where('streaming_state', '=', 'complete')
        .executeTakeFirst(),
    { what: 'the answer' },
  );
  t.match(answer.body, /backwards: @grace\? ask you, are how @assistant/);
  t.strictSame(answer.mentions, [grace.id]);
  const byAgent = await cases.sent(
    group,
    { body: '@assistant @ada' },
    { token: await app.tokenOf(demo.agent.actor_id) },
  );
  t.strictSame(await mentionsOf(byAgent.id), [ada.id]);
});

const AGENT: NewParticipant = { type: 'agent', actorId: demo.agent.actor_id, triggerPolicy: 'mention' };

async function mentionsOf(id: string): Promise<readonly string[] | null> {
  const { mentions } = await database.kysely
    .selectFrom('messages')
    .select('mentions')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return mentions;
}

async function newUser(name: string, email: string): Promise<string> {
  const { role_id } = await database.kysely
    .selectFrom('actors')
    .select('role_id')
    .where('id', '=', grace.id)
    .executeTakeFirstOrThrow();
  const { user: created } = await database.transaction((tx) =>
    createUser(tx, { accountId: demo.account_id, name, email, roleId: role_id! }),
  );
  return created.id;
}

async function feedOf(token: string): Promise<List<Notification>> {
  return (await app.call<List<Notification>>('GET', '/v1/messaging/notifications?limit=50', { token })).body;
}

async function edit(t: Test, id: string, body: string): Promise<void> {
  const answer = await app.call('PATCH', `/v1/messaging/messages/${id}`, {
    token: grace.access_token,
    body: { body },
  });
  t.equal(message(answer, 200).body, body);
}

function nameOf(email: string): string {
  return email.split('@')[0]!;
}
