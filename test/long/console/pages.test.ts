/**
 * Every page of the console, wide and on a phone: axe finds nothing in either theme, and a
 * conversation stands still while it opens.
 *
 * Without influence: OPERATION, packages/client/ai, src/features/cells,
 * src/features/platform-events, src/api/documents/pages, src/core/documents.
 */

import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { lockUser } from '../../../src/core/accounts/actors/users.ts';
import { addOperator } from '../../../src/core/accounts/users/operators.ts';
import { Cases } from '../../messages/cases.ts';
import { callsAt, startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, findingsInThemes } from '../../support/console-page.ts';
import { until } from '../../support/until.ts';

const app = await startTestApp(t, { PARLEY_DEMO_DAY: 'on' });
const { demo, database } = app;
const { ada, grace } = demo.users;
const { call } = callsAt(app, NEWEST_VERSION);
const cases = new Cases(app);
const browser = await ConsoleBrowser.start(t, app.baseUrl);
const WIDE = { width: 1_440, height: 900 };
const PHONE = { width: 390, height: 844 };

/** A part that is not shown before all of it is known. */
const UNFINISHED = '[data-opening=true]';

/** The sections with a form for a new one. */
const NEW = [
  'people',
  'roles',
  'groups',
  'api-keys',
  'identity-providers',
  'agents',
  'inboxes',
  'widgets',
  'push-apps',
  'webhooks',
  'imports',
];

/** Sums what moves by itself, with the parts that did. */
const MEASURE = `
  globalThis.layout = { sum: 0, shifts: [] };
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) {
      if (hadRecentInput) continue;
      layout.sum += value;
      const moved = sources.map(({ node, previousRect: a, currentRect: b }) =>
        [node?.className ?? node?.nodeName, a.y, a.height, 'to', b.y, b.height].join(' '));
      layout.shifts.push(value.toFixed(3) + ': ' + moved.join('; '));
    }
  }).observe({ type: 'layout-shift', buffered: true });
`;

await database.transaction(async (tx) => {
  await addOperator(tx, (await lockUser(tx, demo.account_id, ada.id))!);
});

t.test('on a phone a conversation moves by less than 0.1 while it opens', async (t) => {
  await browser.context.addInitScript(MEASURE);
  const waiting = await conversationNamed('Chair wobbles after assembly');
  await cases.draft(waiting, { body: 'We send you another screw.' });
  const page = await browser.open('ada');
  await page.setViewportSize(PHONE);
  for (const title of ['Kitchen', 'Chair wobbles after assembly', 'VAT number on invoice 2214']) {
    await page.goto(`${app.baseUrl}/console/c/${await conversationNamed(title)}?as=ada`);
    await page.locator('.message').last().waitFor();
    await page.waitForLoadState('networkidle');
    const pictures = `[...document.images].every((one) => one.complete)`;
    await until(() => page.evaluate<boolean>(pictures), { what: 'the pictures' });
    const { sum, shifts } = await page.evaluate<{ sum: number; shifts: string[] }>('layout');
    t.ok(sum <= 0.1, `${title}: ${sum}\n${shifts.join('\n')}`);
  }
  await page.close();
});

t.test('axe finds nothing on any page, in either theme, wide and on a phone', async (t) => {
  const made = async (path: string, body: object) =>
    (await call<{ readonly id: string }>('POST', path, { body })).body.id;
  const webhook = await made('/v1/webhooks', {
    url: 'https://example.com/hook',
    event_types: ['message.created'],
  });
  const widget = await made('/v1/widgets', { name: 'Shop', sites: ['https://shop.example'] });
  const { data: roles } = (await call<{ data: { readonly id: string }[] }>('GET', '/v1/roles')).body;
  const chair = await conversationNamed('Chair wobbles after assembly');
  const page = await browser.open('ada', 'administration/');
  const links = page.locator('#main a[href*="/administration/"]');
  await links.nth(10).waitFor();
  const sections = await links.evaluateAll((all) =>
    (all as unknown as { readonly pathname: string }[]).map(({ pathname }) => pathname.split('/').at(-1)!),
  );
  t.ok(sections.length > 15, sections.join());
  const administration = [
    '',
    ...sections,
    ...NEW.map((slug) => `${slug}/new`),
    `people/${grace.id}`,
    `roles/${roles[0]!.id}`,
    `agents/${demo.agent.id}`,
    `webhooks/${webhook}`,
    `widgets/${widget}`,
  ];
  const paths = [
    '',
    'work',
    'notifications',
    'settings',
    'installation',
    'search?q=chair',
    `c/${chair}`,
    `c/${chair}?pane=details`,
    `c/${await conversationNamed('Kitchen')}`,
    ...administration.map((path) => `administration/${path}`),
  ];
  for (const size of [WIDE, PHONE]) {
    await page.setViewportSize(size);
    for (const path of paths) {
      await browser.go(page, path);
      await page.locator('h1').first().waitFor({ state: 'attached' });
      await until(async () => (await page.locator(UNFINISHED).or(page.getByText('Loading…')).count()) === 0, {
        what: `all of ${path}`,
      });
      t.strictSame(await findingsInThemes(page), [], `${path} at ${size.width}`);
    }
  }
  t.strictSame(browser.problems, []);
  await page.close();
});

async function conversationNamed(title: string): Promise<string> {
  const path = `/v1/messaging/conversations?q=${encodeURIComponent(title)}`;
  const find = async () =>
    (await call<{ data: Conversation[] }>('GET', path, { token: ada.access_token })).body.data[0];
  return (await until(find, { what: 'the day of the demo account' })).id;
}
