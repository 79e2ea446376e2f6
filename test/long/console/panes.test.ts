/**
 * The panes beside and inside a conversation of the console, in a real browser.
 *
 * Without influence: OPERATION, ASIDE, packages/client/ai, src/core/installation,
 * packages/console/administration, packages/console/installation, src/features/widgets.
 */

import { connect } from '@parley/client';
import { newId } from '@parley/protocol/ids.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { MailReceipt } from '@parley/protocol/resources/email.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import nodemailer from 'nodemailer';
import type { Locator, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { addComplaint, readStopped } from '../../../src/features/mail/complaints/complaint-store.ts';
import { Conversations } from '../../conversations/fixture.ts';
import { signed } from '../../mail/arrivals.ts';
import { type CallOptions, startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, findingsInThemes, findingsOf, inPage } from '../../support/console-page.ts';
import { ModelServer } from '../../support/model-server.ts';
import { until } from '../../support/until.ts';

const SECRET = 'a secret of the mail server';
const models = await ModelServer.start(t);
models.otherwise('As you wish.');
const app = await startTestApp(t, { ...models.env(), PARLEY_MAIL_SECRET: SECRET });
const { demo } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);
const browser = await ConsoleBrowser.start(t, app.baseUrl);

const IS_AT_END = inPage('return element.scrollHeight - element.scrollTop - element.clientHeight <= 8');

t.test('a thread, with two pages', async (t) => {
  const { id } = await group('Pier');
  const { id: root } = await send(id, 'Who takes the late shift?');
  for (let n = 1; n <= 33; n++) await send(id, `Reply ${n}`, { reply_to_message_id: root });
  const path = `c/${id}?pane=thread:${root}`;
  const [adas, graces] = [await browser.open('ada', path), await browser.open('grace', path)];
  const [left, right] = [pane(adas, 'Thread'), pane(graces, 'Thread')];
  for (const one of [left, right]) {
    await one.getByText('33 replies').waitFor();
    await one.getByText('Who takes the late shift?').first().waitFor();
    await one.getByText('Reply 33', { exact: true }).waitFor();
  }
  t.equal(await left.getByText('Reply 3', { exact: true }).count(), 0);
  await left.getByRole('button', { name: 'Show earlier replies' }).click();
  await left.getByText('Reply 3', { exact: true }).waitFor();
  await left.getByRole('textbox', { name: 'Message' }).fill('I do, gladly.');
  await left.getByRole('textbox', { name: 'Message' }).press('Enter');
  // The reader was at the earlier replies.
  await until(() => left.locator('.thread-pane').evaluate(IS_AT_END), {
    what: 'the end, with the own reply',
  });
  await right.getByText('I do, gladly.').waitFor();
  await right.getByText('34 replies').waitFor();
  await until(
    async () => (await ask<ChatMessage>('GET', `${messagePath(root)}?include[]=thread`)).thread?.unread === 0,
    { what: 'what is shown is read' },
  );
  t.strictSame(await findingsInThemes(adas), []);
  await left.getByRole('button', { name: 'Close the pane' }).click();
  await left.waitFor({ state: 'detached' });
  await end(t, adas, graces);
});

t.test('details: who is here, what is pinned, how far others have read', async (t) => {
  const { id } = await group('Harbour office');
  const { id: pinned } = await send(id, 'Remember the keys.');
  const page = await browser.open('ada', `c/${id}?pane=details`);
  const details = pane(page, 'Details');
  await details.getByText('No message is pinned.').waitFor();
  await ask('POST', `${messagePath(pinned)}/actions/pin`);
  await details.getByText('Pinned by Ada Lovelace').waitFor();
  await details.getByRole('button', { name: 'Unpin' }).click();
  await details.getByText('No message is pinned.').waitFor();

  await details.getByText('Has read nothing yet').waitFor();
  const client = connect({
    url: app.baseUrl,
    account: demo.account_id,
    getToken: async () => grace.access_token,
  });
  t.teardown(() => client.close());
  // A presence that is declared before the conversation is open is seen half a minute later.
  const live = client.conversation(id);
  await live.opened;
  await client.setPresence('online');
  await details.getByText('grace@example.com · online').waitFor();
  await live.markRead();
  await details.getByText('Has read everything').waitFor();

  await details.getByRole('button', { name: 'Change the title' }).click();
  await details.getByRole('textbox', { name: 'Title' }).fill('Office');
  await details.getByRole('button', { name: 'Save' }).click();
  await details.locator('.about-title').getByText('Office', { exact: true }).waitFor();

  const { id: entity } = await ask<{ id: string }>('POST', '/v1/entities', { body: { name: 'Order 4711' } });
  await details.getByRole('button', { name: 'Set the topic' }).click();
  await page.getByRole('button', { name: 'Set Order 4711' }).click();
  await until(async () => (await conversationOf(id)).topic_id === entity, { what: 'the topic' });
  await details.getByRole('button', { name: 'Clear the topic' }).waitFor();
  t.equal((await conversationOf(id)).title, 'Office');

  await details.getByRole('combobox', { name: 'Notifications of this conversation' }).selectOption('24');
  await until(async () => (await own(id)).notifications === 'muted' && (await own(id)).muted_until, {
    what: 'muted for a day',
  });
  t.strictSame(await findingsInThemes(page), []);
  await end(t, page);
});

t.test('members are added, changed and removed, and see it', async (t) => {
  const { id } = await group('Roster');
  const page = await browser.open('ada', `c/${id}?pane=details`);
  const details = pane(page, 'Details');
  await details.getByRole('button', { name: 'Add a member' }).click();
  await page.getByRole('searchbox').fill('vera');
  await page.getByRole('button', { name: 'Add Vera Rubin' }).click();
  await details.getByRole('combobox', { name: 'Role of Vera Rubin' }).selectOption('viewer');
  const roleOf = async (actorId: string) =>
    (await membersOf(id)).find(({ actor_id }) => actor_id === actorId)?.role;
  await until(async () => (await roleOf(vera.id)) === 'viewer', { what: 'the role' });
  await details.getByRole('button', { name: 'Remove Vera Rubin' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await details.locator('.member', { hasText: 'Vera Rubin' }).waitFor({ state: 'detached' });
  t.equal(await roleOf(vera.id), undefined);
  t.equal(await details.getByRole('button', { name: 'Leave' }).count(), 0, 'the last owner stays');
  await end(t, page);
});

t.test('what a member and a viewer may not do is not offered', async (t) => {
  const { id } = await group('Watched', [{ type: 'user', actor_id: vera.id, role: 'viewer' }]);
  models.reply({ calls: [summary('summary.md')] });
  await send(id, '@assistant Create a summary.', { token: grace.access_token });
  const graces = await browser.open('grace', `c/${id}?pane=details`);
  const veras = await openWith(vera.access_token, `c/${id}?pane=details`);
  const offered = async (page: Page) => {
    await pane(page, 'Details').getByRole('heading', { name: 'Legal hold' }).waitFor();
    return pane(page, 'Details')
      .getByRole('button')
      .evaluateAll((all) => (all as unknown as Button[]).map((one) => one.ariaLabel ?? one.textContent));
  };
  t.strictSame(await offered(graces), [
    'Close the pane',
    'Set the topic',
    'Put on hold',
    'Hide until the next message',
    'Leave',
  ]);
  t.strictSame(await offered(veras), ['Close the pane', 'Hide until the next message', 'Leave']);
  await graces.getByRole('region', { name: 'Approval of create_artifact' }).waitFor();
  t.equal(await veras.getByRole('region', { name: 'Approval of create_artifact' }).count(), 0);
  await graces.getByRole('button', { name: 'Reject' }).click();
  await answer(graces).waitFor();
  await end(t, graces, veras);
});

t.test('a run is shown as it writes, and stopped', async (t) => {
  const { id } = await group('Slow answer');
  const { promise, resolve } = Promise.withResolvers<void>();
  models.reply({ text: ['Once ', 'upon ', 'a **time** ', 'never'], hold: { at: 3, until: promise } });
  const page = await browser.open('grace', `c/${id}`);
  const other = await browser.open('ada', `c/${id}`);
  await send(id, '@assistant Say hello.', { token: grace.access_token });
  for (const one of [page, other]) await one.getByText('Writing…', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Show the run' }).click();
  const run = pane(page, 'Run');
  await run.getByText('Once upon a').waitFor();
  t.equal(await run.locator('.run-answer strong').textContent(), 'time');
  await other.getByRole('button', { name: 'Stop' }).click();
  await run.getByText('Stopped').first().waitFor();
  await page.getByText('Writing…', { exact: true }).waitFor({ state: 'detached' });
  t.equal(await run.getByRole('button', { name: 'Stop' }).count(), 0);
  resolve();
  t.strictSame(await findingsInThemes(page), []);
  await end(t, page, other);
});

t.test('an approval, by two pages at once', async (t) => {
  const { id } = await group('Approvals');
  const pages = [await browser.open('grace', `c/${id}`), await browser.open('ada', `c/${id}`)];
  models.reply({ calls: [summary('a\u202egpj.md')] });
  await send(id, '@assistant Create a summary.', { token: grace.access_token });
  const cards = pages.map((page) => page.getByRole('region', { name: 'Approval of create_artifact' }));
  for (const card of cards) await card.waitFor();
  const args = summary('a\u202egpj.md').arguments;
  t.match(await cards[0]!.locator('.arguments').textContent(), /Summary/, 'a text as it will be read');
  await cards[0]!.getByText('Exactly, as JSON').click();
  const exact = cards[0]!.locator('.arguments-exact pre');
  await exact.waitFor();
  t.strictSame(JSON.parse((await exact.textContent())!), args, 'exactly');
  for (const shown of await cards[1]!.locator('pre').allTextContents()) {
    t.match(shown, /a\\u202egpj\.md/, 'what is hidden is an escape');
  }
  t.strictSame(await findingsOf(pages[1]!), []);
  const buttons = await Promise.all(
    cards.map((card) => card.getByRole('button', { name: 'Approve' }).elementHandle()),
  );
  await Promise.all(buttons.map((button) => button!.evaluate((it) => (it as unknown as Button).click())));
  for (const card of cards) await card.waitFor({ state: 'detached' });
  for (const page of pages) {
    t.equal(await page.getByRole('alert').count(), 0, 'the second decision is no error');
    await answer(page).waitFor();
  }
  // The browser notes the refusal of the second one by itself.
  t.strictSame(
    browser.problems.splice(0).filter((text) => !text.includes('status of 409')),
    [],
  );

  models.reply({ calls: [summary('again.md')] });
  await send(id, '@assistant Create a summary.', { token: grace.access_token });
  for (const card of cards) await card.waitFor();
  await cards[1]!.getByRole('textbox', { name: 'Reason' }).fill('One is enough.');
  await cards[1]!.getByRole('button', { name: 'Reject' }).click();
  for (const card of cards) await card.waitFor({ state: 'detached' });
  await answer(pages[0]!).nth(1).waitFor();
  await pages[0]!.getByText('Steps').nth(1).click();
  await pages[0]!.getByRole('link', { name: 'Show the run' }).click();
  const run = pane(pages[0]!, 'Run');
  await run.locator('summary', { hasText: 'create_artifact' }).click();
  await run.getByText('Rejected by Ada Lovelace: One is enough.').waitFor();
  t.strictSame(await findingsInThemes(pages[0]!), []);
  await end(t, ...pages);
});

t.test('a mail: subject, ways, quotes, and why it was not sent', async (t) => {
  const { message } = await nodemailer.createTransport({ streamTransport: true, buffer: true }).sendMail({
    from: 'Cleo <cleo@customers.example>',
    to: demo.inbox.address,
    cc: 'Bo <bo@customers.example>',
    subject: 'Where is my order?',
    messageId: '<order-1@customers.example>',
    inReplyTo: '<order-0@harbor.example>',
    text: 'It has not come.\n\nOn 2 Nov 2026 at 10:00, support wrote:\n> It is on its way.\n\n-- \nCleo, Cellist\n',
  });
  const raw = message as Buffer;
  const { body } = await app.call<MailReceipt>('POST', '/v1/mail/inbound', {
    rawBody: new Uint8Array(raw),
    headers: {
      Authorization: undefined,
      'Service-Version': undefined,
      'Service-Account': undefined,
      'Content-Type': 'message/rfc822',
      'Parley-Signature': signed(raw, SECRET),
    },
  });
  const id = body.mails[0]!.conversation_id!;
  const { id: reply } = await send(id, 'We look for it.', { audience: 'customer' });
  const page = await browser.open('ada', `c/${id}`);
  const [first, second] = [page.locator('.mail-parts').nth(0), page.locator('.mail-parts').nth(1)];
  await first.getByText('Where is my order?').waitFor();
  await first.getByText('From Cleo <cleo@customers.example>').waitFor();
  await first.getByText(`to ${demo.inbox.address}`).waitFor();
  await first.getByText('copy to bo@customers.example').waitFor();
  t.equal(await page.getByText('It is on its way.').count(), 0, 'folded');
  await first.getByRole('button', { name: 'Show the rest of the mail' }).click();
  await first.getByText('Cleo, Cellist').waitFor();
  const original = await first.getByRole('link', { name: 'The mail as it came' }).getAttribute('href');
  t.match(await (await fetch(original!)).text(), 'Cellist');
  await second.getByText('to cleo@customers.example').waitFor();
  await second.getByText('no mail server is configured').waitFor();
  t.equal(await second.locator('.mail-subject').count(), 0, 'the subject is the same');

  // A report of another server, as the database has it after one.
  const recipients = [{ address: 'cleo@customers.example', kind: 'to', status: 'bounced', code: '5.1.1' }];
  await app.database.pool.query(
    "UPDATE mails SET status = 'bounced', reason = 'rejected', recipients = $2, next_try_at = NULL WHERE message_id = $1",
    [reply, JSON.stringify(recipients)],
  );
  await app.database.pool.query("UPDATE messages SET email_status = 'bounced' WHERE id = $1", [reply]);
  await page.reload();
  await second.getByText('Came back').waitFor();
  await second.getByText('cleo@customers.example (5.1.1)').waitFor();
  await second.getByRole('button', { name: 'Send again' }).click();
  await second.getByText('Came back').waitFor({ state: 'detached' });
  t.strictSame(await findingsInThemes(page), []);

  // An answer in a chat, which was mailed because it stayed unread.
  const { conversation: chat } = await conversations.createCase({ title: 'Cleo in the chat' });
  const { id: answer } = await send(chat.id, 'It is here.', { audience: 'customer' });
  await app.database.pool.query("UPDATE messages SET email_status = 'bounced' WHERE id = $1", [answer]);
  await app.database.pool.query(
    `INSERT INTO mails (id, account_id, direction, purpose, conversation_id, message_id, rfc_id, status, reason, recipients)
      SELECT $2, account_id, direction, purpose, $3, $4, $2, 'bounced', 'rejected', $5 FROM mails WHERE message_id = $1`,
    [reply, newId('mail'), chat.id, answer, JSON.stringify(recipients)],
  );
  await page.goto(`${app.baseUrl}/console/c/${chat.id}`);
  await page.locator('.mail-parts', { hasText: 'It is here.' }).getByText('Came back').waitFor();
  await end(t, page);
});

t.test('a customer: its data, blocked and unblocked; who owns the case', async (t) => {
  const { conversation } = await conversations.createCase({ title: 'Cleo waits' });
  const { actor_id } = (await membersOf(conversation.id)).find(({ type }) => type === 'customer')!;
  await ask('PATCH', `/v1/customers/${actor_id}`, {
    token: demo.api_key,
    body: { external_id: 'crm-77', metadata: { public_tier: 'gold', score: '7' } },
  });
  const page = await browser.open('ada', `c/${conversation.id}?pane=details`);
  const details = pane(page, 'Details');
  for (const text of ['crm-77', 'gold', 'shown to the customer']) await details.getByText(text).waitFor();
  await details.getByRole('button', { name: 'Change the assignee' }).click();
  await page.getByRole('combobox', { name: 'Person or group' }).fill('ada');
  await page.getByRole('option', { name: /Ada Lovelace/ }).click();
  await until(async () => (await conversationOf(conversation.id)).assignee_id === ada.id, {
    what: 'the assignee',
  });
  await details.getByRole('button', { name: 'Block', exact: true }).click();
  await details.getByText('The customer can only read.').waitFor();
  await details.getByRole('button', { name: 'Unblock' }).click();
  await details.getByRole('button', { name: 'Block', exact: true }).waitFor();
  await end(t, page);
});

t.test('a customer who has called a mail spam, for a member and for an admin', async (t) => {
  const email = 'cleo-complains@example.net';
  const { conversation } = await conversations.createCase({
    title: 'Cleo complains',
    participants: [
      { type: 'customer', name: 'Cleo', email },
      { type: 'user', actor_id: grace.id },
    ],
  });
  const complaint = {
    account_id: demo.account_id,
    kind: 'abuse',
    mail_id: 'mai_none',
    conversation_id: null,
  };
  await app.database.transaction((tx) => addComplaint(tx, { ...complaint, address: email }));
  const [admin, member] = await Promise.all(
    (['ada', 'grace'] as const).map((who) => browser.open(who, `c/${conversation.id}?pane=details`)),
  );
  for (const page of [admin!, member!])
    await pane(page, 'Details').getByText('No mail is sent to this address').waitFor();
  const button = (page: Page) => pane(page, 'Details').getByRole('button', { name: 'Send mail again' });
  t.equal(await button(member!).count(), 0);
  t.strictSame(await findingsInThemes(admin!), []);
  await button(admin!).click();
  await pane(admin!, 'Details').getByText('No mail is sent').waitFor({ state: 'detached' });
  const left = await readStopped(app.database, { accountId: demo.account_id, addresses: [email] });
  t.strictSame(left, []);
  await end(t, admin!, member!);
});

t.test('a legal hold, with its trail', async (t) => {
  const { id } = await group('Evidence');
  const page = await browser.open('ada', `c/${id}?pane=details`);
  const other = await browser.open('grace', `c/${id}`);
  const details = pane(page, 'Details');
  const decide = async (button: string, action: string, reason: string) => {
    await details.getByRole('button', { name: button }).click();
    await page.getByRole('dialog').getByRole('textbox').fill(reason);
    await page.getByRole('dialog').getByRole('button', { name: action, exact: true }).click();
  };
  await decide('Put on hold', 'Hold', 'Case 12/2026');
  for (const one of [page, other]) await one.getByText(/Set by Ada Lovelace, .*: Case 12\/2026/).waitFor();
  t.equal(await details.getByRole('button', { name: 'Delete' }).count(), 0);
  t.strictSame(await findingsInThemes(page), []);
  await decide('Release the hold', 'Release', 'Settled');
  await other.getByText(/Set by Ada Lovelace/).waitFor({ state: 'detached' });
  const trail = details.getByRole('list', { name: 'Trail of the legal hold' }).getByRole('listitem');
  await trail.nth(1).waitFor();
  t.match(await trail.allTextContents(), [
    /^Released by Ada Lovelace.*Settled$/,
    /^Held by Ada Lovelace.*Case 12\/2026$/,
  ]);
  await end(t, page, other);
});

t.test('archived, deleted and restored', async (t) => {
  const { id } = await group('Short-lived');
  const page = await browser.open('ada', `c/${id}?pane=details`);
  const details = pane(page, 'Details');
  await details.getByRole('button', { name: 'Archive' }).click();
  await details.getByRole('button', { name: 'Open again' }).click();
  await details.getByRole('button', { name: 'Archive' }).waitFor();
  await details.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await details.getByText('The conversation was deleted.').waitFor();
  await details.getByRole('button', { name: 'Restore' }).click();
  await pane(page, 'Details').locator('.about-title').getByText('Short-lived').waitFor();
  t.equal((await conversationOf(id)).deleted_at, null);
  // The page may read it once more before it knows of its end, which the browser notes by itself.
  t.strictSame(
    browser.problems.splice(0).filter((text) => !text.includes('status of 410')),
    [],
  );
  await end(t, page);

  t.comment('an owner that is no admin of the account, in a page that has not read it before');
  const { id: own } = await conversations.create({ title: 'Hers' }, { token: grace.access_token });
  await ask('DELETE', `/v1/messaging/conversations/${own}`, { token: grace.access_token });
  const graces = await browser.open('grace', `c/${own}?pane=details`);
  await pane(graces, 'Details').getByText('Its owners can restore it.').waitFor();
  browser.problems.length = 0;
  await pane(graces, 'Details').getByRole('button', { name: 'Restore' }).click();
  await pane(graces, 'Details').locator('.about-title').getByText('Hers').waitFor();
  await end(t, graces);
});

/** What the test reads of a button; the types of browsers are not those of tests. */
interface Button {
  readonly ariaLabel: string | null;
  readonly textContent: string;
  click(): void;
}

/** A group of Ada and Grace with the assistant. */
function group(title: string, more: readonly object[] = []) {
  return conversations.create({
    title,
    participants: [
      { type: 'user', actor_id: grace.id },
      { type: 'agent', actor_id: demo.agent.actor_id },
      ...more,
    ],
  });
}

function send(
  id: string,
  body: string,
  { token = demo.api_key, ...fields }: { readonly token?: string } & Readonly<Record<string, unknown>> = {},
): Promise<ChatMessage> {
  return ask('POST', `/v1/messaging/conversations/${id}/messages`, {
    token,
    body: { body, client_message_id: crypto.randomUUID(), ...fields },
  });
}

/** Returns the answer in the newest version; without a token, the caller is Ada. */
function ask<Body>(method: string, path: string, options: CallOptions = {}): Promise<Body> {
  const headers = { 'Service-Version': '1.3.harbor' };
  return conversations.ok<Body>(method, path, { headers, ...options });
}

function conversationOf(id: string): Promise<Conversation> {
  return ask('GET', `/v1/messaging/conversations/${id}?include[]=participants`);
}

async function membersOf(id: string): Promise<readonly Participant[]> {
  return (await conversationOf(id)).participants!;
}

function messagePath(id: string): string {
  return `/v1/messaging/messages/${id}`;
}

async function own(id: string) {
  return (await membersOf(id)).find(({ actor_id }) => actor_id === ada.id)!;
}

function summary(filename: string) {
  return {
    name: 'create_artifact',
    arguments: { filename, content_type: 'text/markdown', content: '# Summary\n' },
  };
}

/** The messages with the answer of the agent. */
function answer(page: Page): Locator {
  return page.locator('.message .markdown', { hasText: 'As you wish.' });
}

function pane(page: Page, name: string): Locator {
  return page.getByRole('complementary', { name });
}

/** Opens a page with a token, as the form for API keys takes it. */
async function openWith(token: string, path: string): Promise<Page> {
  const page = await browser.context.newPage();
  browser.watch(page);
  await page.goto(`${app.baseUrl}/console/${path}`);
  await page.getByText('Use an API key').click();
  await page.getByLabel('Account', { exact: true }).fill(demo.account_id);
  await page.getByLabel('API key', { exact: true }).fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.shell').waitFor();
  return page;
}

async function end(t: Test, ...pages: readonly Page[]): Promise<void> {
  t.strictSame(browser.problems.splice(0), []);
  for (const page of pages) await page.close();
}
