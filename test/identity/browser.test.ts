/** Sign-in in a real browser: redirects between sites, cookies with their prefix, the pages. */

import t from 'tap';
import { startChromium } from '../support/chromium.ts';
import { startSignIn } from './sign-in-fixture.ts';

const SESSION = '__Host-parley_session';

t.test('a person signs in on a page, comes back to it, and signs out', async (t) => {
  const { app } = await startSignIn(t);
  const context = await startChromium(t);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  // The names of this machine are different sites for a browser, so it shows the choices first.
  const { port } = new URL(app.baseUrl);
  await page.goto(`http://localhost:${port}/docs/states`);
  await page.getByRole('link', { name: 'Sign in with Staff' }).click();
  await page.waitForURL(`${app.baseUrl}/v1/auth/sign-in**`);
  await page.getByRole('link', { name: 'Sign in with Staff' }).click();
  await page.getByLabel('Name').fill('joan');
  await page.getByRole('button', { name: 'Go' }).click();
  await page.waitForURL(`${app.baseUrl}/docs/states`);
  await page.getByText('Signed in as joan of the team').waitFor();

  const cookies = await context.cookies();
  const ours = cookies.filter(({ name }) => name.startsWith('__Host-'));
  t.match(ours, [{ name: SESSION, path: '/', httpOnly: true, secure: true, sameSite: 'Strict' }]);
  t.equal(ours.length, 1, 'nothing is left of the way to the provider');
  t.notMatch(await page.evaluate('document.cookie'), /parley/);

  t.comment('another tab, loaded twice at once');
  const other = await context.newPage();
  await Promise.all([other.goto(`${app.baseUrl}/docs`), page.reload()]);
  for (const tab of [other, page]) await tab.getByText('Signed in as joan of the team').waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('link', { name: 'Sign in with Staff' }).waitFor();
  t.strictSame(
    (await context.cookies()).filter(({ name }) => name.startsWith('__Host-')),
    [],
  );
  t.strictSame(problems, []);
});
