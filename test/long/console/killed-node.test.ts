/**
 * A node that is killed while a person writes, in a real browser.
 *
 * Without influence: OPERATION, ASIDE, ANSWERS, packages/client/ai, src/core/installation,
 * packages/console/administration, packages/console/installation,
 * src/features/compliance, src/features/mail, src/features/widgets.
 */

import type { Page } from 'playwright-core';
import t from 'tap';
import { createGroup } from '../../support/cluster.ts';
import { ConsoleBrowser } from '../../support/console-page.ts';
import { freePort } from '../../support/free-port.ts';
import { startNode } from '../../support/node.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { startRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';

t.test('nothing that a person writes is lost with the node, and each message arrives once', async (t) => {
  const [{ url: databaseUrl }, { url: redisUrl }] = [await createTestDatabase(t), await startRedis(t)];
  const env = { PORT: String(await freePort()) };
  const first = await startNode(t, { databaseUrl, redisUrl, env });
  const id = await createGroup(first, 'Quay');
  await first.send(id, { body: 'Before' }, first.demo.users.ada.access_token);
  const browser = await ConsoleBrowser.start(t, first.baseUrl);
  const [ada, grace] = [await browser.open('ada', `c/${id}`), await browser.open('grace', `c/${id}`)];
  for (const page of [ada, grace]) await page.getByText('Before', { exact: true }).first().waitFor();
  const field = grace.locator('.composer-form textarea');
  const typing = ada.locator('.typing-line', { hasText: 'Grace Hopper is typing…' });

  await field.pressSequentially('Half a sen');
  await typing.waitFor();
  await first.kill('SIGKILL');
  for (const page of [ada, grace]) await page.locator('.banner:not([data-look="live"])').waitFor();
  await typing.waitFor({ state: 'detached' });
  t.equal(await field.inputValue(), 'Half a sen', 'the text stays');

  await field.pressSequentially('tence');
  await field.press('Enter');
  await field.pressSequentially('Another one');
  await field.press('Enter');
  await field.pressSequentially('Not yet');
  const waiting = grace.locator('.message-pending');
  await until(async () => (await waiting.count()) === 2, { what: 'two messages that wait' });
  await grace.locator('.banner', { hasText: '2 messages wait to be sent.' }).waitFor();
  t.strictSame(await bodiesOf(grace), ['Before', 'Half a sentence', 'Another one'], 'they are shown at once');
  t.strictSame(await bodiesOf(ada), ['Before']);

  const second = await startNode(t, { databaseUrl, redisUrl, env, dataDir: first.dataDir });
  t.equal(second.baseUrl, first.baseUrl);
  for (const page of [ada, grace]) await page.locator('.banner[data-look="live"]').waitFor();
  await waiting.first().waitFor({ state: 'detached' });
  const stored = async () => (await second.page(id)).map(({ body }) => body);
  t.strictSame(await stored(), ['Before', 'Half a sentence', 'Another one']);
  await ada.getByText('Another one', { exact: true }).last().waitFor();
  for (const page of [ada, grace]) t.strictSame(await bodiesOf(page), await stored(), 'once and in order');

  t.equal(await field.inputValue(), 'Not yet', 'what was not sent is still there');
  await field.pressSequentially(', but now');
  await typing.waitFor();
  await field.press('Enter');
  await ada.locator('.message', { hasText: 'Not yet, but now' }).waitFor();
  await typing.waitFor({ state: 'detached' });
  for (const page of [ada, grace]) {
    await until(async () => (await bodiesOf(page)).length === 4, { what: 'four messages' });
    t.strictSame(await bodiesOf(page), await stored());
  }
  // The browser itself says what could not be reached.
  const ofScripts = browser.problems.filter(
    (text) => !/^(Failed to load resource|WebSocket connection to)/.test(text),
  );
  t.strictSame(ofScripts, []);
});

/** The texts in the timeline, in its order. */
function bodiesOf(page: Page): Promise<string[]> {
  return page.locator('.timeline-rows .message-body').allTextContents();
}
