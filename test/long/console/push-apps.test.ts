/**
 * Push apps in the console's administration: credentials are files, and go one way. What Apple says
 * of one is shown, and another one takes its place.
 *
 * Without influence: OPERATION, packages/client/ai, src/features/cells,
 * src/features/platform-events, src/features/search, src/api/documents/pages, src/core/documents.
 */

import { randomBytes } from 'node:crypto';
import type { Account } from '@parley/protocol/resources/account.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { newReader } from '../../notifications/readers.ts';
import { callsAt, startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, findingsInThemes } from '../../support/console-page.ts';
import { startApns, startFcm } from '../../support/phone-services.ts';
import { until } from '../../support/until.ts';

const [apns, fcm] = [await startApns(t), await startFcm(t)];
const app = await startTestApp(t, {
  PARLEY_FETCH_ALLOW: '127.0.0.1',
  PARLEY_APNS_URL: apns.origin,
  PARLEY_FCM_URL: fcm.origin,
});
const { call } = callsAt(app, NEWEST_VERSION);
const browser = await ConsoleBrowser.start(t, app.baseUrl);
const page = await browser.open('ada', 'administration/push-apps');

const SIZES = [
  { width: 390, height: 844 },
  { width: 1_280, height: 800 },
];

const button = (name: string, of: Pick<Page, 'getByRole'> = page) =>
  of.getByRole('button', { name, exact: true });
const box = (name: string) => page.getByRole('textbox', { name, exact: true });
const title = (name: string) => page.getByRole('heading', { level: 1, name, exact: true });
const problems = () => page.locator('.field-problem').allTextContents();

/** Opens a section by its link in the list of sections. */
async function open(section: string): Promise<void> {
  await page
    .getByRole('navigation', { name: 'Administration' })
    .getByRole('link', { name: section, exact: true })
    .click();
  await title(section).waitFor();
}

async function choose(label: string, name: string, text: string): Promise<void> {
  await page
    .getByLabel(new RegExp(`^${label} \\*$`))
    .setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
  await page.getByText(`${name} was read. It is sent with the form.`).waitFor();
}

/** Compares with the rules of axe-core at both sizes, in both themes. */
async function isClean(t: Test, what: string): Promise<void> {
  for (const size of SIZES) {
    await page.setViewportSize(size);
    t.strictSame(await findingsInThemes(page), [], `${what} at ${size.width} px`);
  }
}

t.test('an app of Google: the JSON file, and nothing that only Apple has', async (t) => {
  await title('Phone apps').waitFor();
  await button('New app').click();
  await box('Name').fill('Android');
  await button('Create').click();
  await until(async () => (await problems()).length === 1, { what: 'the service is missing' });
  await page.getByRole('combobox', { name: 'Service' }).selectOption('fcm');
  t.equal(await page.getByLabel('Bundle ID').count(), 0);
  await button('Create').click();
  await until(async () => (await problems()).join() === 'This is required.', { what: 'the file is missing' });
  await choose('Key of a service account', 'google-services.json', '{"project_info": {}}');
  await button('Create').click();
  await until(async () => (await problems()).length === 1, {
    what: 'what the file lacks stands at its field',
  });
  t.equal((await problems()).join(), 'project_id: This field is required.');
  await choose('Key of a service account', 'example-chat.json', JSON.stringify(fcm.serviceAccount));
  await isClean(t, 'the form');
  await button('Create').click();
  await title('Android').waitFor();
  await page.getByText('It was not tried yet').waitFor();
  await page.getByText('FCM', { exact: true }).waitFor();
  t.notMatch(await page.content(), /PRIVATE KEY/);
});

t.test('an app of Apple: the file .p8, renamed, refused by Apple, its key replaced', async (t) => {
  const key = apns.privateKey;
  const renewed = apns.renew();
  await open('Phone apps');
  await button('New app').click();
  await box('Name').fill('iPhone');
  await page.getByRole('combobox', { name: 'Service' }).selectOption('apns');
  t.equal(await page.getByLabel('Key of a service account').count(), 0);
  await box('Bundle ID').fill(apns.topic);
  t.equal(await page.getByRole('combobox', { name: 'Builds' }).inputValue(), 'production');
  await box('Team ID').fill(apns.teamId);
  await box('Key ID').fill(apns.keyId);
  await choose('Key', `AuthKey_${apns.keyId}.p8`, 'no key');
  await button('Create').click();
  await until(async () => (await problems()).join().includes('Must be a private key as PEM.'), {
    what: 'a file that is no key',
  });
  await choose('Key', `AuthKey_${apns.keyId}.p8`, key);
  await button('Create').click();
  await title('iPhone').waitFor();
  await button('Edit').click();
  t.equal(await page.locator('form .field').count(), 1, 'the name alone');
  await box('Name').fill('iPhone and iPad');
  await button('Save').click();
  await title('iPhone and iPad').waitFor();

  const [id] = new URL(page.url()).pathname.split('/').slice(-1);
  const reader = await newReader(app);
  await call('POST', '/v1/messaging/push-devices', {
    token: reader.token,
    body: { app_id: id, token: randomBytes(32).toString('hex') },
  });
  await call('POST', '/v1/messaging/notifications', {
    body: { recipient_ids: [reader.id], category: 'order.updated', title: 'Order 7' },
  });
  await until(async () => isFailing(id!), { what: 'that Apple refuses the key' });
  await page.reload();
  await page.getByText(/^Apple refuses it since/).waitFor();
  await page.getByText('InvalidProviderToken').waitFor();
  await isClean(t, 'a refused credential');

  await button('Replace credential').click();
  const dialog = page.getByRole('dialog');
  t.equal(await dialog.getByLabel('Name').count(), 0);
  await button('Replace credential', dialog).click();
  await until(async () => (await problems()).length === 2, { what: 'the file and its id are missing' });
  await choose('Key', `AuthKey_${apns.keyId}.p8`, renewed);
  await dialog.getByLabel('Key ID').fill(apns.keyId);
  await isClean(t, 'the dialog');
  await button('Replace credential', dialog).click();
  await page.locator('.notice').getByText('The credential is replaced.').waitFor();
  await page.getByText('It was not tried yet').waitFor();
});

t.test('a list, and an end', async (t) => {
  await open('Phone apps');
  await page.locator('#main').getByRole('link', { name: 'Android' }).waitFor();
  t.equal(await page.getByRole('row').count(), 3);
  await isClean(t, 'the list');
  await page.locator('#main').getByRole('link', { name: 'Android' }).click();
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await button('Delete', page.getByRole('dialog')).click();
  await title('Phone apps').waitFor();
  await until(async () => (await page.getByRole('row').count()) === 2, { what: 'one row below the heads' });
});

t.test('the account says what pushes say', async (t) => {
  await page
    .getByRole('navigation', { name: 'Administration' })
    .getByRole('link', { name: 'Account', exact: true })
    .click();
  await button('Edit').click();
  await page.getByRole('combobox', { name: 'What pushes to phones say' }).selectOption('text');
  await button('Save').click();
  await page.getByText('The changes are saved.').waitFor();
  t.equal((await call<Account>('GET', '/v1/account')).body.push_content, 'text');
});

t.test('the pages complain about nothing but refusals', async (t) => {
  t.strictSame(
    browser.problems.filter((problem) => !problem.startsWith('Failed to load resource')),
    [],
  );
});

async function isFailing(id: string): Promise<boolean> {
  const { body } = await call<{ readonly failing_since: string | null }>('GET', `/v1/push-apps/${id}`);
  return body.failing_since !== null;
}
