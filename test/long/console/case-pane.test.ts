/**
 * The pane beside a case: what it shows of the customer, and that it stays, in a real browser.
 *
 * Without influence: OPERATION, ASIDE, packages/client/ai, src/core/installation,
 * packages/console/installation, src/features/widgets.
 */

import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import type { Page } from 'playwright-core';
import t from 'tap';
import { Conversations } from '../../conversations/fixture.ts';
import { startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, inPage } from '../../support/console-page.ts';
import { WebhookReceiver } from '../../support/webhook-receiver.ts';

const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const conversations = new Conversations(app);
const browser = await ConsoleBrowser.start(t, app.baseUrl);
const receiver = await WebhookReceiver.start(t);
const SOURCE = '/v1/account/customer-card-source';

const email = `${randomUUID()}@example.net`;
const [first, second] = [await caseOf('Broken lamp'), await caseOf('Lost parcel')];
const other = await conversations.createCase({ title: 'Another customer' });

t.test('who it is, the other cases, and what the application says', async (t) => {
  const hostile = { label: 'Note', value: '<img src=x onerror=alert(1)>' };
  const order = { label: 'Last order', value: '4711', url: 'https://shop.example/orders/4711' };
  receiver.answer = () => answering({ title: 'Gold customer', fields: [order, hostile] });
  await setSource(receiver.url);
  const page = await open('ada', second, 1_440);
  await page.getByRole('button', { name: 'Details' }).click();
  const pane = page.getByRole('complementary', { name: 'Details' });
  const card = pane.getByRole('region', { name: 'Gold customer' });
  const link = card.getByRole('link', { name: '4711' });
  t.equal(await link.getAttribute('href'), order.url);
  t.match(await link.getAttribute('rel'), /noopener/);
  t.equal(await card.getByText(hostile.value).count(), 1, 'a text stays text');
  t.equal(await card.locator('img').count(), 0);
  await pane.getByText('First seen').waitFor();
  await pane.getByText('Customers see this title.').waitFor();
  const past = pane.getByRole('region', { name: 'Other cases' });
  await past.getByRole('link', { name: /Broken lamp/ }).click();
  await page.getByRole('heading', { level: 1, name: 'Broken lamp' }).waitFor();
  await past.getByRole('link', { name: /Lost parcel/ }).waitFor();
  t.equal(await past.getByRole('link').count(), 1, 'neither this case nor those of others');

  receiver.answer = () => 500;
  await setSource(`${receiver.url}/other`);
  await page.reload();
  await pane.getByText('Your application answered with an error.').waitFor();
  receiver.answer = () => 204;
  await setSource(receiver.url);
  await pane.getByRole('button', { name: 'Try again' }).click();
  await pane.getByText('Your application answered').waitFor({ state: 'detached' });
  await past.waitFor();
  await pane.getByRole('link', { name: 'Cleo' }).click();
  await page
    .getByRole('region', { name: 'Cases' })
    .getByRole('link', { name: /Lost parcel/ })
    .click();
  await page.getByRole('heading', { level: 1, name: 'Lost parcel' }).waitFor();
  await page.close();
});

t.test('the pane stays on a wide page, and takes no focus', async (t) => {
  const page = await open('ada', first, 1_440);
  const pane = page.getByRole('complementary', { name: 'Details' });
  if ((await pane.count()) === 0) await page.getByRole('button', { name: 'Details' }).click();
  await pane.getByRole('link', { name: /Lost parcel/ }).waitFor();
  await browser.go(page, `c/${other.conversation.id}`);
  await page.getByRole('heading', { level: 1, name: 'Another customer' }).waitFor();
  await pane.getByText('This is the first case, as far as you may see.').waitFor();
  t.equal(await pane.evaluate(inPage('return element.contains(document.activeElement)')), false);
  await page.reload();
  await pane.getByRole('region', { name: 'Customer' }).waitFor();

  await pane.getByRole('button', { name: 'Close the pane' }).click();
  await pane.waitFor({ state: 'detached' });
  await browser.go(page, `c/${first}`);
  await page.getByRole('heading', { level: 1, name: 'Broken lamp' }).waitFor();
  t.equal(await pane.count(), 0, 'a pane that was closed stays closed');
  await page.close();
});

t.test('on narrower pages the conversation stays in sight, on a phone the pane is all', async (t) => {
  for (const [width, isBeside] of [
    [1_440, true],
    [1_024, true],
    [820, true],
    [390, false],
  ] as const) {
    const page = await open('grace', `${first}?pane=details`, width);
    const pane = page.getByRole('complementary', { name: 'Details' });
    await pane.getByRole('region', { name: 'Other cases' }).waitFor();
    const field = page.locator('.conversation .message-field');
    t.equal(await field.isVisible(), isBeside, `${width}: the field of the conversation`);
    if (isBeside) {
      const [box, of] = [(await field.boundingBox())!, (await pane.boundingBox())!];
      t.ok(box.width > 250 && box.x + box.width <= of.x + 1, `${width}: they do not overlap`);
    }
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    t.ok(Number(overflow) <= 0, `${width}: nothing is wider than the page`);
    await pane.getByRole('button', { name: 'Close the pane' }).click();
    await pane.waitFor({ state: 'detached' });
    await field.waitFor();
    await page.close();
  }
  t.strictSame(browser.problems, []);
});

async function open(person: string, path: string, width: number): Promise<Page> {
  const page = await browser.open(person);
  await page.setViewportSize({ width, height: 900 });
  await browser.go(page, `c/${path}`);
  await page.locator('.conversation-title h1').waitFor({ state: 'attached' });
  return page;
}

/** Returns the id of a case of one customer, in which Grace is too. */
async function caseOf(title: string): Promise<string> {
  const { conversation } = await conversations.createCase({
    title,
    participants: [{ type: 'customer', name: 'Cleo', email }],
  });
  await conversations.add(conversation.id, { type: 'user', actor_id: app.demo.users.grace.id });
  return conversation.id;
}

async function setSource(url: string): Promise<void> {
  const headers = { 'Service-Version': NEWEST_VERSION };
  const { status, text } = await app.call('PUT', SOURCE, { headers, body: { url } });
  if (status !== 200) throw new Error(text);
}

function answering(body: object) {
  return (response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
