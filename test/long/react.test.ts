/**
 * The hooks for React in a real browser under load.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client/ai,
 * src/core/installation, src/features/mail, src/platform/outbound.
 */

import { join } from 'node:path';
import { OpenConversations } from '@parley/client/test/open-conversations.ts';
import { bringEvents } from '@parley/client/test/react-conversations.ts';
import t from 'tap';
import { startTestApp } from '../support/app.ts';
import { startChromium } from '../support/chromium.ts';
import { servePage } from '../support/served-page.ts';

t.test('10,000 events into 50 conversations: at most one render a list and frame', async (t) => {
  const url = await servePage(t, join(import.meta.dirname, 'client/react-page.js'));
  const app = await startTestApp(t, { PARLEY_ALLOWED_ORIGINS: url });
  const browser = await startChromium(t);
  const page = await browser.newPage();
  const { account_id: account, users } = app.demo;
  const query = new URLSearchParams({ url: app.baseUrl, account, token: users.ada.access_token });
  await page.goto(`${url}?${query}`);
  await page.waitForFunction('"show" in globalThis');
  await bringEvents(t, { app, conversations: new OpenConversations(app), page, events: 10_000 });
});
