/**
 * The hooks for React in a real browser, against the real server.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client/ai,
 * src/core/installation, src/features/mail, src/platform/outbound.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ParleyProvider } from '@parley/client/react';
import { NAMES, OpenConversations } from '@parley/client/test/open-conversations.ts';
import { bringEvents } from '@parley/client/test/react-conversations.ts';
import { App, type Part } from '@parley/client/test/react-parts.ts';
import type { Page } from 'playwright-core';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import t from 'tap';
import { Runs } from '../../agents/runs.ts';
import { ROOT } from '../../start/parley.ts';
import { startTestApp } from '../../support/app.ts';
import { startChromium } from '../../support/chromium.ts';
import { freePort } from '../../support/free-port.ts';
import { ModelServer } from '../../support/model-server.ts';
import { servePage } from '../../support/served-page.ts';
import type { Teardown } from '../../support/teardown.ts';
import { until } from '../../support/until.ts';

const module = join(import.meta.dirname, 'react-page.js');
const toHydrate: Part[] = [['Connection'], ['Inbox'], ['Timeline', { id: 'x' }], ['Search', { words: 'x' }]];
const rendered = renderToString(
  createElement(ParleyProvider, { client: null }, createElement(App, { shown: toHydrate })),
);
const pages = {
  production: await servePage(t, module),
  strict: await servePage(t, module, { mode: 'development' }),
  rendered: await servePage(t, module, { mode: 'development', body: `<main>${rendered}</main>` }),
};
/** Of pages whose code names the server, and which the server has to allow. */
const ports = [await freePort(), await freePort()];
const models = await ModelServer.start(t);
const app = await startTestApp(t, {
  ...models.env(),
  PARLEY_ALLOWED_ORIGINS: [
    ...Object.values(pages),
    ...ports.map((port) => `http://127.0.0.1:${port}`),
  ].join(),
});
const conversations = new OpenConversations(app);
const browser = await startChromium(t);

t.test('every hook shows what its live object has', async (t) => {
  const { ada, grace } = app.demo.users;
  const id = await conversations.group('Hooks');
  const client = conversations.client(t, { as: 'grace' });
  const other = client.conversation(id);
  await other.opened;
  const root = await other.send('a lighthouse');
  const { id: agentId } = await new Runs(app).agent();
  models.reply({ text: 'As you wish.' });
  const run = await conversations.client(t).runs.start(agentId, 'go');

  const page = await open(t, 'production');
  await show(page, ['Connection'], ['Inbox'], ['Timeline', { id }], ['Thread', { id, messageId: root.id }]);
  await shows(page, `timeline-${id}`, ['a lighthouse']);
  await shows(page, 'thread', ['a lighthouse']);
  await until(async () => (await textOf(page, 'inbox')).includes('Hooks 1'), { what: 'the inbox' });
  await page.waitForFunction(`document.getElementById('connection').textContent === 'live'`);
  await page.evaluate(`thread.send('a reply')`);
  await shows(page, 'thread', ['a lighthouse', 'a reply']);
  await shows(page, `timeline-${id}`, ['a lighthouse', 'a reply']);

  await show(page, ['Typing', { id }], ['Presence', { ids: [grace.id] }], ['Notifications'], ['Unread']);
  await shows(page, 'presence', ['offline']);
  await client.setPresence('online');
  await shows(page, 'presence', ['online']);
  await until(() => other.presence.get(ada.id) === 'online', { what: 'ada, whose page is visible' });
  await show(page, ['Typing', { id }], ['OwnPresence', { status: 'away' }], ['Notifications'], ['Unread']);
  await until(() => other.presence.get(ada.id) === 'away', { what: 'what the hook declares' });
  other.typing();
  await shows(page, 'typing', [NAMES.grace]);
  await page.evaluate('declareTyping()');
  await until(() => other.typingActors.some(({ name }) => name === NAMES.ada), { what: 'typing of ada' });
  await other.send({ body: 'look', mentions: [ada.id] });
  await until(async () => (await textOf(page, 'notifications')).includes('chat.mention'), {
    what: 'the notification',
  });
  await page.waitForFunction(`/^[1-9]\\d* [1-9]\\d*$/.test(document.getElementById('unread').textContent)`);

  await show(page, ['Search', { words: '  ' }], ['Run', { id: run.id }]);
  await shows(page, 'search', ['ready']);
  await shows(page, 'run', ['completed', 'As you wish.']);
  await show(page, ['Search', { words: 'lighthouse' }]);
  await shows(page, 'search', ['ready', 'a lighthouse']);
});

t.test('StrictMode: components share one subscription, which ends a moment after the last', async (t) => {
  const id = await conversations.group('Strict');
  const page = await open(t, 'strict');
  const wanted: Part[] = [
    ['Timeline', { id }],
    ['Timeline', { id }],
    ['Typing', { id }],
  ];
  const requested = () =>
    page.evaluate<string[]>(`requests.filter((request) => request.endsWith('subscribe ${id}'))`);
  await show(page, ...wanted);
  await until(async () => (await requested()).length > 0, { what: 'the subscription' });
  await (await conversations.open(t, id)).send('ahoy');
  await shows(page, `timeline-${id}`, ['ahoy']);
  t.strictSame(await requested(), [`subscribe ${id}`]);
  await show(page, ['Typing', { id }]);
  await show(page);
  // Mounted again before it was closed.
  await show(page, ...wanted);
  await shows(page, `timeline-${id}`, ['ahoy']);
  t.strictSame(await requested(), [`subscribe ${id}`]);
  await show(page);
  await until(async () => (await requested()).length > 1, { what: 'the end' });
  t.strictSame(await requested(), [`subscribe ${id}`, `unsubscribe ${id}`]);
  await show(page, ...wanted);
  await shows(page, `timeline-${id}`, ['ahoy']);
});

t.test('a component is not rendered for what it does not read', async (t) => {
  const id = await conversations.group('Reads');
  const other = await conversations.open(t, id, { as: 'grace' });
  const page = await open(t, 'production');
  await show(page, ['Typing', { id }], ['Timeline', { id }], ['Title', { id }]);
  await other.send('first');
  await shows(page, `timeline-${id}`, ['first']);
  await shows(page, 'title', ['Reads', '2']);
  await page.evaluate('resetCounts()');
  for (let n = 0; n < 20; n++) await other.send(`message ${n}`);
  await until(async () => (await textOf(page, `timeline-${id}`)).length === 21, { what: 'the messages' });
  t.equal(await page.evaluate('renders.Typing'), undefined);
  t.equal(await page.evaluate('renders.Title'), undefined, 'what it selects is the same');
  await conversations.client(t).conversations.update(id, { title: 'Selected' });
  await shows(page, 'title', ['Selected', '2']);
  t.equal(await page.evaluate('renders.Title'), 1);
  other.typing();
  await shows(page, 'typing', [NAMES.grace]);
  t.equal(await page.evaluate('renders.Typing'), 1);
  t.ok(await page.evaluate<boolean>(`renders['Timeline ${id}'] >= 1`));
});

t.test('rendered on a server, and hydrated without a warning', async (t) => {
  t.match(rendered, /<output id="connection">connecting<\/output><ul id="inbox"><li>loading<\/li><\/ul>/);
  const said: string[] = [];
  const page = await open(t, 'rendered', { rendered: JSON.stringify(toHydrate) }, said);
  await until(async () => (await textOf(page, 'inbox'))[0] === 'ready', { what: 'the inbox' });
  await shows(page, 'search', ['ready']);
  t.strictSame(said, []);
});

t.test('the examples of the guide and of docs/sdk.md', async (t) => {
  const id = await conversations.group('Examples');
  const { account_id: account, users } = app.demo;
  const own: readonly (readonly [text: string, value: string])[] = [
    ['https://chat.example.com', app.baseUrl],
    ['acc_…', account],
    ['cnv_…', id],
    ['/chat-token', `data:,${users.ada.access_token}`],
    ['#chat', 'main'],
  ];
  const pageOf = async (port: number, document: string, more = '') => {
    const [, example = ''] = /^```jsx\n(.*?)^```$/ms.exec(readFileSync(join(ROOT, document), 'utf8')) ?? [];
    const code = own.reduce((text, [part, value]) => text.replaceAll(part, value), example);
    const url = await servePage(t, join(import.meta.dirname, 'example.jsx'), {
      code: `${code}${more}`,
      port,
    });
    const page = await browser.newPage();
    t.teardown(() => page.close());
    await page.goto(url);
    return page;
  };

  const guide = await pageOf(ports[0]!, 'src/core/documents/sdk.md');
  const other = await conversations.open(t, id, { as: 'grace' });
  await guide.getByRole('button', { name: 'Say ahoy' }).click();
  await guide.getByText(`${NAMES.ada} ahoy`).waitFor();
  await until(() => other.messages.length === 1, { what: 'the message' });
  other.typing();
  await guide.getByText(`${NAMES.grace} is typing …`).waitFor();

  const inEffect = await pageOf(
    ports[1]!,
    'docs/sdk.md',
    `
    import { useConnection } from '@parley/client/react';
    import { createRoot } from 'react-dom/client';
    const State = () => <output>{useConnection().state}</output>;
    const page = <Parley url="${app.baseUrl}" account="${account}"><State /></Parley>;
    createRoot(document.querySelector('main')).render(page);`,
  );
  await inEffect.getByText('live').waitFor();
});

t.test('a conversation that has ended is opened again once it can be read again', async (t) => {
  const id = await conversations.group('Again');
  const grace = conversations.client(t, { as: 'grace' });
  const { id: messageId } = await grace.send(id, 'before');
  const page = await open(t, 'production');
  await show(page, ['Timeline', { id }], ['Thread', { id, messageId }]);
  await shows(page, `timeline-${id}`, ['before']);
  const ada = conversations.client(t);
  await ada.conversations.delete(id);
  await shows(page, `timeline-${id}`, []);
  await ada.conversations.restore(id);
  await shows(page, `timeline-${id}`, ['before']);
  await shows(page, 'thread', ['before']);
  await grace.send(id, 'after');
  await shows(page, `timeline-${id}`, ['before', 'after']);
});

t.test('1,000 events into 50 conversations: at most one render a list and frame', async (t) => {
  await bringEvents(t, { app, conversations, page: await open(t, 'production'), events: 1_000 });
});

/** Opens a page of ada. `said` receives what the browser warns of. */
async function open(
  t: Teardown,
  kind: keyof typeof pages,
  more: Readonly<Record<string, string>> = {},
  said: string[] = [],
): Promise<Page> {
  const page = await browser.newPage();
  t.teardown(() => page.close());
  page.on('console', (message) => {
    if (['warning', 'error'].includes(message.type())) said.push(message.text());
  });
  page.on('pageerror', (error) => said.push(error.message));
  const { account_id: account, users } = app.demo;
  const query = { url: app.baseUrl, account, token: users.ada.access_token, ...more };
  await page.goto(`${pages[kind]}?${new URLSearchParams(query)}`);
  await page.waitForFunction('"show" in globalThis');
  return page;
}

async function show(page: Page, ...parts: readonly Part[]): Promise<void> {
  await page.evaluate(`show(...${JSON.stringify(parts)})`);
}

function textOf(page: Page, id: string): Promise<string[]> {
  return page.evaluate<string[]>(`textOf('${id}')`);
}

async function shows(page: Page, id: string, expected: readonly string[]): Promise<void> {
  let found: unknown;
  const isThere = async () => {
    found = await textOf(page, id);
    return JSON.stringify(found) === JSON.stringify(expected);
  };
  await until(isThere, { what: `${expected} in ${id}` }).catch((error: Error) => {
    throw new Error(`${error.message}, but ${JSON.stringify(found)}`);
  });
}
