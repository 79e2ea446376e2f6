/**
 * The language of the console, in a real browser: chosen there, or that of the browser.
 *
 * Without influence: OPERATION, ANSWERS, packages/client/ai, src/core/installation,
 * src/features/cells, src/features/identity, src/features/import, src/features/mail,
 * src/features/platform-events, src/features/push, src/features/widgets, src/api/documents/pages,
 * src/core/documents.
 */

import type { Page } from 'playwright-core';
import t from 'tap';
import { startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, findingsOf } from '../../support/console-page.ts';

const app = await startTestApp(t);
const browser = await ConsoleBrowser.start(t, app.baseUrl);

t.test('a chosen language is kept, and only its texts are loaded', async (t) => {
  const page = await browser.open('ada', 'settings');
  t.equal(await languageOf(page), 'en');
  t.strictSame(await loadedTexts(page), ['en']);
  await page.getByLabel('Language').selectOption('Deutsch');
  await page.getByRole('heading', { name: 'Ihre Einstellungen' }).waitFor();
  t.equal(await languageOf(page), 'de');
  t.strictSame(await loadedTexts(page), ['de']);
  t.strictSame(await findingsOf(page), []);

  await browser.go(page, 'administration/people');
  await page.getByRole('heading', { name: 'Personen', level: 1 }).waitFor();
  t.strictSame(await loadedTexts(page), ['de', 'de'], 'with those of the administration');
  t.strictSame(await findingsOf(page), []);

  await browser.go(page, 'settings');
  await page.getByLabel('Sprache').selectOption('Wie der Browser');
  await page.getByRole('heading', { name: 'Your settings' }).waitFor();
  await page.close();
});

t.test('the language is the first of the browser that the console has', async (t) => {
  const signInIn = async (locale: string) => {
    const context = await browser.context.browser()!.newContext({ locale });
    const page = await context.newPage();
    browser.watch(page);
    await page.goto(`${app.baseUrl}/console/`);
    const title = await page.getByRole('heading', { level: 1 }).textContent();
    const language = await languageOf(page);
    await context.close();
    return [language, title];
  };
  t.strictSame(await signInIn('de-AT'), ['de', 'Bei Parley anmelden']);
  t.strictSame(await signInIn('pl-PL'), ['en', 'Sign in to Parley']);
  t.strictSame(browser.problems, []);
});

function languageOf(page: Page): Promise<string> {
  return page.evaluate('document.documentElement.lang');
}

/** Returns the languages whose texts the page has loaded, one for each file. */
function loadedTexts(page: Page): Promise<string[]> {
  return page.evaluate(`[...new Set(performance.getEntriesByType('resource').map(({ name }) => name))]
    .flatMap((name) => /\\/(de|en)-[\\w-]+\\.js$/.exec(name)?.[1] ?? [])`);
}
