/**
 * The page of the console with the work that waits for a person, in a real browser.
 *
 * Without influence: OPERATION, ASIDE, packages/client/ai, src/core/installation,
 * packages/console/administration, packages/console/installation,
 * src/features/compliance, src/features/widgets.
 */

import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Work } from '@parley/protocol/resources/work.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { Conversations } from '../../conversations/fixture.ts';
import { Cases } from '../../messages/cases.ts';
import { callsAt, startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, findingsInThemes } from '../../support/console-page.ts';
import { ModelServer } from '../../support/model-server.ts';

const models = await ModelServer.start(t);
models.otherwise('As you wish.');
const app = await startTestApp(t, models.env());
const { demo } = app;
const { ada, grace } = demo.users;
const { call } = callsAt(app, NEWEST_VERSION);
const cases = new Cases(app);
const browser = await ConsoleBrowser.start(t, app.baseUrl);

t.test('nothing waits at first, and nothing is counted', async (t) => {
  const page = await browser.open('ada', 'work');
  await page.getByText('Nothing waits for you.').waitFor();
  t.equal(await page.locator('.side-bar .work-count').count(), 0);
  await page.close();
});

t.test('a call waits with its exact arguments, and goes when another person decides', async (t) => {
  const page = await browser.open('ada', 'work');
  const group = await new Conversations(app).create({
    title: 'Pier',
    participants: [
      { type: 'user', actor_id: grace.id },
      { type: 'agent', actor_id: demo.agent.actor_id },
    ],
  });
  const path = `/v1/messaging/conversations/${group.id}`;
  const { body: shown } = await call<Conversation>('GET', `${path}?include[]=participants`);
  const muted = shown.participants!.find(({ actor_id }) => actor_id === grace.id)!;
  await call('PATCH', `${path}/participants/${muted.id}`, {
    body: { notifications: 'muted' },
    token: grace.access_token,
  });
  const args = { filename: 'summary.md', content_type: 'text/markdown', content: '# Summary\n' };
  models.reply({ calls: [{ name: 'create_artifact', arguments: args }] });
  await cases.sent(group.id, { body: '@assistant Create a summary.' });
  const card = page.getByRole('region', { name: 'Approval of create_artifact' });
  await card.waitFor();
  await card.getByLabel('Texts for create_artifact').getByText('Summary').waitFor();
  await card.getByText('Exactly, as JSON').click();
  const exact = card.locator('.arguments-exact pre');
  await exact.waitFor();
  t.strictSame(JSON.parse((await exact.textContent())!), args);
  await page.locator('.side-bar').getByText('1 waiting').waitFor();

  t.comment('one that has muted the conversation finds it there and at work, and is not called');
  const other = await browser.open('grace', `c/${group.id}`);
  const graces = other.getByRole('region', { name: 'Approval of create_artifact' });
  await graces.waitFor();
  // That she was added counts until she has seen the conversation.
  await other.getByRole('button', { name: 'Notifications', exact: true }).waitFor();
  await other.getByRole('link', { name: 'Work', exact: false }).first().click();
  await graces.getByRole('button', { name: 'Approve' }).click();
  for (const one of [card, graces]) await one.waitFor({ state: 'detached' });
  await page.getByText('Nothing waits for you.').waitFor();
  await other.close();

  models.reply({ calls: [{ name: 'create_artifact', arguments: args }] });
  await cases.sent(group.id, { body: '@assistant Create another one.' });
  await page.locator('.work-page').getByRole('link', { name: 'Pier' }).click();
  await page.waitForURL(new RegExp(`/console/c/${group.id}\\?pane=run`));
  await page.close();
});

t.test('a proposed reply is approved, and an assigned case waits until it is answered', async (t) => {
  const page = await browser.open('ada', 'work');
  const { id, customerToken } = await cases.open();
  await cases.draft(id, { body: 'We refund it.' });
  const card = page.getByRole('article', { name: 'Reply draft of Grace Hopper' });
  await card.getByText('We refund it.').waitFor();
  t.strictSame(await findingsInThemes(page), []);
  await card.getByRole('button', { name: 'Approve and send' }).click();
  await card.waitFor({ state: 'detached' });

  await call('PATCH', `/v1/messaging/conversations/${id}`, { body: { assignee_id: ada.id } });
  await cases.sent(id, { body: 'Where is it now?' }, { token: customerToken });
  const row = page.locator(`.work-page a[href*="${id}"]`);
  await row.filter({ hasText: 'Where is it now?' }).waitFor();
  await cases.sent(id, { body: 'On its way.', audience: 'customer' }, { token: ada.access_token });
  await row.waitFor({ state: 'detached' });
  await cases.sent(id, { body: 'Thank you!' }, { token: customerToken });
  await page.locator('.work-page').getByRole('link', { name: 'Thank you!' }).click();
  await page.waitForURL(new RegExp(`/console/c/${id}\\?message=`));
  t.strictSame(browser.problems, []);
});

t.test('cases without an owner stand first, the longest waiting first, and are taken', async (t) => {
  const [first, second] = [await cases.open(), await cases.open()];
  await cases.sent(first.id, { body: 'Since early' }, { token: first.customerToken });
  await cases.sent(second.id, { body: 'Since later' }, { token: second.customerToken });
  await app.database.pool.query(
    `UPDATE conversations SET waiting_since = waiting_since - interval '3 hours' WHERE id = $1`,
    [first.id],
  );
  const page = await browser.open('ada', 'work');
  const part = page.locator('.work-page').getByRole('region', { name: 'Without an owner' });
  const rows = part.locator('.case-line').filter({ hasText: 'Since' });
  await rows.nth(1).waitFor();
  t.match(await rows.allInnerTexts(), [/Since early/, /Since later/]);
  await rows.first().getByText('The customer waits for 3 hours').waitFor({ state: 'attached' });
  t.strictSame(await findingsInThemes(page), []);
  const { body: before } = await call<Work>('GET', '/v1/messaging/work', { token: ada.access_token });
  await page.locator('.side-bar').getByText(`${before.counts.count} waiting`).waitFor({ state: 'attached' });
  await rows.first().getByRole('button', { name: /^Take/ }).click();
  const mine = page.locator('.work-page').getByRole('region', { name: 'Customers to answer' });
  await mine.locator(`a[href*="${first.id}"]`).waitFor();
  await rows.nth(1).waitFor({ state: 'detached' });
  await cases.sent(second.id, { body: 'It comes.', audience: 'customer' }, { token: ada.access_token });
  await part.locator(`a[href*="${second.id}"]`).waitFor({ state: 'detached' });
  await page
    .locator('.side-bar')
    .getByText(`${before.counts.count - 1} waiting`)
    .waitFor({ state: 'attached' });
  t.strictSame(browser.problems, []);
  await page.close();
});

t.test('a reply that was cut says so, before it is sent and after', async (t) => {
  const page = await browser.open('ada', 'work');
  const { id, customerToken } = await cases.open();
  const member = { type: 'agent', actor_id: demo.agent.actor_id, agent_trigger_policy: 'always' };
  await call('POST', `/v1/messaging/conversations/${id}/participants`, { body: member });
  models.reply({ text: 'The refund takes', finish: 'length' });
  await cases.sent(id, { body: 'How long does it take?' }, { token: customerToken });
  const card = page.getByRole('article', { name: 'Reply draft of' }).filter({ hasText: 'The refund takes' });
  await card.getByText('The answer was too long and was cut off.').waitFor();
  await card.getByRole('button', { name: 'Approve and send' }).click();
  await card.waitFor({ state: 'detached' });
  await page.close();
  const conversation = await browser.open('ada', `c/${id}`);
  await conversation.locator('.message', { hasText: 'The refund takes' }).getByText('Cut off').waitFor();
  await conversation.close();
  t.strictSame(browser.problems, []);
});
