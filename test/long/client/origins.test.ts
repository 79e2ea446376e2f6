/**
 * Pages of two origins in a real browser: one is allowed, the other learns that it is not, by each
 * transport and by REST.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client/ai,
 * packages/client/react, src/core/installation, src/features/mail, src/platform/outbound.
 */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import t from 'tap';
import { createLog } from '../../../src/platform/log.ts';
import { startTestApp } from '../../support/app.ts';
import { startChromium } from '../../support/chromium.ts';

const bundle = await rolldown({ input: join(import.meta.dirname, 'origin-page.ts'), platform: 'browser' });
const { output } = await bundle.generate({ format: 'es', codeSplitting: false });
await bundle.close();
const [script] = output;

/**
 * Serves the page on an origin of its own. Browsers know its name by themselves, and the server
 * takes it for no page of its own machine, which it would allow.
 */
async function serve(name: string): Promise<string> {
  const server: Server = createServer((request, response) => {
    const isScript = request.url === '/page.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? script.code : '<!doctype html><script type="module" src="/page.js"></script>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close());
  return `http://${name}.localhost:${(server.address() as AddressInfo).port}`;
}

const [allowed, other] = await Promise.all([serve('app'), serve('staging')]);
const lines: string[] = [];
const log = createLog('warn', { write: (line: string) => void lines.push(line) });
const app = await startTestApp(t, { PARLEY_ALLOWED_ORIGINS: allowed }, log);
const { account_id: account, users, conversations } = app.demo;
const { access_token: token } = users.ada;
const server = { url: app.baseUrl, account, token, conversation: conversations.group };
const browser = await startChromium(t);

async function found(origin: string, transport: string): Promise<object> {
  const page = await browser.newPage();
  await page.goto(origin);
  await page.waitForFunction('"tries" in globalThis');
  const result = await page.evaluate<object>(
    `tries(${JSON.stringify(server)}, ${JSON.stringify(transport)})`,
  );
  await page.close();
  return result;
}

for (const transport of ['websocket', 'stream', 'poll']) {
  t.test(transport, async (t) => {
    t.match(await found(other, transport), {
      state: 'offline',
      reason: 'origin_rejected',
      message: new RegExp(`${other} .*PARLEY_ALLOWED_ORIGINS`),
      rest: 'origin_rejected',
    });
    t.match(await found(allowed, transport), { state: 'live', reason: null, rest: `over ${transport}` });
  });
}

t.test('the log of the server names the origin and the variable', async (t) => {
  const refused = lines.map((line) => JSON.parse(line)).filter(({ origin }) => origin !== undefined);
  t.strictSame(
    refused.map(({ origin }) => origin),
    [other],
  );
  t.match(refused[0].msg, 'PARLEY_ALLOWED_ORIGINS');
});
