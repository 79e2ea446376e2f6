/**
 * The demo: Carl in the widget of the sample shop, Ada and Grace in the console, side by side.
 *
 * Without influence: ANSWERS, src/app/admin, src/app/supervise.ts, src/app/supervisor,
 * src/app/tail.ts, packages/client/ai, src/core/installation, src/core/registration,
 * packages/console/administration, packages/console/installation, src/features/cells,
 * src/features/compliance, src/features/import, src/features/mail, src/features/platform-events,
 * src/features/search, src/api/documents/pages, src/core/documents.
 */

import t from 'tap';
import { startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, findingsInThemes } from '../../support/console-page.ts';
import { until } from '../../support/until.ts';

const app = await startTestApp(t, { PARLEY_RATE_LIMIT: 'off' });
const browser = await ConsoleBrowser.start(t, app.baseUrl);
const WRITE = { name: 'Write a message' };

t.test('three windows by links: a note stays with the team, a reply reaches the customer', async (t) => {
  const start = await browser.context.newPage();
  browser.watch(start);
  await start.goto(app.baseUrl);
  const open = async (name: string) => {
    const opened = browser.context.waitForEvent('page');
    await start.getByRole('link', { name }).click();
    const page = await opened;
    browser.watch(page);
    return page;
  };
  const [ada, grace, carl] = [await open('Ada'), await open('Grace'), await open('Carl')];
  await ada.getByRole('link', { name: 'Ada Lovelace' }).first().waitFor();
  await grace.getByRole('link', { name: 'Grace Hopper' }).first().waitFor();
  for (const page of [ada, grace]) await page.goto(`${app.baseUrl}/console/c/${app.demo.conversations.case}`);

  await carl.getByText('Signed in as Carl.').waitFor();
  t.strictSame(await findingsInThemes(carl), []);
  await carl.getByRole('button', { name: 'Open the chat' }).click();
  const chat = carl.frameLocator('iframe[title="Chat"]');
  const field = chat.getByRole('textbox', WRITE);
  for (const page of [ada, grace]) {
    // A window that does not follow the case yet misses what is typed.
    const seesTyping = async () => {
      await field.press('W');
      return page.getByText('Carl Customer is typing…').isVisible();
    };
    await until(seesTyping, { what: 'the team sees that Carl types', timeoutMs: 60_000 });
  }
  await field.fill('Where is my order?');
  await field.press('Enter');
  for (const page of [ada, grace]) {
    await page.getByRole('log').getByText('Where is my order?').waitFor();
  }

  const note = ada.getByRole('textbox', { name: 'Note to the team' });
  await note.fill('It left on Monday, I think.');
  await note.press('Enter');
  const seen = grace.locator('.message-note', { hasText: 'It left on Monday, I think.' });
  await seen.waitFor();
  await grace.getByText('Reply to the customer').click();
  const reply = grace.getByRole('textbox', { name: 'Reply to the customer' });
  await reply.fill('It arrives today.');
  await reply.press('Enter');
  await chat.getByText('It arrives today.', { exact: true }).waitFor();
  await ada.locator('.message-reply', { hasText: 'It arrives today.' }).waitFor();
  t.equal(await chat.getByText('It left on Monday').count(), 0, 'Carl has the reply and not the note');
  await ada.getByText('Carl Customer', { exact: true }).first().waitFor();

  t.comment('each window keeps its person over a reload, and the shop its own');
  for (const page of [ada, grace, carl]) await page.reload();
  await ada.getByRole('link', { name: 'Ada Lovelace' }).first().waitFor();
  await grace.getByRole('link', { name: 'Grace Hopper' }).first().waitFor();

  t.comment('a stranger of the shop becomes Carl, and what was said goes along');
  await carl.getByRole('button', { name: 'Sign out' }).click();
  await carl.getByRole('button', { name: 'Close the chat' }).waitFor();
  await field.fill('Do you sell bells?');
  await field.press('Enter');
  await chat.locator('.bubble-own[data-delivery="sent"]', { hasText: 'Do you sell bells?' }).waitFor();
  await carl.getByRole('button', { name: 'Sign in as Carl' }).click();
  await carl.getByText('Signed in as Carl.').waitFor();
  // The page says so at once; the list of the stranger goes when the widget hears of it.
  const seesCase = async () => {
    const earlier = chat.getByRole('button', { name: 'Earlier conversations' });
    if (await earlier.isVisible()) await earlier.click({ timeout: 1_000 }).catch(() => {});
    return chat.getByRole('button', { name: 'Where is my order?' }).isVisible();
  };
  await until(seesCase, { what: 'the case of Carl', timeoutMs: 60_000 });
  await chat.getByRole('button', { name: 'Do you sell bells?' }).waitFor();
  t.strictSame(browser.problems, []);
});
