/**
 * Outages of a page that has the SDK in its bundle, and of its server at the same time, in Chromium
 * and in Firefox, which never again asks for a module that could not be loaded.
 *
 * Without influence: OPERATION, ASIDE, ANSWERS, packages/client/ai, packages/client/react,
 * packages/console, packages/widget, packages/ui, src/features/compliance, src/features/mail,
 * src/features/widgets.
 */

import { join } from 'node:path';
import t from 'tap';
import { startTestApp } from '../../support/app.ts';
import { startBrowser } from '../../support/browsers.ts';
import { FaultProxy } from '../../support/fault-proxy.ts';
import { freePort } from '../../support/free-port.ts';
import { servePage } from '../../support/served-page.ts';
import { until } from '../../support/until.ts';

/** Two tries of a socket, and one of each other transport. */
const TRIES = 4;

const CODE = `
  import { connect } from '@parley/client';
  const client = connect(JSON.parse(decodeURIComponent(location.hash.slice(1))));
  client.on('state', (state) => (document.body.dataset.state = state));
  window.open = (id) => {
    const list = document.querySelector('main');
    const conversation = client.conversation(id);
    conversation.on("change", () => {
      list.textContent = conversation.messages.map(({ body }) => body).join();
    });
  };
`;

const port = await freePort();
const origin = `http://127.0.0.1:${port}`;
const app = await startTestApp(t, { PARLEY_ALLOWED_ORIGINS: origin });
const page = new URL(await servePage(t, join(import.meta.dirname, 'outage-page.js'), { code: CODE }));
const links = [
  await FaultProxy.start({ target: { port: Number(new URL(app.baseUrl).port) } }),
  await FaultProxy.start({ target: { port: Number(page.port) }, port }),
] as const;
for (const link of links) t.teardown(() => link.close());

for (const name of ['chrome', 'firefox'] as const) {
  t.test(
    `${name}: a client is live after an outage, with a conversation that was opened in it`,
    async (t) => {
      const { account_id: account, users, conversations } = app.demo;
      const browser = await startBrowser(t, name);
      const tab = await browser.newPage();
      tab.setDefaultTimeout(60_000);
      const options = { url: `http://127.0.0.1:${links[0].port}`, account, token: users.ada.access_token };
      await tab.goto(`${origin}/#${encodeURIComponent(JSON.stringify(options))}`);
      await tab.waitForSelector('body[data-state="live"]');
      const { refused } = links[0].counts;
      for (const link of links) link.refuse();
      await tab.waitForSelector('body:not([data-state="live"])');
      await tab.evaluate((id) => void window.open(id), conversations.group);
      const path = `/v1/messaging/conversations/${conversations.group}/messages`;
      const message = { client_message_id: name, body: `Sent while ${name} was away` };
      t.equal((await app.call('POST', path, { body: message })).status, 201);
      await until(() => links[0].counts.refused >= refused + TRIES, { what: `tries of ${name}` });
      for (const link of links) link.accept();
      await tab.waitForSelector('body[data-state="live"]');
      const shown = () => tab.$eval('main', (main) => main.textContent);
      await until(async () => (await shown()).includes(message.body), { what: 'the message' });
    },
  );
}
