/**
 * The list of conversations, search, themes and the banner of the console, in a real browser.
 *
 * Without influence: OPERATION, ANSWERS, packages/client/ai, src/features/cells,
 * src/features/identity, src/features/import, src/features/mail, src/features/platform-events,
 * src/features/widgets, src/api/documents/pages, src/core/documents.
 */

import { randomUUID } from 'node:crypto';
import type { Locator, Page } from 'playwright-core';
import t from 'tap';
import { startTestApp } from '../../support/app.ts';
import { COLOUR_RULES, ConsoleBrowser, findingsOf, inPage } from '../../support/console-page.ts';
import { until } from '../../support/until.ts';

const app = await startTestApp(t);
const browser = await ConsoleBrowser.start(t, app.baseUrl);
const { users, conversations } = app.demo;
const SCROLL = `document.querySelector('.inbox-scroll')`;
browser.context.setDefaultTimeout(60_000);

t.test('by activity, with two pages: what moves comes to the top, unread and with its sender', async (t) => {
  for (let n = 0; n < 30; n++) await group(`Room ${n}`);
  const page = await browser.open('ada');
  await row(page, 'Room 29').waitFor();
  t.equal(
    await rows(page).first().getAttribute('data-id'),
    await row(page, 'Room 29').getAttribute('data-id'),
  );
  t.ok((await rows(page).count()) <= 25, 'a page');
  const top = await topOf(row(page, 'Room 27'));
  await page.evaluate(`${SCROLL}.scrollTo(0, 700)`);
  await row(page, 'Room 0').waitFor();
  t.equal(top - (await topOf(row(page, 'Room 27'))), 700, 'the next page moves nothing');
  await page.evaluate(`${SCROLL}.scrollTo(0, ${SCROLL}.scrollHeight)`);
  await row(page, 'Demo group').waitFor();

  await say(conversations.group, 'Hello **all**, see `this`');
  const first = rows(page).first();
  await first.filter({ hasText: 'Demo group' }).waitFor();
  await first.getByText('Grace Hopper: Hello all, see this').waitFor();
  t.equal(await first.getAttribute('data-unread'), 'true');
  await first.getByText('1 unread').waitFor({ state: 'attached' });
  await holds(page, `document.title === '(1) Inbox · Parley'`);
  await holds(page, `document.querySelector('link[rel=icon]').href.startsWith('data:image/svg')`);
  await say(conversations.group, 'And @ada?');
  await first.getByText('You were mentioned').waitFor({ state: 'attached' });
  await first.getByText('2 unread').waitFor({ state: 'attached' });
  await page.close();
});

t.test('a row that moves up because of a message is bold, as it is drawn', async (t) => {
  const page = await browser.open('ada');
  const looks = async (title: string) => ({
    weight: await styleOf(row(page, title).locator('.inbox-row-title'), 'font-weight'),
    colour: await styleOf(row(page, title).locator('.inbox-row-last'), 'color'),
  });
  const [quiet, text] = [await colourOf(page, '--quiet'), await colourOf(page, '--text')];
  for (const title of ['Room 20', 'Room 19', 'Room 18']) {
    await row(page, title).waitFor();
    t.strictSame(await looks(title), { weight: '400', colour: quiet }, `${title} before`);
    await sayTo(page, title, 'It moves up');
    await rows(page).first().filter({ hasText: title }).getByText('1 unread').waitFor({ state: 'attached' });
    t.strictSame(await looks(title), { weight: '700', colour: text }, `${title} after its message`);
  }
  await row(page, 'Room 20').getByRole('link').focus();
  await page.keyboard.press('u');
  await row(page, 'Room 20').getByText('1 unread').waitFor({ state: 'detached' });
  t.strictSame(await looks('Room 20'), { weight: '400', colour: quiet }, 'and thin once it is read');
  for (const title of ['Room 19', 'Room 18']) {
    await row(page, title).getByRole('link').focus();
    await page.keyboard.press('u');
    await row(page, title).getByText('1 unread').waitFor({ state: 'detached' });
  }
  await page.close();
});

t.test('views: unread, snoozed, archived, and back', async (t) => {
  const page = await browser.open('ada');
  await page.getByRole('button', { name: /^Unread/ }).click();
  await row(page, 'Demo group').waitFor();
  await until(async () => (await rows(page).count()) === 1, { what: 'the unread one alone' });
  await page.reload();
  await row(page, 'Demo group').waitFor();
  t.equal(await rows(page).count(), 1, 'the view stays with the tab');
  await row(page, 'Demo group').getByRole('link').focus();
  await page.keyboard.press('u');
  await page.getByText('Everything is read.').waitFor();

  await page.getByRole('button', { name: 'All' }).click();
  await row(page, 'Room 29').getByRole('link').focus();
  await page.keyboard.press('s');
  await page.getByRole('menuitem', { name: /Until tomorrow/ }).click();
  await row(page, 'Room 29').waitFor({ state: 'detached' });
  await row(page, 'Room 28').click({ button: 'right' });
  await page.getByRole('menuitem', { name: /^Archive/ }).click();
  await row(page, 'Room 28').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'More views' }).click();
  await page.getByRole('menuitemradio', { name: /Snoozed/ }).click();
  await row(page, 'Room 29').waitFor();
  await page.getByRole('button', { name: 'View: Snoozed' }).click();
  await page.getByRole('menuitemradio', { name: /Archived/ }).click();
  await row(page, 'Room 28').waitFor();
  await page.getByRole('button', { name: 'View: Archived' }).click();
  await page.getByRole('menuitemradio', { name: /Customer cases/ }).click();
  await row(page, 'Where is my order?').getByText('Customer case').waitFor({ state: 'attached' });
  t.equal(await row(page, 'Room 27').count(), 0);
  await page.getByRole('button', { name: 'All' }).click();
  await page.close();
});

t.test('filters combine, are a link, and stay as a view', async (t) => {
  const page = await browser.open('ada');
  const room = (await row(page, 'Room 12').getAttribute('data-id'))!;
  await page.getByRole('button', { name: 'More views' }).click();
  await page.getByRole('menuitem', { name: 'Filter and sort…' }).click();
  await page.getByLabel('Kind').selectOption('group');
  await page.getByRole('checkbox', { name: 'Unread' }).check();
  t.strictSame(await findingsOf(page), []);
  await page.getByLabel('Save as a view').fill('New in groups');
  await page.getByRole('button', { name: 'Save and show' }).click();
  await page.getByRole('button', { name: 'View: New in groups' }).waitFor();
  await page.getByText('No conversation has all of these filters.').waitFor();
  await say(room, 'For the view');
  await row(page, 'Room 12').waitFor();
  t.equal(await rows(page).count(), 1);
  const link = page.url();
  await page.close();

  const other = await browser.context.newPage();
  browser.watch(other);
  await other.goto(link);
  await row(other, 'Room 12').waitFor();
  t.equal(await rows(other).count(), 1, 'the address has the filters');
  await row(other, 'Room 12').getByRole('link').click();
  await other.waitForURL(/\/c\/cnv_.*list=/);
  await row(other, 'Room 12').waitFor({ state: 'detached' });
  await other.getByRole('button', { name: 'View: New in groups' }).click();
  await other.getByRole('menuitem', { name: 'Filter and sort…' }).click();
  await other.getByRole('button', { name: /^Delete the view/ }).click();
  await other.getByRole('button', { name: 'View: Filtered' }).waitFor();
  await other.getByRole('button', { name: 'All' }).click();
  await row(other, 'Room 12').waitFor();
  await other.close();
});

const REFUSED = {
  code: 'insufficient_permissions',
  type: 'permission_error',
  param: null,
  doc_url: '/docs/api/errors',
  is_transient: false,
  request_log_url: null,
};

t.test('several rows at once: X, a range, the bar, and what was not changed', async (t) => {
  const page = await browser.open('ada');
  const bar = page.getByRole('toolbar', { name: 'Actions on the selected conversations' });
  await row(page, 'Room 11').getByRole('link').focus();
  await page.keyboard.press('x');
  await bar.getByText('1 selected').waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('Shift+X');
  await bar.getByText('3 selected').waitFor();
  t.strictSame(await findingsOf(page), []);
  await page.keyboard.press('Escape');
  await bar.waitFor({ state: 'detached' });

  const moved = ['Room 11', 'Room 10'];
  for (const title of moved) {
    await row(page, title).hover();
    await row(page, title).getByRole('checkbox').check();
  }
  await bar.getByText('2 selected').waitFor();
  const failing = await row(page, 'Room 10').getAttribute('data-id');
  await page.route(`**/v1/messaging/conversations/${failing}`, (route) =>
    route.request().method() === 'PATCH'
      ? route.fulfill({ status: 403, json: { error: { ...REFUSED, message: 'It is refused.' } } })
      : route.continue(),
  );
  await bar.getByRole('button', { name: 'Archive' }).click();
  await row(page, 'Room 11').waitFor({ state: 'detached' });
  await page.getByText('Room 10: It is refused.').waitFor();
  await bar.getByText('1 selected').waitFor();
  t.ok(await row(page, 'Room 10').getByRole('checkbox').isChecked(), 'what failed stays selected');
  await page.close();
});

t.test('the list by keys: j, k, mute, the menu; the focus stays with its row when it moves', async () => {
  const page = await browser.open('ada');
  await row(page, 'Room 27').getByRole('link').focus();
  await page.keyboard.press('j');
  await focusedOn(page, 'Room 26');
  await say(conversations.direct, 'Above all others');
  await rows(page).first().filter({ hasText: 'Grace Hopper' }).waitFor();
  await focusedOn(page, 'Room 26');
  await sayTo(page, 'Room 26', 'It moves itself');
  await rows(page).first().filter({ hasText: 'Room 26' }).waitFor();
  await focusedOn(page, 'Room 26');
  await page.keyboard.press('m');
  await page.getByRole('menuitem', { name: 'Until I unmute it' }).click();
  await rows(page).first().getByText('Muted').waitFor({ state: 'attached' });
  await focusedOn(page, 'Room 26');
  await page.keyboard.press('Shift+F10');
  await page.getByRole('menuitem', { name: /Unmute/ }).waitFor();
  await page.keyboard.press('Escape');
  await focusedOn(page, 'Room 26');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/console\/c\/cnv_/);
  await holds(page, `document.querySelector('main').contains(document.activeElement)`);
  await page.keyboard.press('F6');
  await holds(page, `document.activeElement.closest('.side-bar') !== null`);
  await page.keyboard.press('F6');
  await holds(page, `document.activeElement.closest('.shell-main') !== null`);
  await page.close();
});

t.test('new conversations: a person, a group, a case', async (t) => {
  const page = await browser.open('ada');
  await row(page, 'Demo group').waitFor();
  await page.keyboard.press('n');
  await page.getByRole('combobox', { name: 'Person', exact: true }).fill('vera');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/c\/cnv_/);
  await row(page, 'Vera Rubin').waitFor();
  t.equal(await row(page, 'Vera Rubin').getAttribute('data-open'), 'true');

  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByText('Group', { exact: true }).click();
  await page.getByLabel('Title').fill('Harbour <b>days</b>');
  await page.getByRole('combobox', { name: 'Members', exact: true }).fill('grace');
  await page.getByRole('option', { name: /Grace Hopper/ }).click();
  await page.getByRole('button', { name: 'Create the group' }).click();
  await row(page, 'Harbour <b>days</b>').waitFor();

  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByText('Case', { exact: true }).click();
  await page.getByLabel('Subject').fill('A broken lamp');
  await page.getByLabel('Name of the customer').fill('Lea Licht');
  await page.getByLabel('Mail address').fill('lea@example.net');
  await page.getByRole('button', { name: 'Open the case' }).click();
  await row(page, 'A broken lamp').getByText('New', { exact: true }).waitFor();
  await row(page, 'A broken lamp').getByRole('link').focus();
  await page.keyboard.press('a');
  await page.getByRole('combobox', { name: 'Person or group' }).fill('grace');
  await page.getByRole('option', { name: /Grace Hopper/ }).click();
  await page.getByRole('combobox', { name: 'Person or group' }).waitFor({ state: 'detached' });
  const unassign = page.getByRole('menuitem', { name: 'Unassign' });
  await until(
    async () => {
      await page.keyboard.press('Escape');
      await row(page, 'A broken lamp').click({ button: 'right' });
      return await unassign.isVisible();
    },
    { what: 'the assignment' },
  );
  await page.close();
});

t.test('Ctrl-K by the keyboard alone: a conversation, a person, a place', async (t) => {
  const page = await browser.open('ada');
  await row(page, 'Demo group').waitFor();
  await page.getByRole('button', { name: 'New conversation' }).focus();
  const before = await page.evaluate('document.activeElement.className');
  const field = page.getByRole('combobox', { name: 'Conversation, person or place' });
  await page.keyboard.press('Control+k');
  await field.waitFor();
  await page.keyboard.press('Escape');
  await field.waitFor({ state: 'detached' });
  t.equal(await page.evaluate('document.activeElement.className'), before);

  await page.keyboard.press('Control+k');
  await field.and(page.locator(':focus')).waitFor();
  await page.keyboard.type('harbo');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/c\/cnv_/);
  await holds(page, `document.title.includes('Harbour <b>days</b>')`);
  await page.keyboard.press('Control+k');
  await field.and(page.locator(':focus')).waitFor();
  await page.keyboard.type('setti');
  await page.getByRole('option', { name: 'Your settings' }).waitFor();
  await page.getByRole('option', { name: /Harbour/ }).waitFor({ state: 'detached' });
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/console\/settings/);
  await page.keyboard.press('Control+k');
  await field.and(page.locator(':focus')).waitFor();
  await page.keyboard.type('grace');
  await page.getByRole('option', { name: /grace@example/ }).waitFor();
  while ((await page.locator('.suggestion[aria-selected=true]', { hasText: 'grace@' }).count()) === 0) {
    await page.keyboard.press('ArrowDown');
  }
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.pathname.endsWith(conversations.direct));
  await page.close();
});

t.test('a search leads to its message, with filters in the address', async (t) => {
  await say(conversations.group, 'The anchor is in the locker.');
  await say(conversations.direct, 'Which anchor?');
  const page = await browser.open('ada', 'search');
  await page.getByRole('searchbox', { name: 'Words' }).fill('anchor');
  const hits = page.locator('.search-hit');
  await hits.nth(1).waitFor();
  t.match(await hits.locator('mark').allInnerTexts(), ['anchor', 'anchor']);
  await page.getByRole('combobox', { name: 'In', exact: true }).fill('demo');
  await page.getByRole('option', { name: /Demo group/ }).waitFor();
  await page.getByRole('option', { name: /Demo group/ }).click();
  await hits.nth(1).waitFor({ state: 'detached' });
  t.match(page.url(), /in=cnv_/);
  await page.reload();
  await hits.first().waitFor();
  await page.getByRole('button', { name: /Search without “In Demo group”/ }).waitFor();
  await page.getByLabel('Since').fill('2031-01-01');
  await page.getByText('No message has these words.').waitFor();
  await page.getByLabel('Since').fill('');
  await hits.first().click();
  await page.waitForURL(/\/c\/cnv_.*[?]message=msg_/);
  t.match(page.url(), conversations.group);
  await page.close();
});

t.test('offline and back: by the button, and without a network', async () => {
  const page = await browser.open('ada', `c/${conversations.group}`);
  const banner = page.locator('.banner');
  await page.locator('.banner[data-look=live]').waitFor();
  await page.getByRole('button', { name: /Break the network/ }).click();
  await banner.getByText('You have broken the network of this page.').waitFor();
  await say(conversations.group, 'While you were away');
  await page.getByRole('button', { name: 'Mend it' }).click();
  await page.locator('.banner[data-look=live]').waitFor();
  await row(page, 'Demo group').getByText('While you were away').waitFor();

  await browser.context.setOffline(true);
  await banner.getByText('This device has no network.').waitFor();
  await browser.context.setOffline(false);
  await page.locator('.banner[data-look=live]').waitFor();
  await say(conversations.group, 'And once more');
  await row(page, 'Demo group').getByText('And once more').waitFor();
  await page.close();
});

t.test('presence: who has the console open is online in the lists of others', async () => {
  const graces = await browser.open('grace');
  await row(graces, 'Ada Lovelace').waitFor();
  const page = await browser.open('ada');
  await row(page, 'Grace Hopper').locator('.avatar-online, .avatar-away').waitFor();
  await page.close();
  await graces.close();
});

t.test('narrow: one part, a way back with the focus, and nothing to scroll sideways', async (t) => {
  const page = await browser.open('ada');
  await page.setViewportSize({ width: 360, height: 700 });
  await row(page, 'Demo group').getByRole('link').click();
  await page.locator('.side-bar').waitFor({ state: 'hidden' });
  await page.getByRole('link', { name: 'Inbox' }).click();
  await page.locator('.side-bar').waitFor();
  t.comment('of the main part, only its heading is there, and it is not seen');
  await until(async () => (await page.locator('#main').boundingBox())?.width === 1, {
    what: 'the list alone',
  });
  await page.locator('#main').getByRole('heading', { name: 'Inbox' }).waitFor();
  t.equal(await page.locator('#main').getByRole('button').count(), 0);
  for (const path of ['', `c/${conversations.group}`, 'search?q=anchor', 'settings', 'work']) {
    await browser.go(page, path);
    const root = 'document.documentElement';
    t.equal(await page.evaluate(`${root}.scrollWidth`), await page.evaluate(`${root}.clientWidth`), path);
  }
  await page.setViewportSize({ width: 900, height: 700 });
  await page.goto(`${app.baseUrl}/console/c/${conversations.group}?pane=details`);
  await page.locator('.side-pane').waitFor();
  t.ok(await page.locator('#main').isVisible(), 'two parts: the conversation');
  t.notOk(await page.locator('.side-bar').isVisible(), 'and the pane in place of the list');
  await page.setViewportSize({ width: 1280, height: 700 });
  for (const part of ['.side-bar', '#main', '.side-pane']) t.ok(await page.locator(part).isVisible(), part);
  await page.close();
});

t.test('themes: kept by the browser; axe finds nothing in any', async (t) => {
  const page = await browser.open('ada', 'settings');
  for (const [label, scheme, rules] of [
    ['Dark', 'dark', undefined],
    ['Light', 'light', COLOUR_RULES],
  ] as const) {
    await page.goto(`${app.baseUrl}/console/settings`);
    await page.getByLabel(label, { exact: true }).check();
    await page.reload();
    await page.getByLabel(label, { exact: true }).waitFor();
    t.equal(
      await page.evaluate('getComputedStyle(document.documentElement).colorScheme'),
      scheme,
      'also after a reload',
    );
    await rows(page).first().waitFor();
    await browser.go(page, '');
    await rows(page).first().waitFor();
    for (const [key, what] of [
      ['Control+k', 'palette'],
      ['n', 'new conversation'],
      ['?', 'help'],
    ] as const) {
      await page.keyboard.press(key);
      await page.locator('dialog[open]').waitFor();
      if (key === 'Control+k') await page.locator('.palette .suggestion').nth(3).waitFor();
      t.strictSame(await findingsOf(page, rules), [], `${what}, ${label}`);
      await page.keyboard.press('Escape');
      await page.locator('dialog[open]').waitFor({ state: 'detached' });
    }
    await rows(page).first().click({ button: 'right' });
    await page.getByRole('menu').waitFor();
    t.strictSame(await findingsOf(page, rules), [], `menu, ${label}`);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: /Break the network/ }).click();
    await page.locator('.banner[data-look=offline]').waitFor();
    t.strictSame(await findingsOf(page, rules), [], `offline, ${label}`);
    await page.getByRole('button', { name: 'Mend it' }).click();
    await page.locator('.banner[data-look=live]').waitFor();
  }
  await page.close();
});

t.test('the own name is changed, and shown at once', async () => {
  const page = await browser.open('grace', 'settings');
  await page.getByLabel('Name').fill('Grace B. Hopper');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('link', { name: 'Grace B. Hopper' }).waitFor();
  await page.getByText('Your profile was saved.').waitFor();
  await page.close();
});

t.test('no script complained', async (t) => {
  // What fails without a network, and the refusal above, are said by the browser itself.
  const expected = /ERR_INTERNET_DISCONNECTED|a status of 403/;
  t.strictSame(
    browser.problems.filter((problem) => !expected.test(problem)),
    [],
  );
});

function rows(page: Page): Locator {
  return page.locator('.inbox-row');
}

/** The row with this title. */
function row(page: Page, title: string): Locator {
  const name = page.locator(`.inbox-row-title:text-is(${JSON.stringify(title)})`);
  return rows(page).filter({ has: name });
}

async function styleOf(element: Locator, property: string): Promise<string> {
  return (await element.evaluate(
    inPage(`return getComputedStyle(element).getPropertyValue('${property}')`),
  )) as string;
}

/** Returns a colour of the theme as computed styles write it. */
async function colourOf(page: Page, token: string): Promise<string> {
  return await page.evaluate<string>(`(() => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.color = 'var(${token})';
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  })()`);
}

async function topOf(element: Locator): Promise<number> {
  return (await element.boundingBox())!.y;
}

/** Resolves when an expression is true in the page, whose policy refuses to be asked by itself. */
async function holds(page: Page, expression: string): Promise<void> {
  await until(() => page.evaluate<boolean>(expression), { what: expression });
}

/** Resolves when the focus is in the row with this title. */
async function focusedOn(page: Page, title: string): Promise<void> {
  const shown = `document.activeElement.closest('.inbox-row')?.querySelector('.inbox-row-title').textContent`;
  await holds(page, `${shown} === ${JSON.stringify(title)}`);
}

async function group(title: string): Promise<void> {
  await app.call('POST', '/v1/messaging/conversations', {
    token: users.ada.access_token,
    body: { type: 'group', title, participants: [{ type: 'user', actor_id: users.grace.id }] },
  });
}

/** Grace sends a message. */
async function say(conversationId: string, body: string): Promise<void> {
  const { status, text } = await app.call('POST', `/v1/messaging/conversations/${conversationId}/messages`, {
    token: users.grace.access_token,
    body: { body, client_message_id: randomUUID() },
  });
  if (status !== 201) throw new Error(text);
}

async function sayTo(page: Page, title: string, body: string): Promise<void> {
  await say((await row(page, title).getAttribute('data-id'))!, body);
}
