/**
 * The console as a visitor of the demo account finds it, in a real browser.
 *
 * Without influence: OPERATION, packages/client/ai, src/features/cells,
 * src/features/compliance, src/features/identity, src/features/import,
 * src/features/platform-events, src/api/documents/pages, src/core/documents.
 */

import t from 'tap';
import { Cases } from '../../messages/cases.ts';
import { startTestApp } from '../../support/app.ts';
import { ConsoleBrowser } from '../../support/console-page.ts';

const app = await startTestApp(t);
const browser = await ConsoleBrowser.start(t, app.baseUrl);

t.test('a demo person is signed in by a link, and after a reload', async (t) => {
  const page = await browser.open('grace');
  await page.getByRole('link', { name: 'Grace Hopper' }).waitFor();
  await page.goto(`${app.baseUrl}/console/`);
  await page.getByRole('link', { name: 'Grace Hopper' }).waitFor();
  await page.getByRole('link', { name: 'Grace Hopper' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Parley' }).waitFor();
  t.strictSame(browser.problems, []);
});

t.test('a page is served with a strict policy, its files for good', async (t) => {
  const page = await fetch(`${app.baseUrl}/console/c/cnv_unknown`);
  t.match(
    page.headers.get('content-security-policy'),
    /default-src 'none'; script-src 'self'; .*trusted-types/,
  );
  const [, script] = /src="(\/console\/assets\/[^"]+\.js)"/.exec(await page.text()) ?? [];
  const file = await fetch(`${app.baseUrl}${script}`);
  t.equal(file.status, 200);
  t.match(file.headers.get('cache-control'), /immutable/);
});

t.test('the first load with 300 conversations transfers at most 230 KB', async (t) => {
  const cases = new Cases(app);
  for (let n = 1; n <= 300; n++) {
    const id = await cases.conversation('internal');
    await cases.sent(id, { body: `Message ${n} of some forty letters for the list.` });
  }
  const page = await browser.context.newPage();
  browser.watch(page);
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.clearBrowserCache');
  const urls = new Map<string, string>();
  const loaded: (readonly [url: string, bytes: number])[] = [];
  session.on('Network.requestWillBeSent', ({ requestId, request }) => urls.set(requestId, request.url));
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) =>
    loaded.push([urls.get(requestId) ?? '', encodedDataLength]),
  );
  await page.goto(`${app.baseUrl}/console/?as=ada`);
  await page.locator('.inbox-row').nth(20).waitFor();
  await page.waitForLoadState('networkidle');
  const bytes = loaded.reduce((sum, [, length]) => sum + length, 0);
  t.ok(bytes <= 230_000, `${bytes} bytes: ${loaded.map((one) => one.join(' ')).join(', ')}`);
  t.strictSame(browser.problems, []);
});
