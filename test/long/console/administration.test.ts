/**
 * The administration of the console, as an admin of the demo account uses it in a real browser.
 *
 * Without influence: OPERATION, packages/client/ai, src/features/cells,
 * src/features/platform-events, src/features/search, src/api/documents/pages, src/core/documents.
 */

import { randomUUID } from 'node:crypto';
import type { Account } from '@parley/protocol/resources/account.ts';
import type { RetentionPolicy } from '@parley/protocol/resources/retention-policy.ts';
import { CURRENT_VERSION, NEWEST_VERSION } from '@parley/protocol/versions.ts';
import type { Page } from 'playwright-core';
import t from 'tap';
import { slackContents, zipped } from '../../import/samples.ts';
import { ageMessages } from '../../support/aged-messages.ts';
import { callsAt, startTestApp } from '../../support/app.ts';
import { ConsoleBrowser } from '../../support/console-page.ts';
import { ModelServer } from '../../support/model-server.ts';
import { until } from '../../support/until.ts';
import { WebhookReceiver } from '../../support/webhook-receiver.ts';

const models = await ModelServer.start(t);
models.otherwise(({ lastUserText }) => `You said: ${lastUserText}`);
const receiver = await WebhookReceiver.start(t);
const app = await startTestApp(t, { ...models.env('first'), PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { call } = callsAt(app, NEWEST_VERSION);
const browser = await ConsoleBrowser.start(t, app.baseUrl);
const page = await browser.open('ada', 'administration/');
page.setDefaultTimeout(60_000);

const button = (name: string, of: Pick<Page, 'getByRole'> = page) =>
  of.getByRole('button', { name, exact: true });
const box = (name: string) => page.getByRole('textbox', { name, exact: true });
const title = (name: string) => page.getByRole('heading', { level: 1, name, exact: true });
const notice = (text: string | RegExp) => page.locator('.notice').getByText(text);

/** Opens a section by its link, from wherever the page is. */
async function open(section: string): Promise<void> {
  await page.getByRole('link', { name: 'Administration' }).first().click();
  await page.getByRole('link', { name: section, exact: true }).click();
  await title(section).waitFor();
}

async function pick(name: string, words: string, choice: string | RegExp): Promise<void> {
  await page.getByRole('combobox', { name, exact: true }).fill(words);
  await page.getByRole('option', { name: choice }).first().click();
}

/** Presses a button of the page or of its menu, and the same one in the dialog that asks. */
async function confirm(name: string): Promise<void> {
  const more = page.getByRole('button', { name: 'More actions' });
  await more.or(button(name)).first().waitFor();
  if ((await button(name).count()) > 0) await button(name).click();
  else {
    await more.click();
    await page.getByRole('menuitem', { name, exact: true }).click();
  }
  await button(name, page.getByRole('dialog')).click();
}

/** Returns what the focused field is described by: its problem, where it has one. */
function problemAtFocus(): Promise<string> {
  return page.evaluate(`(() => {
    const field = document.activeElement;
    const ids = (field?.getAttribute('aria-describedby') ?? '').split(' ');
    const problem = ids.map((id) => document.getElementById(id)).find((it) => it?.matches('.field-problem'));
    return field?.getAttribute('aria-invalid') + ' ' + (problem?.textContent ?? '');
  })()`);
}

t.test('a person is created, refused at a field, changed, deactivated', async (t) => {
  await open('People');
  await button('New person').click();
  await button('Create').click();
  await until(async () => (await problemAtFocus()) === 'true This is required.', { what: 'the first field' });
  await box('Name').fill('Ida Rhodes');
  await box('Email').fill('ada@example.com');
  await pick('Role', 'memb', /member/);
  await button('Create').click();
  await until(async () => /^true .*e-mail address/.test(await problemAtFocus()), {
    what: 'the refusal of the server at the address',
  });
  t.equal(await box('Name').inputValue(), 'Ida Rhodes', 'what was typed stays');
  await box('Email').fill('ida@example.com');
  // Both clicks within one task: before anything is drawn again.
  await button('Create').evaluate((element: unknown) => {
    const { click } = element as { click(): void };
    click.call(element);
    click.call(element);
  });
  await title('Ida Rhodes').waitFor();
  await notice(/^Ida Rhodes was added[.].* give this link/).waitFor();
  t.match(await box('Secret').inputValue(), /#invitation=/, 'this server sends no mail');
  t.equal(
    await page.title().then((it) => it.replace(/^\(\d+\) /, '')),
    'Ida Rhodes · People · Administration · Parley',
  );
  t.match(new URL(page.url()).pathname, /\/console\/administration\/people\/act_/);
  await button('Edit').click();
  await box('Name').fill('Ida Noddack');
  await button('Save').click();
  await title('Ida Noddack').waitFor();
  await page.reload();
  await title('Ida Noddack').waitFor();
  await confirm('Deactivate');
  await page.getByText('Deactivated').waitFor();
  await button('Activate').click();
  await page.getByText('Active', { exact: true }).waitFor();
  await open('People');
  await page.getByRole('searchbox', { name: 'Search' }).fill('Noddack');
  await until(async () => (await page.getByRole('row').count()) === 2, {
    what: 'one row below the heads: the person was created once',
  });
  await page.locator('#main').getByRole('link', { name: 'Ida Noddack' }).waitFor();
});

t.test('an invitation stays until it is closed, wherever the page goes', async (t) => {
  await open('People');
  await page.getByRole('searchbox', { name: 'Search' }).fill('Noddack');
  await page.locator('#main').getByRole('link', { name: 'Ida Noddack' }).click();
  await button('Invitation as a link').click();
  const link = await box('Secret').inputValue();
  t.match(link, /^http/);
  await confirm('End all sessions');
  await notice('End all sessions: done.').waitFor();
  t.equal(await box('Secret').inputValue(), link, 'another notice has its own place');
  await open('Roles');
  t.equal(await box('Secret').inputValue(), link);
  await page.locator('.notice').filter({ hasText: 'Ida Noddack: it is shown this once' }).waitFor();
  await page.getByTitle('Your settings').click();
  await title('Your settings').waitFor();
  await open('People');
  t.equal(await box('Secret').inputValue(), link, 'also after another part of the console');
  await button('Close the notice').click();
  await page.getByText('It was not copied, and cannot be shown again.').waitFor();
  await button('Close anyway').click();
  await box('Secret').waitFor({ state: 'detached' });
  await open('Roles');
  t.equal(await box('Secret').count(), 0);
});

t.test('a role: a grid of permissions', async () => {
  await open('Roles');
  await button('New role').click();
  await box('Name').fill('member');
  await page.getByRole('checkbox', { name: 'Users: Read' }).check();
  await button('Create').click();
  await until(async () => (await problemAtFocus()).startsWith('true'), { what: 'a taken name is refused' });
  await box('Name').fill('Front desk');
  await button('Create').click();
  await title('Front desk').waitFor();
  await page.getByRole('img', { name: 'Users: Read: yes' }).waitFor();
  await button('Edit').click();
  await page.getByRole('checkbox', { name: 'Roles: Read' }).check();
  await button('Save').click();
  await page.getByRole('img', { name: 'Roles: Read: yes' }).waitFor();
  await confirm('Delete');
  await title('Roles').waitFor();
  await page.getByRole('link', { name: 'Front desk' }).waitFor({ state: 'detached' });
});

t.test('a group with members', async () => {
  await open('Groups');
  await button('New group').click();
  await box('Name').fill('Night shift');
  await page.getByRole('button', { name: 'Add to Members' }).click();
  await pick('Members 1', 'Grace', /Grace Hopper/);
  await button('Create').click();
  await title('Night shift').waitFor();
  const members = page.getByRole('region', { name: 'Members' }).last();
  await members.getByText('Grace Hopper').waitFor();
  await button('Edit').click();
  await page.getByRole('button', { name: 'Add to Members' }).click();
  await pick('Members 2', 'Assist', /Assistant/);
  await button('Save').click();
  await members.getByText('Assistant').waitFor();
  await confirm('Delete');
  await title('Groups').waitFor();
});

t.test('a key is shown once, rotated and revoked', async (t) => {
  await open('API keys');
  await button('New key').click();
  await box('Name').fill('Reports');
  await pick('Role', 'view', /viewer/);
  await button('Create').click();
  await title('Reports').waitFor();
  const key = await box('Secret').inputValue();
  t.match(key, /^parley_/);
  const { status } = await call('GET', '/v1/me', { token: key });
  t.equal(status, 200);
  await open('API keys');
  await page.locator('#main').getByRole('link', { name: 'Reports' }).click();
  await title('Reports').waitFor();
  t.equal(await box('Secret').inputValue(), key, 'it stays until it is closed');
  await confirm('Rotate');
  await until(
    async () => {
      const shown = await box('Secret').inputValue();
      return shown !== key && /^parley_/.test(shown);
    },
    { what: 'another key' },
  );
  await page.reload();
  await title('Reports').waitFor();
  t.equal(await box('Secret').count(), 0, 'it is not shown again');
  await confirm('Revoke');
  await page.getByText('Revoked', { exact: true }).first().waitFor();
});

t.test('customers are listed, changed and blocked', async () => {
  await open('Customers');
  await page.getByRole('rowheader').getByRole('link').first().click();
  await button('Edit').click();
  await page.getByText('For developers').click();
  await button('Add to Metadata').click();
  await box('Name 1 of Metadata').fill('plan');
  await box('Value 1 of Metadata').fill('pro');
  await button('Save').click();
  await page.getByText('The changes are saved.').waitFor();
  await page.getByText('pro', { exact: true }).waitFor();
  await confirm('Block');
  await button('Unblock').click();
  await button('Unblock').waitFor({ state: 'detached' });
});

t.test('an agent is created by its schema, tried in place, and its run read', async (t) => {
  await open('Agents');
  await button('New agent').click();
  await box('Name').fill('Echo');
  await button('Create').click();
  await until(async () => (await problemAtFocus()) === 'true This is required.', {
    what: 'the role is asked for',
  });
  await box('Short name').fill('Not a slug');
  await box('Category').fill('support');
  await page.getByRole('combobox', { name: 'What starts it' }).selectOption('scheduled');
  await pick('Role', 'agent', /agent/);
  await box('Instructions').fill('Repeat what was said.');
  await button('Create').click();
  await until(async () => (await problemAtFocus()).startsWith('true'), { what: 'the slug is refused' });
  await box('Short name').fill('echo');
  await button('Create').click();
  await until(
    async () => {
      const id = await page.evaluate<string>(`document.activeElement?.id ?? ''`);
      return id.includes('config.trigger_config');
    },
    { what: 'the schedule is asked for, within the configuration' },
  );
  await page.getByRole('combobox', { name: 'What starts it' }).selectOption('chat');
  await button('Create').click();
  await title('Echo').waitFor();
  await button('Edit').click();
  t.equal(await box('Instructions').inputValue(), 'Repeat what was said.');
  await box('Description').fill('Says it again.');
  await button('Save').click();
  await page.getByText('Says it again.').waitFor();
  await button('Try it').click();
  const trial = page.getByRole('region', { name: 'Trial' });
  const message = trial.getByRole('textbox').last();
  await message.fill('Good morning');
  await message.press('Enter');
  await trial
    .getByText(/You said: .*Good morning/)
    .first()
    .waitFor();
  await page.reload();
  const runs = page.getByRole('region', { name: 'Runs', exact: true }).last();
  await runs.getByText('Completed').first().waitFor();
  await runs.getByRole('link').first().click();
  await page
    .getByRole('region', { name: 'Steps' })
    .last()
    .getByText(/You said: .*Good morning/)
    .waitFor();
  await page.getByText('Tokens written').waitFor();
  await open('Runs of agents');
  await page.getByRole('combobox', { name: 'Status' }).selectOption('failed');
  await page.getByText('Nothing fits the filters.').waitFor();
  await open('Tools');
  await page.getByText('fetch_url').first().waitFor();
  await open('Agents');
  await page.getByRole('link', { name: 'Echo', exact: true }).click();
  await confirm('Delete');
  await title('Agents').waitFor();
});

t.test('what an agent lacks is said where it is tried', async () => {
  const body = {
    name: 'Roleless',
    slug: 'roleless',
    category_code: 'support',
    trigger_type: 'chat',
    config: {},
  };
  const { body: made } = await call<{ readonly id: string }>('POST', '/v1/ai/agents', { body });
  await browser.go(page, `administration/agents/${made.id}`);
  await page.getByText('It has no role, so it cannot run.').waitFor();
});

t.test('a form is not left without a question', async (t) => {
  await open('Widgets');
  await button('New widget').click();
  t.equal(
    await page.getByRole('checkbox', { name: 'Shown on these sites' }).isChecked(),
    true,
    'the default',
  );
  await box('Name').fill('Shop');
  const dialog = page.getByRole('dialog');
  const stay = async () => {
    await dialog.getByText('What you have typed is not saved.').waitFor();
    await button('Cancel', dialog).click();
    await dialog.waitFor({ state: 'detached' });
    t.equal(await box('Name').inputValue(), 'Shop');
    t.match(page.url(), /widgets\/new$/);
  };
  await page
    .getByRole('navigation', { name: 'Administration' })
    .getByRole('link', { name: 'People' })
    .click();
  await stay();
  await page.goBack();
  await stay();
  await box('On light pages').fill('#aa3300');
  await page.getByRole('region', { name: 'Preview' }).waitFor();
  await button('Add to Sites').click();
  await box('Sites 1').fill('https://shop.example');
  await button('Create').click();
  await title('Shop').waitFor();
  t.match(await box('Snippet').inputValue(), /data-color="#aa3300"/);
  await button('Edit').click();
  await box('Name').fill('Another');
  await page
    .getByRole('navigation', { name: 'Administration' })
    .getByRole('link', { name: 'People' })
    .click();
  await button('Leave', dialog).click();
  await title('People').waitFor();
});

t.test('the palette leads to sections and forms', async () => {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Conversation, person or place' }).fill('webhook');
  await page.getByRole('option', { name: 'New webhook' }).waitFor();
  await page.getByRole('option', { name: 'Webhooks' }).click();
  await title('Webhooks').waitFor();
});

t.test('a mail inbox is created, changed and removed', async () => {
  await open('Mail inboxes');
  await button('New inbox').click();
  await box('Name').fill('Sales');
  await box('Address').fill('support@demo.example');
  await button('Create').click();
  await until(async () => (await problemAtFocus()).startsWith('true'), {
    what: 'a taken address is refused',
  });
  await box('Address').fill('sales@demo.example');
  await pick('Assignee', 'Ada', /Ada Lovelace/);
  await button('Create').click();
  await title('Sales').waitFor();
  await button('Edit').click();
  await until(
    async () => (await page.getByRole('combobox', { name: 'Assignee' }).inputValue()) === 'Ada Lovelace',
    { what: 'the name of the assignee' },
  );
  await box('Name').fill('Orders');
  await button('Save').click();
  await title('Orders').waitFor();
  await confirm('Delete');
  await title('Mail inboxes').waitFor();
});

t.test('a webhook: a test, its delivery again, another secret', async (t) => {
  await open('Webhooks');
  await button('New webhook').click();
  await box('URL').fill('http://elsewhere.example/hook');
  await page.getByRole('checkbox', { name: 'message.created', exact: true }).check();
  t.equal(await page.getByRole('combobox', { name: 'Version' }).inputValue(), CURRENT_VERSION);
  await button('Create').click();
  await until(async () => (await problemAtFocus()).startsWith('true'), {
    what: 'an unsafe address is refused',
  });
  await box('URL').fill(receiver.url);
  await button('Create').click();
  const secret = await box('Secret').inputValue();
  t.match(secret, /^whsec_/);
  await button('Send a test').click();
  await until(() => receiver.received.length === 1, { what: 'the test' });
  await notice('Send a test: done.').waitFor();
  t.equal(await box('Secret').inputValue(), secret, 'the notice of a test does not wipe it');
  const deliveries = page.getByRole('region', { name: 'Deliveries' }).last();
  await deliveries.getByText('Delivered', { exact: true }).last().waitFor();
  await deliveries.getByText('webhook.test').click();
  await deliveries.getByText(/Answered 200 · /).waitFor();
  await deliveries.getByText(/webhook-id: evt_/).waitFor();
  await deliveries.getByRole('button', { name: 'Send again' }).click();
  await until(() => receiver.received.length === 2, { what: 'the same again' });
  t.equal(receiver.received[0]!.headers['webhook-id'], receiver.received[1]!.headers['webhook-id']);
  await confirm('Rotate secret');
  await until(async () => (await box('Secret').inputValue()) !== secret, { what: 'another secret' });
  await button('Edit').click();
  await page.getByRole('combobox', { name: 'Status' }).selectOption('disabled');
  await button('Save').click();
  await page.locator('.tag').getByText('Disabled').waitFor();
  await confirm('Delete');
  await title('Webhooks').waitFor();
});

t.test('an identity provider is created, changed and removed', async () => {
  await open('Identity providers');
  await button('New provider').click();
  await box('Name').first().fill('Shop');
  await box('Issuer').fill('http://shop.example');
  await button('Add to Audience').click();
  await box('Audience 1').fill('parley');
  await page.getByLabel('Shared secret').fill('0123456789abcdef0123456789abcdef');
  await button('Create').click();
  await until(async () => (await problemAtFocus()).startsWith('true'), { what: 'no https: it is refused' });
  await box('Issuer').fill('https://shop.example');
  await button('Create').click();
  await title('Shop').waitFor();
  await button('Edit').click();
  await box('Name').first().fill('Shop and café');
  await button('Save').click();
  await title('Shop and café').waitFor();
  await confirm('Delete');
  await title('Identity providers').waitFor();
});

t.test('an archive is uploaded, imported, and its report read', async () => {
  await open('Imports');
  await button('New import').click();
  await page.getByRole('combobox', { name: 'Source' }).selectOption('slack');
  await button('Upload and start').click();
  await page.getByText('Choose the archive.').waitFor();
  const buffer = await zipped(slackContents(12));
  await page.getByLabel('Archive').setInputFiles({ name: 'slack.zip', mimeType: 'application/zip', buffer });
  await button('Upload and start').click();
  await page.locator('.tag').getByText('Completed').waitFor();
  const report = page.getByRole('region', { name: 'Report' }).last();
  await report.getByRole('row', { name: /^Messages 13 13 0 0/ }).waitFor();
  await page.getByRole('heading', { name: 'Remarks' }).waitFor();
  await open('People');
  await page.getByRole('link', { name: 'ines of Slack' }).click();
  await button('Claim').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Email' }).fill('ines@example.com');
  await dialog.getByRole('combobox', { name: 'Role' }).fill('memb');
  await page
    .getByRole('option', { name: /member/ })
    .first()
    .click();
  await button('Claim', dialog).click();
  await page.getByText('ines@example.com').waitFor();
});

t.test('an upload that was broken off goes on', async (t) => {
  const buffer = await zipped(slackContents(3));
  const body = { source: 'slack', size_bytes: buffer.length };
  const { body: made } = await call<{ readonly id: string }>('POST', '/v1/imports', { body });
  await page.goto(`${app.baseUrl}/console/administration/imports/${made.id}`);
  await page.getByText('Awaiting upload').waitFor();
  const file = page.getByLabel(/^The archive/);
  await file.setInputFiles({ name: 'other.zip', mimeType: 'application/zip', buffer: Buffer.from('other') });
  await button('Go on').click();
  await page.getByText(/Choose the same archive again/).waitFor();
  await file.setInputFiles({ name: 'slack.zip', mimeType: 'application/zip', buffer });
  await button('Go on').click();
  await page.locator('.tag').getByText('Completed').waitFor();
  t.equal(await button('Cancel').count(), 0, 'what has ended cannot be cancelled');
});

t.test('an export of a person is made and downloaded', async (t) => {
  await open('Exports');
  await button('Export a person').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox').fill('Vera');
  await page.getByRole('option', { name: /Vera Rubin/ }).click();
  await button('Export a person', dialog).click();
  const link = page.getByRole('link', { name: 'Download' });
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  t.equal(await download.failure(), null);
});

t.test('retention asks before it is set, and is refused at its field', async (t) => {
  await open('Retention');
  await button('Edit').click();
  await box('Runs of agents, days').fill('0');
  await button('Save').click();
  await until(async () => (await problemAtFocus()).startsWith('true'), {
    what: 'less than a day is refused',
  });
  const policy = async () => (await call<RetentionPolicy>('GET', '/v1/account/retention')).body;
  const before = await policy();
  const dialog = page.getByRole('dialog');
  const ask = async (words: RegExp) => {
    await button('Save').click();
    await dialog.getByText(words).waitFor();
  };
  await box('Runs of agents, days').fill('90');
  await ask(/^Nothing is that old now[.]/);
  await button('Cancel', dialog).click();
  t.strictSame(await policy(), before, 'nothing is changed without a yes');
  await box('Runs of agents, days').fill('');
  const { group } = app.demo.conversations;
  await call('POST', `/v1/messaging/conversations/${group}/messages`, {
    token: app.demo.users.ada.access_token,
    body: { body: 'Of last year', client_message_id: randomUUID() },
  });
  await ageMessages(app.database, group, 400);
  await box('Messages, days').fill('365');
  await ask(/^[1-9][0-9]* messages?\b.* will be purged for good as soon as this is saved/);
  await button('Change the policy', dialog).click();
  await dialog.getByRole('checkbox', { name: /^Purge [1-9].* for good$/ }).waitFor();
  t.strictSame(await policy(), before, 'without a tick nothing is purged');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  t.equal(await box('Messages, days').inputValue(), '365', 'what was typed stays');
  t.strictSame(await policy(), before);
  await box('Messages, days').fill('');
  await box('Runs of agents, days').fill('90');
  await ask(/^Nothing is that old now[.]/);
  await button('Change the policy', dialog).click();
  await page.getByText('90', { exact: true }).waitFor();
  t.match(await policy(), { runs_days: 90, messages_days: null });
});

t.test('what becomes of the metadata of pictures is set', async () => {
  await page.getByRole('link', { name: 'Account', exact: true }).click();
  await page.getByText('Name, plan and settings of this account.').waitFor();
  await button('Edit').click();
  await page.getByRole('combobox', { name: 'What cameras write into pictures' }).selectOption('keep');
  await button('Save').click();
  await notice('The changes are saved.').waitFor();
  const account = async () => (await call<Account>('GET', '/v1/account')).body;
  await until(async () => (await account()).picture_metadata === 'keep', { what: 'the new setting' });
});

t.test('the audit is filtered and verified', async (t) => {
  await open('Audit');
  await page.getByRole('combobox', { name: 'Action' }).selectOption('retention.changed');
  await page.getByText('conversation.created').waitFor({ state: 'detached' });
  await page.getByRole('cell', { name: 'Ada Lovelace' }).waitFor();
  await pick('Actor', 'Grace', /Grace Hopper/);
  await page.getByText('Nothing fits the filters.').waitFor();
  await button('Verify the chain').click();
  await page.getByText('The signature of the head is valid.').waitFor();
  await button('Verify the chain').click();
  await page.getByText(/This browser kept the head of link/).waitFor();
  t.ok(await page.getByRole('textbox', { name: 'Command' }).inputValue());
});

t.test('what a role does not permit is not offered', async (t) => {
  const grace = await browser.open('grace', 'administration/people');
  await grace.getByText('Your role does not include the administration.').waitFor();
  t.equal(await grace.getByRole('link', { name: 'Administration' }).count(), 0);
  await grace.close();
  const { body: role } = await call<{ readonly id: string }>('POST', '/v1/roles', {
    body: { name: 'Readers of people', permissions: ['users:read', 'messaging:read'] },
  });
  await call('PATCH', `/v1/users/${app.demo.users.vera.id}`, { body: { role_id: role.id } });
  const vera = await browser.context.newPage();
  browser.watch(vera);
  await vera.goto(`${app.baseUrl}/console/administration/`);
  await vera.getByText('Use an API key').click();
  await vera.getByRole('textbox', { name: 'Account' }).fill(app.demo.account_id);
  await vera.getByLabel('API key').fill(await app.tokenOf(app.demo.users.vera.id));
  await vera.getByRole('button', { name: 'Sign in' }).click();
  await vera.getByRole('link', { name: 'People', exact: true }).click();
  await vera.getByRole('link', { name: 'Grace Hopper' }).click();
  await vera.getByRole('heading', { level: 1, name: 'Grace Hopper' }).waitFor();
  t.equal(await vera.getByRole('button', { name: /Edit|Deactivate|Erase|Export|End/ }).count(), 0);
  const nav = vera.getByRole('navigation', { name: 'Administration' });
  t.strictSame(await nav.getByRole('link').allTextContents(), [
    'People',
    'Groups',
    'Customers',
    'Mail complaints',
  ]);
  await vera.close();
});

t.test('the pages complain about nothing but refusals', async (t) => {
  t.strictSame(
    browser.problems.filter((problem) => !problem.startsWith('Failed to load resource')),
    [],
  );
});
