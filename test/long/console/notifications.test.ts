/**
 * The bell of the console, its page, the settings and web push, in a real browser.
 *
 * Without influence: OPERATION, ASIDE, packages/client/ai, src/core/installation,
 * packages/console/administration, packages/console/installation,
 * src/features/compliance, src/features/widgets.
 */

import type { List } from '@parley/protocol/lists.ts';
import type { NotificationSettings } from '@parley/protocol/resources/notification-settings.ts';
import type { PushSubscription } from '@parley/protocol/resources/push-subscription.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import type { Page } from 'playwright-core';
import t from 'tap';
import { Conversations } from '../../conversations/fixture.ts';
import { Cases } from '../../messages/cases.ts';
import { callsAt, startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, findingsInThemes } from '../../support/console-page.ts';
import { deviceIn, startPushService } from '../../support/push-service.ts';
import { clickInRow } from '../../support/row-button.ts';
import { until } from '../../support/until.ts';

const service = await startPushService(t);
const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { ada, grace } = app.demo.users;
const { call } = callsAt(app, NEWEST_VERSION);
const cases = new Cases(app);
const browser = await ConsoleBrowser.start(t, app.baseUrl);
const { id: group } = await new Conversations(app).create({
  title: 'Harbour',
  participants: [{ type: 'user', actor_id: grace.id }],
});

t.test('the bell counts and shows what arrives, on every page of a person', async (t) => {
  const [one, other] = [await browser.open('ada'), await browser.open('ada')];
  await bell(one, 'Notifications').waitFor();
  await cases.sent(group, { body: 'The **ferry** is late.' });
  for (const page of [one, other]) await bell(page, 'Notifications, 1 unread').waitFor();
  await bell(one, 'Notifications, 1 unread').click();
  const row = dialog(one).getByRole('link', { name: /Grace Hopper in Harbour.*The ferry is late\./ });
  await row.waitFor();
  await until(async () => (await summary()).unseen === 0, { what: 'what was shown is seen' });
  t.equal((await summary()).unread, 1);
  t.strictSame(await findingsInThemes(one), []);

  t.comment('the arrow keys move, Escape closes, and the focus comes back');
  await cases.sent(group, { body: 'It is here.' });
  await dialog(one).getByText('It is here.').waitFor();
  await row.focus();
  await one.keyboard.press('ArrowUp');
  t.match(await one.evaluate('document.activeElement.textContent'), /It is here\./);
  await one.keyboard.press('Escape');
  await dialog(one).waitFor({ state: 'detached' });
  await until(() => one.evaluate<boolean>("document.activeElement.matches('.bell')"), { what: 'the focus' });

  t.comment('one leads to its message, and is read everywhere');
  const { body } = await call<List<{ message_id: string }>>('GET', '/v1/messaging/notifications', {
    token: ada.access_token,
  });
  await bell(one, 'Notifications, 2 unread').click();
  await row.click();
  await one.waitForURL(`${app.baseUrl}/console/c/${group}?message=${body.data[1]!.message_id}`);
  await dialog(one).waitFor({ state: 'detached' });
  await until(async () => (await summary()).unread < 2, { what: 'it was read' });
  await markAllRead();
  await bell(other, 'Notifications').waitFor();
  await one.close();
  await other.close();
});

t.test('the page: filters, marks, what was put away, and earlier ones', async (t) => {
  await notify(30, 'order.updated');
  await notify(1, 'system.broadcast');
  const page = await browser.open('ada', 'notifications');
  const main = page.getByRole('main');
  const rows = main.locator('.notification-row');
  await page.getByText('31 unread').waitFor();
  await until(async () => (await rows.count()) === 25, { what: 'a page' });
  await main.getByRole('button', { name: 'Show earlier ones' }).click();
  await until(async () => (await rows.count()) === 33, { what: 'all of them' });
  t.equal(await page.locator('.notification-row[data-unread=true]').count(), 31, 'as the number says');

  await clickInRow(rows.first(), 'Mark as read');
  await page.getByText('30 unread').waitFor();
  await bell(page, 'Notifications, 30 unread').waitFor();
  await main.getByRole('button', { name: 'Unread', exact: true }).click();
  await main.getByRole('button', { name: 'Show earlier ones' }).click();
  await until(async () => (await rows.count()) === 30, { what: 'the unread ones' });
  await page.getByRole('combobox', { name: 'Kind' }).selectOption('Announcements');
  await page.getByText('There is nothing here.').waitFor();
  await main.getByRole('button', { name: 'All', exact: true }).click();
  await until(async () => (await rows.count()) === 1, { what: 'one kind' });
  await clickInRow(rows.first(), 'Put away');
  await page.getByText('There is nothing here.').waitFor();
  await main.getByRole('button', { name: 'Put away', exact: true }).click();
  await until(async () => (await rows.count()) === 1, { what: 'what was put away' });
  await main.getByRole('button', { name: 'Mark all as read' }).click();
  await page.getByText('Everything is read.').waitFor();
  t.equal((await summary()).unread, 0);
  await page.close();
});

t.test('the settings: all that the server has', async (t) => {
  const page = await browser.open('ada', 'settings');
  await page.getByLabel('Push and mail nothing in certain hours').check();
  await page.getByLabel('From').fill('21:30');
  await page.getByLabel('Time zone').selectOption('Europe/Berlin');
  await page.getByLabel('Sun', { exact: true }).uncheck();
  await page.getByLabel('Mail me what I have not seen').check();
  await page.getByLabel('After').fill('30');
  await page.getByLabel('After').blur();
  await page.getByLabel('Mentions: Push').uncheck();
  await page.getByLabel('Kind of an application').fill('order.updated');
  await page.getByRole('button', { name: 'Add a kind' }).click();
  await page.getByLabel('order.updated: Mail').uncheck();
  await page.getByRole('button', { name: 'For a week' }).click();
  await page.getByText(/^Nothing is pushed or mailed until /).waitFor();
  const settings = async () =>
    (await call<NotificationSettings>('GET', SETTINGS, { token: ada.access_token })).body;
  await until(async () => (await settings()).mute_until !== null, { what: 'the last change' });
  const { mute_until } = await settings();
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setTimezoneOverride', { timezoneId: 'Europe/Berlin' });
  await page.getByLabel('Until', { exact: true }).fill('2031-03-30T02:30');
  await page.locator('input[type="datetime-local"]:invalid').waitFor();
  t.equal((await settings()).mute_until, mute_until, 'a time that clocks skip is not saved');
  t.match(await settings(), {
    do_not_disturb: {
      from: '21:30',
      to: '07:00',
      timezone: 'Europe/Berlin',
      days: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'],
    },
    digest_after_minutes: 30,
    categories: {
      'chat.mention': { socket: true, push: false, mail: true },
      'order.updated': { socket: true, push: true, mail: false },
    },
  });
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('Push and mail come as they are set.').waitFor();
  t.comment('a change that the server refuses is taken back');
  await page.route(`**${SETTINGS}`, (route) =>
    route.request().method() === 'PUT' ? route.fulfill({ status: 403, json: REFUSED }) : route.continue(),
  );
  await page.getByLabel('Mail me what I have not seen').uncheck();
  await page.getByRole('alert').getByText('Not now.').waitFor();
  const isChecked = () => page.getByLabel('Mail me what I have not seen').isChecked();
  await until(isChecked, { what: 'the switch to stand as before' });
  browser.problems.splice(0);
  await page.getByLabel('Play a sound').check();
  t.equal(await page.evaluate("localStorage.getItem('parley-sound')"), 'on');
  await page.close();
  await call('PUT', SETTINGS, { token: ada.access_token, body: {} });
});

t.test('web push: turned on, shown by the worker, a click leads to the message', async (t) => {
  const { context } = browser;
  await context.grantPermissions(['notifications'], { origin: app.baseUrl });
  const device = service.browser();
  await context.addInitScript(deviceIn, device.toJSON());
  const page = await browser.open('ada', 'settings');
  const working = context.waitForEvent('serviceworker');
  await page.getByLabel(PUSH).click();
  await page.getByText('This browser shows them while no window').waitFor();
  t.equal((await subscriptions()).length, 1);
  const worker = await working;
  t.equal(worker.url(), `${app.baseUrl}/console/push-worker.js`);

  await cases.sent(group, { body: 'Are you there?' });
  await until(() => device.received.length > 0, { what: 'a push' });
  const { payload } = device.received[0]!;
  t.comment('the browser passes it on while no window of the console is open');
  const elsewhere = await context.newPage();
  await page.close();
  const failed = await worker.evaluate(async (text) => {
    let work: Promise<unknown> | undefined;
    const data = { json: () => JSON.parse(text) };
    const event = Object.assign(new Event('push'), {
      data,
      waitUntil: (given: Promise<unknown>) => (work = given),
    });
    (globalThis as unknown as EventTarget).dispatchEvent(event);
    return work?.then(() => 'none', String);
  }, JSON.stringify(payload));
  t.equal(failed, 'none');
  const shown = () =>
    worker.evaluate<string[]>(
      `registration.getNotifications().then((all) => all.map(({ title, body }) => title + ': ' + body))`,
    );
  await until(async () => (await shown()).length === 1, { what: 'a notification of the browser' });
  t.strictSame(await shown(), ['Grace Hopper in Harbour: Are you there?']);
  const again = await browser.open('ada', 'settings');
  // Only a click of a person may raise a window.
  await worker.evaluate(
    `WindowClient.prototype.focus = async () => {};
    registration.getNotifications().then(([notification]) => {
      const event = Object.assign(new Event('notificationclick'), { notification, waitUntil: () => {} });
      dispatchEvent(event);
    })`,
  );
  await again.waitForURL(`${app.baseUrl}/console/c/${group}?message=${payload.message_id}`);

  t.comment('without an open page the click opens this address');
  await elsewhere.goto(`${app.baseUrl}/console/?conversation=${group}&message=${payload.message_id}&as=ada`);
  await elsewhere.locator('.shell[data-main=conversation]').waitFor();
  await elsewhere.close();

  await again.getByRole('link', { name: 'Ada Lovelace' }).click();
  await again.getByLabel(PUSH).click();
  await again.getByText('The browser asks you for permission.').waitFor();
  await until(async () => (await subscriptions()).length === 0, { what: 'the end on the server' });
  t.strictSame(service.problems, []);
  t.strictSame(browser.problems, []);
  await again.close();
});

const PUSH = /^Show notifications of the desktop/;
const SETTINGS = '/v1/messaging/notification-settings';
const REFUSED = {
  error: {
    code: 'insufficient_permissions',
    type: 'authorization_error',
    message: 'Not now.',
    param: null,
    doc_url: '/docs',
    is_transient: false,
    request_log_url: null,
  },
};

function bell(page: Page, name: string) {
  return page.getByRole('button', { name, exact: true });
}

function dialog(page: Page) {
  return page.getByRole('dialog', { name: 'Notifications' });
}

async function summary() {
  const { body } = await call<{ unseen: number; unread: number }>(
    'GET',
    '/v1/messaging/notifications/summary',
    { token: ada.access_token },
  );
  return body;
}

async function markAllRead(): Promise<void> {
  const path = '/v1/messaging/notifications/actions/mark-all';
  await call('POST', path, { token: ada.access_token, body: { status: 'read' } });
}

async function subscriptions() {
  const { body } = await call<List<PushSubscription>>('GET', '/v1/messaging/push-subscriptions', {
    token: ada.access_token,
  });
  return body.data;
}

async function notify(count: number, category: string): Promise<void> {
  for (let n = 1; n <= count; n++) {
    await call('POST', '/v1/messaging/notifications', {
      body: { recipient_ids: [ada.id], category, title: `News ${n}` },
    });
  }
}
