/**
 * Signing in to the console: by an invitation, an API key, and at an identity provider.
 *
 * Without influence: OPERATION, ANSWERS, packages/client/ai, src/core/installation,
 * src/features/cells, src/features/compliance, src/features/import, src/features/mail,
 * src/features/platform-events, src/features/push, src/features/search, src/features/webhooks,
 * src/features/widgets, src/api/documents/pages, src/core/documents.
 */

import { newId } from '@parley/protocol/ids.ts';
import type { Invitation } from '@parley/protocol/resources/invitation.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import type { BrowserContext, Page } from 'playwright-core';
import t from 'tap';
import { personWith } from '../../accounts/fixture.ts';
import { startSignIn } from '../../identity/sign-in-fixture.ts';
import { callsAt } from '../../support/app.ts';
import { ConsoleBrowser, findingsInThemes } from '../../support/console-page.ts';
import { until } from '../../support/until.ts';

const { app } = await startSignIn(t);
const { call } = callsAt(app, NEWEST_VERSION);
const browser = await ConsoleBrowser.start(t, app.baseUrl);
const ACCEPT = { name: 'Accept the invitation' };

t.test('an invitation signs in once, and leaves the address at once', async (t) => {
  const { name, url } = await invited();
  const page = await visit(browser.context, url);
  await page.getByRole('heading', { name: /^You are invited to / }).waitFor();
  t.equal(page.url(), `${app.baseUrl}/console/`);
  t.strictSame(await findingsInThemes(page), []);
  await page.getByRole('button', ACCEPT).click();
  await page.getByRole('link', { name }).waitFor();
  t.equal(await page.evaluate('history.length'), 2, 'the way back does not lead to it');
  await page.reload();
  await page.getByRole('link', { name }).waitFor();
  t.equal(
    await page.evaluate('document.cookie + JSON.stringify({ ...localStorage })'),
    '{}',
    'no script sees it',
  );

  const second = await visit(browser.context, url);
  await second.getByRole('button', ACCEPT).click();
  await second.getByText('This invitation was used, and it works once. Ask for a new one.').waitFor();
  await second.getByRole('button', { name: 'Continue' }).click();
  await second.getByRole('link', { name }).waitFor();

  await page.getByRole('link', { name }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Parley' }).waitFor();
  await page.close();
  await second.close();
});

t.test('of two browsers with one invitation one is signed in', async (t) => {
  const { name, url } = await invited();
  const contexts = [await another(), await another()];
  const pages = await Promise.all(contexts.map((context) => visit(context, url)));
  await Promise.all(pages.map((page) => page.getByRole('button', ACCEPT).click()));
  const outcomes = await Promise.all(
    pages.map(async (page) => {
      const one = page
        .getByRole('link', { name })
        .or(page.getByText('This invitation was used, and it works once.'));
      await one.waitFor();
      return (await page.getByRole('link', { name }).count()) === 1 ? 'in' : 'out';
    }),
  );
  t.strictSame(outcomes.sort(), ['in', 'out']);
  for (const context of contexts) await context.close();
});

t.test('an invitation that is wrong or expired says so, and other ways stay', async () => {
  const context = await another();
  const page = await visit(context, `${app.baseUrl}/console/#invitation=invitation_made-up`);
  await page.getByRole('button', ACCEPT).click();
  await page.getByRole('alert').getByText('This invitation is not valid').waitFor();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'Sign in to Parley' }).waitFor();

  const { url, id } = await invited();
  await app.database.kysely
    .updateTable('invitations')
    .set({ expires_at: '2026-01-01T00:00:00Z' })
    .where('actor_id', '=', id)
    .execute();
  // The address of an open page is changed.
  await page.evaluate(`location.hash = ${JSON.stringify(new URL(url).hash)}`);
  await page.getByRole('button', ACCEPT).click();
  await page.getByRole('alert').getByText('has expired').waitFor();
  await context.close();
});

t.test('an API key signs in, and is asked for again after a reload', async () => {
  const context = await another();
  const page = await visit(context, `${app.baseUrl}/console/`);
  await page.getByText('Use an API key').click();
  await page.getByRole('textbox', { name: 'Account' }).fill(app.demo.account_id);
  await page.getByLabel('API key').fill(app.demo.api_key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.shell').waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in to Parley' }).waitFor();
  await context.close();
});

t.test('an identity provider leads back to the place in the console', async () => {
  const context = await another();
  const page = await visit(context, `${app.baseUrl}/console/work`);
  await page.getByRole('link', { name: 'Sign in with Staff' }).click();
  await page.getByLabel('Name').fill('nora');
  await page.getByRole('button', { name: 'Go' }).click();
  await page.getByRole('link', { name: 'nora of the team' }).waitFor();
  await page.waitForURL(`${app.baseUrl}/console/work`);
  await context.close();
});

t.test('a session that ended elsewhere says so, and the sign-in leads back to the message', async (t) => {
  const context = await another();
  const page = await visit(context, `${app.baseUrl}/console/`);
  const enter = async () => {
    await page.getByRole('link', { name: 'Sign in with Staff' }).click();
    const name = page.getByLabel('Name');
    const own = page.getByRole('link', { name: 'nora of the team' });
    await name.or(own).waitFor();
    // The provider may know the person by then.
    if (await name.isVisible()) {
      await name.fill('nora');
      await page.getByRole('button', { name: 'Go' }).click();
    }
    await own.waitFor();
  };
  await enter();
  const { body: me } = await call<{ data: { id: string; name: string }[] }>('GET', '/v1/users?limit=100');
  const nora = me.data.find(({ name }) => name === 'nora of the team')!;
  const { body: group } = await call<{ id: string }>('POST', '/v1/messaging/conversations', {
    body: { type: 'group', title: 'Harbour', participants: [{ type: 'user', actor_id: nora.id }] },
  });
  const path = `/v1/messaging/conversations/${group.id}/messages`;
  const { body: first } = await call<{ id: string }>('POST', path, {
    body: { body: 'Ahoy', client_message_id: newId('message') },
  });
  const place = `${app.baseUrl}/console/c/${group.id}?message=${first.id}`;
  await page.goto(place);
  await page.getByText('Ahoy').first().waitFor();
  const trades: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === '/v1/auth/session') trades.push(request.method());
  });
  // As it is done from another place: by the same cookie, outside of the page.
  const cookies = await context.cookies(`${app.baseUrl}/v1/auth/session`);
  const ended = await fetch(`${app.baseUrl}/v1/auth/session`, {
    method: 'DELETE',
    headers: { Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '), Origin: app.baseUrl },
  });
  t.equal(ended.status, 204);
  await page.getByRole('textbox', { name: 'Message' }).fill('Written without a session');
  await page.keyboard.press('Enter');
  await page.getByText('Waits for your sign-in.').waitFor();
  const banner = page.getByRole('status').filter({ hasText: 'Your session has ended' });
  await banner.filter({ hasText: 'Sign in to go on. 1 message waits to be sent.' }).waitFor();
  t.strictSame(trades, ['POST'], 'it is asked for once');
  await browser.go(page, `c/${group.id}?message=${first.id}`);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await enter();
  await page.waitForURL(place, { timeout: 60_000 });
  await page.getByText('Written without a session').first().waitFor();
  await until(
    async () =>
      (await call<{ data: { body: string }[] }>('GET', path)).body.data.some(
        ({ body }) => body === 'Written without a session',
      ),
    { what: 'the message is delivered' },
  );
  await context.close();
});

t.test('no script of the pages complained', (t) => {
  // Refusals of the server are logged by the browser itself.
  t.strictSame(
    browser.problems.filter((text) => !text.startsWith('Failed to load resource')),
    [],
  );
  t.end();
});

/** A user of the demo account with an invitation. */
async function invited(): Promise<Invitation & { readonly id: string; readonly name: string }> {
  const { id } = await personWith(app, ['messaging:read']);
  const name = `Person ${id.slice(-6)}`;
  await call('PATCH', `/v1/users/${id}`, { body: { name } });
  const { body } = await call<Invitation>('POST', `/v1/users/${id}/invitations`);
  return { ...body, id, name };
}

async function another(): Promise<BrowserContext> {
  return browser.context.browser()!.newContext();
}

async function visit(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  browser.watch(page);
  await page.goto(url);
  return page;
}
