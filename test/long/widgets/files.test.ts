/**
 * Files of visitors in the widget, in a real browser: chosen, dropped, pasted, and what fails.
 *
 * Without influence: OPERATION, ASIDE, ANSWERS, packages/client/ai, src/core/installation,
 * packages/console/administration, packages/console/installation,
 * src/features/compliance, src/features/mail.
 */

import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Widget } from '@parley/protocol/resources/widget.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import type { FrameLocator, Page } from 'playwright-core';
import t from 'tap';
import { callsAt, startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, findingsOf, inPage } from '../../support/console-page.ts';
import { serveSite } from '../../support/served-page.ts';
import { until } from '../../support/until.ts';

const app = await startTestApp(t);
const { call } = callsAt(app, NEWEST_VERSION);
const site = await serveSite(t, (request, response) => {
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.end(`<!doctype html><html lang="${request.url === '/ar' ? 'ar' : 'en'}"><title>Shop</title>
    <body><main><h1>Shop</h1></main><script src="${app.baseUrl}/widget.js" data-account="${app.demo.account_id}"
    data-widget="${widget.id}" async></script></body></html>`);
});
const { body: widget } = await call<Widget>('POST', '/v1/widgets', { body: { name: 'Shop', sites: [site] } });
const browser = await ConsoleBrowser.start(t, app.baseUrl);
const { context } = browser;

const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);
const UPLOAD_URL = '**/v1/messaging/attachments/upload-url';

async function open(): Promise<{ page: Page; frame: FrameLocator }> {
  const page = await context.newPage();
  browser.watch(page);
  await page.goto(site);
  return { page, frame: await opened(page) };
}

async function opened(page: Page): Promise<FrameLocator> {
  await page.getByRole('button', { name: 'Open the chat' }).click();
  const frame = page.frameLocator('iframe[title="Chat"]');
  await fieldOf(frame).waitFor();
  return frame;
}

const fieldOf = (frame: FrameLocator) => frame.getByRole('textbox', { name: 'Write a message' });
const pickerOf = (frame: FrameLocator) => frame.locator('input[type=file]');
const rowsOf = (frame: FrameLocator) => frame.locator('.upload-row');
const visitors = async () => (await call<List<object>>('GET', '/v1/customers?limit=100')).body.data.length;

function file(name: string, size = 4, mimeType = 'text/plain') {
  return { name, mimeType, buffer: Buffer.alloc(size, 'a') };
}

/** Waits until every chosen file is uploaded. */
async function uploaded(frame: FrameLocator): Promise<void> {
  await frame.getByRole('progressbar').first().waitFor({ state: 'detached' });
}

/** Returns the messages of the conversation in which something was written last. */
async function newest(): Promise<readonly ChatMessage[]> {
  const cases = await call<List<Conversation>>('GET', '/v1/messaging/conversations?order=activity');
  const path = `/v1/messaging/conversations/${cases.body.data[0]!.id}/messages?include[]=attachments`;
  return (await call<List<ChatMessage>>('GET', path)).body.data;
}

const namesOf = ({ attachments = [] }: ChatMessage) => attachments!.map(({ filename }) => filename).sort();

/** Dispatches an event with a file, which a page cannot make a person do. */
async function bring(frame: FrameLocator, type: 'paste' | 'drop', name: string, text = ''): Promise<void> {
  await fieldOf(frame).evaluate(
    inPage(`
      const data = new DataTransfer();
      data.items.add(new File(['a,b'], ${JSON.stringify(name)}, { type: 'text/csv' }));
      if (${JSON.stringify(text)} !== '') data.setData('text/plain', ${JSON.stringify(text)});
      const common = { bubbles: true, cancelable: true };
      if (${JSON.stringify(type)} === 'paste') {
        element.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, ...common }));
        return;
      }
      const target = document.querySelector('main');
      for (const step of ['dragover', 'drop'])
        target.dispatchEvent(new DragEvent(step, { dataTransfer: data, ...common }));
    `),
  );
}

t.test(
  'a picture begins the visitor, is sent with the first message, and is shown on both sides',
  async (t) => {
    const { page, frame } = await open();
    const before = await visitors();
    await fieldOf(frame).fill('It looks like this');
    t.equal(await visitors(), before, 'a text that is not sent begins nothing');
    const chooser = page.waitForEvent('filechooser');
    await frame.getByRole('button', { name: 'Attach files' }).click();
    await (await chooser).setFiles([
      { name: 'lamp.png', mimeType: 'image/png', buffer: PICTURE },
      file('order.txt'),
    ]);
    await frame.getByRole('list', { name: 'Files to send' }).getByText('lamp.png').waitFor();
    await uploaded(frame);
    t.equal(await visitors(), before + 1, 'two uploads at once begin one visitor');
    t.equal(await fieldOf(frame).inputValue(), 'It looks like this', 'what was written is still there');
    t.strictSame(await findingsOf(page), []);
    await frame.getByRole('button', { name: 'Send', exact: true }).click();
    const picture = frame.locator('.bubble-own').getByRole('img', { name: 'lamp.png' });
    await picture.waitFor();
    await until(async () => (await picture.evaluate(inPage('return element.naturalWidth'))) === 1, {
      what: 'the picture is shown',
    });
    t.equal(await rowsOf(frame).count(), 0);
    const [message] = await newest();
    t.strictSame([message!.body, namesOf(message!)], ['It looks like this', ['lamp.png', 'order.txt']]);

    const download = page.waitForEvent('download');
    await frame.getByRole('link', { name: /order\.txt/ }).click();
    t.equal((await download).suggestedFilename(), 'order.txt');

    await call('POST', `/v1/messaging/conversations/${message!.conversation_id}/messages`, {
      body: { body: 'Seen', audience: 'customer', client_message_id: crypto.randomUUID() },
    });
    await frame.getByText('Seen', { exact: true }).waitFor();
    t.strictSame(await findingsOf(page), []);

    const team = await browser.open('ada', `c/${message!.conversation_id}`);
    await team.getByRole('button', { name: 'Open lamp.png' }).waitFor();
    await team.getByRole('link', { name: /order\.txt/ }).waitFor();
    await team.close();
    await page.close();
    t.strictSame(browser.problems, []);
  },
);

t.test('files come by drop and by paste, and a pasted text is a text', async (t) => {
  const { page, frame } = await open();
  await fieldOf(frame).waitFor();
  await frame.getByText('Seen', { exact: true }).waitFor();
  await bring(frame, 'paste', 'word.csv', 'words of a document');
  await bring(frame, 'paste', 'pasted.csv');
  await bring(frame, 'drop', 'dropped.csv');
  await frame.getByText('dropped.csv').waitFor();
  t.equal(await frame.getByText('word.csv').count(), 0);
  await uploaded(frame);
  await fieldOf(frame).press('Enter');
  await frame.locator('.bubble-own[data-delivery="sent"]', { hasText: 'pasted.csv' }).waitFor();
  const [message] = await newest();
  t.strictSame([message!.body, namesOf(message!)], [null, ['dropped.csv', 'pasted.csv']]);
  await page.close();
});

t.test('an upload shows how far it is, is waited for, and can be removed', async (t) => {
  const { page, frame } = await open();
  await frame.getByText('Seen', { exact: true }).waitFor();
  const session = await page.context().newCDPSession(page);
  const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 20_000 };
  await session.send('Network.emulateNetworkConditions', slow);
  await pickerOf(frame).setInputFiles(file('slow.bin', 2_000_000));
  const bar = frame.getByRole('progressbar', { name: 'Uploading slow.bin' });
  await until(async () => Number(await bar.getAttribute('value')) > 0, { what: 'progress is shown' });
  await fieldOf(frame).fill('too early');
  await fieldOf(frame).press('Enter');
  await frame.getByText('Some files are still being uploaded.').waitFor();
  await frame.getByRole('button', { name: 'Remove slow.bin' }).click();
  await bar.waitFor({ state: 'detached' });
  await fieldOf(frame).press('Enter');
  await frame.locator('.bubble-own[data-delivery="sent"]', { hasText: 'too early' }).waitFor();

  t.comment('a reload in the middle loses the file and nothing else');
  await pickerOf(frame).setInputFiles(file('lost.bin', 2_000_000));
  await frame.getByRole('progressbar', { name: 'Uploading lost.bin' }).waitFor();
  await page.reload();
  await frame.getByText('too early').waitFor();
  t.equal(await rowsOf(frame).count(), 0);
  await session.send('Network.emulateNetworkConditions', { ...slow, uploadThroughput: -1 });
  await pickerOf(frame).setInputFiles(file('found.txt'));
  await uploaded(frame);
  await fieldOf(frame).press('Enter');
  await frame.locator('.bubble-own[data-delivery="sent"]', { hasText: 'found.txt' }).waitFor();
  await page.close();
});

t.test('what cannot be uploaded says why, and is tried again', async (t) => {
  const { page, frame } = await open();
  await frame.getByText('found.txt').waitFor();
  const problems = () => rowsOf(frame).getByRole('alert').allTextContents();
  const shows = (...texts: string[]) =>
    until(async () => (await problems()).join() === texts.join(), { what: texts.join() });
  const removeAll = async () => {
    while ((await rowsOf(frame).count()) > 0)
      await frame
        .getByRole('button', { name: /^Remove/ })
        .first()
        .click();
  };
  await pickerOf(frame).setInputFiles([file('empty.txt', 0), file('large.bin', 10 * 1024 * 1024 + 1)]);
  await shows('The file is empty.', 'The file is too large. 10 MB are possible.');
  t.equal(await frame.getByRole('button', { name: /again$/ }).count(), 0, 'trying again is of no use');
  await removeAll();

  const refuse = (status: number, code: string) =>
    page.route(
      UPLOAD_URL,
      (route) => route.fulfill({ status, json: { error: { code, message: 'No.', is_transient: false } } }),
      { times: 1 },
    );
  await refuse(403, 'limit_exceeded');
  await pickerOf(frame).setInputFiles(file('a.txt'));
  await shows('These are too many files for now. Try again later.');
  await fieldOf(frame).press('Enter');
  await frame.getByText('Upload the failed files again, or remove them.').waitFor();
  await refuse(403, 'insufficient_permissions');
  await frame.getByRole('button', { name: 'Upload a.txt again' }).click();
  await shows('The file was refused.');
  // Without a network it waits, as messages do.
  let tries = 0;
  await page.route(/\/v1\/files\//, (route) => {
    tries += 1;
    return route.abort();
  });
  await frame.getByRole('button', { name: 'Upload a.txt again' }).click();
  await until(() => tries > 0, { what: 'a try' });
  await shows();
  await page.unroute(/\/v1\/files\//);
  await context.setOffline(true);
  await context.setOffline(false);
  await uploaded(frame);
  await shows();
  await removeAll();

  await pickerOf(frame).setInputFiles(Array.from({ length: 11 }, (_, index) => file(`${index}.txt`, 0)));
  await frame.getByText('A message can have 10 files. The others were left out.').waitFor();
  t.equal(await rowsOf(frame).count(), 10);
  await page.close();
});

t.test('the words of a language from right to left', async (t) => {
  const page = await context.newPage();
  await page.goto(`${site}/ar`);
  await page.getByRole('button', { name: 'افتح المحادثة' }).click();
  const frame = page.frameLocator('iframe[title="محادثة"]');
  await frame.getByText('found.txt').waitFor();
  await frame.getByRole('button', { name: 'إرفاق ملفات' }).waitFor();
  await pickerOf(frame).setInputFiles(file('a.txt', 0));
  await frame.getByText('الملف فارغ.').waitFor();
  await frame.getByRole('button', { name: 'إزالة a.txt' }).waitFor();
  t.strictSame(await findingsOf(page), []);
  await page.close();
});
