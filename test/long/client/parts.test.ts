/**
 * The parts for React in a real browser, against the real server: how a timeline scrolls, what a
 * composer does with keys, input methods and files, and that texts never become HTML.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client/ai,
 * src/core/installation, src/features/mail, src/platform/outbound.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { NAMES, OpenConversations } from '@parley/client/test/open-conversations.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Locator, Page } from 'playwright-core';
import { type ComponentType, createElement as h } from 'react';
import { renderToString } from 'react-dom/server';
import t from 'tap';
import { ROOT } from '../../start/parley.ts';
import { startTestApp } from '../../support/app.ts';
import { builtClient } from '../../support/built-client.ts';
import { startChromium } from '../../support/chromium.ts';
import { freePort } from '../../support/free-port.ts';
import { servePage } from '../../support/served-page.ts';
import type { Teardown } from '../../support/teardown.ts';
import { until } from '../../support/until.ts';
import { XSS_VECTORS } from '../xss-vectors.ts';

const style = readFileSync(join(ROOT, 'packages/client/react/parts/parts.css'), 'utf8');
const LOOK = `
  body { margin: 0; font: 16px sans-serif; }
  header:has(.parley-bell) { display: flex; justify-content: end; }
  .chat { display: flex; height: 480px; }
  .chat > main { display: flex; flex: 1; flex-direction: column; min-width: 0; }
  .chat > aside { width: 20rem; }`;
const url = await servePage(t, join(import.meta.dirname, 'parts-page.js'), {
  mode: 'development',
  body: `<style>${LOOK}${style}</style><main></main>`,
});
/** Of a page that is rendered later, and which the server has to allow. */
const renderedPort = await freePort();
const app = await startTestApp(t, {
  PARLEY_ALLOWED_ORIGINS: `${url},http://127.0.0.1:${renderedPort}`,
});
const conversations = new OpenConversations(app);
const browser = await startChromium(t);

t.test('the style sheet is small, and knows no left and no right', (t) => {
  t.ok(Buffer.byteLength(style) <= 8_000, `${Buffer.byteLength(style)} bytes`);
  t.notMatch(style, /\b(left|right)\b/);
  t.end();
});

t.test('a timeline keeps its end and its place, and loads what is above', async (t) => {
  const { id, grace } = await written(t, 'Scrolling', 75);
  await (await conversations.open(t, id)).markRead();
  const page = await open(t, 'Chat', { id });
  const scroll = page.locator('.parley-timeline-scroll');
  await page.getByText('message 75', { exact: true }).waitFor();
  await until(async () => (await fromEnd(scroll)) < 1, { what: 'the end' });

  await grace.send('at the end');
  await page.getByText('at the end', { exact: true }).waitFor();
  await until(async () => (await fromEnd(scroll)) < 1, { what: 'the end, which is kept' });
  t.equal(await page.locator('.parley-newest').count(), 0);

  await scroll.hover();
  await page.mouse.wheel(0, -600);
  const newest = page.getByRole('button', { name: 'Newest messages' });
  await newest.waitFor();
  await until(async () => (await page.locator('[data-message]').count()) > 60, { what: 'older messages' });
  const before = await firstSeen(scroll);
  await grace.send('far below');
  await page.getByRole('button', { name: '1 new message' }).waitFor();
  t.strictSame(await firstSeen(scroll), before, 'a message at the end moves nothing');

  await scroll.evaluate(async (box) => {
    // Before the load, which comes later.
    box.scrollTop = 300;
  });
  await page.getByText('message 1', { exact: true }).waitFor({ state: 'attached' });
  const kept = await firstSeen(scroll);
  t.not(kept.text, 'message 1', 'the place is kept when older messages come in above');
  t.equal(await page.locator('[data-message]').count(), 77);
  t.equal(await page.getByRole('button', { name: 'Older messages' }).count(), 0);

  await page.getByRole('button', { name: '1 new message' }).click();
  await until(async () => (await fromEnd(scroll)) < 1, { what: 'the end' });
  await until(async () => (await unreadOf(t, id)) === 0, { what: 'everything is read' });
});

t.test('days, the unread line and messages that stand together', async (t) => {
  const id = await conversations.group('Lines');
  const [ada, grace] = [await conversations.open(t, id), await conversations.open(t, id, { as: 'grace' })];
  for (const body of ['one', 'two']) await grace.send(body);
  await ada.send('three');
  await ada.markRead();
  await grace.send('four');
  const page = await open(t, 'Chat', { id, locale: 'en-GB', timeZone: 'UTC' });
  await page.getByText('four', { exact: true }).waitFor();
  await page.locator('.parley-unread').waitFor();
  const lines = await page.locator('.parley-timeline-items > *').evaluateAll((all) =>
    all.map((line) => {
      if (!line.hasAttribute('data-message')) return line.className.replace('parley-', '');
      const text = line.querySelector('.parley-message-text')?.textContent;
      return line.querySelector('.parley-message-head') === null ? `+${text}` : text;
    }),
  );
  t.strictSame(lines, ['day', 'one', '+two', 'three', 'unread', 'four']);
  t.match(
    await page.getByRole('article').first().getAttribute('aria-label'),
    /^Grace Hopper, \d\d:\d\d: one$/,
  );
  await until(async () => (await unreadOf(t, id)) === 0, { what: 'the end was seen' });

  await page.getByRole('article').last().press('ArrowUp');
  t.match(await page.locator(':focus').getAttribute('aria-label'), /three$/, 'arrows move among messages');
  await page.keyboard.press('Home');
  t.match(await page.locator(':focus').getAttribute('aria-label'), /one$/);
  await grace.send('five');
  await page
    .locator('.parley-unseen[aria-live]')
    .getByText(`${NAMES.grace}: five`)
    .waitFor({ state: 'attached' });
});

t.test('begins at the first unread message, and leads to an old one', async (t) => {
  const { id, messages } = await written(t, 'Far up', 90);
  await (await conversations.open(t, id)).markRead(10);
  const page = await open(t, 'Chat', { id });
  await page.getByText('message 11', { exact: true }).waitFor();
  await until(async () => (await firstSeen(page.locator('.parley-timeline-scroll'))).text === 'message 11', {
    what: 'the unread line on top',
  });
  t.equal(await unreadOf(t, id), 80, 'nothing counts as read before the reader was at the end');
  await page.evaluate(`show('Chat', ${JSON.stringify({ id, message: messages[3] })})`);
  const found = page.locator('[data-found="true"]');
  await found.getByText('message 4', { exact: true }).waitFor();
  await until(async () => (await found.getAttribute('data-message')) === messages[3], {
    what: 'the message',
  });
  t.equal(await found.evaluate((row) => row === document.activeElement), true, 'it has the focus');
  await page.locator('.parley-newest').click();
  await page.getByText('message 90', { exact: true }).waitFor();
});

t.test('a new message draws the one before it again, and no other', async (t) => {
  const { id, grace } = await written(t, 'Drawn', 5);
  const page = await open(t, 'Counted', { id });
  await page.getByText('message 5', { exact: true }).waitFor();
  await until(async () => (await unreadOf(t, id)) === 0, { what: 'it is read' });
  await page.evaluate('drawn.splice(0)');
  await grace.send('message 6');
  await page.getByText('message 6', { exact: true }).waitFor();
  const drawn = new Set(await page.evaluate<string[]>('drawn'));
  // The Tab key leads to the newest.
  t.strictSame([...drawn].sort(), ['message 5', 'message 6']);
});

t.test('a draft belongs to its conversation', async (t) => {
  const { id } = await written(t, 'Draft', 1);
  const { id: other } = await written(t, 'Other', 1);
  const page = await open(t, 'Chat', { id });
  const field = page.getByRole('textbox', { name: 'Message' });
  await page.getByText('message 1', { exact: true }).waitFor();
  await field.fill('here');
  await page.evaluate(`show('Chat', ${JSON.stringify({ id: other })})`);
  await until(async () => (await field.inputValue()) === '', { what: 'the other field' });
  await page.evaluate(`show('Chat', ${JSON.stringify({ id })})`);
  await until(async () => (await field.inputValue()) === 'here', { what: 'the draft' });
});

t.test('a composer: keys, input methods, mentions, edits', async (t) => {
  const { id, grace } = await written(t, 'Writing', 1);
  const page = await open(t, 'Chat', { id });
  const field = page.getByRole('textbox', { name: 'Message' });
  await page.getByText('message 1', { exact: true }).waitFor();
  await field.pressSequentially('hal');
  await until(() => grace.typingActors.length === 1, { what: 'typing is declared' });

  const session = await browser.newCDPSession(page);
  await session.send('Input.imeSetComposition', { text: 'ろ', selectionStart: 1, selectionEnd: 1 });
  const key = { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 229 };
  await session.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...key });
  await session.send('Input.dispatchKeyEvent', { type: 'keyUp', ...key });
  await session.send('Input.insertText', { text: '炉' });
  await field.evaluate((element) => {
    // Safari: the Enter that accepts a word comes right after the composition, without a mark.
    element.dispatchEvent(new CompositionEvent('compositionstart', { bubbles: true }));
    element.dispatchEvent(new CompositionEvent('compositionend', { bubbles: true }));
    element.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
  });
  t.equal(await field.inputValue(), 'hal炉', 'an input method sends nothing');
  await field.press('Shift+Enter');
  await field.pressSequentially('second line');
  await field.press('Enter');
  const sent = await until(() => grace.messages.find(({ body }) => body === 'hal炉\nsecond line'), {
    what: 'the message',
  });
  t.equal(await field.inputValue(), '');
  await page.locator(`[data-message="${sent.id}"]`).waitFor();

  await field.pressSequentially('hi @gra');
  const option = page.getByRole('option', { name: NAMES.grace });
  await option.waitFor();
  t.equal(await field.getAttribute('aria-activedescendant'), await option.getAttribute('id'));
  await field.press('Escape');
  await option.waitFor({ state: 'detached' });
  await field.pressSequentially('c');
  await option.waitFor();
  await field.press('Enter');
  t.equal(await field.inputValue(), `hi @${NAMES.grace} `);
  await field.pressSequentially('!');
  await field.press('Enter');
  const mentioning = await until(() => grace.messages.find(({ body }) => body?.startsWith('hi @')), {
    what: 'the mention',
  });
  t.strictSame('mentions' in mentioning && mentioning.mentions, [app.demo.users.grace.id]);

  const row = page.locator(`[data-message="${sent.id}"]`);
  await field.pressSequentially('a draft');
  await row.hover();
  await row.getByRole('button', { name: 'Edit' }).click();
  t.equal(await field.inputValue(), 'hal炉\nsecond line');
  await field.press('Escape');
  t.equal(await field.inputValue(), 'a draft', 'the draft is there again');
  await row.getByRole('button', { name: 'Edit' }).click();
  await field.fill('better');
  await field.press('Enter');
  await until(() => grace.messages.some(({ body, edited_at }) => body === 'better' && edited_at !== null), {
    what: 'the edit',
  });
  await row.getByRole('button', { name: 'React with 👍' }).click();
  await row.getByRole('button', { name: 'React with 👍, 1', exact: true }).waitFor();

  await row.getByRole('button', { name: 'Reply' }).click();
  const thread = page.getByRole('complementary', { name: 'Thread' });
  await thread.getByText('better').waitFor();
  await thread.getByRole('textbox').fill('a reply');
  await thread.getByRole('button', { name: 'Send' }).click();
  await row.getByRole('button', { name: '1 reply' }).waitFor();
  await thread.getByText('a reply', { exact: true }).waitFor();
  await thread.getByRole('button', { name: 'Close' }).click();
  t.equal(await thread.count(), 0);
});

t.test('files that are pasted, dropped and chosen', async (t) => {
  const { id, grace } = await written(t, 'Files', 1);
  const page = await open(t, 'Chat', { id });
  const field = page.getByRole('textbox', { name: 'Message' });
  await page.getByText('message 1', { exact: true }).waitFor();
  const transfer = (type: 'paste' | 'drop', name: string) =>
    field.evaluate(
      (element, [kind, filename]) => {
        const data = new DataTransfer();
        data.items.add(new File(['a map'], filename, { type: 'text/plain' }));
        const event =
          kind === 'paste'
            ? new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
            : new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
        element.dispatchEvent(event);
      },
      [type, name] as const,
    );
  await transfer('paste', 'pasted.txt');
  await transfer('drop', 'dropped.txt');
  await page
    .locator('.parley-composer input[type=file]')
    .setInputFiles({ name: 'chosen.txt', mimeType: 'text/plain', buffer: Buffer.from('a map') });
  await page.getByRole('button', { name: 'Remove dropped.txt' }).click();
  const send = page.getByRole('button', { name: 'Send' });
  await until(() => send.isEnabled(), { what: 'the uploads' });
  await send.click();
  const sent = await until(() => grace.messages.find(({ attachments }) => attachments?.length === 2), {
    what: 'the files',
  });
  t.strictSame(
    sent.attachments?.map(({ filename }) => filename),
    ['pasted.txt', 'chosen.txt'],
  );
  await page.getByRole('link', { name: 'pasted.txt' }).waitFor();
  t.equal(await page.locator('.parley-file').count(), 0);
});

t.test('texts never become HTML, and addresses run nothing', async (t) => {
  const id = await conversations.group(XSS_VECTORS[0]!.slice(0, 80));
  const grace = await conversations.open(t, id, { as: 'grace' });
  await grace.send(XSS_VECTORS.join('\n'));
  await grace.send('https://example.com/a. javascript:alert(1)');
  const page = await open(t, 'Chat', { id });
  page.on('dialog', (dialog) => {
    t.fail(`a script has run: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.getByRole('link', { name: 'https://example.com/a', exact: true }).waitFor();
  const text = await page.locator('.parley-message-text').first().textContent();
  t.equal(text, XSS_VECTORS.join('\n'));
  const elements = await page
    .locator('.parley-message-text')
    .evaluateAll((all) => all.flatMap((one) => [...one.querySelectorAll('*')].map(({ tagName }) => tagName)));
  t.strictSame([...new Set(elements)], ['A']);
  const addresses = await page
    .locator('.parley-message a')
    .evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).protocol));
  t.strictSame(
    addresses.filter((protocol) => !/^https?:$/.test(protocol)),
    [],
  );
});

t.test('from right to left nothing is wider than the page', async (t) => {
  const { id } = await written(t, 'Direction', 2);
  const page = await open(t, 'Chat', { id });
  await page.evaluate(`document.documentElement.dir = 'rtl'`);
  await page.setViewportSize({ width: 390, height: 600 });
  await page.getByText('message 2', { exact: true }).waitFor();
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
  const [picture, time] = [page.locator('.parley-avatar').first(), page.locator('.parley-time').first()];
  t.ok((await picture.boundingBox())!.x > (await time.boundingBox())!.x, 'names begin on the right');
});

t.test('an inbox and a bell, by the keyboard', async (t) => {
  const id = await conversations.group('Aardvark');
  const grace = await conversations.open(t, id, { as: 'grace' });
  for (const body of ['first', 'look']) await grace.send({ body, mentions: [app.demo.users.ada.id] });
  const page = await open(t, 'Lists');
  const row = page.getByRole('button', { name: /^Aardvark.*2 unread$/ });
  await row.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.locator('output').getByText(id).waitFor();
  t.equal(await row.getAttribute('aria-current'), 'true');

  const bell = page.getByRole('button', { name: /^Notifications, [1-9]\d* unread$/ });
  await bell.press('Enter');
  const panel = page.locator('.parley-bell-panel');
  await panel.getByText('look').waitFor();
  await page.keyboard.press('Escape');
  t.equal(await panel.count(), 0);
  t.equal(await page.locator(':focus').getAttribute('aria-expanded'), 'false', 'the focus is on the bell');
  await page.keyboard.press('Enter');
  await panel.locator('.parley-notification').first().press('Enter');
  await until(async () => (await page.locator('output').textContent()) !== id, { what: 'it is opened' });
  await bell.press('Enter');
  const opened = panel.locator('.parley-notification[data-unread="false"]').first();
  const weight = await opened.locator('> :first-child').evaluate((one) => getComputedStyle(one).fontWeight);
  t.equal(weight, '400', 'what was opened is not bold');
  await panel.getByRole('button', { name: 'Mark all as read' }).click();
  await page.getByRole('button', { name: 'Notifications, 0 unread' }).waitFor();
});

t.test('a page that a server has rendered is shown at once, and hydrated without a warning', async (t) => {
  const { id, grace } = await written(t, 'Rendered', 3);
  const { access_token: token } = app.demo.users.ada;
  const read = async (path: string) => (await app.call<List<never>>('GET', path, { token })).body;
  const properties = {
    id,
    messages: await read(`/v1/messaging/conversations/${id}/messages?limit=30&include[]=sender`),
    inbox: await read('/v1/messaging/conversations?limit=5&include[]=last_message&include[]=participants'),
    locale: 'en-GB',
    timeZone: 'UTC',
  };
  const { ParleyProvider } = await builtModule('react.js');
  const { Inbox, Timeline } = await builtModule('react/parts.js');
  const { messages, inbox, ...look } = properties;
  const html = renderToString(
    h(
      ParleyProvider,
      { client: null },
      h(
        'div',
        { className: 'chat' },
        h(Inbox, { onSelect: () => {}, initial: inbox, ...look }),
        h('main', null, h(Timeline, { conversationId: id, initial: messages, ...look })),
      ),
    ),
  );
  t.match(html, /message 1.*message 2.*message 3/s, 'in their order');
  t.match(html, /parley-inbox-row.*Rendered/s);
  const said: string[] = [];
  const page = await browser.newPage();
  t.teardown(() => page.close());
  page.on('console', (message) => {
    if (['warning', 'error'].includes(message.type())) said.push(message.text());
  });
  page.on('pageerror', (error) => said.push(error.message));
  const served = await servePage(t, join(import.meta.dirname, 'parts-page.js'), {
    mode: 'development',
    port: renderedPort,
    body: `<main>${html}</main><script type="application/json" id="initial">${JSON.stringify(properties)}</script>`,
  });
  const query = { url: app.baseUrl, account: app.demo.account_id, token };
  await page.goto(`${served}?${new URLSearchParams(query)}`);
  await page.waitForFunction('"show" in globalThis');
  await page.evaluate(`document.querySelector('[data-message]').isTheSame = true`);
  await grace.send('live');
  await page.locator('.parley-message-text').getByText('live', { exact: true }).waitFor();
  t.equal(await page.evaluate(`document.querySelector('[data-message]').isTheSame`), true);
  t.equal(await page.locator('[data-message]').count(), 4);
  t.strictSame(said, []);
});

/** Returns a module of the package that users install, with the React of this process. */
function builtModule(
  name: string,
): Promise<Record<'ParleyProvider' | 'Inbox' | 'Timeline', ComponentType<Record<string, unknown>>>> {
  return import(pathToFileURL(join(builtClient(), 'dist', name)).href);
}

/** Writes numbered messages of grace into a new group. */
async function written(t: Teardown, title: string, count: number) {
  const id = await conversations.group(title);
  const grace = await conversations.open(t, id, { as: 'grace' });
  const messages: string[] = [];
  for (let n = 1; n <= count; n++) messages.push((await grace.send(`message ${n}`)).id);
  return { id, grace, messages };
}

async function unreadOf(t: Teardown, id: string): Promise<number> {
  const { unread } = await conversations.client(t).conversations.get(id);
  return unread;
}

async function open(t: Teardown, name: 'Chat' | 'Counted' | 'Lists', properties: object = {}): Promise<Page> {
  const page = await browser.newPage();
  t.teardown(() => page.close());
  page.on('pageerror', (error) => process.emitWarning(error.message));
  const { account_id: account, users } = app.demo;
  const query = { url: app.baseUrl, account, token: users.ada.access_token };
  await page.goto(`${url}?${new URLSearchParams(query)}`);
  await page.waitForFunction('"show" in globalThis');
  await page.evaluate(`show('${name}', ${JSON.stringify(properties)})`);
  return page;
}

/** Returns the pixels below the visible part. */
function fromEnd(box: Locator): Promise<number> {
  return box.evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight);
}

/** Returns the first message with a visible top, and where it is. */
function firstSeen(box: Locator): Promise<{ readonly text: string; readonly top: number }> {
  return box.evaluate((element) => {
    const { top } = element.getBoundingClientRect();
    const rows = [...element.querySelectorAll('[data-message]')];
    const row = rows.find((one) => one.getBoundingClientRect().top >= top);
    const text = row?.querySelector('.parley-message-text')?.textContent ?? '';
    return { text, top: Math.round((row?.getBoundingClientRect().top ?? 0) - top) };
  });
}
