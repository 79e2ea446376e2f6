/**
 * The page of operators shows live figures and what needs attention, and nothing to other users.
 *
 * Without influence: OPERATION, ANSWERS, packages/client/ai, src/features/cells,
 * src/features/compliance, src/features/identity, src/features/platform-events,
 * src/features/widgets, src/api/documents/pages, src/core/documents.
 */

import type { Page } from 'playwright-core';
import t from 'tap';
import { lockUser } from '../../../src/core/accounts/actors/users.ts';
import { addOperator, removeOperator } from '../../../src/core/accounts/users/operators.ts';
import { startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, findingsOf } from '../../support/console-page.ts';
import { until } from '../../support/until.ts';

const app = await startTestApp(t);
const { demo, database } = app;
const { ada } = demo.users;
const browser = await ConsoleBrowser.start(t, app.baseUrl);

t.test('others than operators are neither offered the page nor shown it', async (t) => {
  const page = await browser.open('ada', 'installation');
  await page.getByRole('heading', { name: 'Nothing is here' }).waitFor();
  t.equal(await page.getByRole('link', { name: 'Installation' }).count(), 0);
  const asked = await requestsTo(page, '/v1/installation', () => page.reload());
  await page.getByRole('heading', { name: 'Nothing is here' }).waitFor();
  t.strictSame(asked, []);
  await page.close();
});

t.test('an operator sees figures that move, and that all is well', async (t) => {
  await setOperator(true);
  const page = await browser.open('ada');
  await page.getByRole('link', { name: 'Installation' }).click();
  await page.getByText('Everything is well.').waitFor();
  t.equal(await page.getByRole('listitem').filter({ hasText: 'Postgres' }).count(), 1);
  for (const title of [
    'Open sockets',
    'Sends',
    'Deliveries',
    'Time of a send',
    'Event loop, p99',
    'Outbox lag',
  ]) {
    await page.getByRole('figure', { name: title, exact: true }).waitFor();
    if (title === 'Time of a send') continue;
    await until(() => isDrawn(page, title), { what: `${title} is drawn` });
  }
  const sends = page.locator('.installation-node dd').nth(1);
  await until(
    async () => {
      const path = `/v1/messaging/conversations/${demo.conversations.group}/messages`;
      await app.call('POST', path, { body: { body: 'ahoy', client_message_id: crypto.randomUUID() } });
      return !/^(0|–)/.test((await sends.textContent()) ?? '');
    },
    { what: 'the sends are shown' },
  );
  const link = page.getByRole('link', { name: 'Redis' });
  t.match(await link.getAttribute('href'), /\/docs\/operations#when-redis-needs-attention$/);
  await page.close();
});

t.test('the drawings follow the theme', async () => {
  const page = await browser.open('ada', 'installation');
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await until(() => isDrawn(page, 'Open sockets'), {
      what: `the line has the colour that the node has in the ${colorScheme} theme`,
    });
  }
  await page.close();
});

t.test('what needs attention stands first, with what to do', async (t) => {
  const page = await browser.open('ada', 'installation');
  await page.getByText('Everything is well.').waitFor();
  const id = `imp_${'0'.repeat(24)}`;
  await database.kysely
    .insertInto('imports')
    .values({
      id,
      account_id: demo.account_id,
      source: 'slack',
      status: 'failed',
      size_bytes: 1,
      completed_at: new Date().toISOString(),
    })
    .execute();
  await page.getByText('Attention: Imports.').waitFor();
  const first = page.locator('.installation-check').first();
  t.match(await first.textContent(), /Imports needs attention: 1 import failed within a day/);
  t.strictSame(await findingsOf(page), []);
  await database.kysely.deleteFrom('imports').where('id', '=', id).execute();
  await page.getByText('Everything is well.').waitFor();
  await page.close();
});

t.test('a page without an answer says so, and goes on with what it missed', async () => {
  const page = await browser.open('ada', 'installation');
  await page.getByText('Everything is well.').waitFor();
  await page.context().setOffline(true);
  await page.getByRole('alert').getByText('What is shown is not up to date.').waitFor();
  await page.getByRole('listitem', { name: /^Node/ }).waitFor();
  await page.context().setOffline(false);
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await page.close();
});

t.test('on a phone nothing is wider than the page', async () => {
  const page = await browser.open('ada', 'installation');
  await page.setViewportSize({ width: 360, height: 740 });
  await page.getByText('Everything is well.').waitFor();
  await until(async () => ((await page.evaluate(OVERFLOW)) as number) <= 0, { what: 'nothing overflows' });
  await page.close();
});

t.test('a person who is an operator no more loses the page at once', async () => {
  const page = await browser.open('ada', 'installation');
  await page.getByText('Everything is well.').waitFor();
  await setOperator(false);
  await page.getByRole('heading', { name: 'Nothing is here' }).waitFor();
  await page.getByRole('link', { name: 'Installation' }).waitFor({ state: 'detached' });
  await page.close();
});

t.test('nothing was refused by the content policy', async (t) => {
  const expected = /ERR_INTERNET_DISCONNECTED|status of 404/;
  t.strictSame(
    browser.problems.filter((problem) => !expected.test(problem)),
    [],
  );
});

async function setOperator(isOne: boolean): Promise<void> {
  await database.transaction(async (tx) => {
    const user = (await lockUser(tx, demo.account_id, ada.id))!;
    if (isOne) await addOperator(tx, user);
    else await removeOperator(tx, user);
  });
}

async function requestsTo(page: Page, path: string, action: () => Promise<unknown>): Promise<string[]> {
  const urls: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes(path)) urls.push(request.url());
  });
  await action();
  return urls;
}

/** Returns whether a drawing has points in the colour of the first node. */
async function isDrawn(page: Page, title: string): Promise<boolean> {
  const drawn = await page.evaluate(`(() => {
    const figure = document.querySelector('figure[aria-label="${title}"]');
    const canvas = figure?.querySelector('canvas');
    if (!canvas) return false;
    const { backgroundColor } = getComputedStyle(figure.querySelector('.installation-swatch'));
    const colour = backgroundColor.match(/[0-9.]+/g).map(Number);
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    for (let at = 0; at < data.length; at += 4) {
      const isLike = [0, 1, 2].every((part) => Math.abs(data[at + part] - colour[part]) < 4);
      if (isLike && data[at + 3] > 200) return true;
    }
    return false;
  })()`);
  return drawn === true;
}

/** How far the page is wider than its window. */
const OVERFLOW = `(() => {
  const main = document.querySelector('.shell-main');
  return Math.max(main.scrollWidth - main.clientWidth, document.body.scrollWidth - innerWidth);
})()`;
