/**
 * Runs the examples of the guides as a reader would paste them: the JavaScript of a page as one
 * module, its shell as one script.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { pathOf } from '../../src/api/documents/pages/guides.ts';
import { docsRoutes } from '../../src/api/documents/pages/routes.ts';
import { HOOKS } from '../../src/app/features.ts';
import { createOperatorKey } from '../../src/core/accounts/installation/operator-keys.ts';
import { guidesOf } from '../../src/core/documents/guides.ts';
import { NO_HOOKS } from '../../src/platform/hooks.ts';
import { slackContents, zipped } from '../import/samples.ts';
import { freshDirectory, runProgram } from '../start/parley.ts';
import { startTestApp } from '../support/app.ts';
import { builtClient } from '../support/built-client.ts';
import { freePort } from '../support/free-port.ts';

// The receiver of the guide on webhooks is on this machine.
const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { demo } = app;
const { ada } = demo.users;
const directory = freshDirectory(t);
const { key: operator } = await app.database.transaction((tx) => createOperatorKey(tx, { name: 'Billing' }));

/** The backend of the guides: answers every request with a token of a signed-in user. */
const backend = createServer((_, response) => response.end(ada.access_token));
await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
t.teardown(() => backend.close());

const hooks = await freePort();

const slackExport = join(directory, 'slack-export.zip');
writeFileSync(slackExport, await zipped(slackContents(20)));

/** What stands for the reader's own server, ids and credentials in the examples. */
const OWN: ReadonlyMap<string, string> = new Map([
  ["'@parley/client'", `'${pathToFileURL(join(builtClient(), 'dist/index.js'))}'`],
  ['https://chat.example.com', app.baseUrl],
  ['acc_…', demo.account_id],
  ['cnv_…', demo.conversations.group],
  ['parley_…', demo.api_key],
  ["'/chat-token'", `'http://127.0.0.1:${(backend.address() as AddressInfo).port}'`],
  ['3000', String(await freePort())],
  ['https://hooks.example.com', `http://127.0.0.1:${hooks}`],
  ['4000', String(hooks)],
  ["'slack-export.zip'", JSON.stringify(slackExport)],
  ["'@modelcontextprotocol/client'", `'${import.meta.resolve('@modelcontextprotocol/client')}'`],
  ["'@dbos-inc/dbos-sdk'", `'${new URL('../support/dbos.js', import.meta.url).href}'`],
  ["'standardwebhooks'", `'${import.meta.resolve('standardwebhooks')}'`],
]);

const ANY_OWN = new RegExp([...OWN.keys()].join('|'), 'g');

/** What a reader's product has: `render` draws, `signedInUser` reads its session. */
const PRELUDE = `
const rendered = [];
const render = (what) => rendered.push(what);
const signedInUser = async () => ({ parleyId: '${ada.id}' });
`;

const GUIDES = guidesOf(HOOKS);

t.test('the guides of features stand between those of the core, and go with their features', async (t) => {
  t.strictSame(
    GUIDES.map(({ name }) => name),
    [
      'getting-started',
      'chat-client',
      'react',
      'tokens-for-pages',
      'your-own-tokens',
      'files',
      'notifications',
      'cases',
      'site-chat',
      'agent',
      'assistants',
      'webhooks',
      'workflows',
      'move-in',
      'customer-cards',
      'sdk',
      'production',
      'saas',
      'coming-from',
    ],
  );
  const served = docsRoutes({ routes: [], operations: [], docsUrl: '', guides: guidesOf(NO_HOOKS) });
  t.strictSame(
    Object.keys(served).filter((path) => path.startsWith('/docs/guides/')),
    [
      'getting-started',
      'chat-client',
      'react',
      'tokens-for-pages',
      'files',
      'notifications',
      'cases',
      'sdk',
      'production',
      'saas',
      'coming-from',
    ].map((name) => `/docs/guides/${name}`),
  );
});

for (const guide of GUIDES) {
  const { name } = guide;
  t.test(`the examples of the guide ${name}`, async (t) => {
    const page = await (await fetch(`${app.baseUrl}${pathOf(guide)}`)).text();
    const [js, sh] = [examplesOf(page, 'js'), examplesOf(page, 'sh')];
    t.ok(js.length + sh.length > 0, 'there are some');
    if (js.length > 0) {
      const path = join(directory, `${name}.mjs`);
      // At once: a value may have the digits of another's text.
      const code = js.join('\n').replace(ANY_OWN, (own) => OWN.get(own)!);
      t.notMatch(code, '…', 'nothing is left to fill in');
      writeFileSync(path, `${PRELUDE}${code}`);
      // In a process of its own, whose end shows that the client was closed.
      const { code: status, stderr } = await runProgram(process.execPath, [path], {});
      t.equal(status, 0, stderr);
    }
    if (sh.length > 0) {
      const work = join(directory, name);
      mkdirSync(work);
      const script = join(work, 'example.sh');
      writeFileSync(script, `set -euo pipefail\ncd '${work}'\n${sh.join('\n')}\n`);
      const {
        code: status,
        stdout,
        stderr,
      } = await runProgram('bash', [script], {
        PARLEY_URL: app.baseUrl,
        PARLEY_KEY: demo.api_key,
        PARLEY_OPERATOR_KEY: operator,
        PARLEY_ACCOUNT: demo.account_id,
        PARLEY_CONVERSATION: demo.conversations.group,
      });
      t.equal(status, 0, `${stdout}\n${stderr}`);
    }
  });
}

t.test('examples with React, which are not run, import what the SDK has', async (t) => {
  for (const guide of GUIDES) {
    const page = await (await fetch(`${app.baseUrl}${pathOf(guide)}`)).text();
    const code = examplesOf(page, 'jsx').join('\n');
    for (const [, names = '', entry = ''] of code.matchAll(IMPORT_OF_SDK)) {
      const path = join(builtClient(), 'dist', `${entry === '' ? 'index' : entry}.js`);
      const module = (await import(pathToFileURL(path).href)) as object;
      for (const name of names.split(',')) t.ok(name.trim() in module, `${guide.name}: ${name.trim()}`);
    }
  }
});

const IMPORT_OF_SDK = /import \{ ([^}]+) \} from '@parley\/client\/?([\w/]*)'/g;

function examplesOf(page: string, language: string): string[] {
  const found = page.matchAll(new RegExp(`<code class="language-${language}">([^<]*)</code>`, 'g'));
  return [...found].map(([, text = '']) =>
    text
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&amp;', '&'),
  );
}
