/**
 * Outages of the network, in Chromium and in Firefox, which never again asks for a module that
 * could not be loaded.
 *
 * Without influence: OPERATION, ASIDE, ANSWERS, packages/client/ai,
 * src/features/compliance, src/features/mail, src/features/widgets.
 */

import type { Page } from 'puppeteer-core';
import t from 'tap';
import { startTestApp } from '../../support/app.ts';
import { type BrowserName, startBrowser } from '../../support/browsers.ts';
import { FaultProxy } from '../../support/fault-proxy.ts';
import { until } from '../../support/until.ts';

/** Two tries of a socket, and one of each other transport, with the requests beside them. */
const TRIES = 8;

const LIVE = '.banner[data-look="live"]';
const FAILED = '.shell-empty[role="alert"]';

const app = await startTestApp(t);
const proxy = await FaultProxy.start({ target: { port: Number(new URL(app.baseUrl).port) } });
t.teardown(() => proxy.close());

for (const name of ['chrome', 'firefox'] as const satisfies readonly BrowserName[]) {
  t.test(`${name}: a page is live after each outage, and shows what was opened meanwhile`, async (t) => {
    const browser = await startBrowser(t, name);
    const page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    const id = await createGroup(`Outages in ${name}`);
    await page.goto(`http://127.0.0.1:${proxy.port}/console/c/${id}?as=ada`);
    await page.waitForSelector(LIVE);
    const sent: string[] = [];
    for (const place of ['administration', 'settings', 'installation']) {
      const { refused } = proxy.counts;
      proxy.refuse();
      await page.waitForSelector('.banner:not([data-look="live"])');
      sent.push(`While ${place} is opened`);
      await send(id, sent.at(-1)!);
      await go(page, place);
      await page.waitForSelector(FAILED);
      await until(() => proxy.counts.refused >= refused + TRIES, { what: `tries of ${name}` });
      proxy.accept();
      await page.waitForSelector(LIVE);
      await page.waitForSelector(FAILED, { hidden: true });
      await go(page, `c/${id}`);
      const shown = () =>
        page.$$eval('.timeline-rows .message-body', (all) => all.map((one) => one.textContent));
      await until(async () => (await shown()).length >= sent.length, { what: 'messages of the outage' });
      t.strictSame(await shown(), sent, 'once and in order');
    }
  });
}

async function createGroup(title: string): Promise<string> {
  const participants = [{ type: 'user', actor_id: app.demo.users.ada.id }];
  const body = { type: 'group', title, participants };
  return (await app.call<{ id: string }>('POST', '/v1/messaging/conversations', { body })).body.id;
}

async function send(id: string, text: string): Promise<void> {
  const body = { client_message_id: text, body: text };
  const { status } = await app.call('POST', `/v1/messaging/conversations/${id}/messages`, { body });
  if (status !== 201) throw new Error(`The message was answered with ${status}.`);
}

/** Shows another place of the console without loading the page again. */
async function go(page: Page, path: string): Promise<void> {
  await page.evaluate((url) => {
    history.pushState(null, '', url);
    dispatchEvent(new PopStateEvent('popstate'));
  }, `/console/${path}`);
}
