/**
 * The console as a visitor of the demo account finds it, in a real browser.
 *
 * Without influence: OPERATION, packages/client/ai, src/features/cells,
 * src/features/compliance, src/features/identity, src/features/import,
 * src/features/platform-events, src/api/documents/pages, src/core/documents.
 */

import t from 'tap';
import { startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, seriousFindings } from '../../support/console-page.ts';

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
  t.strictSame(await seriousFindings(page), []);
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
