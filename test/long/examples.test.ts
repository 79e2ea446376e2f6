/**
 * The examples, each as a reader runs it beside a server with the demo account.
 *
 * Without influence: OPERATION, PAGES, packages/client/ai, src/core/installation,
 * src/features/cells, src/features/compliance, src/features/identity, src/features/import,
 * src/features/mail, src/features/search, src/api/documents/pages, src/core/documents.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NAMES, OpenConversations } from '@parley/client/test/open-conversations.ts';
import type { Page } from 'playwright-core';
import t from 'tap';
import { freshDirectory, ROOT, type Running, startParley } from '../start/parley.ts';
import { startTestApp } from '../support/app.ts';
import { builtClient } from '../support/built-client.ts';
import { startChromium } from '../support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

builtClient();
const port = await freePort();
const pages = `http://localhost:${port}`;
const app = await startTestApp(t, { PARLEY_ALLOWED_ORIGINS: pages, PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { group } = app.demo.conversations;
const directory = freshDirectory(t);
mkdirSync(join(directory, '.data'));
writeFileSync(join(directory, '.data/demo.json'), JSON.stringify({ ...app.demo, base_url: app.baseUrl }));
const conversations = new OpenConversations(app);

t.test('the bot answers what was written while it was away, and everything once', async (t) => {
  const grace = await conversations.open(t, group, { as: 'grace' });
  const bot = run(t, 'bot.ts');
  await bot.logs(/^live$/m);
  const asked = await grace.send('!time');
  const answersTo = (id: string) => grace.messages.filter(({ reply_to_id: to }) => to === id);
  await until(() => answersTo(asked.id).length === 1, { what: 'the answer' });
  await bot.says(new RegExp(`^answered ${asked.sequence}$`, 'm'));
  bot.child.kill('SIGKILL');
  await bot.ended;
  await grace.send('no question');
  const later = await grace.send('!time please');
  run(t, 'bot.ts');
  await until(() => answersTo(later.id).length === 1, { what: 'the answer to the later question' });
  t.match(answersTo(later.id)[0]!.body, /^It is \d{4}-/);
  t.equal(answersTo(asked.id).length, 1);
});

t.test('the agent asks, and the approval lets it go on', async (t) => {
  const { code, stdout, stderr } = await run(t, 'approve.ts').ended;
  t.equal(code, 0, stderr);
  t.match(stdout, /create_artifact wants to run with.*summary\.md.*completed\n$/s);
});

t.test('the receiver of webhooks proves that it has everything', async (t) => {
  const { code, stdout, stderr } = await run(t, 'webhook-receiver.ts').ended;
  t.equal(code, 0, stderr);
  t.match(stdout, /(?:^|\n)20 received, everything delivered through \d+\nNothing is missing\.\n$/);
  const headers = { 'Service-Version': '1.2.harbor' };
  const { body } = await app.call<{ data: unknown[] }>('GET', '/v1/webhooks', { headers });
  t.strictSame(body.data, [], 'it leaves nothing behind');
});

t.test('the pages', async (t) => {
  const served = run(t, 'serve.ts', { PORT: String(port) });
  await served.says(/^http:\/\/localhost/m);
  const browser = await startChromium(t);
  const said: string[] = [];
  const open = async (path: string, viewport = { width: 1200, height: 700 }) => {
    const page = await browser.newPage();
    page.on('console', (message) => message.type() === 'error' && said.push(message.text()));
    page.on('pageerror', (error) => said.push(error.message));
    await page.setViewportSize(viewport);
    await page.goto(`${pages}${path}`);
    return page;
  };
  const grace = await conversations.open(t, group, { as: 'grace' });

  await t.test('with React: everything with the keyboard', async (t) => {
    const page = await open('/');
    await page.getByText('live', { exact: true }).waitFor();
    await grace.send('Lanterns at nine');
    await page.getByRole('button', { name: /Lanterns at nine/ }).press('Enter');
    const main = page.getByRole('main');
    // It opens at the first of the messages that the tests before have sent.
    await main.getByRole('button', { name: /new messages/ }).press('Enter');
    await main.getByText('Lanterns at nine').waitFor();
    await until(() => read(page), { what: 'the inbox shows it as read' });

    grace.typing();
    await main.getByText(`${NAMES.grace} is typing …`).waitFor();
    await main
      .locator('input[type="file"]')
      .setInputFiles({ name: 'map.txt', mimeType: 'text/plain', buffer: Buffer.from('a map') });
    await until(() => main.getByRole('button', { name: 'Send' }).isEnabled(), {
      what: 'the file is uploaded',
    });
    await main.getByLabel('Message', { exact: true }).fill('See the map');
    await until(() => grace.typingActors.length === 1, { what: 'ada types' });
    await main.getByLabel('Message', { exact: true }).press('Enter');
    const arrived = await until(() => grace.messages.find(({ body }) => body === 'See the map'), {
      what: 'the message',
    });
    t.match(arrived.attachments, [{ filename: 'map.txt' }]);
    await main.getByRole('link', { name: /map.txt/ }).waitFor();

    const sent = main.getByRole('article').filter({ hasText: 'See the map' });
    await sent.getByRole('button', { name: 'React with 👍' }).press('Enter');
    await until(() => grace.messages.find(({ id }) => id === arrived.id)?.reactions?.[0]?.count === 1, {
      what: 'the reaction',
    });
    await sent.getByRole('button', { name: 'Reply' }).press('Enter');
    const thread = page.getByRole('complementary', { name: 'Thread' });
    await thread.getByLabel('Message', { exact: true }).fill('A reply');
    await thread.getByRole('button', { name: 'Send' }).press('Enter');
    await thread.getByText('A reply').waitFor();
    await sent.getByRole('button', { name: '1 reply' }).waitFor();
    await shot(page, 'react');
    await thread.getByRole('button', { name: 'Close' }).press('Enter');

    await page.getByLabel('Search').fill('lanterns');
    await page.getByRole('search').getByRole('listitem').getByText('Lanterns at nine').waitFor();
    await page.getByLabel('Search').fill('nothing like that');
    await page.getByText('Nothing found.').waitFor();
    await page.close();
  });

  await t.test('with React on a narrow screen: one column at a time', async (t) => {
    const page = await open('/?as=grace', { width: 390, height: 700 });
    await page.getByRole('button', { name: /A reply/ }).click();
    await page.getByRole('main').getByText('Lanterns at nine').first().waitFor();
    t.equal(await page.getByRole('complementary').isVisible(), false);
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    t.equal(width, 390, 'nothing is wider than the screen');
    await shot(page, 'react-narrow');
    await page.getByRole('button', { name: 'Back' }).click();
    await page.getByRole('navigation').waitFor();
    await page.close();
  });

  await t.test('without a framework', async () => {
    const page = await open('/plain.html');
    await page.getByText('Lanterns at nine').first().waitFor();
    await page.getByLabel('Message', { exact: true }).fill('Plain ahoy');
    await until(() => grace.typingActors.length === 1, { what: 'ada types' });
    await page.getByLabel('Message', { exact: true }).press('Enter');
    await until(() => grace.messages.some(({ body }) => body === 'Plain ahoy'), { what: 'the message' });
    grace.typing(false);
    grace.typing();
    await page.getByText(`${NAMES.grace} is typing …`).waitFor();
    await shot(page, 'plain');
    await page.close();
  });

  t.strictSame(said, [], 'the browser has nothing to complain about');
});

/** Starts an example, which ends with the test. */
function run(t: Teardown, name: string, env: NodeJS.ProcessEnv = {}): Running {
  const command = [process.execPath, join(ROOT, 'examples', name)] as const;
  return startParley(t, env, { command, cwd: directory });
}

/** Whether no conversation in the inbox is shown as unread. */
async function read(page: Page): Promise<boolean> {
  return (await page.locator('nav [data-unread="true"]').count()) === 0;
}

async function shot(page: Page, name: string): Promise<void> {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
}
