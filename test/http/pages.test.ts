/** Requirements of every page of the documentation, for all kinds of readers and devices. */

import { CLOSE_CODES } from '@parley/protocol/socket/close-codes.ts';
import { SOCKET_LIMITS } from '@parley/protocol/socket/socket-limits.ts';
import { TRIGGER_EVENTS } from '@parley/protocol/trigger-events.ts';
import t from 'tap';
import { pathOf } from '../../src/api/documents/pages/guides.ts';
import { HOOKS } from '../../src/app/features.ts';
import { guidesOf } from '../../src/core/documents/guides.ts';
import { borrowTestApp } from '../support/app.ts';
import { contrast } from '../support/contrast.ts';

const GUIDES = guidesOf(HOOKS).map(pathOf);
const PATHS = [
  ...['', '/sdk', '/socket', '/agents', '/api/errors', '/states', '/access', '/guides'].map(
    (path) => `/docs${path}`,
  ),
  ...GUIDES,
];
const app = await borrowTestApp(t);

for (const path of PATHS) {
  t.test(`${path} can be read by a machine that reads aloud`, async (t) => {
    const page = await (await fetch(`${app.baseUrl}${path}`)).text();
    t.match(page, /^<!doctype html>\n<html lang="en">/);
    t.match(page, /<title>[^<]+ · Parley<\/title>/);
    t.match(page, '<meta name="viewport" content="width=device-width, initial-scale=1">');
    for (const landmark of ['header', 'main', 'h1']) {
      t.equal(all(page, `<${landmark}[ >]`).length, 1, `one ${landmark}`);
    }
    for (const nav of all(page, '<nav[^>]*>')) t.match(nav, 'aria-label="', 'a navigation has a name');
    t.match(page, '<a class="skip" href="#main">', 'the first link leads past the navigation');

    const levels = all(page, '<h[1-6]').map((tag) => Number(tag.at(-1)));
    const skipped = levels.filter((level, i) => level > (levels[i - 1] ?? 0) + 1);
    t.strictSame(skipped, [], 'no heading is more than one level below the one before');

    t.notMatch(page, '[object ', 'no value without a text');
    const ids = all(page, ' id="[^"]*"').map((id) => id.slice(5, -1));
    t.equal(new Set(ids).size, ids.length, 'ids are unique');
    for (const target of all(page, ' href="#[^"]*"').map((href) => href.slice(8, -1))) {
      if (!ids.includes(target)) t.fail(`#${target} leads nowhere`);
    }
    for (const [input = ''] of page.matchAll(/<input[^>]*>/g)) {
      const id = / id="([^"]+)"/.exec(input)?.[1];
      t.match(page, `<label for="${id}">`, 'an input has a label');
    }
    for (const image of all(page, '<img[^>]*>')) t.match(image, / alt="[^"]/);
    for (const scrolled of all(page, '<pre[^>]*>|<div class="wide"[^>]*>')) {
      if (!scrolled.includes('tabindex="0"')) t.fail('what scrolls sideways can be reached by keyboard');
    }
    t.notMatch(
      page,
      /<script(?![^>]* src="\/docs\/)|<style|<[^>]* (?:style|on\w+)=|javascript:/,
      'nothing inline',
    );
    t.notMatch(page, /(?:src|href)="(?:https?:)?\/\//, 'nothing from another host');
  });
}

t.test('a mistyped address below /docs is a page of the documentation, one of the API is JSON', async (t) => {
  for (const path of ['/docs/guide', '/docs/guides/nothing', '/docs/assets/nothing.js']) {
    const missing = await fetch(`${app.baseUrl}${path}`);
    t.match([missing.status, missing.headers.get('content-type')], [404, 'text/html; charset=utf-8'], path);
    t.match(missing.headers.get('content-security-policy'), "default-src 'self'");
    const page = await missing.text();
    t.match(page, '<nav aria-label="Documentation">');
    for (const link of all(page, ' href="/docs[^"]*"').map((href) => href.slice(7, -1))) {
      t.equal((await fetch(`${app.baseUrl}${link}`)).status, 200, link);
    }
  }
  for (const path of ['/v1/docs', '/doc', '/docsx']) {
    const missing = await fetch(`${app.baseUrl}${path}`);
    t.equal(missing.status, 404);
    t.match(await missing.json(), { error: { code: 'resource_not_found' } }, path);
  }
});

t.test('what browsers and crawlers ask for by themselves is there', async (t) => {
  const icon = await fetch(`${app.baseUrl}/favicon.ico`);
  t.match([icon.status, icon.headers.get('content-type')], [200, 'image/svg+xml']);
  const robots = await fetch(`${app.baseUrl}/robots.txt`);
  t.match([robots.status, robots.headers.get('content-type')], [200, 'text/plain; charset=utf-8']);
  t.match(await robots.text(), /^User-agent: \*\n/);
});

t.test('every example can be copied, and shows where its lines go on', async (t) => {
  const style = await (await fetch(`${app.baseUrl}/docs/assets/docs.css`)).text();
  t.match(style, /\.command pre \{[^}]*\blocal\b[^}]*\bscroll\b/, 'shadows at the edges');
  for (const path of ['/docs', ...GUIDES]) {
    const page = await (await fetch(`${app.baseUrl}${path}`)).text();
    const examples = all(page, '<pre[^>]*>').length;
    t.ok(examples > 0);
    t.equal(
      all(page, '</pre>\n<button type="button" class="copy" hidden>Copy</button>').length,
      examples,
      path,
    );
    t.match(page, '<script defer src="/docs/assets/copy.js"></script>');
  }
});

t.test('no sheet of the pages has a colour, a face or a size of its own', async (t) => {
  for (const sheet of ['docs', 'prose', 'reference']) {
    const style = await (await fetch(`${app.baseUrl}/docs/assets/${sheet}.css`)).text();
    t.notMatch(style, /#[0-9a-f]{3,8};|sans-serif|monospace|font-size: [\d.]+rem/, sheet);
  }
});

t.test('text and fields have enough contrast, in light and dark', async (t) => {
  const style = await (await fetch(`${app.baseUrl}/docs/assets/tokens.css`)).text();
  const colors = new Map(
    [...style.matchAll(/--(\w+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name, light, dark]) => [
      name!,
      [light!, dark!] as const,
    ]),
  );
  for (const [scheme, index] of [
    ['light', 0],
    ['dark', 1],
  ] as const) {
    for (const text of ['text', 'quiet', 'accent', 'warm', 'stern']) {
      for (const ground of ['ground', 'raised']) {
        const ratio = contrast(colors.get(text)![index], colors.get(ground)![index]);
        t.ok(ratio >= 4.5, `${scheme}: ${text} on ${ground} is ${ratio.toFixed(2)} (WCAG 2.2 asks for 4.5)`);
      }
    }
    for (const ground of ['ground', 'raised', 'sunken', 'hover', 'note']) {
      const ratio = contrast(colors.get('edge')![index], colors.get(ground)![index]);
      t.ok(ratio >= 3, `${scheme}: edge on ${ground} is ${ratio.toFixed(2)} (WCAG 2.2 asks for 3)`);
    }
  }
});

t.test('every link leads to a page of the server, and to a place that it has', async (t) => {
  const pages = new Map<string, string>();
  const read = async (path: string) => {
    const known = pages.get(path);
    if (known !== undefined) return known;
    const answer = await fetch(`${app.baseUrl}${path}`);
    t.equal(answer.status, 200, path);
    const page = await answer.text();
    pages.set(path, page);
    return page;
  };
  for (const path of PATHS) {
    for (const link of new Set(all(await read(path), ' href="/[^"]+"').map((href) => href.slice(7, -1)))) {
      const [target = '', place] = link.split('#');
      const page = await read(target);
      if (place !== undefined) t.ok(page.includes(` id="${place}"`), `${path} has ${link}`);
    }
  }
});

t.test('tables that are written by hand have a row for each value of the contract', async (t) => {
  const closings = Object.entries(CLOSE_CODES).map(([reason, { code }]) => [code, reason]);
  const limits = Object.entries(SOCKET_LIMITS).map(([name, value]) => [name, value.toLocaleString('en')]);
  for (const [path, rows] of [
    ['agents', TRIGGER_EVENTS.map((event) => [event])],
    ['socket', limits],
    ['api/errors', closings],
  ] as const) {
    const page = await (await fetch(`${app.baseUrl}/docs/${path}`)).text();
    for (const row of rows) {
      const cells = row.map((value) => `<td><code>${value}</code></td>`).join('\n');
      t.ok(page.includes(`<tr>${cells}`), row.join(' '));
    }
  }
});

t.test('the reference has every endpoint and every resource', async (t) => {
  const page = await (await fetch(`${app.baseUrl}/docs`)).text();
  const { paths, components } = (await (await fetch(`${app.baseUrl}/v1/openapi.json`)).json()) as OpenApi;
  for (const [path, methods] of Object.entries(paths)) {
    for (const { operationId } of Object.values(methods)) {
      const [, section = ''] = page.split(`<details class="operation" id="${operationId}">`);
      t.match(section.slice(0, section.indexOf('</details>')), `<code>${path}</code>`);
      t.match(page, `<a href="#${operationId}">`);
    }
  }
  for (const name of Object.keys(components.schemas)) {
    if (!name.endsWith('_list')) t.match(page, `id="schema-${name}"`);
  }
  t.match(page, '&quot;$PARLEY_URL/v1/messaging/conversations/cnv_');
  t.match(page, 'required', 'what has to be sent is marked');
});

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
  readonly components: { readonly schemas: object };
}

function all(page: string, pattern: string): string[] {
  return [...page.matchAll(new RegExp(pattern, 'g'))].map(([found]) => found);
}
