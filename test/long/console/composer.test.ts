/**
 * People write in a real browser: their typing, their readers, and the time of sending.
 *
 * Without influence: OPERATION, ASIDE, packages/client/ai, src/core/installation,
 * packages/console/administration, packages/console/installation,
 * src/features/compliance, src/features/widgets.
 */

import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import type { Page } from 'playwright-core';
import t from 'tap';
import { startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, findingsInThemes, findingsOf } from '../../support/console-page.ts';
import { until as untilTrue } from '../../support/until.ts';

const app = await startTestApp(t);
const browser = await ConsoleBrowser.start(t, app.baseUrl);
const { ada, grace } = app.demo.users;
const { inbox, customer } = app.demo;

const until = (condition: () => Promise<boolean>) => untilTrue(condition, { what: () => String(condition) });

/** Returns a function of an element and a value that runs in the page. */
function inPage(code: string) {
  return new Function('element', 'given', code) as (element: unknown, given: unknown) => unknown;
}

const MESSAGES = '/v1/messaging/conversations';

/** Makes a group of Ada and Grace, or a case with Carl. */
async function conversation(title: string, isCase = false): Promise<string> {
  const participants = [
    { type: 'user', actor_id: grace.id },
    ...(isCase ? [{ type: 'customer', actor_id: customer.actor_id }] : []),
  ];
  const made = await app.call<Conversation>('POST', MESSAGES, {
    token: ada.access_token,
    body: { type: 'group', title, participants, ...(isCase && { audience: 'customer' }) },
  });
  return made.body.id;
}

async function messages(id: string, status = 'sent'): Promise<readonly ChatMessage[]> {
  const path = `${MESSAGES}/${id}/messages?status=${status}&include[]=attachments`;
  const { body } = await app.call<{ data: ChatMessage[] }>('GET', path, {
    token: ada.access_token,
    headers: { 'Service-Version': NEWEST_VERSION },
  });
  return body.data;
}

/** Resolves with the sent messages once there are some, oldest first. */
async function sent(id: string, count = 1): Promise<readonly ChatMessage[]> {
  await until(async () => (await messages(id)).length >= count);
  return (await messages(id)).toReversed();
}

async function open(person: string, id: string): Promise<{ page: Page; field: ReturnType<Page['locator']> }> {
  const page = await browser.open(person, `c/${id}`);
  const field = page.locator('.composer-form textarea');
  await field.waitFor();
  return { page, field };
}

t.afterEach(async () => {
  for (const page of browser.context.pages().slice(1)) await page.close();
});

t.test('Enter of an input method sends nothing; Enter sends, and Shift+Enter begins a line', async (t) => {
  const id = await conversation('Input methods');
  const { page, field } = await open('grace', id);
  await field.focus();
  const session = await page.context().newCDPSession(page);
  await session.send('Input.imeSetComposition', { text: 'こんにちは', selectionStart: 5, selectionEnd: 5 });
  const key = { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 229 };
  await session.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...key });
  await session.send('Input.dispatchKeyEvent', { type: 'keyUp', ...key });
  await session.send('Input.insertText', { text: 'こんにちは' });
  t.equal(await field.inputValue(), 'こんにちは');
  // Safari reports Enter, unmarked, right after the end of the composition.
  const wasTaken = await field.evaluate(
    inPage(`
      element.dispatchEvent(new CompositionEvent('compositionstart'));
      element.dispatchEvent(new CompositionEvent('compositionend'));
      const enter = { key: 'Enter', bubbles: true, cancelable: true };
      return !element.dispatchEvent(new KeyboardEvent('keydown', enter));
    `),
  );
  t.equal(wasTaken, false);
  t.equal(await field.inputValue(), 'こんにちは');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('two');
  await page.keyboard.press('Enter');
  t.match(
    (await sent(id)).map(({ body }) => body),
    ['こんにちは\ntwo'],
  );
  t.equal(await field.inputValue(), '');
});

t.test('names are completed by the keyboard, and the people are mentioned', async (t) => {
  const id = await conversation('Mentions');
  const { page, field } = await open('grace', id);
  await field.pressSequentially('Hello @lov');
  await page.getByRole('option', { name: 'Ada Lovelace' }).waitFor();
  t.equal(await field.getAttribute('aria-autocomplete'), 'list');
  const active = await field.getAttribute('aria-activedescendant');
  t.equal(await page.locator(`[id="${active}"]`).getAttribute('aria-selected'), 'true');
  t.strictSame(await findingsOf(page), []);
  await page.keyboard.press('Enter');
  t.equal(await field.inputValue(), 'Hello @Ada Lovelace ');
  await field.pressSequentially('and @ver');
  await page.getByRole('option', { name: 'Vera Rubin' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Backspace');
  await page.getByRole('option', { name: 'Vera Rubin' }).waitFor();
  await page.keyboard.press('Tab');
  await page.getByText('Vera Rubin is not in this conversation, and is not notified.').waitFor();
  await page.keyboard.press('Enter');
  const [message] = await sent(id);
  t.equal(message!.body, 'Hello @Ada Lovelace and @Vera Rubin');
  t.strictSame(message!.mentions, [ada.id]);
});

t.test('shortcuts write Markdown, which a preview shows, and emoji are picked', async (t) => {
  const { page, field } = await open('grace', await conversation('Markdown'));
  await field.fill('strong');
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.press('ControlOrMeta+b');
  t.equal(await field.inputValue(), '**strong**');
  await page.keyboard.press('ControlOrMeta+z');
  t.equal(await field.inputValue(), 'strong');
  await field.evaluate(
    inPage(`
    element.select();
    const press = (key, code, more) =>
      element.dispatchEvent(new KeyboardEvent('keydown', { key, code, ctrlKey: true, cancelable: true, ...more }));
    press('и', 'KeyB');
  `),
    undefined,
  );
  await until(async () => (await field.inputValue()) === '**strong**');
  await page.keyboard.press('ControlOrMeta+z');
  await page.keyboard.press('ControlOrMeta+a');
  await page.getByRole('button', { name: 'Italic' }).click();
  await field.press('End');
  await page.getByRole('button', { name: 'Insert an emoji' }).click();
  await page.getByRole('searchbox', { name: 'Search emoji' }).fill('tada');
  await page.getByRole('button', { name: 'party popper' }).waitFor();
  await page.keyboard.press('Enter');
  await until(async () => (await field.inputValue()) === '*strong*🎉');
  t.ok(await field.evaluate(inPage('return element === document.activeElement')));
  const shown = [
    '[draft]: https://example.com/q3',
    '[x]: y',
    'https://x.example',
    '#',
    'See [1].',
    '|1|2|3|',
    'Hello world\nx = 1',
  ];
  await field.fill(
    '*strong*\n\n[draft]: https://example.com/q3\n\n[x]: y\n\n[](https://x.example)\n\n#\n\nSee [1].\n\n' +
      '[1]: https://one.example "One"\n\n|a|b|\n|-|-|\n|1|2|3|\n\n``` Hello world\nx = 1\n```',
  );
  await page.getByRole('button', { name: 'Preview' }).click();
  t.equal(await page.locator('.composer-preview em').textContent(), 'strong');
  const preview = await page.locator('.composer-preview').textContent();
  for (const text of [...shown, '[1]: https://one.example "One"'])
    t.ok(preview?.includes(text), `${text} in ${preview}`);
});

t.test('files come by drop and by paste, and a pasted text is a text', async (t) => {
  const id = await conversation('Files');
  const { page, field } = await open('grace', id);
  const transfer = (name: string, text: string) =>
    page.evaluateHandle(`(() => {
      const data = new DataTransfer();
      data.items.add(new File(['a,b'], '${name}', { type: 'text/csv' }));
      if ('${text}' !== '') data.setData('text/plain', '${text}');
      return data;
    })()`);
  const paste = async (name: string, text = '') => {
    const event = '{ clipboardData: given, bubbles: true, cancelable: true }';
    const code = `element.dispatchEvent(new ClipboardEvent('paste', ${event}))`;
    await field.evaluate(inPage(code), await transfer(name, text));
  };
  await paste('word.png', 'words of a document');
  await paste('pasted.csv');
  const list = page.getByRole('list', { name: 'Files to send' });
  await list.getByText('pasted.csv').waitFor();
  const dataTransfer = await transfer('dropped.csv', '');
  const target = page.locator('section[aria-label]').filter({ has: field }).last();
  await target.dispatchEvent('dragover', { dataTransfer });
  await page.getByText('Drop the files to attach them').waitFor();
  await target.dispatchEvent('drop', { dataTransfer });
  await list.getByText('dropped.csv').waitFor();
  t.equal(await list.getByText('word.png').count(), 0);
  await list.getByRole('progressbar').first().waitFor({ state: 'detached' });
  await field.press('Enter');
  const [message] = await sent(id);
  t.strictSame(message!.attachments!.map(({ filename }) => filename).sort(), ['dropped.csv', 'pasted.csv']);
  t.equal(message!.body, null);
});

t.test('an upload shows how far it is, can be removed, and says why it failed', async (t) => {
  const { page, field } = await open('grace', await conversation('Uploads'));
  const session = await page.context().newCDPSession(page);
  const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 20_000 };
  await session.send('Network.emulateNetworkConditions', slow);
  const picker = page.getByLabel('Files', { exact: true });
  await picker.setInputFiles({ name: 'slow.bin', mimeType: 'text/plain', buffer: Buffer.alloc(2_000_000) });
  const bar = page.getByRole('progressbar', { name: 'Uploading slow.bin' });
  await until(async () => Number(await bar.getAttribute('value')) > 0);
  await field.fill('too early');
  await field.press('Enter');
  await page.getByText('Some files are still being uploaded.').waitFor();
  await page.getByRole('button', { name: 'Remove slow.bin' }).click();
  await bar.waitFor({ state: 'detached' });
  await session.send('Network.emulateNetworkConditions', { ...slow, uploadThroughput: -1 });
  await picker.setInputFiles({ name: 'empty.txt', mimeType: 'text/plain', buffer: Buffer.alloc(0) });
  const refusal = page.locator('.upload-row').getByRole('alert');
  await refusal.waitFor();
  t.equal(await refusal.textContent(), 'The file is empty.');
  t.equal(await field.inputValue(), 'too early');
});

t.test('in a case, notes and replies differ in colour, words and readers, and are remembered', async (t) => {
  const id = await conversation('Where is my lamp?', true);
  const { page, field } = await open('grace', id);
  const form = page.locator('.composer-form');
  const look = async () => ({
    colour: await form.evaluate(inPage('return getComputedStyle(element).backgroundColor')),
    label: await field.getAttribute('aria-label'),
    button: await form.locator('[type=submit]').textContent(),
  });
  await page.getByLabel('Note to the team').first().waitFor();
  const note = await look();
  await field.fill('a note');
  await field.press('Enter');
  await sent(id);
  await page.getByText('Reply to the customer').click();
  const reply = await look();
  t.match([note.label, note.button], ['Note to the team', 'Add note']);
  t.match([reply.label, reply.button], ['Reply to the customer', 'Send reply']);
  t.not(note.colour, reply.colour);
  await field.fill('a reply');
  await field.press('Enter');
  t.strictSame(
    (await sent(id, 2)).map(({ body, visibility }) => [body, visibility]),
    [
      ['a note', 'internal'],
      ['a reply', 'external'],
    ],
  );
  await page.reload();
  await field.waitFor();
  t.strictSame(await look(), reply, 'a reply again, and it looks like one');
  t.strictSame(await findingsInThemes(page), []);
  await page.goto(`${app.baseUrl}/console/c/${await conversation('Another case', true)}`);
  await page.getByLabel('Reply to the customer').first().waitFor();
  t.strictSame(await look(), reply, 'another case begins with the last choice');
});

t.test('choosing the readers leads to the field, and nothing that is typed is a shortcut', async (t) => {
  const id = await conversation('Are you still there?', true);
  const { page, field } = await open('grace', id);
  const focused = page.locator(':focus');
  const isInField = () => page.evaluate<boolean>(`document.activeElement.matches('.composer-form textarea')`);
  await page.getByText('Reply to the customer').click();
  await page.keyboard.type('no problem, thanks');
  t.equal(await field.inputValue(), 'no problem, thanks');
  await page.getByText('Reply to the customer').click();
  t.ok(await isInField(), 'also where it was chosen before');
  await page.getByRole('radio', { name: 'Reply to the customer' }).focus();
  await page.keyboard.press('ArrowUp');
  await field.and(page.getByLabel('Note to the team')).waitFor();
  t.ok(await isInField(), 'and by the keyboard');

  const { href } = new URL(page.url());
  for (const [what, element] of [
    ['a radio', page.getByRole('radio', { name: 'Note to the team' })],
    ['a button of the form', page.getByRole('button', { name: 'Attach files' })],
  ] as const) {
    await element.focus();
    await page.keyboard.type('no / why?');
    t.equal(page.url(), href, `${what}: the place`);
    t.equal(await page.locator('dialog[open]').count(), 0, `${what}: no dialog`);
    t.ok(await element.and(focused).count(), `${what}: the focus`);
  }
  await page.locator('.inbox-row-link').first().focus();
  await page.keyboard.press('n');
  await page.getByLabel('Note to the team').and(page.locator('textarea:focus')).waitFor();
});

t.test('a reply by mail has a subject and copies', async (t) => {
  const { page, field } = await open('grace', inbox.conversation);
  await page.getByText('Reply to the customer').click();
  await page.getByText('mona@example.net').waitFor();
  t.equal(await page.getByLabel('Subject').inputValue(), 'A question by mail');
  await page.getByLabel('Subject').fill('Your question');
  await page.getByLabel('Copies').fill('ada@example.com, not an address');
  await field.fill('an answer');
  await field.press('Enter');
  t.equal(await field.inputValue(), 'an answer', 'the browser has said what is wrong');
  await page.getByLabel('Copies').fill('ada@example.com');
  await field.press('Enter');
  const all = await sent(inbox.conversation);
  t.match(all.at(-1), { body: 'an answer', subject: 'Your question', cc: ['ada@example.com'] });
});

t.test('messages are scheduled, changed, sent now and cancelled', async (t) => {
  const id = await conversation('Later');
  const { page, field } = await open('grace', id);
  const later = async (text: string) => {
    await field.fill(text);
    await page.getByRole('button', { name: 'Send later' }).click();
    await page.getByRole('menuitem', { name: /Tomorrow morning/ }).click();
    await until(async () => (await messages(id, 'scheduled')).some(({ body }) => body === text));
  };
  await later('first');
  await later('second');
  await page.getByText('2 scheduled messages').click();
  const row = (text: string) => page.locator('.scheduled-row').filter({ hasText: text });
  await row('first').getByRole('button', { name: 'Edit' }).click();
  const edit = page.getByLabel('Text of the message');
  await edit.fill('first, changed');
  await page.getByLabel(/Date and time/).fill('2000-01-01T00:00');
  await edit.press('Enter');
  const session = await page.context().newCDPSession(page);
  const setZone = (timezoneId: string) => session.send('Emulation.setTimezoneOverride', { timezoneId });
  await setZone('Europe/Berlin');
  await page.getByLabel(/Date and time/).fill('2031-03-30T02:30');
  await edit.press('Enter');
  await page.getByText(/Clocks skip March 30, 2031/).waitFor();
  await setZone('');
  const changed = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10);
  await page.getByLabel(/Date and time/).fill(`${changed}T10:30`);
  await edit.press('Enter');
  await row('first, changed').waitFor();
  // The row shows the change before the server has it.
  let scheduled: ChatMessage | undefined;
  await until(async () => {
    scheduled = (await messages(id, 'scheduled')).find(({ body }) => body === 'first, changed');
    return scheduled !== undefined;
  });
  const expected = await page.evaluate<string>(`new Date('${changed}T10:30').toISOString()`);
  t.equal(new Date(scheduled!.scheduled_at!).toISOString(), expected);
  await row('second').getByRole('button', { name: 'Cancel' }).click();
  await row('second').waitFor({ state: 'detached' });
  await row('first, changed').getByRole('button', { name: 'Send it now' }).click();
  t.match(await sent(id), [{ body: 'first, changed' }]);
  await row('first').waitFor({ state: 'detached' });
});

t.test('a draft is approved as it is shown, edited, or rejected with a reason', async (t) => {
  const id = await conversation('Drafts', true);
  const grace = await open('grace', id);
  await grace.page.getByText('Reply to the customer').click();
  const propose = async (text: string) => {
    await grace.field.fill(text);
    await grace.page.getByRole('button', { name: 'Save as a draft for approval' }).click();
    await grace.page.locator('.draft-card').getByText(text).waitFor();
  };
  await propose('We refund it.');

  // Ada's page hears nothing for a while.
  const adaPage = await browser.context.newPage();
  browser.watch(adaPage);
  let isDeaf = false;
  let hear = () => {};
  await adaPage.routeWebSocket(/realtime/, (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) => {
      if (!isDeaf) socket.send(message);
    });
    hear = () => void socket.close({ code: 1012 });
  });
  await adaPage.goto(`${app.baseUrl}/console/c/${id}?as=ada`);
  const card = adaPage.getByRole('article', { name: 'Reply draft of Grace Hopper' });
  await card.getByText('We refund it.').waitFor();
  t.strictSame(await findingsOf(adaPage), []);
  isDeaf = true;
  const own = grace.page.locator('.draft-card');
  await own.getByRole('button', { name: 'Edit' }).click();
  await own.getByLabel('Text of the message').fill('We refund half of it.');
  await own.getByRole('button', { name: 'Save', exact: true }).click();
  await own.getByText('We refund half of it.').waitFor();
  await card.getByRole('button', { name: 'Approve and send' }).click();
  await card.getByRole('alert').waitFor();
  t.match(await card.getByRole('alert').textContent(), /^Not sent: /);
  isDeaf = false;
  hear();
  await card.getByText('We refund half of it.').waitFor();
  await card.getByRole('button', { name: 'Approve and send' }).click();
  t.match(await sent(id), [{ body: 'We refund half of it.', visibility: 'external' }]);
  await card.waitFor({ state: 'detached' });

  await propose('We do nothing.');
  const [draft] = await messages(id, 'draft');
  await card.getByRole('button', { name: 'Reject' }).click();
  await card.getByRole('button', { name: 'Cancel' }).click();
  await card.getByRole('button', { name: 'Reject' }).click();
  await adaPage.getByLabel('Why it is rejected').and(adaPage.locator(':focus')).waitFor();
  await adaPage.keyboard.type('Too short.');
  await adaPage.keyboard.press('Enter');
  await own.waitFor({ state: 'detached' });
  await grace.page.getByText('Your draft was rejected: Too short.').waitFor();
  const outcome = await app.call('GET', `/v1/messaging/messages/${draft!.id}/outcome`);
  t.match(outcome.body, { result: 'rejected', reason: 'Too short.' });
});

const REFUSES_SENDS = `
  const { fetch } = globalThis;
  globalThis.fetch = (input, init) => {
    const isSend = init?.method === 'POST' && /\\/conversations\\/[^/]+\\/messages(\\?|$)/.test(input);
    if (isSend && sessionStorage.getItem('refuses sends')) return Promise.reject(new TypeError('No network.'));
    return fetch(input, init);
  };
`;

t.test('what is not sent survives a reload, and is sent once', async (t) => {
  const id = await conversation('Offline');
  const { page, field } = await open('grace', id);
  // In the page: a request that the browser holds for this test while the page is loaded again may
  // be sent, or never be answered.
  await page.addInitScript(inPage(REFUSES_SENDS) as () => void);
  await page.evaluate(`sessionStorage.setItem('refuses sends', 'yes')`);
  await page.reload();
  await field.waitFor();
  await field.fill('from a train');
  await field.press('Enter');
  const echo = page.locator('.timeline').getByText('from a train');
  await echo.waitFor();
  await page.reload();
  await echo.waitFor();
  t.strictSame(await messages(id), []);
  await page.evaluate(`sessionStorage.removeItem('refuses sends')`);
  t.match(await sent(id), [{ body: 'from a train' }]);
  await page.reload();
  await echo.waitFor();
  t.equal((await messages(id)).length, 1);
  t.equal(await echo.count(), 1);
});

t.test('a refused message says why, and so does a conversation that takes none', async (t) => {
  const id = await conversation('Refused');
  const { page, field } = await open('ada', id);
  await field.fill('x'.repeat(40_001));
  await field.press('Enter');
  await page
    .locator('.timeline')
    .getByText(/Not sent: .*40,?000/)
    .waitFor();
  await app.call('PATCH', `${MESSAGES}/${id}`, { token: ada.access_token, body: { status: 'archived' } });
  await page.getByText('This conversation is archived, and takes no new messages.').waitFor();
  t.strictSame(await findingsOf(page), []);
  await page.getByRole('button', { name: 'Open it again' }).click();
  await field.waitFor();
});

t.test('text is kept by conversation and person, until they sign out', async (t) => {
  const [one, other] = [await conversation('One'), await conversation('Other')];
  const { page, field } = await open('grace', one);
  await field.fill('half a sen');
  await page.goto(`${app.baseUrl}/console/c/${other}`);
  await field.waitFor();
  t.equal(await field.inputValue(), '');
  await page.goBack();
  await until(async () => (await field.inputValue()) === 'half a sen');
  await page.reload();
  await field.waitFor();
  t.equal(await field.inputValue(), 'half a sen');
  const { field: adas } = await open('ada', one);
  t.equal(await adas.inputValue(), '');
  await page.goto(`${app.baseUrl}/console/settings`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Parley' }).waitFor();
  const kept = await page.evaluate<string>(`Object.keys(localStorage).join(' ')`);
  t.notMatch(kept, grace.id);
});

t.test('a reload shows the last page before the server answers, and signing out removes it', async (t) => {
  const id = await conversation('A slow server');
  const body = { body: 'kept words', client_message_id: 'kept words' };
  await app.call('POST', `${MESSAGES}/${id}/messages`, { token: ada.access_token, body });
  const { page } = await open('grace', id);
  const shown = page.locator('.timeline').getByText('kept words');
  const isRead = /\/conversations\/[^/]+\/messages(\?|$)/;
  // For a second after each connection the page is not kept, as it is written anew.
  await until(async () => {
    await page.unroute(isRead);
    await page.reload();
    await shown.waitFor();
    await until(async () => (await keptIn(page, id)).includes('kept words'));
    // Never answered.
    await page.route(isRead, () => undefined);
    await page.reload();
    return shown.waitFor({ timeout: 5_000 }).then(
      () => true,
      () => false,
    );
  });
  await page.unroute(isRead);
  await page.goto(`${app.baseUrl}/console/settings`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Parley' }).waitFor();
  await until(async () => !(await keptIn(page)).includes('kept words'));
  const { page: adas } = await open('ada', await conversation('Of another person'));
  t.notOk((await keptIn(adas)).includes(grace.id), 'nothing of her is left for the next person');
});

/** Returns all that the browser keeps in IndexedDB, or the page of a conversation, as JSON. */
function keptIn(page: Page, conversationId?: string): Promise<string> {
  const isMeant = conversationId === undefined ? 'true' : `row.id?.[1] === '${conversationId}'`;
  return page.evaluate<string>(`(async () => {
    const done = (request) => new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    const found = [];
    for (const { name } of await indexedDB.databases()) {
      const database = await done(indexedDB.open(name));
      for (const store of database.objectStoreNames) {
        found.push(await done(database.transaction(store).objectStore(store).getAll()));
      }
      database.close();
    }
    return JSON.stringify(found.flat().filter((row) => ${isMeant}));
  })()`);
}

t.test('what is sent before the conversation is known waits for it', async (t) => {
  const id = await conversation('Not read yet');
  const { page: before } = await open('grace', await conversation('A case', true));
  await before.getByText('Reply to the customer').click();
  const page = await browser.open('grace', 'settings');
  const isRead = new RegExp(`/conversations/${id}(\\?|$)`);
  let hear = () => {};
  const heard = new Promise<void>((resolve) => {
    hear = resolve;
  });
  await page.route(isRead, async (route) => {
    await heard;
    await route.continue();
  });
  await browser.go(page, `c/${id}`);
  const field = page.locator('.composer-form textarea');
  await field.fill('quick');
  await field.press('Enter');
  await page.getByText('Reply to the customer').waitFor();
  t.equal(await field.inputValue(), 'quick');
  hear();
  t.match(await sent(id), [{ body: 'quick' }]);
  await until(async () => (await field.inputValue()) === '');
});

t.test('the up arrow in an empty field changes the last own message', async (t) => {
  const id = await conversation('Up');
  const { page, field } = await open('grace', id);
  await field.fill('helo');
  await field.press('Enter');
  await sent(id);
  await page.locator('.timeline').getByText('helo').waitFor();
  await field.press('ArrowUp');
  const edit = page.getByLabel('Text of the message');
  await until(async () => (await edit.inputValue()) === 'helo');
  await edit.fill('hello');
  await edit.press('Enter');
  await until(async () => (await messages(id))[0]?.body === 'hello');
  t.ok(await field.evaluate(inPage('return element === document.activeElement')));
});

t.test('typing is declared at the first keystroke', async (t) => {
  const id = await conversation('Typing');
  const frames: string[] = [];
  browser.context.once('page', (page) =>
    page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => void frames.push(String(payload))),
    ),
  );
  await open('ada', id);
  const { field } = await open('grace', id);
  await field.pressSequentially('a');
  await until(async () => frames.some((frame) => frame.includes('"typing"') && frame.includes(grace.id)));
  // Refused and lost requests of the tests above.
  t.strictSame(
    browser.problems.filter((problem) => !problem.startsWith('Failed to load resource')),
    [],
  );
});
