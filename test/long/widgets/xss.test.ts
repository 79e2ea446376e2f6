/**
 * Hostile texts in the widget, in a real browser: texts of visitors and the team, settings of an
 * admin, and values from a hostile page. None may run or become an element, in the frame or on the
 * page of the shop.
 *
 * Without influence: OPERATION, ANSWERS, packages/client/ai, src/core/installation,
 * src/edge/console, src/features/cells, src/features/compliance, src/features/import,
 * src/features/mail, src/features/platform-events, src/features/search,
 * src/api/documents/pages, src/core/documents.
 */

import { previewOf } from '@parley/markdown/message-text.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Customer } from '@parley/protocol/resources/customer.ts';
import type { Frame, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { AUDIENCE, provide } from '../../identity/fixture.ts';
import { startTestApp } from '../../support/app.ts';
import { startChromium } from '../../support/chromium.ts';
import { serveSite } from '../../support/served-page.ts';
import { TokenIssuer } from '../../support/token-issuer.ts';
import { until } from '../../support/until.ts';
import { XssWatch } from '../../support/xss-watch.ts';
import { visitorsOf } from '../../widgets/fixture.ts';
import { XSS_KINDS, XSS_NAMES, XSS_VECTORS } from '../xss-vectors.ts';

const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1', PARLEY_RATE_LIMIT: 'off' });
const { need, widget: newWidget } = visitorsOf(app);
const issuer = await TokenIssuer.start(t);
const provider = await provide(app, issuer, {
  person: 'customer',
  subject: 'external_id',
  provision: 'first_use',
  algorithms: ['RS256'],
});
/** Attributes of the loader's script. */
let more = '';
const site = await serveSite(t, (_, response) => {
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.end(`<!doctype html><html lang="en"><title>Shop</title>
    <link rel="icon" href="data:image/svg+xml,"><body><script src="${app.baseUrl}/widget.js"
    data-account="${app.demo.account_id}" data-widget="${widget.id}" ${more} async></script></body></html>`);
});
const group = await need<{ id: string }>('POST', '/v1/messaging/groups', { body: { name: 'Persona' } });
const widget = await newWidget({ sites: [site], identity_provider_id: provider.id, group_id: group.id });
const context = await startChromium(t);
const frameAddress = `${app.baseUrl}/widget/frame?`;
// The panel and the bubble.
const watch = await XssWatch.on(context, [app.baseUrl, site], `${app.baseUrl}/widget/`);

async function open(): Promise<{ readonly page: Page; readonly frame: Frame }> {
  const page = await context.newPage();
  await page.goto(site);
  await page.getByRole('button', { name: 'Open the chat' }).click();
  await page.frameLocator('iframe[title="Chat"]').getByRole('textbox', { name: 'Write a message' }).waitFor();
  return { page, frame: page.frames().find((one) => one.url().startsWith(frameAddress))! };
}

function nothingRan(t: Test): void {
  t.strictSame(watch.take(), []);
}

/** Says to the loader who the visitor is: its subject and its name. */
async function identify(page: Page, sub: string, name: string): Promise<Customer> {
  const token = issuer.token({ iss: issuer.origin, aud: AUDIENCE, sub, name });
  await page.evaluate(`Parley.identify(${JSON.stringify(token)})`);
  await need('GET', '/v1/messaging/conversations', { token });
  return need<Customer>('GET', `/v1/customers/ext:${encodeURIComponent(sub)}`);
}

t.test('what is written by both', async (t) => {
  const { page, frame } = await open();
  const { id } = await identify(page, XSS_NAMES[0]!, XSS_NAMES[1]!);
  const body = { type: 'group', audience: 'customer', participants: [{ type: 'customer', actor_id: id }] };
  const opened = await need<Conversation>('POST', '/v1/messaging/conversations', { body });
  const path = `/v1/messaging/conversations/${opened.id}/messages`;
  const token = await app.tokenOf(id);
  for (const [index, text] of XSS_VECTORS.entries()) {
    const own = index % 2 === 0;
    const attachments = own
      ? []
      : [{ kind: 'link', url: `https://example.com/?${encodeURIComponent(text)}` }];
    await need('POST', path, {
      ...(own && { token }),
      body: {
        body: text,
        client_message_id: crypto.randomUUID(),
        attachments,
        ...(!own && { audience: 'customer' }),
      },
    });
  }
  const field = frame.getByRole('textbox', { name: 'Write a message' });
  await frame.locator('.bubble').first().waitFor();
  for (const text of XSS_VECTORS.filter((_, index) => index % 20 === 0)) {
    await field.fill(text);
    await field.press('Enter');
  }
  await until(async () => (await frame.locator('.bubble-own[data-delivery="pending"]').count()) === 0, {
    what: 'all is sent',
  });
  const older = frame.getByRole('button', { name: 'Show earlier messages' });
  while ((await older.count()) > 0) {
    const before = await frame.locator('.bubble').count();
    await older.click();
    await until(
      async () => (await frame.locator('.bubble').count()) > before || (await older.count()) === 0,
      {
        what: 'older messages',
      },
    );
    await watch.look(frame, []);
  }
  t.ok((await frame.locator('.bubble').count()) >= XSS_VECTORS.length);
  await watch.look(frame, []);

  t.comment('the first words of each answer, in the bubble beside the closed panel');
  await page.evaluate('Parley.close()');
  for (const text of XSS_KINDS) {
    const answer = { body: text, client_message_id: crypto.randomUUID(), audience: 'customer' };
    await need('POST', path, { body: answer });
    await page.locator('iframe[title="New answer"]').waitFor();
    const bubble = page.frames().find((one) => one.url().startsWith(`${app.baseUrl}/widget/bubble?`))!;
    await watch.look(bubble, [previewOf({ kind: 'user', body: text })]);
  }
  await watch.look(page, []);
  await page.close();
  nothingRan(t);
});

t.test('what an admin sets: persona, greeting, hours', async (t) => {
  const page = await context.newPage();
  for (const text of XSS_KINDS) {
    await need('PATCH', `/v1/messaging/groups/${group.id}`, { body: { name: text } });
    await need('PATCH', `/v1/widgets/${widget.id}`, {
      body: { texts: { en: { greeting: text }, ar: { greeting: text } } },
    });
    await page.goto(`${frameAddress}account=${app.demo.account_id}&widget=${widget.id}`);
    // As the persona and as the greeting.
    await watch.look(page, [text], 2);
  }
  for (const light of [
    '#000000;background:url(//xss.example)',
    'url(javascript:alert(1))',
    '#12345z',
    'red',
  ]) {
    const { status } = await app.call('PATCH', `/v1/widgets/${widget.id}`, { body: { colors: { light } } });
    t.equal(status, 400, light);
  }
  await page.close();
  nothingRan(t);
});

t.test('a hostile page around the frame', async (t) => {
  const attributes = ['data-color', 'lang', 'data-lang'];
  for (let from = 0; from < XSS_KINDS.length; from += attributes.length) {
    const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
    more = attributes.map((name, index) => `${name}="${escaped(XSS_KINDS[from + index]!)}"`).join(' ');
    const { page, frame } = await open();
    if (from === 0) await attack(page, frame);
    await watch.look(page, []);
    await watch.look(frame, []);
    await page.close();
  }
  nothingRan(t);
});

/** Hands over each text as a token, and in each field of the messages between page and frame. */
async function attack(page: Page, frame: Frame): Promise<void> {
  await page.evaluate(`(async () => {
    const texts = ${JSON.stringify(XSS_NAMES)};
    for (const text of texts) {
      Parley.identify(text);
      Parley.identify(async () => ({ html: text }));
      Parley.onUnread(() => text);
      await new Promise((resolve) => setTimeout(resolve));
    }
    const [host] = [...document.querySelectorAll('div')].filter(({ shadowRoot }) => shadowRoot !== null);
    const { contentWindow } = host.shadowRoot.querySelector('iframe[title="Chat"]');
    for (const text of texts) {
      contentWindow.postMessage(text, '*');
      contentWindow.postMessage({ parley: text, lang: text, isKnown: text }, '*');
      const { port1, port2 } = new MessageChannel();
      contentWindow.postMessage({ parley: 'page', lang: text, isKnown: text }, '*', [port2]);
      port1.postMessage({ type: 'identity', isKnown: text });
      port1.postMessage({ type: 'token', token: text });
      port1.postMessage({ type: text, token: { toString: text }, isKnown: [text] });
    }
    Parley.forget();
  })()`);
  await frame.getByRole('textbox', { name: 'Write a message' }).waitFor();
}

t.test('markup that slipped through would run nothing in the frame', async (t) => {
  more = '';
  const { page, frame } = await open();
  const refused = await watch.inject(frame);
  t.match(refused, { html: 'TypeError', foreign: 'TypeError', handler: 'TypeError' });
  await page.close();
  t.comment(`${watch.looks} texts were looked at`);
});
