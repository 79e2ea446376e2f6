/**
 * The timeline of the console, in a real browser: its content, its acts and its position.
 *
 * Without influence: src/app/admin, src/app/supervise.ts, src/app/supervisor, src/app/tail.ts,
 * packages/client/ai, src/core/installation, src/core/registration,
 * packages/console/administration, packages/console/installation, src/features/cells,
 * src/features/identity, src/features/import, src/features/platform-events, src/features/widgets,
 * src/api/documents/pages, src/core/documents.
 */

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage, SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import type { Locator, Page } from 'playwright-core';
import t from 'tap';
import { DAY } from '../../../src/app/demo/day-content.ts';
import { startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, findingsInThemes } from '../../support/console-page.ts';
import { chooseInRow, clickInRow } from '../../support/row-button.ts';
import { until } from '../../support/until.ts';

const app = await startTestApp(t, { PARLEY_DEMO_DAY: 'on' });
const { demo } = app;
const { ada, grace } = demo.users;
const browser = await ConsoleBrowser.start(t, app.baseUrl);
await browser.context.addInitScript({ path: join(import.meta.dirname, 'timeline-page.js') });
const headers = { 'Service-Version': NEWEST_VERSION };

t.test('the demo opens at the newest conversation of its day', async (t) => {
  const newest = await until(
    async () => {
      const path = '/v1/messaging/conversations?order=activity&limit=1';
      const [first] = (await call<List<Conversation>>('GET', path, grace)).data;
      return DAY.some(({ title }) => title === first?.title) ? first!.id : undefined;
    },
    { what: 'the day' },
  );
  const page = await browser.context.newPage();
  browser.watch(page);
  await page.goto(`${app.baseUrl}/console/`);
  await page.getByRole('button', { name: 'Grace Hopper' }).click();
  await page.waitForURL(`**/console/c/${newest}**`);
  await page.goto(`${app.baseUrl}/console/newest?as=ada`);
  await page.waitForURL(`**/console/c/${newest}**`);
  t.equal(await page.getByRole('heading', { level: 1, name: 'Inbox' }).count(), 0);
  await closeAll(page);
});

t.test('grouping, days, the unread line, and who has read', async (t) => {
  const id = await group('lines');
  await imported(id, [
    { author_id: grace.id, body: 'Yesterday', created_at: noonYesterday() },
    { author_id: ada.id, body: 'Read', created_at: ago(0) },
  ]);
  await call('POST', `/v1/messaging/conversations/${id}/actions/mark-read`, ada, { sequence: 2 });
  await send(id, grace, { body: 'First of two' });
  const { id: second } = await send(id, grace, { body: 'Second of two' });
  const page = await browser.open('ada', `c/${id}`);
  await message(page, 'Second of two').waitFor();
  t.strictSame(await linesOf(page), [
    'Yesterday',
    'Grace Hopper: Yesterday',
    'Today',
    'Ada Lovelace: Read',
    'New',
    'Grace Hopper: First of two',
    '+ Second of two',
  ]);
  await until(async () => (await readOf(id)) === 4, { what: 'what is seen is read' });

  await send(id, ada, { body: 'From another device' });
  await send(id, grace, { body: 'While the reader looks' });
  await message(page, 'While the reader looks').waitFor();
  t.strictSame((await linesOf(page)).indexOf('New'), 4, 'the line stays');
  await until(async () => (await readOf(id)) === 6, { what: 'the new one is read' });

  const other = await browser.open('grace', `c/${id}`);
  await message(other, 'While the reader looks').waitFor();
  await other.getByText('Read by Ada Lovelace').waitFor();

  await menu(page, second, 'Mark unread from here');
  await until(async () => (await readOf(id)) === 3, { what: 'the message is unread again' });
  await send(id, grace, { body: 'One more' });
  await message(page, 'One more').waitFor();
  await until(async () => (await linesOf(page)).indexOf('New') === 5, { what: 'the line to be there now' });
  t.equal(await readOf(id), 3, 'and it stays unread while the conversation is open');
  await closeAll(page, other);
});

t.test('a message that is nested without end hides no other', async (t) => {
  const id = await group('depth');
  await send(id, grace, { body: 'Before' });
  for (const body of [`${'> '.repeat(2_000)}deep`, `${'>'.repeat(39_000)}deeper`, `${'- '.repeat(2_000)}x`]) {
    await send(id, grace, { body });
  }
  const page = await browser.open('ada', `c/${id}`);
  await message(page, 'Before').waitFor();
  await send(id, grace, { body: 'Behind' });
  await message(page, 'Behind').waitFor();
  await page.reload();
  for (const body of ['Before', 'Behind']) await message(page, body).waitFor();
  t.equal((await page.locator('article[data-message]').all()).length, 5);
  await closeAll(page);
});

t.test('every action by mouse, with two pages', async (t) => {
  const id = await group('mouse');
  const there = await group('another place');
  const { id: first } = await send(id, ada, { body: 'A message of **Ada**' });
  const [page, other] = [await browser.open('ada', `c/${id}`), await browser.open('grace', `c/${id}`)];
  await row(other, first).waitFor();

  await act(page, first, 'React');
  await page.getByLabel('Search emoji').fill('tada');
  await page.getByRole('button', { name: 'party popper' }).click();
  await other.getByRole('button', { name: '🎉 1: Ada Lovelace' }).click();
  await page.getByRole('button', { name: '🎉 2: You, Grace Hopper' }).click();
  await other.getByRole('button', { name: '🎉 1: You' }).waitFor();

  await act(page, first, 'Edit');
  const field = page.getByLabel('Text of the message');
  await field.fill('Another text');
  await field.press('Shift+Enter');
  await field.press('Enter');
  await message(other, 'Another text').getByText('Edited').waitFor();

  await menu(other, first, 'Pin');
  await row(page, first).getByText('Pinned').waitFor();
  await page.getByRole('button', { name: '1 pinned message' }).waitFor();
  await menu(page, first, 'Unpin');
  await row(other, first).getByText('Pinned').waitFor({ state: 'hidden' });

  await menu(page, first, 'Forward…');
  await page.getByLabel('Search a conversation').fill('another');
  await page.getByRole('radio', { name: 'another place' }).check();
  await page.getByLabel('Your words').fill('See this');
  await page.getByRole('dialog').getByRole('button', { name: 'Forward' }).click();
  await page.waitForURL(`**/console/c/${there}`);
  await message(page, 'Another text').waitFor();
  await page.goBack();

  await act(other, first, 'Reply in thread');
  await other.waitForURL(`**pane=thread%3A${first}`);
  const { id: reply } = await send(id, grace, { body: 'A reply', reply_to_message_id: first });
  await row(page, first).getByRole('button', { name: '1 reply' }).waitFor();
  await row(page, reply).getByRole('button', { name: 'Reply to Ada Lovelace' }).click();
  await page.waitForURL(`**message=${first}`);
  await row(page, first).and(page.locator('.message-found')).waitFor();

  await menu(page, first, 'Delete…');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await row(other, first).getByText('This message was deleted.').waitFor();
  await row(page, reply).getByText('Deleted message').waitFor();
  await row(other, first).hover();
  t.equal(await row(other, first).getByRole('toolbar').count(), 0, 'nothing is offered any more');
  await row(page, reply).hover();
  t.equal(await row(page, reply).getByRole('button', { name: 'Edit' }).count(), 0, 'not what others wrote');
  await closeAll(page, other);
});

t.test('every action by keyboard', async (t) => {
  const id = await group('keyboard');
  const sent = [];
  for (const body of ['one', 'two', 'three']) sent.push((await send(id, ada, { body })).id);
  const [one, , three] = sent as [string, string, string];
  const [page, other] = [await browser.open('ada', `c/${id}`), await browser.open('grace', `c/${id}`)];
  await row(page, three).waitFor();
  await row(other, three).waitFor();
  t.equal(await page.locator('[data-message][tabindex="0"]').count(), 1, 'one row takes the tabulator');
  await row(page, three).focus();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  await row(page, one).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('+');
  await page.getByLabel('Search emoji').fill('eyes');
  await page.getByRole('button', { name: 'eyes', exact: true }).waitFor();
  await page.keyboard.press('Enter');
  await row(other, one).getByRole('button', { name: '👀 1' }).waitFor();
  await row(page, one).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('w');
  await page.getByLabel('Text of the message').press('Escape');
  await row(page, one).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('w');
  await page.getByLabel('Text of the message').fill('one, changed');
  await page.keyboard.press('Enter');
  await message(other, 'one, changed').waitFor();
  await row(page, one).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('p');
  await row(other, one).getByText('Pinned').waitFor();
  await page.keyboard.press('m');
  await page.getByRole('menuitem', { name: 'Unpin' }).focus();
  await page.keyboard.press('Escape');
  await page.getByRole('menu').waitFor({ state: 'hidden' });
  await row(page, one).focus();
  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText('Mark unread from here').waitFor();
  await page.keyboard.press('Escape');
  await row(page, one).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('t');
  await page.waitForURL(`**pane=thread%3A${one}`);
  const inThread = page.getByRole('complementary', { name: 'Thread' }).getByRole('textbox');
  await inThread.and(page.locator(':focus')).press('Escape');
  await inThread.waitFor({ state: 'detached' });
  await row(page, one).and(page.locator(':focus')).waitFor();
  await row(page, three).focus();
  await page.keyboard.press('Delete');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter');
  await row(other, three).getByText('This message was deleted.').waitFor();
  await closeAll(page, other);
});

t.test('announcements, notes, files, and a message that is refused', async (t) => {
  const id = await group('parts');
  const page = await browser.open('ada', `c/${id}`);
  await page.getByText('No message yet').waitFor();
  t.equal(await page.getByRole('log').getAttribute('aria-live'), 'off');
  await send(id, grace, { body: 'Hello **Ada**', mentions: [ada.id] });
  await page.getByRole('status').getByText('Grace Hopper: Hello Ada').waitFor();
  const link = { kind: 'link' as const, url: 'https://example.com/plan' };
  await send(id, grace, { body: 'Hello @ada', attachments: [link] });
  await page.locator('.mention-own', { hasText: '@Ada Lovelace' }).waitFor();
  t.equal(await page.getByRole('link', { name: link.url }).getAttribute('rel'), 'noopener nofollow ugc');
  await page.route(SENDING, (route) =>
    route.request().method() === 'POST' ? route.fulfill({ status: 422, json: refusal }) : route.continue(),
  );
  const composer = page.getByRole('textbox', { name: 'Message' });
  await composer.fill('Refused');
  await composer.press('Enter');
  await page.getByText('Not sent: It is refused.').waitFor();
  await page.unroute(SENDING);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Not sent').waitFor({ state: 'hidden' });
  await until(async () => (await bodiesOf(id)).includes('Refused'), { what: 'the message is sent' });
  await closeAll(page);

  const kitchen = await conversationNamed('Kitchen');
  const pictures = await browser.open('ada', `c/${kitchen}`);
  await pictures.getByRole('button', { name: /^Open .*cake/ }).click();
  await pictures.getByRole('dialog').getByRole('img').waitFor();
  await closeAll(pictures);
  const chair = await conversationNamed('Chair wobbles after assembly');
  const team = await browser.open('ada', `c/${chair}`);
  await team.locator('.message-note').getByText('Note to the team').first().waitFor();
  await team.locator('.message-reply').getByText('To the customer').first().waitFor();
  await closeAll(team);
});

const MANY = 10_000;
let many = '';

t.test('older messages load above, and the reading position does not move', async (t) => {
  many = await group('many');
  for (let from = 0; from < MANY; from += 500) {
    const batch = Array.from({ length: 500 }, (_, index) => ({
      author_id: (from + index) % 7 < 4 ? grace.id : ada.id,
      body: bodyOf(from + index + 1),
      created_at: ago(MANY - from - index),
    }));
    await imported(many, batch);
  }
  const page = await browser.open('ada', `c/${many}`);
  await message(page, 'Message 10000').waitFor();
  const seen = new Set<string>();
  for (let turn = 0; turn < 12; turn++) {
    const before = await scrollUp(page);
    const settled = await until(
      async () => {
        const after = await placeOf(page, before.id);
        return after.first !== before.first && after.first !== null ? after : null;
      },
      { what: 'older messages are above' },
    );
    await inPage(page, 'frames', 5);
    const after = await placeOf(page, before.id);
    t.ok(Math.abs(after.top - before.top) < 1, `${before.top} is ${settled.top} and ${after.top}`);
    t.ok(after.rows <= 300, `${after.rows} rows`);
    seen.add(before.id);
  }
  t.ok(seen.size > 10);
  await page.getByRole('button', { name: 'Newest' }).click();
  await message(page, 'Message 10000').waitFor();
  await reachesEnd(page);
  await closeAll(page);
});

t.test('many unread messages open at the first one, with a way to the newest', async (t) => {
  const id = await group('unread');
  for (let sent = 0; sent < 300; sent += 50) {
    await Promise.all(
      Array.from({ length: 50 }, (_, index) => send(id, grace, { body: bodyOf(sent + index + 1) })),
    );
  }
  await call('POST', `/v1/messaging/conversations/${id}/actions/mark-read`, ada, { sequence: 60 });
  for (const count of [240, 25]) {
    const page = await browser.open('ada', `c/${id}`);
    await page.locator('.timeline-unread').waitFor();
    const first = await idOf(id, 301 - count);
    await until(
      async () => {
        const { top, height } = await placeOf(page, first);
        return top >= 0 && top < height / 2;
      },
      { what: `the first of ${count} unread on top` },
    );
    const jump = page.locator('.timeline-unread-note');
    await jump.filter({ hasText: new RegExp(`^${count} new since `) }).waitFor();
    await page.getByRole('button', { name: `${count} new messages` }).waitFor();
    t.equal(await readOf(id), 300 - count, 'nothing of it counts as read yet');
    await jump.getByRole('button', { name: 'Jump to newest' }).click();
    await row(page, await idOf(id, 300)).waitFor();
    await reachesEnd(page);
    await jump.waitFor({ state: 'hidden' });
    await until(async () => (await readOf(id)) === 300, { what: 'all is read' });
    const last = await idOf(id, 276);
    await menu(page, last, 'Mark unread from here');
    await until(async () => (await readOf(id)) === 275, { what: 'some are unread' });
    await closeAll(page);
  }
});

t.test('a jump to an old message, and new ones meanwhile', async (t) => {
  const old = await idOf(many, 5_000);
  const page = await browser.open('ada', `c/${many}?message=${old}`);
  await row(page, old).and(page.locator('.message-found')).waitFor();
  const { top, height } = await placeOf(page, old);
  t.ok(top > 0 && top < height, 'it is seen');
  const { id: fresh } = await send(many, grace, { body: 'New meanwhile' });
  await page.getByRole('button', { name: '1 new message' }).waitFor();
  t.equal(await row(page, fresh).count(), 0, 'it is not appended to the old part');
  for (let turn = 0; turn < 3; turn++) {
    const { last } = await placeOf(page, '');
    await inPage(page, 'scrollDown');
    await until(async () => (await placeOf(page, '')).last !== last, { what: 'newer messages below' });
  }
  t.equal(await row(page, fresh).count(), 0);
  await page.getByRole('button', { name: '1 new message' }).click();
  await row(page, fresh).waitFor();
  await reachesEnd(page);
  t.notMatch(page.url(), /message=/);

  await page.locator('.timeline-newest').waitFor({ state: 'hidden' });
  await inPage(page, 'scrollUpWhileGrowing');
  await page.getByRole('button', { name: 'Newest' }).waitFor();
  const composer = page.getByRole('textbox', { name: 'Message' });
  await composer.fill('Of the reader');
  await page.route(SENDING, (route) => void route.request().method());
  await composer.press('Enter');
  await page.getByText('Sending…').waitFor();
  await reachesEnd(page);
  await closeAll(page);
});

t.test('fifty messages a second into ten thousand', async (t) => {
  const page = await browser.open('ada', `c/${many}`);
  await message(page, 'Of the reader').or(message(page, 'New meanwhile')).first().waitFor();
  await inPage(page, 'watchTasks');
  const keeper = new Sender(many, 50);
  // More than the timeline keeps.
  await keeper.sendFor(7_000);
  await message(page, keeper.last).waitFor();
  t.comment('a reader at the end stays there');
  await reachesEnd(page);
  const atEnd = await placeOf(page, '');
  t.ok(atEnd.rows <= 300, `${atEnd.rows} rows`);
  const following = await inPage<number[]>(page, 'longTasks');

  await inPage(page, 'watchTasks');
  const before = await scrollUp(page);
  await inPage(page, 'frames', 5);
  const still = await placeOf(page, before.id);
  await keeper.sendFor(3_000);
  const count = page.locator('.timeline-newest', { hasText: /^\d{2,} new messages$/ });
  await count.waitFor();
  const after = await placeOf(page, before.id);
  t.ok(Math.abs(after.top - still.top) < 1, 'a reader further up stays there');
  t.ok(after.rows <= 300, `${after.rows} rows`);
  const reading = await inPage<number[]>(page, 'longTasks');
  for (const [what, tasks] of Object.entries({ following, reading })) {
    t.comment(`${what}: ${tasks.length} tasks over 50 ms, the longest ${Math.max(0, ...tasks)} ms`);
  }
  await count.click();
  await message(page, keeper.last).waitFor();
  await reachesEnd(page);
  await closeAll(page);
});

t.test('axe-core finds nothing in either theme', async (t) => {
  const chair = await conversationNamed('Chair wobbles after assembly');
  const page = await browser.open('ada', `c/${chair}`);
  const last = page.locator('.message').last();
  await last.hover();
  await page.getByRole('toolbar').waitFor();
  t.strictSame(await findingsInThemes(page), []);
  await page.getByRole('button', { name: 'More actions' }).click();
  t.strictSame(await findingsInThemes(page), [], 'with a menu');
  await page.keyboard.press('Escape');
  await last.focus();
  await page.keyboard.press('f');
  await page.getByRole('radio').first().waitFor();
  t.strictSame(await findingsInThemes(page), [], 'with a dialog');
  await closeAll(page);
  t.strictSame(
    browser.problems.filter((problem) => !/422/.test(problem)),
    [],
  );
});

/** The address of a request that sends a message, or lists them. */
const SENDING = /\/messages(\?[^/]*)?$/;
const refusal = {
  error: {
    type: 'invalid_request_error',
    code: 'validation_failed',
    message: 'It is refused.',
    param: 'body',
  },
};

interface Token {
  readonly access_token: string;
}

async function call<Body>(
  method: string,
  path: string,
  { access_token }: Token,
  body?: object,
): Promise<Body> {
  const token = access_token;
  const answer = await app.call<Body>(method, path, { token, headers, ...(body !== undefined && { body }) });
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`);
  return answer.body;
}

async function group(title: string): Promise<string> {
  const participants = [{ type: 'user', actor_id: grace.id }];
  const body = { type: 'group', title, participants };
  return (await call<Conversation>('POST', '/v1/messaging/conversations', ada, body)).id;
}

function send(id: string, by: Token, body: SendMessageBody): Promise<ChatMessage> {
  return call('POST', `/v1/messaging/conversations/${id}/messages`, by, {
    client_message_id: randomUUID(),
    ...body,
  });
}

async function imported(id: string, messages: readonly object[]): Promise<void> {
  const path = `/v1/messaging/conversations/${id}/messages/import`;
  const keyed = messages.map((one) => ({ client_message_id: randomUUID(), ...one }));
  await call('POST', path, { access_token: demo.api_key }, { messages: keyed });
}

async function conversationNamed(title: string): Promise<string> {
  const path = `/v1/messaging/conversations?q=${encodeURIComponent(title)}`;
  const find = async () => (await call<{ data: Conversation[] }>('GET', path, ada)).data[0];
  return (await until(find, { what: 'the day of the demo account' })).id;
}

async function readOf(id: string): Promise<number | null | undefined> {
  return (await call<Conversation>('GET', `/v1/messaging/conversations/${id}`, ada)).last_read_sequence;
}

async function bodiesOf(id: string): Promise<(string | null)[]> {
  const { data } = await call<{ data: ChatMessage[] }>(
    'GET',
    `/v1/messaging/conversations/${id}/messages`,
    ada,
  );
  return data.map(({ body }) => body);
}

async function idOf(id: string, sequence: number): Promise<string> {
  const path = `/v1/messaging/conversations/${id}/messages?around_sequence=${sequence}&limit=1`;
  return (await call<{ data: ChatMessage[] }>('GET', path, ada)).data[0]!.id;
}

function noonYesterday(): string {
  const now = new Date();
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1, 12).toISOString();
}

function ago(minutes: number): string {
  return new Date(Date.now() - minutes * 60_000).toISOString();
}

/** Of one line, of some, and of many. */
function bodyOf(number: number): string {
  const lines = number % 5 === 0 ? 4 : number % 11 === 0 ? 12 : 1;
  return [`Message ${number}`, ...Array.from({ length: lines - 1 }, (_, n) => `Line ${n + 2}`)].join('\n');
}

/** Sends messages of grace at a steady rate, without waiting for the answers. */
class Sender {
  last = '';
  readonly #id: string;
  readonly #perSecond: number;
  #count = 0;

  constructor(id: string, perSecond: number) {
    this.#id = id;
    this.#perSecond = perSecond;
  }

  async sendFor(ms: number): Promise<void> {
    const began = performance.now();
    const sent: Promise<unknown>[] = [];
    const total = Math.round((ms / 1_000) * this.#perSecond);
    for (let n = 0; n < total; n++) {
      this.#count += 1;
      this.last = `Storm ${this.#count}.`;
      sent.push(this.#send(this.last));
      const due = began + ((n + 1) * 1_000) / this.#perSecond;
      await delay(Math.max(0, due - performance.now()));
    }
    await Promise.all(sent);
  }

  async #send(body: string): Promise<void> {
    const answer = await fetch(`${app.baseUrl}/v1/messaging/conversations/${this.#id}/messages`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${grace.access_token}`,
        'Service-Account': demo.account_id,
        'Content-Type': 'application/json',
        ...headers,
      },
      body: JSON.stringify({ body, client_message_id: randomUUID() }),
    });
    if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  }
}

function row(page: Page, id: string): Locator {
  return page.locator(`.timeline [data-message="${id}"]`);
}

function message(page: Page, text: string): Locator {
  return page.locator('.timeline .message', { hasText: text });
}

/** Clicks one of the buttons of a row. */
async function act(page: Page, id: string, name: string): Promise<void> {
  await clickInRow(row(page, id), name);
}

async function menu(page: Page, id: string, name: string): Promise<void> {
  await chooseInRow(row(page, id), name);
}

async function closeAll(...pages: readonly Page[]): Promise<void> {
  for (const page of pages) await page.close();
}

interface Place {
  /** Of the message that was asked for, from the upper edge of the timeline. */
  readonly top: number;
  /** Of the timeline. */
  readonly height: number;
  /** The ids of the first and the last message in the document. */
  readonly first: string | null;
  readonly last: string | null;
  readonly rows: number;
  readonly isAtEnd: boolean;
}

/** Calls a function of timeline-page.js in a page. */
function inPage<Result>(page: Page, name: string, ...args: readonly unknown[]): Promise<Result> {
  return page.evaluate(
    `timeline.${name}(${args.map((arg) => JSON.stringify(arg)).join()})`,
  ) as Promise<Result>;
}

/** The lines of the timeline, as a reader sees them. */
function linesOf(page: Page): Promise<string[]> {
  return inPage(page, 'lines');
}

/** Returns where a message is, and what else is in the document. */
function placeOf(page: Page, id: string): Promise<Place> {
  return inPage(page, 'placeOf', id);
}

/** Resolves at the end of the timeline: a row is in the document before the page scrolls to it. */
async function reachesEnd(page: Page): Promise<void> {
  await until(async () => (await placeOf(page, '')).isAtEnd, { what: 'the end of the timeline' });
}

/** Scrolls near to the top. Returns the first message that is seen, and where it is. */
function scrollUp(
  page: Page,
): Promise<{ readonly id: string; readonly top: number; readonly first: string }> {
  return inPage(page, 'scrollUp');
}
