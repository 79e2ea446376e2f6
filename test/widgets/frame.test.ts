/** The files of the widget: the sites that may embed its frame, and what no answer has. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { widgets, widgetsFrom } from '../../src/features/widgets/feature.ts';
import { createLog } from '../../src/platform/log.ts';
import { freshDirectory } from '../start/parley.ts';
import { callsAt, startTestApp } from '../support/app.ts';
import { featuresWith } from '../support/features-with.ts';
import { visitorsOf } from './fixture.ts';

const built = freshDirectory(t);
await mkdir(join(built, 'assets'));
await writeFile(join(built, 'widget.js'), 'void "the loader";');
await writeFile(join(built, 'assets/main-abc.js'), 'void "the frame";');
await writeFile(join(built, 'assets/font-abc.woff2'), 'a font');
await writeFile(
  join(built, 'page.json'),
  JSON.stringify({ script: 'main-abc.js', style: 'main-abc.css', preloads: [] }),
);
const from = (folder: string) => ({
  features: featuresWith(widgets, widgetsFrom(pathToFileURL(`${folder}/`))),
});
const ALLOWED = 'https://allowed.example';
const app = await startTestApp(t, { PARLEY_ALLOWED_ORIGINS: ALLOWED }, createLog('silent'), from(built));
const { demo } = app;
const { need, widget } = visitorsOf(app);
const { call } = callsAt(app, NEWEST_VERSION);
const get = (path: string, init: RequestInit = {}) => fetch(`${app.baseUrl}${path}`, init);
const frameOf = (id: string, account = demo.account_id) =>
  get(`/widget/frame?${new URLSearchParams({ account, widget: id })}`);

t.test('the frame may be embedded by the sites of its widget alone', async (t) => {
  const { id } = await widget({ sites: ['https://shop.example', 'http://localhost:3000'] });
  const answer = await frameOf(id);
  t.equal(answer.status, 200);
  const policy = answer.headers.get('Content-Security-Policy') ?? '';
  t.match(policy, /; frame-ancestors https:\/\/shop\.example http:\/\/localhost:3000;/);
  for (const part of ["default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'"]) {
    t.ok(policy.split('; ').includes(part), part);
  }
  t.notMatch(policy, /unsafe|\*/);
  t.match(answer.headers.get('Permissions-Policy'), /camera=\(\).*microphone=\(\)/);
  t.equal(answer.headers.get('Referrer-Policy'), 'no-referrer');
  t.equal(answer.headers.get('X-Content-Type-Options'), 'nosniff');
  t.equal(answer.headers.get('Set-Cookie'), null);
  t.equal(answer.headers.get('X-Frame-Options'), null, 'it would forbid every site');
  const page = await answer.text();
  t.match(page, '<script type="module" src="/widget/assets/main-abc.js"></script>');
  t.notMatch(page, /<script>| style=| on\w+=/);

  await need('PATCH', `/v1/widgets/${id}`, { body: { sites: ['https://other.example'] } });
  const changed = (await frameOf(id)).headers.get('Content-Security-Policy');
  t.match(changed, /frame-ancestors https:\/\/other\.example;/);
});

t.test('the document shows an empty panel, in the language of the page around', async (t) => {
  const { id } = await widget();
  const documentIn = async (lang: string) => {
    const named = new URLSearchParams({ account: demo.account_id, widget: id, lang });
    return (await get(`/widget/frame?${named}`)).text();
  };
  const arabic = await documentIn('ar');
  t.match(arabic, '<html lang="ar" dir="rtl">');
  t.match(arabic, /<body>[\s\S]*<div class="shell chat" aria-hidden="true">/);
  t.match(await documentIn('de-AT'), '<html lang="de" dir="ltr">');
  for (const unknown of ['', 'sv', '"><script>'])
    t.match(await documentIn(unknown), '<html lang="en" dir="ltr">');
});

t.test('an unknown or disabled widget is a page that nothing may frame', async (t) => {
  const { id } = await widget();
  const off = await widget({ enabled: false });
  const answers = {
    unknown: await frameOf('wgt_none'),
    disabled: await frameOf(off.id),
    'of another account': await frameOf(id, demo.other_account.account_id),
    'without an account': await get(`/widget/frame?widget=${id}`),
    'without a widget': await get('/widget/frame'),
  };
  for (const [name, answer] of Object.entries(answers)) {
    t.equal(answer.status, 404, name);
    t.match(answer.headers.get('Content-Type'), 'text/html', name);
    t.match(answer.headers.get('Content-Security-Policy'), "frame-ancestors 'none'", name);
    t.equal(answer.headers.get('Set-Cookie'), null, name);
    t.notMatch(await answer.text(), /wgt_/, name);
  }
});

t.test('the loader and the assets', async (t) => {
  const loader = await get('/widget.js');
  t.equal(await loader.text(), 'void "the loader";');
  t.equal(loader.headers.get('Content-Type'), 'text/javascript; charset=utf-8');
  t.equal(loader.headers.get('Cross-Origin-Resource-Policy'), 'cross-origin');
  // Scripts of `type="module"` are loaded so. Browsers refuse two values.
  for (const [origin, allows] of [
    ['https://shop.example', '*'],
    [ALLOWED, ALLOWED],
  ] as const) {
    const { headers } = await get('/widget.js', { headers: { Origin: origin } });
    t.equal(headers.get('Access-Control-Allow-Origin'), allows);
  }
  const again = await get('/widget.js', { headers: { 'If-None-Match': loader.headers.get('ETag')! } });
  t.equal(again.status, 304);
  const asset = await get('/widget/assets/main-abc.js');
  t.equal(await asset.text(), 'void "the frame";');
  t.match(asset.headers.get('Cache-Control'), /immutable/);
  t.equal((await get('/widget/assets/font-abc.woff2')).headers.get('Content-Type'), 'font/woff2');
  t.equal((await get('/widget/assets/..%2Fpage.json')).status, 404);
  t.equal((await get('/widget/assets/main-none.js')).status, 404);
  t.equal((await get('/widget.js', { method: 'POST' })).status, 405);
});

t.test('a server without a build says so', async (t) => {
  const bare = await startTestApp(t, {}, createLog('silent'), from(freshDirectory(t)));
  const { id } = await visitorsOf(bare).widget();
  for (const path of ['/widget.js', `/widget/frame?account=${bare.demo.account_id}&widget=${id}`]) {
    const answer = await fetch(`${bare.baseUrl}${path}`);
    t.equal(answer.status, 404);
    t.match(
      await answer.text(),
      /This server has no widget, because there was no build\. Run .*npm run build/,
    );
  }
  t.equal((await call('GET', `/v1/widgets/${id}/public`)).status, 404, 'of another server');
});
