/**
 * The widget as visitors see and hear it, in a real browser: its languages, the team in its head,
 * its beginning, authors, events, colours, and what a slow connection shows first.
 *
 * Without influence: OPERATION, ANSWERS, packages/client/ai, src/core/installation,
 * packages/console/administration, packages/console/installation, src/features/cells,
 * src/features/compliance, src/features/import, src/features/platform-events, src/features/search,
 * src/api/documents/pages, src/core/documents.
 */

import type { List } from '@parley/protocol/lists.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Page } from 'playwright-core';
import t from 'tap';
import { startTestApp } from '../../support/app.ts';
import { startChromium } from '../../support/chromium.ts';
import { findingsInThemes, inPage } from '../../support/console-page.ts';
import { serveSite } from '../../support/served-page.ts';
import { until } from '../../support/until.ts';
import { visitorsOf } from '../../widgets/fixture.ts';

const app = await startTestApp(t, { PARLEY_RATE_LIMIT: 'off' });
const { need, widget, visitor, openCase, send } = visitorsOf(app);
const site = await serveSite(t, ({ url = '/' }, response) => {
  const lang = url.slice(1) || 'en';
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.end(`<!doctype html><html lang="${lang}"><title>Shop</title><body><main><h1>Shop</h1></main>
    <script src="${app.baseUrl}/widget.js" data-account="${app.demo.account_id}" data-widget="${shop.id}"
    async></script></body></html>`);
});
const { data: users } = await need<List<{ id: string; name: string }>>('GET', '/v1/users?limit=100');
const members = ['Ada', 'Grace'].map((first) => users.find(({ name }) => name.startsWith(first))!.id);
const { id: group_id } = await need<{ id: string }>('POST', '/v1/messaging/groups', {
  body: { name: 'Lamps & Rope', members },
});
const shop = await widget({ sites: [site], group_id, show_team: true, colors: { light: '#7a1f5c' } });
for (let asked = 0; asked < 5; asked += 1) {
  const { access_token } = await visitor(shop);
  const { id } = await openCase(access_token);
  await send(access_token, id, 'Do you have rope?');
  await reply(id, 'We do.');
}
const context = await startChromium(t);

async function reply(id: string, body: string): Promise<unknown> {
  const message = { body, audience: 'customer', client_message_id: crypto.randomUUID() };
  return need('POST', `/v1/messaging/conversations/${id}/messages`, { body: message });
}

/** Opens the frame as a page of its own, as the link of a mail does. */
async function framePage(lang: string): Promise<Page> {
  const page = await context.newPage();
  const named = new URLSearchParams({ account: app.demo.account_id, widget: shop.id, lang });
  await page.goto(`${app.baseUrl}/widget/frame?${named}`);
  await page.locator('textarea').waitFor();
  return page;
}

/** The panel's frame: the other one is the bubble. */
const PANEL = 'iframe:not(.news)';
const panelOf = (page: Page) => page.frameLocator(PANEL);

async function newestCase(): Promise<string> {
  const { data } = await need<List<Conversation>>('GET', '/v1/messaging/conversations?order=activity');
  return data.find(({ audience }) => audience === 'customer')!.id;
}

t.test('the team in the head, authors, events, and a beginning of cards', async (t) => {
  const page = await framePage('de');
  t.strictSame(await findingsInThemes(page), [], 'before the first message');
  const head = page.locator('.chat-head');
  await head.getByRole('heading', { name: 'Lamps & Rope' }).waitFor();
  await head.getByText('Antwortet meist in wenigen Minuten').waitFor();
  await head.getByText('Das Team: Ada, Grace').waitFor();
  await page.locator('textarea').fill('Haben Sie *rotes* Seil?');
  await page.locator('textarea').press('Enter');
  await page.getByRole('article', { name: /^Sie, \d.*: Haben Sie rotes Seil\?$/ }).waitFor();
  const id = await newestCase();
  await reply(id, 'Ja: **rot** und [blau](https://shop.example).');
  await page.getByRole('article', { name: /^Lamps & Rope, \d.*: Ja: rot und blau\.$/ }).waitFor();
  const announced = page.locator('[aria-live="polite"]');
  await until(async () => (await announced.textContent()) === 'Lamps & Rope: Ja: rot und blau.', {
    what: 'the answer is announced as plain text',
  });
  await need('PATCH', `/v1/messaging/conversations/${id}`, { body: { workflow_status: 'resolved' } });
  const event = page.getByText('Die Unterhaltung wurde abgeschlossen.', { exact: true });
  await event.waitFor();
  t.equal(await page.getByRole('article').count(), 2, 'an event is no message of the team');
  t.strictSame(await findingsInThemes(page), [], 'a conversation');
  await page.setViewportSize({ width: 390, height: 780 });
  t.strictSame(await findingsInThemes(page), [], 'a conversation on a phone');

  await page.getByRole('button', { name: 'Frühere Unterhaltungen' }).click();
  const begin = page.getByRole('button', { name: 'Weitere Unterhaltung beginnen' });
  t.ok(await begin.evaluate(inPage('return element === document.activeElement')), 'the focus is not lost');
  const ended = page.getByRole('button', { name: /^Die Unterhaltung wurde abgeschlossen/ });
  t.notMatch(await ended.textContent(), 'Lamps & Rope', 'an event has no author');
  await ended.click();
  await need('PATCH', `/v1/messaging/conversations/${id}`, { body: { workflow_status: 'open' } });
  await page.getByText('Die Unterhaltung wurde wieder geöffnet.', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Frühere Unterhaltungen' }).click();
  await reply(id, 'Noch eine Frage?');
  await page.getByRole('button', { name: /^Noch eine Frage\?.*Lamps & Rope.*neue Nachricht/ }).waitFor();
  t.strictSame(await findingsInThemes(page), [], 'the beginning on a phone');
  await page.setViewportSize({ width: 1440, height: 900 });
  t.strictSame(await findingsInThemes(page), [], 'the beginning');
  await page.close();
});

t.test('the language of the page, whose texts alone are loaded', async (t) => {
  for (const [lang, write, close] of [
    ['fr-CA', 'Écrire un message', 'Fermer le chat'],
    ['ar', 'اكتب رسالة', 'أغلق المحادثة'],
    ['zh-TW', '输入消息', '关闭聊天'],
    ['sv', 'Write a message', 'Close the chat'],
  ] as const) {
    const page = await context.newPage();
    const loaded: string[] = [];
    page.on('request', (request) =>
      loaded.push(...(/\/assets\/([a-z]{2})-/.exec(request.url())?.slice(1) ?? [])),
    );
    await page.goto(`${site}/${lang}`);
    await page.getByRole('button').click();
    const frame = panelOf(page);
    await frame.getByRole('textbox', { name: write }).or(frame.locator('textarea')).first().waitFor();
    t.equal(await frame.locator('textarea').getAttribute('placeholder'), write);
    await page.getByRole('button', { name: close }).first().waitFor();
    const language = lang === 'sv' ? 'en' : lang.slice(0, 2);
    t.equal(await frame.locator('html').getAttribute('lang'), language);
    t.equal(await frame.locator('html').getAttribute('dir'), language === 'ar' ? 'rtl' : 'ltr');
    // The panel loads them, and so does the bubble where the visitor is known.
    t.strictSame([...new Set(loaded)], language === 'en' ? [] : [language]);
    await page.close();
  }
});

t.test('a keyboard opens it into its field, and Escape closes it from anywhere', async (t) => {
  const page = await context.newPage();
  await page.goto(site);
  const opener = page.getByRole('button', { name: 'Open the chat' });
  const frame = panelOf(page);
  const isIn = (selector: string) =>
    frame.locator(selector).evaluate(inPage('return element.matches(":focus")'));
  for (const place of ['textarea', '.chat-close', 'body']) {
    await opener.focus();
    await page.keyboard.press('Enter');
    await frame.locator('textarea').waitFor();
    await until(() => isIn('textarea'), { what: 'the field has the focus' });
    if (place === 'body') await frame.locator('textarea').blur();
    else await frame.locator(place).focus();
    await page.keyboard.press('Escape');
    await page.locator(PANEL).waitFor({ state: 'hidden' });
    t.ok(await opener.evaluate(inPage('return element === element.getRootNode().activeElement')), place);
  }
  await page.close();
});

t.test('a slow connection shows a panel before the scripts, and the font last', async (t) => {
  const page = await context.newPage();
  const sizes: Promise<readonly [string, number]>[] = [];
  page.on('requestfinished', (request) => {
    const { pathname } = new URL(request.url());
    if (!pathname.startsWith('/widget/assets/')) return;
    sizes.push(request.sizes().then(({ responseBodySize }) => [pathname, responseBodySize] as const));
  });
  let release = () => {};
  const isReleased = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/widget/assets/*.js', async (route) => {
    await isReleased;
    await route.continue();
  });
  const named = new URLSearchParams({ account: app.demo.account_id, widget: shop.id, lang: 'ar' });
  await page.goto(`${app.baseUrl}/widget/frame?${named}`, { waitUntil: 'commit' });
  await page.locator('.shell .chat-head').waitFor();
  t.equal(await page.locator('html').getAttribute('dir'), 'rtl');
  release();
  await page.locator('textarea').waitFor();
  await page.locator('.shell').waitFor({ state: 'hidden' });
  await until(async () => page.evaluate('document.fonts.check("16px Inter") && document.fonts.size > 0'), {
    what: 'the font has come',
  });
  await page.getByRole('article').first().waitFor();
  // A route takes the cache away, from which a part is imported once it was fetched.
  const loaded = [...new Map(await Promise.all(sizes))];
  const fonts = loaded.filter(([path]) => path.endsWith('.woff2'));
  t.equal(fonts.length, 1, 'the letters of Western Europe alone');
  t.ok(fonts[0]![1] <= 50 * 1024, `a font of ${fonts[0]![1]} bytes`);
  const firstFont = loaded.findIndex(([path]) => path.endsWith('.woff2'));
  t.ok(
    firstFont > loaded.findIndex(([path]) => /\/main-.*\.js$/.test(path)),
    'the font is behind the script',
  );
  const others = loaded.filter(([path]) => !path.endsWith('.woff2'));
  const bytes = others.reduce((sum, [, size]) => sum + size, 0);
  t.ok(bytes <= 80 * 1024, `scripts and styles of ${bytes} bytes`);
  await page.close();
});
