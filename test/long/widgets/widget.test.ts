/**
 * The widget on pages of a shop, in a real browser: the loader, the frame, visitors' identities.
 *
 * Without influence: OPERATION, ANSWERS, packages/client/ai, src/core/installation,
 * packages/console/administration, packages/console/installation, src/features/cells,
 * src/features/compliance, src/features/import, src/features/platform-events, src/features/search,
 * src/api/documents/pages, src/core/documents.
 */

import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Widget } from '@parley/protocol/resources/widget.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { readableOn } from '@parley/widget/readable-on.ts';
import type { FrameLocator, Locator, Page } from 'playwright-core';
import t from 'tap';
import { AUDIENCE, provide } from '../../identity/fixture.ts';
import { callsAt, startTestApp } from '../../support/app.ts';
import { startChromium } from '../../support/chromium.ts';
import { findingsOf, inPage } from '../../support/console-page.ts';
import { contrast } from '../../support/contrast.ts';
import { MailServer } from '../../support/mail-server.ts';
import { serveSite } from '../../support/served-page.ts';
import { TokenIssuer } from '../../support/token-issuer.ts';
import { until } from '../../support/until.ts';

const mail = await MailServer.start(t);
const app = await startTestApp(t, {
  PARLEY_FETCH_ALLOW: '127.0.0.1',
  PARLEY_RATE_LIMIT: 'off',
  PARLEY_SMTP_URL: mail.url,
});
const { call } = callsAt(app, NEWEST_VERSION);
const issuer = await TokenIssuer.start(t);
const provider = await provide(app, issuer, {
  person: 'customer',
  subject: 'external_id',
  provision: 'first_use',
  algorithms: ['RS256'],
});
let more = '';
const site = await serveSite(t, (request, response) => {
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  // The policy of a careful shop: the widget needs its script and its frame, and nothing else.
  response.setHeader(
    'Content-Security-Policy',
    `default-src 'self'; script-src ${app.baseUrl}; frame-src ${app.baseUrl}`,
  );
  response.end(`<!doctype html><html lang="${request.url === '/ar' ? 'ar' : 'en'}"><title>Shop</title>
    <body><main><h1>Shop</h1></main><script src="${app.baseUrl}/widget.js" data-account="${app.demo.account_id}"
    data-widget="${widget.id}" ${more} async></script></body></html>`);
});
const { body: widget } = await call<Widget>('POST', '/v1/widgets', {
  body: {
    name: 'Shop',
    sites: [site],
    identity_provider_id: provider.id,
    colors: { light: '#7a1f5c' },
    texts: { en: { greeting: 'Ahoy! What are you looking for?' } },
  },
});
const context = await startChromium(t);
const problems: string[] = [];

async function shopPage(path = '/'): Promise<Page> {
  const page = await context.newPage();
  page.on('pageerror', (error) => problems.push(error.stack ?? error.message));
  page.on('console', (message) => {
    // The end of a session is found out by a refusal.
    const isRefusal = /status of 401/.test(message.text());
    if (message.type() === 'error' && !isRefusal) problems.push(message.text());
  });
  await page.goto(site + path);
  return page;
}

async function open(page: Page): Promise<FrameLocator> {
  await page.getByRole('button', { name: 'Open the chat' }).click();
  const frame = page.frameLocator('iframe[title="Chat"]');
  await frame.getByRole('textbox', { name: 'Write a message' }).waitFor();
  return frame;
}

async function say(frame: FrameLocator, text: string, shown = text): Promise<void> {
  const field = frame.getByRole('textbox', { name: 'Write a message' });
  await field.fill(text);
  await field.press('Enter');
  await frame.locator('.bubble-own[data-delivery="sent"]', { hasText: shown }).waitFor();
}

/** Returns the case in which the visitor has said this. */
async function caseWith(text: string): Promise<string> {
  const { body } = await call<List<Conversation & { last_message: ChatMessage }>>(
    'GET',
    '/v1/messaging/conversations?order=activity&include[]=last_message',
  );
  return body.data.find(({ last_message }) => last_message?.body === text)!.id;
}

const reply = (id: string, body: string) =>
  call('POST', `/v1/messaging/conversations/${id}/messages`, {
    body: { body, audience: 'customer', client_message_id: crypto.randomUUID() },
  });

function identify(page: Page, sub: string): Promise<unknown> {
  const token = issuer.token({ iss: issuer.origin, aud: AUDIENCE, sub, name: sub });
  return page.evaluate(`Parley.identify('${token}')`);
}

t.test('an anonymous visitor writes, is answered, and finds it again after a reload', async (t) => {
  const page = await shopPage();
  t.equal(page.frames().length, 1, 'nothing is loaded before the panel is opened');
  const frame = await open(page);
  await frame.getByText('Ahoy! What are you looking for?').waitFor();
  t.strictSame(await findingsOf(page), []);
  await say(frame, 'Do you have *red* rope?', 'Do you have red rope?');
  const id = await caseWith('Do you have *red* rope?');
  await reply(id, 'We do: <https://shop.example/rope>');
  await frame.getByRole('link', { name: 'https://shop.example/rope' }).waitFor();
  await frame.getByRole('button', { name: 'Close the chat' }).click();
  await reply(id, 'Five metres left.');
  await page.getByRole('button', { name: 'Open the chat, 1 unread' }).waitFor();
  await page.reload();
  const again = await open(page);
  await again.getByText('Five metres left.').waitFor();
  await again.getByText('red rope').waitFor();
  const read = async () => {
    const { body } = await call<Conversation>(
      'GET',
      `/v1/messaging/conversations/${id}?include[]=participants`,
    );
    return body.participants!.some(
      ({ type, last_read_sequence }) => type === 'customer' && last_read_sequence === 3,
    );
  };
  await until(read, { what: 'what is shown is read' });
  const addresses = page.frames().map((one) => one.url());
  t.equal(addresses.length, 3, 'the page, the panel, and the bubble');
  t.notMatch(addresses.join(), /token|eyJ/);
  await page.close();
  t.strictSame(problems, []);
});

t.test('what was said anonymously goes along, and another person never sees it', async (t) => {
  const page = await shopPage();
  let frame = await open(page);
  await frame.getByText('Five metres left.').waitFor();
  await identify(page, 'ines');
  await frame.getByText('Five metres left.').waitFor();
  await say(frame, 'It is me, Ines');
  const { body } = await call<List<Conversation>>(
    'GET',
    '/v1/messaging/conversations?customer_id=ext:ines&include[]=participants',
  );
  t.equal(body.data.length, 1, 'her case is that of the visitor');

  await identify(page, 'otto');
  await frame.getByText('Ahoy! What are you looking for?').waitFor();
  t.equal(await frame.getByText('Five metres left.').count(), 0);
  await reply(body.data[0]!.id, 'For Ines alone');
  await say(frame, 'It is me, Otto');
  t.equal(await frame.getByText('Ines').count(), 0, 'not in the list, not in a frame');

  await page.evaluate('Parley.forget()');
  await frame.getByText('Ahoy! What are you looking for?').waitFor();
  t.equal(await frame.getByText(/Ines|Otto/).count(), 0);
  await page.close();

  t.comment('on another device');
  const other = await shopPage();
  await identify(other, 'ines');
  frame = await open(other);
  await frame.getByText('For Ines alone').waitFor();
  await other.close();
  t.strictSame(problems, []);
});

t.test('a link in a mail shows the conversation in another browser', async (t) => {
  const page = await shopPage();
  const frame = await open(page);
  await say(frame, 'Can I read this at home?');
  await frame.getByLabel('E-mail address').fill('maya@home.example');
  await frame.getByRole('button', { name: 'Send me a code' }).click();
  await frame.getByText('A mail was sent to maya@home.example').waitFor();
  const { raw } = await until(
    () => mail.received.find(({ recipients }) => recipients.includes('maya@home.example')),
    { what: 'the mail' },
  );
  const [link = ''] =
    /http\S+#confirm=[\w-]+/.exec(raw.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=')) ?? [];
  const home = await (await startChromium(t)).newPage();
  home.on('pageerror', (error) => problems.push(error.stack ?? error.message));
  await home.goto(link);
  t.notMatch(home.url(), 'confirm', 'the token is taken out of the address');
  await home.getByRole('button', { name: 'Confirm' }).click();
  await home.getByText('Can I read this at home?').waitFor();
  t.strictSame(await findingsOf(home), []);
  const offers = home.getByLabel('E-mail address');
  t.equal(await offers.count(), 0, 'an address that is confirmed is not asked for');
  // Also once the session was refreshed, as it is by a page that is loaded again.
  await home.reload();
  await home.getByText('Can I read this at home?').waitFor();
  t.equal(await offers.count(), 0);
  const again = await home.context().newPage();
  await again.goto(link);
  await again.getByRole('button', { name: 'Confirm' }).click();
  await again.getByText('This link has been used').waitFor();
  t.comment('the browser that asked has lost the anonymous session, and sees nothing more');
  await frame.getByText('You opened the link that was sent to maya@home.example').waitFor();
  t.equal(await frame.getByText('Can I read this at home?').count(), 0);
  await frame.getByRole('button', { name: 'Start another conversation' }).click();
  await frame.getByText('Ahoy! What are you looking for?').waitFor();
  await page.close();
  t.strictSame(
    problems.filter((text) => !/40[01]/.test(text)),
    [],
  );
});

t.test('the place of a reader stays, also while the panel is closed', async (t) => {
  const page = await shopPage();
  await identify(page, 'reader');
  const frame = await open(page);
  await say(frame, 'The first of many');
  const id = await caseWith('The first of many');
  for (let n = 1; n <= 20; n++) await reply(id, `Answer ${n}`);
  const box = frame.getByRole('log');
  const isAtEnd = inPage('return element.scrollHeight - element.scrollTop - element.clientHeight <= 8');
  await frame.getByText('Answer 20', { exact: true }).waitFor();
  await until(() => box.evaluate(isAtEnd), { what: 'the newest is kept in view' });
  await box.evaluate(inPage('element.scrollTop = 200'));
  const tenth = frame.getByText('Answer 10', { exact: true });
  const { y } = (await tenth.boundingBox())!;
  await reply(id, 'Another answer');
  await frame.locator('.bubble', { hasText: 'Another answer' }).waitFor({ state: 'attached' });
  t.equal((await tenth.boundingBox())!.y, y);
  await page.evaluate('Parley.close()');
  await reply(id, 'While it was closed');
  await frame.locator('.bubble', { hasText: 'While it was closed' }).waitFor({ state: 'attached' });
  await page.evaluate('Parley.open()');
  await until(async () => (await tenth.boundingBox())?.y === y, { what: 'the same place' });
  await say(frame, 'I have read it');
  await until(() => box.evaluate(isAtEnd), { what: 'what one says is in view' });
  await page.close();
});

t.test('a language from right to left', async (t) => {
  const page = await shopPage('/ar');
  await page.getByRole('button', { name: 'افتح المحادثة' }).click();
  const frame = page.frameLocator('iframe[title="محادثة"]');
  await frame.getByRole('textbox', { name: 'اكتب رسالة' }).waitFor();
  t.equal(await frame.locator('html').getAttribute('dir'), 'rtl');
  t.strictSame(await findingsOf(page), []);
  await page.close();
  t.strictSame(problems, []);
});

t.test('a frame that fails can be closed on a phone, which it covers', async (t) => {
  const page = await shopPage();
  await page.setViewportSize({ width: 360, height: 740 });
  await page.route('**/public', (route) => route.fulfill({ status: 503 }));
  await page.getByRole('button', { name: 'Open the chat' }).click();
  const failed = page.frameLocator('iframe[title="Chat"]').getByText('The chat cannot be loaded.');
  await failed.waitFor();
  await page.getByRole('button', { name: 'Close the chat' }).click();
  await failed.waitFor({ state: 'hidden' });
  await page.unroute('**/public');
  await page.reload();
  const frame = await open(page);
  await frame.getByRole('button', { name: 'Close the chat' }).click();
  await page.getByRole('button', { name: 'Open the chat' }).waitFor();
  t.strictSame(
    problems.splice(0).filter((text) => !/status of 503/.test(text)),
    [],
  );
  await page.close();
});

t.test('a page that is no site of the widget cannot embed it, nor talk to it', async (t) => {
  await call('PATCH', `/v1/widgets/${widget.id}`, { body: { sites: ['https://elsewhere.example'] } });
  const page = await context.newPage();
  const refused = page.waitForEvent('console', (message) => /frame-ancestors/.test(message.text()));
  await page.goto(site);
  await page.getByRole('button', { name: 'Open the chat' }).click();
  await refused;
  t.equal(await page.frameLocator('iframe[title="Chat"]').getByRole('textbox').count(), 0);
  await page.close();
  await call('PATCH', `/v1/widgets/${widget.id}`, { body: { sites: [site] } });
});

t.test('an Enter of an input method does not send', async (t) => {
  more = 'data-color="#123456"';
  const page = await shopPage();
  const frame = await open(page);
  const field = frame.getByRole('textbox', { name: 'Write a message' });
  await field.fill('かな');
  await field.evaluate(
    inPage(`
      const enter = (more) =>
        element.dispatchEvent(
          new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ...more }),
        );
      enter({ isComposing: true });
      enter({ keyCode: 229 });
      element.dispatchEvent(new CompositionEvent('compositionstart', { bubbles: true }));
      element.dispatchEvent(new CompositionEvent('compositionend', { bubbles: true }));
      enter({});
    `),
  );
  t.equal(await field.inputValue(), 'かな');
  t.equal(await frame.locator('.bubble-own').count(), 0);
  await field.press('Enter');
  await frame.locator('.bubble-own[data-delivery="sent"]').waitFor();
  await page.close();
  t.strictSame(problems, []);
});

t.test('what stands on a colour of the widget can be seen on it', async (t) => {
  for (let light = 0; light <= 0xff; light += 0x11) {
    for (const part of [0x010101, 0x010000, 0x000100, 0x000001, 0x010100]) {
      const color = `#${(light * part).toString(16).padStart(6, '0')}`;
      t.ok(contrast(color, readableOn(color)) >= 3, `${color}: ${readableOn(color)}`);
    }
  }
  const colors = { light: '#fff3a0', dark: '#1b1b26' };
  await call('PATCH', `/v1/widgets/${widget.id}`, { body: { colors } });
  for (const colorScheme of ['light', 'dark'] as const) {
    more = `data-color="${colors[colorScheme]}"`;
    const page = await shopPage();
    await page.emulateMedia({ colorScheme });
    const frame = await open(page);
    await frame.getByRole('textbox', { name: 'Write a message' }).fill('Ahoy');
    const buttons = [
      frame.getByRole('button', { name: 'Send', exact: true }),
      page.getByRole('button', { name: 'Close the chat' }).first(),
    ];
    for (const button of buttons) {
      const look = (await button.evaluate(
        inPage(
          'const { color, backgroundColor } = getComputedStyle(element); return [color, backgroundColor]',
        ),
      )) as [string, string];
      const [color, ground] = look.map(hexOf) as [string, string];
      t.equal(ground, colors[colorScheme]);
      t.ok(contrast(color, ground) >= 3, `${color} on ${ground}`);
      // A key that does nothing shows where the focus is.
      await button.press('Shift');
      const [ring, beside] = await ringOf(button);
      t.ok(contrast(ring, beside) >= 3, `a ring of ${ring} beside ${beside}`);
    }
    await page.close();
  }
  t.strictSame(problems, []);
});

/**
 * Returns the colours of the ring of a focused button and of what is beside it: of the panel in the
 * frame, and a second ring on pages that the widget does not know.
 */
async function ringOf(button: Locator): Promise<[string, string]> {
  const look = (await button.evaluate(
    inPage(`
      const { outlineStyle, outlineColor, boxShadow } = getComputedStyle(element);
      if (outlineStyle !== 'solid') return [];
      const panel = element.closest('.chat');
      return [outlineColor, panel ? getComputedStyle(panel).backgroundColor : boxShadow];
    `),
  )) as string[];
  return look.map(hexOf) as [string, string];
}

/** Returns `#rrggbb` for the first `rgb(…)` of a text. */
function hexOf(color: string): string {
  const parts = color.match(/\d+/g)!.slice(0, 3);
  return `#${parts.map((part) => Number(part).toString(16).padStart(2, '0')).join('')}`;
}

t.test('the list of cases says which of them has news', async (t) => {
  const page = await shopPage();
  const frame = await open(page);
  const list = frame.getByRole('button', { name: 'Earlier conversations' });
  await say(frame, 'A question of rope');
  await list.click();
  await frame.getByRole('button', { name: 'Start another conversation' }).click();
  await say(frame, 'A question of bells');
  await list.click();
  await reply(await caseWith('A question of rope'), 'Ten metres have come');
  const weightOf = (text: string) =>
    frame.getByText(text).evaluate(inPage('return getComputedStyle(element).fontWeight'));
  await until(async () => (await weightOf('Ten metres have come')) === '650', { what: 'it is unread' });
  t.equal(await weightOf('A question of bells'), '400');
  await page.close();
  t.strictSame(problems, []);
});
