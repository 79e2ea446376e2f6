/**
 * The package of the SDK beside the first React that it takes (its peer is `>=18`), as a project
 * has them: both are installed into a folder of their own, and the parts and hooks run in a browser
 * against a real server.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client/ai,
 * src/core/installation, src/features/mail, src/platform/outbound.
 */

import { readFileSync } from 'node:fs';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OpenConversations } from '@parley/client/test/open-conversations.ts';
import t from 'tap';
import { freshDirectory, runProgram } from '../start/parley.ts';
import { startTestApp } from '../support/app.ts';
import { builtClient } from '../support/built-client.ts';
import { startChromium } from '../support/chromium.ts';
import { servePage } from '../support/served-page.ts';
import { until } from '../support/until.ts';

const REACT = '18.0.0';
const directory = freshDirectory(t);
const problem = await install();

t.test('inbox, timeline, a message, a thread', { skip: problem }, async (t) => {
  const source = readFileSync(join(import.meta.dirname, 'client/parts-page.js'), 'utf8');
  const url = await servePage(t, join(directory, 'page.js'), {
    code: `${source}\nimport { version } from 'react';\nglobalThis.react = version;`,
    mode: 'development',
  });
  const app = await startTestApp(t, { PARLEY_ALLOWED_ORIGINS: url });
  const { account_id: account, users, conversations } = app.demo;
  const grace = await new OpenConversations(app).open(t, conversations.group, { as: 'grace' });
  const page = await (await startChromium(t)).newPage();
  const said: string[] = [];
  page.on('pageerror', ({ message }) => said.push(message));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) said.push(message.text());
  });
  const query = new URLSearchParams({ url: app.baseUrl, account, token: users.ada.access_token });
  await page.goto(`${url}?${query}`);
  await page.waitForFunction('"show" in globalThis');
  t.ok((await page.evaluate<string>('react')).startsWith(REACT));

  await grace.send('Lanterns at nine');
  await page.evaluate('show("Lists")');
  await page.getByRole('button', { name: /Lanterns at nine/ }).click();
  await page.locator('output', { hasText: conversations.group }).waitFor();

  await page.evaluate(`show("Chat", { id: "${conversations.group}" })`);
  const main = page.locator('.chat > main');
  await main.getByText('Lanterns at nine').waitFor();
  await main.getByRole('textbox', { name: 'Message' }).fill('I bring two');
  await main.getByRole('textbox', { name: 'Message' }).press('Enter');
  const sent = await until(() => grace.messages.find(({ body }) => body === 'I bring two'), {
    what: 'the message at another client',
  });
  await main.locator(`[data-message="${sent.id}"]`).hover();
  await main.locator(`[data-message="${sent.id}"]`).getByRole('button', { name: 'Reply' }).click();
  const thread = page.getByRole('complementary', { name: 'Thread' });
  await thread.getByRole('textbox', { name: 'Message' }).fill('And matches');
  await thread.getByRole('button', { name: 'Send' }).click();
  await until(() => grace.messages.some(({ reply_to_id: to }) => to === sent.id), { what: 'the reply' });
  await thread.getByText('And matches').waitFor();
  await main.getByRole('button', { name: '1 reply' }).waitFor();
  t.strictSame(said, []);
});

/** Installs both. Returns why the test is skipped: without a network there is nothing to try. */
async function install(): Promise<string | false> {
  await cp(join(builtClient(), 'dist/served/package.tgz'), join(directory, 'parley-client.tgz'));
  await writeFile(join(directory, 'package.json'), '{ "private": true, "type": "module" }');
  const packages = [`react@${REACT}`, `react-dom@${REACT}`, './parley-client.tgz'];
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--no-package-lock'];
  const inherited = Object.entries(process.env).filter(([name]) => !/^(NODE_OPTIONS$|_?TAP)/.test(name));
  const env = Object.fromEntries(inherited);
  const { code, stderr } = await runProgram('npm', ['install', ...options, ...packages], env, directory);
  if (code === 0) return false;
  if (!/ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|ENOTCACHED/.test(stderr)) throw new Error(stderr);
  return `the registry of npm cannot be reached: ${stderr.split('\n')[0]}`;
}
