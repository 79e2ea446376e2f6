/**
 * Suggestions of the console's fields during typing, in a real browser: keys of input methods, and
 * answers that come late or fail.
 *
 * Without influence: OPERATION, ANSWERS, packages/client/ai, src/features/cells,
 * src/features/import, src/features/mail, src/features/platform-events, src/features/widgets,
 * src/api/documents/pages.
 */

import type { Locator, Page } from 'playwright-core';
import t from 'tap';
import { startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, takesKeysOfInputMethods } from '../../support/console-page.ts';
import { until } from '../../support/until.ts';

const app = await startTestApp(t);
const browser = await ConsoleBrowser.start(t, app.baseUrl);
const { conversations } = app.demo;
const REFUSAL = { type: 'invalid_request_error', code: 'validation_failed', message: 'It is refused.' };
browser.context.setDefaultTimeout(60_000);

t.test(
  'typing on keeps the last hits, drops an answer that comes late, and says why one failed',
  async (t) => {
    const page = await browser.open('ada', 'search');
    const asked: string[] = [];
    const late = Promise.withResolvers<void>();
    await page.route(/\/v1\/messaging\/search\?/, async (route) => {
      const words = new URL(route.request().url()).searchParams.get('q') ?? '';
      asked.push(words);
      if (words === 'vera') return route.fulfill({ status: 422, json: { error: REFUSAL } });
      if (words === 'demo g') await late.promise;
      return route.continue();
    });
    const field = page.getByRole('combobox', { name: 'In', exact: true });
    const demo = page.getByRole('option', { name: /Demo group/ });
    await field.fill('demo');
    await demo.waitFor();
    await field.fill('demo g');
    await until(async () => asked.includes('demo g'), { what: 'the search for more words' });
    t.ok(await demo.isVisible(), 'the last hits stay');
    await page.keyboard.press('Enter');
    t.ok(await demo.isVisible(), 'Enter waits for the answer');
    await field.fill('vera');
    await page.getByText('It is refused.').waitFor();
    t.equal(await demo.count(), 0);
    const answered = page.waitForResponse((response) => response.url().includes('demo'));
    late.resolve();
    await (await answered).finished();
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
    t.ok(await page.getByText('It is refused.').isVisible(), 'the late answer is dropped');
    t.equal(await demo.count(), 0);
    await field.fill('');
    await page.getByRole('option', { name: /Grace Hopper/ }).waitFor();
    t.notOk(asked.includes(''), 'no words are the latest conversations');
    await page.close();
  },
);

/** What leads to a list, and a part of what it offers first. */
const LISTS: Readonly<Record<string, (page: Page) => Promise<Locator>>> = {
  'the palette': async (page) => {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Conversation, person or place' }).fill('demo');
    return page.getByRole('option', { name: /Demo group/ });
  },
  'a field of choices': async (page) => {
    await browser.go(page, 'search');
    await page.getByRole('combobox', { name: 'In', exact: true }).fill('demo');
    return page.getByRole('option', { name: /Demo group/ });
  },
  'a field that holds a choice': async (page) => {
    await browser.go(page, 'administration/people/new');
    await page.getByRole('combobox', { name: 'Role', exact: true }).fill('memb');
    return page.getByRole('option', { name: /member/i }).first();
  },
  'names in a message': async (page) => {
    await browser.go(page, `c/${conversations.group}`);
    await page.getByRole('textbox', { name: 'Message', exact: true }).pressSequentially('@gra');
    return page.getByRole('option', { name: /Grace Hopper/ });
  },
  emoji: async (page) => {
    await browser.go(page, `c/${conversations.group}`);
    await page.getByRole('button', { name: 'Insert an emoji' }).click();
    await page.getByRole('searchbox', { name: 'Search emoji' }).fill('tada');
    return page.getByRole('button', { name: 'party popper' });
  },
};

for (const [name, show] of Object.entries(LISTS)) {
  t.test(`keys of an input method pick nothing and close nothing: ${name}`, async (t) => {
    const page = await browser.open('ada');
    await page.locator('.inbox-row').first().waitFor();
    const offered = await show(page);
    await offered.waitFor();
    t.equal(await takesKeysOfInputMethods(page), false);
    t.ok(await offered.isVisible());
    await page.keyboard.press('Enter');
    await offered.waitFor({ state: 'detached' });
    await page.close();
  });
}

t.test('no script complained', async (t) => {
  const isRefusal = (problem: string) => problem.includes('status of 422');
  t.strictSame(
    browser.problems.filter((problem) => !isRefusal(problem)),
    [],
  );
});
