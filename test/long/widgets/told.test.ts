/**
 * A customer is told of an answer, in a real browser: the count and the bubble of the launcher, the
 * code of a mail, and a browser that keeps no data.
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
import type { BrowserContext, FrameLocator, Page } from 'playwright-core';
import t from 'tap';
import { addInbox } from '../../mail/fixture.ts';
import { callsAt, startTestApp } from '../../support/app.ts';
import { startChromium } from '../../support/chromium.ts';
import { findingsOf } from '../../support/console-page.ts';
import { MailServer } from '../../support/mail-server.ts';
import { serveSite } from '../../support/served-page.ts';
import { until } from '../../support/until.ts';

const mail = await MailServer.start(t);
const app = await startTestApp(t, { PARLEY_RATE_LIMIT: 'off', PARLEY_SMTP_URL: mail.url });
const { call } = callsAt(app, NEWEST_VERSION);
const { database, demo } = app;
const inbox = await addInbox({ database, accountId: demo.account_id, actorId: demo.users.ada.id });
const site = await serveSite(t, (_, response) => {
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.end(`<!doctype html><html lang="en"><title>Shop</title><body><main><h1>Shop</h1></main>
    <script src="${app.baseUrl}/widget.js" data-account="${demo.account_id}" data-widget="${widget.id}" async></script>
    </body></html>`);
});
const { body: widget } = await call<Widget>('POST', '/v1/widgets', {
  body: { name: 'Shop', sites: [site], inbox_id: inbox.id },
});
const context = await startChromium(t);

async function shopPage(browser: BrowserContext = context): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(site);
  return page;
}

async function open(page: Page): Promise<FrameLocator> {
  await page.getByRole('button', { name: 'Open the chat' }).click();
  const frame = page.frameLocator('iframe[title="Chat"]');
  await frame.getByRole('textbox', { name: 'Write a message' }).waitFor();
  return frame;
}

/** Says it in the panel. Returns the case. */
async function say(frame: FrameLocator, text: string): Promise<string> {
  const field = frame.getByRole('textbox', { name: 'Write a message' });
  await field.fill(text);
  await field.press('Enter');
  await frame.locator('.bubble-own[data-delivery="sent"]', { hasText: text }).waitFor();
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

async function mailTo(address: string): Promise<{ link: string; code: string }> {
  const { raw } = await until(() => mail.received.find(({ recipients }) => recipients.includes(address)), {
    what: 'the mail',
  });
  const text = raw.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=');
  const [link = ''] = /http\S+#confirm=[\w-]+/.exec(text) ?? [];
  const [, code = ''] = /there: (\d{6})/.exec(text) ?? [];
  return { link, code };
}

async function askFor(frame: FrameLocator, address: string): Promise<void> {
  await frame.getByLabel('E-mail address').fill(address);
  await frame.getByRole('button', { name: 'Send me a code' }).click();
  await frame.getByText(`A mail was sent to ${address}`).waitFor();
}

t.test('the launcher counts on the next page, and a bubble shows the first words', async (t) => {
  const page = await shopPage();
  t.equal(page.frames().length, 1, 'a stranger costs no request');
  const frame = await open(page);
  const id = await say(frame, 'Do you have rope?');
  await page.goto('about:blank');
  await reply(id, 'We **do**, in red.');
  await page.goto(site);
  // The panel was open in this tab, and is closed for the count.
  await page.getByRole('button', { name: 'Close the chat' }).last().click();
  const next = await shopPage();
  await reply(id, 'And in blue.');
  await next.reload();
  await next.getByRole('button', { name: 'Open the chat, 1 unread' }).waitFor();
  t.equal(await next.locator('iframe[title="Chat"]').count(), 0, 'without the panel');
  const bubble = next.frameLocator('iframe[title="New answer"]');
  await bubble.getByRole('status').getByText('And in blue.').waitFor();
  t.strictSame(await findingsOf(next), []);
  const inPage = await next.evaluate('document.documentElement.outerHTML + JSON.stringify(localStorage)');
  t.notMatch(inPage, 'blue', 'the page around does not get the words');

  await bubble.getByRole('button', { name: 'Dismiss' }).click();
  await next.locator('iframe[title="New answer"]').waitFor({ state: 'hidden' });
  await next.reload();
  await next.getByRole('button', { name: 'Open the chat, 1 unread' }).waitFor();
  t.notOk(await next.locator('iframe[title="New answer"]').isVisible(), 'a dismissed one stays away');

  await reply(id, 'Five metres left.');
  await next.reload();
  await bubble.getByRole('button', { name: 'Five metres left.' }).click();
  await next.frameLocator('iframe[title="Chat"]').getByText('Five metres left.').waitFor();
  await next.locator('iframe[title="New answer"]').waitFor({ state: 'hidden' });
  await until(async () => (await next.getByRole('button', { name: /unread/ }).count()) === 0, {
    what: 'the count to end',
  });

  t.comment('beside the panel, once that is closed, and for each answer');
  await next.frameLocator('iframe[title="Chat"]').getByRole('button', { name: 'Close the chat' }).click();
  for (const text of ['And a ladder.', 'And a lamp.']) {
    await reply(id, text);
    await bubble.getByRole('status').getByText(text).waitFor();
    await bubble.getByRole('button', { name: 'Dismiss' }).click();
    await next.locator('iframe[title="New answer"]').waitFor({ state: 'hidden' });
  }
  await next.close();
  await page.close();
});

t.test('the code of the mail makes the page known, and its conversation and text go on', async (t) => {
  const page = await shopPage(await startChromium(t));
  const frame = await open(page);
  await say(frame, 'Can you mail me?');
  await frame.getByText('Get the answer by e-mail').waitFor();
  await askFor(frame, 'maya@home.example');
  const { code } = await mailTo('maya@home.example');
  await page.reload();
  await frame.getByRole('textbox', { name: 'Write a message' }).fill('Half a sentence');
  const field = frame.getByLabel('Code of six digits');
  await field.fill(code === '111111' ? '222222' : '111111');
  await frame.getByRole('button', { name: 'Confirm' }).click();
  await frame.getByText('This is not the code of the mail.').waitFor();
  t.strictSame(await findingsOf(page), []);
  await field.fill(`${code.slice(0, 3)} ${code.slice(3)}`);
  await frame.getByRole('button', { name: 'Confirm' }).click();
  await field.waitFor({ state: 'hidden' });
  await frame.getByText('Can you mail me?').waitFor();
  const text = frame.getByRole('textbox', { name: 'Write a message' });
  t.equal(await text.inputValue(), 'Half a sentence');
  await say(frame, 'Here I am');
  t.equal(await frame.getByLabel('E-mail address').count(), 0);
});

t.test('after the link was opened elsewhere, the page of the shop says so', async () => {
  const page = await shopPage(await startChromium(t));
  const frame = await open(page);
  await say(frame, 'I shall be at home');
  await askFor(frame, 'otto@home.example');
  const { link, code } = await mailTo('otto@home.example');
  const home = await (await startChromium(t)).newPage();
  await home.goto(link);
  await home.getByRole('button', { name: 'Confirm' }).click();
  await home.getByText('I shall be at home').waitFor();
  await frame.getByText('Your conversation goes on there').waitFor();
  await page.reload();
  await frame.getByText('Your conversation goes on there').waitFor();
  await frame.getByLabel('Code of six digits').fill(code);
  await frame.getByRole('button', { name: 'Confirm' }).click();
  await frame.getByText('I shall be at home').waitFor();
});

t.test('a browser that keeps no data of sites sends and counts all the same', async (t) => {
  const blocked = { profile: { default_content_setting_values: { cookies: 2 } } };
  const page = await shopPage(await startChromium(t, blocked));
  const denied = await page.evaluate(
    `(() => { try { localStorage.length; return false } catch { return true } })()`,
  );
  t.ok(denied, 'the browser denies its storage');
  const frame = await open(page);
  const id = await say(frame, 'No traces, please');
  await frame.getByRole('button', { name: 'Close the chat' }).click();
  await reply(id, 'None.');
  await page.getByRole('button', { name: 'Open the chat, 1 unread' }).waitFor();
});
