/**
 * The widget in real-world pages: bodies that are replaced, tags that run twice or as modules, tabs
 * that go on to the next page, and the keyboard.
 *
 * Without influence: OPERATION, ANSWERS, packages/client/ai, src/core/installation,
 * packages/console/administration, packages/console/installation, src/features/cells,
 * src/features/compliance, src/features/import, src/features/mail, src/features/platform-events,
 * src/features/search, src/api/documents/pages, src/core/documents.
 */

import type { Widget } from '@parley/protocol/resources/widget.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import type { FrameLocator, Page } from 'playwright-core';
import t from 'tap';
import { AUDIENCE, provide } from '../../identity/fixture.ts';
import { callsAt, startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, inPage } from '../../support/console-page.ts';
import { serveSite } from '../../support/served-page.ts';
import { TokenIssuer } from '../../support/token-issuer.ts';
import { until } from '../../support/until.ts';

const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { call } = callsAt(app, NEWEST_VERSION);
const issuer = await TokenIssuer.start(t);
const provider = await provide(app, issuer, {
  person: 'customer',
  subject: 'external_id',
  provision: 'first_use',
  algorithms: ['RS256'],
});
/** The pages of the shop: each path has what its head and its body hold. */
const PAGES: Readonly<Record<string, () => { readonly head?: string; readonly body: string }>> = {
  '/': () => ({ body: `<a href="/next">Next</a>${tag('async')}` }),
  '/next': () => ({ body: `<a href="/">Back</a>${tag('async')}` }),
  '/known': () => ({ head: identification('ines'), body: tag('async') }),
  '/other': () => ({ head: identification('otto'), body: tag('async') }),
  '/twice': () => ({ head: tag('async'), body: `${tag('')}${tag('defer')}` }),
  '/module': () => ({ body: tag('type="module"') }),
  '/inserted': () => ({
    head: `<script>
      const script = document.createElement('script');
      Object.assign(script, { src: '${app.baseUrl}/widget.js', async: true });
      Object.assign(script.dataset, { account: '${app.demo.account_id}', widget: '${widget.id}' });
      document.head.append(script);
      script.remove();
    </script>`,
    body: '',
  }),
};
const site = await serveSite(t, ({ url = '/' }, response) => {
  const { head = '', body } = PAGES[url]?.() ?? { body: '' };
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.end(`<!doctype html><html lang="en"><head><title>Shop</title>
    <link rel="icon" href="data:image/svg+xml,">${head}</head><body><h1>Shop</h1>${body}</body></html>`);
});
const { body: widget } = await call<Widget>('POST', '/v1/widgets', {
  body: { name: 'Shop', sites: [site], identity_provider_id: provider.id },
});
const browser = await ConsoleBrowser.start(t, app.baseUrl);

function tag(more: string): string {
  return `<script src="${app.baseUrl}/widget.js" data-account="${app.demo.account_id}"
    data-widget="${widget.id}" ${more}></script>`;
}

function identification(sub: string): string {
  const token = issuer.token({ iss: issuer.origin, aud: AUDIENCE, sub, name: sub });
  return `<script>addEventListener('parley:ready', () => Parley.identify('${token}'))</script>`;
}

async function shopPage(path = '/'): Promise<Page> {
  const page = await browser.context.newPage();
  browser.watch(page);
  await page.goto(site + path);
  return page;
}

const opener = (page: Page) => page.getByRole('button', { name: 'Open the chat' });
const closer = (page: Page) => page.getByRole('button', { name: 'Close the chat' });
const frameOf = (page: Page) => page.frameLocator('iframe[title="Chat"]');
const fieldOf = (frame: FrameLocator) => frame.getByRole('textbox', { name: 'Write a message' });

async function open(page: Page): Promise<FrameLocator> {
  await opener(page).click();
  const frame = frameOf(page);
  await fieldOf(frame).waitFor();
  return frame;
}

/** How pages replace what they show, as their frameworks do. */
const REPLACEMENTS = {
  'Turbo: another body, whose scripts run': `
    const body = document.createElement('body');
    body.innerHTML = source;
    document.body.replaceWith(body);
    for (const inert of body.querySelectorAll('script')) {
      const script = document.createElement('script');
      for (const { name, value } of inert.attributes) script.setAttribute(name, value);
      inert.replaceWith(script);
    }`,
  'Astro: another body, and another head': `
    const next = new DOMParser().parseFromString(source, 'text/html');
    for (const element of [...document.head.children]) element.remove();
    document.head.append(...next.head.children);
    document.body.replaceWith(next.body);`,
  'React at the root: another document element': `
    const html = document.createElement('html');
    html.append(document.createElement('head'), document.createElement('body'));
    html.lastChild.innerHTML = source;
    document.documentElement.remove();
    document.append(html);`,
  'React in the body: what it held is gone': `
    document.body.textContent = '';
    document.body.append(Object.assign(document.createElement('h1'), { textContent: 'Shop' }));`,
} as const;

t.test('the widget stays in a page that replaces what it shows', async (t) => {
  for (const [how, replace] of Object.entries(REPLACEMENTS)) {
    const page = await shopPage();
    const source = JSON.stringify(`<h1>Shop</h1>${tag('async')}`);
    const replaced = () => page.evaluate(`{ const source = ${source}; ${replace} }`);
    await opener(page).waitFor();
    await replaced();
    await opener(page).waitFor();
    t.equal(await opener(page).count(), 1, `${how}: one button`);
    await page.evaluate('Parley.open()');
    await fieldOf(frameOf(page)).fill('Do you have rope?');
    for (let time = 1; time <= 2; time++) {
      await replaced();
      await fieldOf(frameOf(page)).waitFor();
      t.equal(await fieldOf(frameOf(page)).inputValue(), 'Do you have rope?', `${how}: ${time}`);
    }
    await closer(page).first().click();
    await opener(page).waitFor();
    t.equal(await page.locator('iframe').count(), 1, `${how}: one frame`);
    await page.close();
  }
  t.strictSame(browser.problems, []);
});

t.test('a frame is not loaded again by a page that replaces its body again and again', async (t) => {
  const page = await shopPage();
  const replaced = () => page.evaluate(`document.body.replaceWith(document.createElement('body'))`);
  await opener(page).waitFor();
  await replaced();
  const frame = await open(page);
  await frame.locator('html').evaluate(inPage('element.dataset.first = "yes"'));
  await replaced();
  await replaced();
  t.equal(await frame.locator('html').getAttribute('data-first'), 'yes');
  t.comment('a page that does not want it is not held up');
  await page.evaluate(`
    new MutationObserver(() => {
      for (const one of document.documentElement.children)
        if (one.shadowRoot) one.remove();
    }).observe(document.documentElement, { childList: true });
    for (const one of document.documentElement.children) if (one.shadowRoot) one.remove();
  `);
  t.equal(await page.evaluate('1 + 1'), 2);
  await page.close();
  t.strictSame(browser.problems, []);
});

t.test('one widget, whatever the tag is like and how often it runs', async (t) => {
  const { headers } = await fetch(`${app.baseUrl}/widget.js`, { headers: { 'Accept-Encoding': 'br' } });
  t.equal(headers.get('Content-Encoding'), 'br');
  const bytes = Number(headers.get('Content-Length'));
  t.ok(bytes > 0 && bytes <= 3.5 * 1024, `${bytes} bytes as transferred`);
  for (const path of ['/twice', '/module', '/inserted']) {
    const page = await shopPage(path);
    await page.waitForLoadState('load');
    await opener(page).waitFor();
    t.equal(await opener(page).count(), 1, path);
    await open(page);
    await page.close();
  }
  t.strictSame(browser.problems, []);
});

t.test('the next page of a tab has the panel and what was written, and no other tab has', async (t) => {
  const page = await shopPage();
  await fieldOf(await open(page)).fill('Do you have red rope?');
  await page.getByRole('link', { name: 'Next' }).click();
  await page.waitForURL('**/next');
  await fieldOf(frameOf(page)).waitFor();
  t.equal(await fieldOf(frameOf(page)).inputValue(), 'Do you have red rope?');
  t.equal(await page.evaluate('document.activeElement === document.body'), true, 'the focus stays');
  t.notMatch(await page.evaluate('JSON.stringify(sessionStorage)'), 'rope', 'the page cannot read it');
  const other = await shopPage();
  await opener(other).waitFor();
  t.equal(await fieldOf(await open(other)).inputValue(), '');
  await other.close();

  t.comment('in a case, while another one is the newest');
  const frame = frameOf(page);
  await fieldOf(frame).press('Enter');
  await frame.locator('.bubble-own[data-delivery="sent"]', { hasText: 'red rope' }).waitFor();
  await frame.getByRole('button', { name: 'Earlier conversations' }).click();
  await frame.getByRole('button', { name: 'Start another conversation' }).click();
  await fieldOf(frame).fill('And bells?');
  await fieldOf(frame).press('Enter');
  await frame.locator('.bubble-own[data-delivery="sent"]', { hasText: 'bells' }).waitFor();
  await fieldOf(frame).fill('Big ones');
  await frame.getByRole('button', { name: 'Earlier conversations' }).click();
  await frame.getByRole('button', { name: /red rope/ }).click();
  await fieldOf(frame).fill('Ten metres');
  await page.reload();
  await frame.locator('.bubble-own', { hasText: 'red rope' }).waitFor();
  t.equal(await fieldOf(frame).inputValue(), 'Ten metres');
  await frame.getByRole('button', { name: 'Earlier conversations' }).click();
  await frame.getByRole('button', { name: /bells/ }).click();
  t.equal(await fieldOf(frame).inputValue(), 'Big ones');

  t.comment('a panel that was closed stays closed');
  await frame.getByRole('button', { name: 'Close the chat' }).click();
  await page.reload();
  await opener(page).waitFor();
  t.equal(await page.locator('iframe[title="Chat"]').count(), 0);
  await page.close();
  t.strictSame(browser.problems, []);
});

t.test('what was written is shown to the person that wrote it alone', async (t) => {
  const page = await shopPage('/known');
  await fieldOf(await open(page)).fill('My order 1815');
  for (const [path, text] of [
    ['/', ''],
    ['/known', 'My order 1815'],
    ['/other', ''],
    ['/known', ''],
  ] as const) {
    await page.goto(site + path);
    await fieldOf(frameOf(page)).waitFor();
    t.equal(await fieldOf(frameOf(page)).inputValue(), text, path);
  }
  await page.close();
  t.strictSame(browser.problems, []);
});

t.test('the keyboard alone: into the panel, and back to the button by Escape', async (t) => {
  const page = await shopPage();
  const focused = (what: string) => until(() => page.evaluate(what), { what });
  const BUTTON = `document.activeElement.shadowRoot?.activeElement?.localName === 'button'`;
  const hasFocus = (frame: FrameLocator) =>
    until(() => fieldOf(frame).evaluate(inPage('return element.matches(":focus")')), { what: 'the field' });
  await opener(page).focus();
  await page.keyboard.press('Enter');
  const frame = frameOf(page);
  await hasFocus(frame);
  await page.keyboard.type('Rope');
  t.equal(await fieldOf(frame).inputValue(), 'Rope');
  t.comment('Escape of an input method ends a word, not the chat');
  await fieldOf(frame).evaluate(
    inPage(`
      for (const more of [{ isComposing: true }, { keyCode: 229 }])
        element.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, ...more }));
    `),
  );
  await closer(page).first().waitFor();
  await page.keyboard.press('Escape');
  await opener(page).waitFor();
  await focused(BUTTON);
  await page.keyboard.press('Enter');
  await hasFocus(frame);
  t.equal(await fieldOf(frame).inputValue(), 'Rope');
  await page.keyboard.press('Escape');
  await focused(BUTTON);

  t.comment('from the button, and a focus that the visitor has elsewhere stays there');
  await page.keyboard.press('Enter');
  await hasFocus(frame);
  await closer(page).first().focus();
  await page.keyboard.press('Escape');
  await opener(page).waitFor();
  await focused(BUTTON);
  await page.evaluate('Parley.open()');
  await hasFocus(frame);
  await page.getByRole('link').focus();
  await page.evaluate('Parley.close()');
  await opener(page).waitFor();
  await focused(`document.activeElement.localName === 'a'`);
  await page.close();
  t.strictSame(browser.problems, []);
});
