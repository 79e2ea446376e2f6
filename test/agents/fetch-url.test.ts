/**
 * `fetch_url` against attempts to reach addresses that are not public, and against hostile pages.
 */

import { get } from 'node:http';
import t from 'tap';
import { fetchUrlTool } from '../../src/features/agents/tools/fetch-url.ts';
import { ToolRefusal } from '../../src/features/agents/tools/tool.ts';
import { AddressGuard } from '../../src/platform/outbound/address-guard.ts';
import { GuardedFetch } from '../../src/platform/outbound/guarded-fetch.ts';
import { FRIEND, startCanaries } from '../support/canaries.ts';
import { interfaceAddresses } from '../support/own-addresses.ts';
import { hostileUrls, spellingsOf } from './hostile-urls.ts';
import { answerPages } from './pages.ts';
import { toolContext } from './tools.ts';

interface Page {
  readonly url: string;
  readonly status: number;
  readonly content_type: string;
  readonly text: string;
  readonly truncated: boolean;
}

const canaries = await startCanaries(t, answerPages);
const { port } = canaries;

/** The addresses of names; functions are called each time. */
const names = new Map<string, readonly string[] | (() => readonly string[])>([
  ['docs.test', [FRIEND]],
  ...['localhost', 'a.localhost', 'ip6-localhost'].map((name) => [name, ['127.0.0.1', '::1']] as const),
]);
const lookups: string[] = [];
const web = new GuardedFetch(
  new AddressGuard({
    allow: [`${FRIEND}:${port}`, `inside.test:${port}`],
    resolve: async (name) => {
      lookups.push(name);
      const found = names.get(name) ?? [];
      return typeof found === 'function' ? found() : found;
    },
  }),
);
const tool = toolWith(null);
const friend = `docs.test:${port}`;
const base = `http://${friend}`;

t.beforeEach(() => {
  canaries.reached = 0;
  lookups.length = 0;
});

t.test('the servers at blocked addresses can be reached without the guard', async (t) => {
  for (const address of canaries.addresses) {
    const host = address.includes(':') ? `[${address}]` : address;
    t.equal(await plainGet(`http://${host}:${port}/`), 'canary', address);
  }
  t.equal(canaries.reached, canaries.addresses.length);
});

const { refused, ambiguous } = hostileUrls(port, friend, interfaceAddresses());

t.test('hostile URLs: each is refused, and nothing is connected to', async (t) => {
  const accepted = await acceptedOf(refused);
  t.strictSame(accepted, []);
  t.ok(refused.length >= 200, `${refused.length} of them`);
  for (const url of ambiguous) {
    const page = await read(url).catch((error: unknown) => error);
    const { text } = page as Page;
    t.ok(page instanceof ToolRefusal || text.startsWith('the friend'), `${url}: ${String(page)}`);
  }
  t.equal(canaries.reached, 0);
});

t.test('redirects to blocked addresses are refused', async (t) => {
  const targets = refused.filter((url) => isHeader(url) && /^https?:[/\\]{2}/i.test(url));
  const some = targets.filter((url, index) => index % 12 === 0 || !/[0-9]\.?:\d+\/$/.test(url));
  t.ok(some.length >= 200, `${some.length} of them`);
  t.strictSame(await acceptedOf(some.map((url) => redirect(302, url))), []);
  t.strictSame(await acceptedOf(targets.slice(0, 30).map((url) => redirect(307, url))), []);
  for (const url of targets.slice(0, 3)) {
    const page = await read(`${base}/meta?to=${encodeURIComponent(url)}`);
    t.equal(page.text, 'Moved', 'a page that says where to go is but a page');
  }
  t.equal(canaries.reached, 0);
});

t.test('names that resolve to blocked addresses are refused', async (t) => {
  const addresses = [
    ...canaries.addresses,
    '10.0.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '::',
    'fe80::1',
    'fe80::1%lo',
    'fd00:ec2::254',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:0:7f00:1::',
    // No look-up writes them so; whatever does, they are no public addresses.
    ...spellingsOf('127.0.0.1').filter((spelling) => !spelling.startsWith('[')),
  ];
  const urls = addresses.map((address, index) => {
    names.set(`n${index}.test`, [address]);
    return `http://n${index}.test:${port}/`;
  });
  t.strictSame(await acceptedOf(urls), []);
  t.strictSame(
    lookups,
    [...urls.keys()].map((index) => `n${index}.test`),
    'each looked up once',
  );
  t.equal(canaries.reached, 0);
});

t.test('a name that changes its answer', async (t) => {
  const answers = [[FRIEND], ['127.0.0.1'], [FRIEND], ['::1']];
  names.set('rebind.test', () => answers.shift() ?? ['127.0.0.1']);
  const rebind = `http://rebind.test:${port}`;
  t.equal((await read(`${rebind}/`)).text, 'the friend', 'what was judged is what is asked');
  t.equal(lookups.length, 1);
  t.match(await refusalOf(`${rebind}/`), /^insufficient_permissions/);
  t.match(await refusalOf(`${rebind}/to?status=302&to=${encodeURIComponent(`${rebind}/`)}`), /^insufficient/);
  t.equal(lookups.length, 4);

  names.set('mixed.test', ['127.0.0.1', '::1', FRIEND, '127.0.1.1']);
  t.equal(
    (await read(`http://mixed.test:${port}/`)).text,
    'the friend',
    'of several only what may be reached',
  );
  t.equal(canaries.reached, 0);
});

t.test('an allowed place is allowed only on its own port', async (t) => {
  names.set('inside.test', ['127.0.0.1']);
  names.set('sub.inside.test', ['127.0.0.1']);
  t.match(await refusalOf(`http://${FRIEND}:${port + 1}/`), /^insufficient_permissions/, 'another port');
  t.match(await refusalOf(`http://sub.inside.test:${port}/`), /^insufficient_permissions/, 'a name below');
  t.match(await refusalOf(`http://inside.test:${port + 1}/`), /^insufficient_permissions/);
  t.equal(canaries.reached, 0);
  t.equal(
    await read(`http://Inside.Test.:${port}/`).catch((error) => error.message),
    'What is there is something without a type, which cannot be read as text.',
  );
  t.equal(canaries.reached, 1, 'by its name');

  const nets = new GuardedFetch(
    new AddressGuard({
      allow: ['127.0.0.0/30', '[::1]/128', '10.0.0.0/8:81'],
      resolve: async () => [],
    }),
  );
  const canary = fetchUrlTool(attached(null), nets);
  const outcome = (url: string) => callOf(canary, url).catch((error: ToolRefusal) => error.condition);
  t.match(await outcome(`http://${FRIEND}:${port}/`), { text: 'the friend' });
  t.equal(await outcome(`http://[::1]:${port}/`), 'external_service_error', 'reached');
  t.equal(await outcome('http://127.0.0.4/'), 'insufficient_permissions');
  t.equal(await outcome('http://10.0.0.1:80/'), 'insufficient_permissions');
});

t.test('20 allowed URLs are fetched', async (t) => {
  const honest: [path: string, expected: Partial<Page>][] = [
    ['/', { url: `${base}/`, status: 200, content_type: 'text/plain', text: 'the friend', truncated: false }],
    ['', { text: 'the friend' }],
    ['/?a=b&c=%20d#e', { url: `${base}/?a=b&c=%20d#e`, text: 'the friend' }],
    ['/page', { text: 'T\n\nTides\n\nHigh at noon [http://docs.test:PORT/noon].' }],
    ['/table', { text: 'Harbor | High | Low\nSt. Ives | 12:00 | 18:10\n\n- one\n- two' }],
    ['/json', { content_type: 'application/json; charset=utf-8', text: '{"tide":"höchst"}' }],
    ['/xml', { text: '<tide>high</tide>' }],
    ['/csv', { text: 'a,b' }],
    ['/latin1', { text: 'Möwe' }],
    ['/latin1-html', { text: 'Möwe' }],
    ['/gzip', { text: 'packed' }],
    ['/deflate', { text: 'packed' }],
    ['/missing', { status: 404, text: 'nothing here' }],
    ['/empty', { status: 204, text: '' }],
    ['/nul', { text: 'a\uFFFDb' }],
    [`/to?status=301&to=${encodeURIComponent('/json')}`, { url: `${base}/json`, status: 200 }],
    [`/to?status=303&to=${encodeURIComponent('?status=308&to=%2Fcsv')}`, { url: `${base}/csv` }],
    [
      `/to?status=307&to=${encodeURIComponent(`//${FRIEND}:${port}/xml`)}`,
      { url: `http://${FRIEND}:${port}/xml` },
    ],
    [`/hops?left=5`, { url: `${base}/hops?left=0`, text: 'arrived' }],
    ['/to?status=302', { status: 302, text: 'nowhere' }],
  ];
  t.equal(honest.length, 20);
  for (const [path, expected] of honest) {
    const { text, ...page } = await read(base + path);
    t.match({ ...page, text: text.replaceAll(String(port), 'PORT') }, expected, path);
  }
  t.equal(canaries.reached, 0);
});

t.test('responses that are refused or cut', async (t) => {
  const refusals: [path: string, expected: RegExp][] = [
    ['/hops?left=6', /^external_service_error: It redirects more than 5 times/],
    ['/image', /^external_service_error: What is there is image\/png,/],
    ['/no-type', /^external_service_error: What is there is something without a type/],
    ['/zstd', /^external_service_error: It is packed/],
    // The decoder of Brotli in Node 22.23.3 has a published fault (SECURITY.md).
    ['/br', /^external_service_error: It is packed/],
    ['/not-gzip', /^connection_error: It could not be fetched: Z_DATA_ERROR/],
    ['/cut', /^connection_error: It could not be fetched: ECONNRESET/],
    ['/no-http', /^connection_error: It could not be fetched: HTTPParserError/],
  ];
  for (const [path, expected] of refusals) t.match(await refusalOf(base + path), expected, path);
  t.match(await refusalOf('http://nowhere.test/'), /^connection_error: This name has no address/);

  const short = toolWith({ max_bytes: 1_000 });
  const long = await callOf(short, `${base}/endless`);
  t.equal(long.text, 'x'.repeat(1_000));
  t.ok(long.truncated);
  const bomb = await callOf(tool, `${base}/bomb`);
  t.equal(bomb.text.length, 262_144);
  t.ok(bomb.truncated);
});

t.test('allowed_hosts limits the hosts of fetch_url', async (t) => {
  const bound = toolWith({ allowed_hosts: ['docs.test', '*.more.test'] });
  for (const name of ['a.more.test', 'more.test', 'evilmore.test', 'xdocs.test', 'docs.test.x']) {
    names.set(name, [FRIEND]);
  }
  const outcome = (url: string) =>
    callOf(bound, url).then(
      ({ text }) => text,
      (error) => error.message,
    );
  const no = 'This host may not be asked.';
  t.equal(await outcome(`${base}/`), 'the friend');
  t.equal(await outcome(`http://DOCS.test.:${port}/`), 'the friend');
  t.equal(await outcome(`http://a.more.test:${port}/`), 'the friend');
  for (const name of ['more.test', 'evilmore.test', 'xdocs.test', 'docs.test.x', FRIEND]) {
    t.equal(await outcome(`http://${name}:${port}/`), no, name);
  }
  t.equal(await outcome(redirect(302, `http://${FRIEND}:${port}/`)), no);
});

t.test('time is bounded, and other calls do not wait', async (t) => {
  const hasty = toolWith(null, 400);
  for (const path of ['/never', '/drip', '/hopping']) {
    t.equal(await refusalOf(base + path, hasty), 'timeout: It did not come whole within 0.4 s.', path);
  }
  let beats = 0;
  const beat = setInterval(() => beats++, 5);
  t.equal(
    await refusalOf(`${base}/knot`, toolWith(null, 800)),
    'timeout: It did not come whole within 0.8 s.',
  );
  clearInterval(beat);
  t.ok(beats > 5, `the event loop turned ${beats} times meanwhile`);

  const controller = new AbortController();
  const waiting = callOf(tool, `${base}/never`, controller.signal);
  setTimeout(() => controller.abort(new Error('the run was cancelled')), 20);
  await t.rejects(waiting, { message: 'the run was cancelled' });
});

function attached(config: unknown) {
  const times = { created_at: '', updated_at: '' };
  return {
    id: '',
    tool: 'fetch_url',
    review_requirement: 'not_required',
    config,
    sort_order: 0,
    ...times,
  } as const;
}

function toolWith(config: unknown, wholeMs?: number) {
  return fetchUrlTool(attached(config), web, wholeMs);
}

async function callOf(
  called: typeof tool,
  url: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<Page> {
  const context = toolContext({ signal });
  return (await called.call({ url }, context)).output as Page;
}

function read(url: string): Promise<Page> {
  return callOf(tool, url);
}

async function refusalOf(url: string, called = tool): Promise<string> {
  try {
    return `was answered: ${(await callOf(called, url)).text}`;
  } catch (error) {
    return error instanceof ToolRefusal ? `${error.condition}: ${error.message}` : `threw ${error}`;
  }
}

/**
 * Those that were not refused for what they are: an attempt that failed on the network is none the
 * less one.
 */
async function acceptedOf(urls: readonly string[]): Promise<string[]> {
  const accepted: string[] = [];
  for (const url of urls) {
    const refusal = await refusalOf(url);
    if (/^(insufficient_permissions|validation_failed|invalid_format): /.test(refusal)) continue;
    accepted.push(`${JSON.stringify(url)}: ${refusal}`);
  }
  return accepted;
}

function redirect(status: number, to: string): string {
  return `${base}/to?status=${status}&to=${encodeURIComponent(to)}`;
}

/** Returns whether Node would send the text as a Location. */
function isHeader(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

function plainGet(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, async (response) => {
      let text = '';
      for await (const piece of response) text += piece;
      resolve(text);
    }).once('error', reject);
  });
}
