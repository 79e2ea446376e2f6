import { NEWEST_VERSION, VERSIONS } from '@parley/protocol/versions.ts';
import { bodyExampleOf } from '../../src/api/documents/openapi/examples.ts';
import type { SchemaObject } from '../../src/api/documents/openapi/schemas.ts';
import type { Route } from '../../src/api/pipeline/route.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import type { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface HostileBodiesOptions extends Seeded {
  /** Number of requests, over all endpoints. */
  readonly requests: number;
}

interface HostileBodiesFigures extends Found {
  /** Number of answers by status. */
  readonly answers: Readonly<Record<string, number>>;
  /** Endpoints that accepted at least one request. */
  readonly endpoints: number;
}

/**
 * Sends every endpoint queries, ids and bodies with one senseless part, with the credentials of an
 * account and at every version. Each is answered, none with 5xx, and each answer fits the OpenAPI
 * document (support/contract.ts); the account of the admin goes on.
 */
export const hostileBodies = campaign({ whole: () => ({ requests: 40_000 }), run });

async function run(
  t: Teardown,
  { requests }: HostileBodiesOptions,
  random: Random,
): Promise<HostileBodiesFigures> {
  const app = await startTestApp(t, { PARLEY_SOCKET_POLLS_PER_SECOND: '100000' });
  const attack = new Attack(app, random);
  await attack.learn();
  for (let left = requests; left > 0; left -= SIDE_BY_SIDE) {
    await Promise.all(Array.from({ length: Math.min(SIDE_BY_SIDE, left) }, () => attack.request()));
  }
  const { status } = await app.call('GET', '/v1/me', { headers: { 'Service-Version': NEWEST_VERSION } });
  if (status !== 200) attack.problems.push(`the admin is answered ${status}`);
  return {
    answers: Object.fromEntries([...attack.answers].sort()),
    endpoints: attack.taken.size,
    problems: attack.problems,
  };
}

const SIDE_BY_SIDE = 16;

/** Endpoints whose answers stay open, or that end the callers' own sessions. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'open_realtime_stream',
  'poll_realtime',
  'end_every_session',
  'end_other_own_sessions',
  'end_own_session',
]);

class Attack {
  readonly problems: string[] = [];
  readonly answers = new Map<string, number>();
  /** Names of the endpoints with a successful request. */
  readonly taken = new Set<string>();
  readonly #app: TestApp;
  readonly #random: Random;
  readonly #routes: readonly Route[];
  readonly #tokens: readonly string[];
  /** Ids by the part of a path before them. */
  readonly #ids = new Map<string, string[]>();

  constructor(app: TestApp, random: Random) {
    this.#app = app;
    this.#random = random;
    this.#routes = app.routes.filter(({ name }) => !LEFT_OUT.has(name));
    const { api_key: key, users, other_account: other } = app.demo;
    this.#tokens = [key, key, key, users.ada.access_token, users.grace.access_token, other.api_key, 'nobody'];
  }

  /** Reads the lists of the account to find existing ids. */
  async learn(): Promise<void> {
    for (const { method, path } of this.#routes) {
      if (method !== 'GET' || path.includes(':')) continue;
      this.#keep(method, path, await this.#call('GET', path, {}));
    }
  }

  async request(): Promise<void> {
    const route = this.#random.pick(this.#routes);
    const path = route.path.replaceAll(
      /([\w-]+)\/:\w+/g,
      (_, place: string) => `${place}/${this.#idOf(place)}`,
    );
    const { rawBody, contentType } = this.#bodyOf(route);
    const answer = await this.#call(route.method, path + this.#queryOf(route), {
      token: this.#random.pick(this.#tokens),
      ...(rawBody !== undefined && { rawBody }),
      headers: {
        'Service-Version': this.#random.next() < 0.5 ? NEWEST_VERSION : this.#random.pick(VERSIONS),
        'Content-Type': contentType,
        ...(this.#random.next() < 0.1 && { 'Idempotency-Key': encoded(this.#hostileText()) }),
      },
    });
    if (answer === undefined) return;
    const { status } = answer;
    this.answers.set(String(status), (this.answers.get(String(status)) ?? 0) + 1);
    if (status >= 500) this.problems.push(`${route.method} ${path}: ${status} to ${rawBody?.slice(0, 60)}`);
    if (status >= 300) return;
    this.taken.add(route.name);
    this.#keep(route.method, route.path, answer);
  }

  async #call(method: string, path: string, options: Parameters<TestApp['call']>[2]) {
    try {
      return await this.#app.call<{ id?: unknown; data?: unknown }>(method, path, {
        ...options,
        headers: { 'Service-Version': NEWEST_VERSION, ...options?.headers },
      });
    } catch (error) {
      this.problems.push(`${method} ${path}: ${error} ${(error as Error).cause ?? ''}`);
      return undefined;
    }
  }

  /**
   * Remembers the ids of an answer under the last word of its path. Ids of the callers, which lists
   * show, are left out: the attack would end with them.
   */
  #keep(
    method: string,
    path: string,
    answer: { readonly body: { id?: unknown; data?: unknown } } | undefined,
  ): void {
    const place = /([\w-]+)(\/:\w+)?$/.exec(path)?.[1] ?? '';
    if (method === 'GET' && /^(actors|api-keys|people|sessions|users)$/.test(place)) return;
    const { id, data } = answer?.body ?? {};
    const found = Array.isArray(data) ? data.map((one) => one?.id) : [id];
    const known = this.#ids.get(place) ?? [];
    known.push(...found.filter((one) => typeof one === 'string'));
    this.#ids.set(place, known.slice(-MOST_IDS));
  }

  #idOf(place: string): string {
    const known = this.#ids.get(place) ?? [];
    if (known.length > 0 && this.#random.next() < 0.8) return this.#random.pick(known);
    const others = [...this.#ids.values()].flat();
    return this.#random.next() < 0.3 ? this.#random.pick(others) : encoded(this.#hostileText()) || '%';
  }

  #queryOf({ query }: Route): string {
    const properties = Object.keys(((query ?? {}) as SchemaObject).properties ?? {});
    if (properties.length === 0 || this.#random.next() < 0.5) return '';
    const names = [this.#random.pick(properties), this.#random.pick([...properties, 'unheard_of'])];
    const fields = names.map((name) => `${encoded(name)}=${encoded(this.#hostileText())}`);
    return `?${fields.join('&')}`;
  }

  #bodyOf({ method, body }: Route): { rawBody: string | undefined; contentType: string } {
    const contentType = this.#random.next() < 0.98 ? 'application/json' : this.#hostileHeader();
    if (method === 'GET' || body === undefined) return { rawBody: undefined, contentType };
    const example: unknown = bodyExampleOf(body, () => undefined, '');
    const text = JSON.stringify(this.#changed(this.#withIds(example)));
    if (this.#random.next() < 0.95) return { rawBody: text, contentType };
    const at = this.#random.below(text.length);
    return { rawBody: text.slice(0, at) + this.#hostileText().slice(0, 20) + text.slice(at), contentType };
  }

  /** Replaces the ids of the example by existing ones, and the old keys by new ones. */
  #withIds(value: unknown, name = ''): unknown {
    if (Array.isArray(value)) return value.map((one) => this.#withIds(one, name));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, this.#withIds(one, key)]));
    }
    if (typeof value !== 'string') return value;
    if (/^[a-z]{3}_\w{20,}$/.test(value)) {
      const same = [...this.#ids.values()].flat().filter((id) => id.startsWith(value.slice(0, 4)));
      return same.length > 0 ? this.#random.pick(same) : value;
    }
    return /client_message_id|slug|email|handle/.test(name) ? `${this.#random.below(1e9)}${value}` : value;
  }

  /** Changes one part of a value, or two. */
  #changed(value: unknown): unknown {
    const once = this.#changedOnce(value);
    return this.#random.next() < 0.3 ? this.#changedOnce(once) : once;
  }

  #changedOnce(value: unknown): unknown {
    if (Array.isArray(value) && value.length > 0 && this.#random.next() < 0.7) {
      const at = this.#random.below(value.length);
      return value.map((one, n) => (n === at ? this.#changedOnce(one) : one));
    }
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && this.#random.next() < 0.9) {
      const entries = Object.entries(value);
      const kind = this.#random.next();
      if (kind < 0.1 || entries.length === 0)
        return { ...value, [this.#hostileText().slice(0, 60)]: this.#hostile() };
      const [name, one] = this.#random.pick(entries);
      if (kind < 0.2) return Object.fromEntries(entries.filter(([other]) => other !== name));
      return { ...value, [name]: this.#changedOnce(one) };
    }
    return this.#random.next() < 0.1 ? value : this.#hostile();
  }

  #hostile(): unknown {
    const made = this.#random.pick(VALUES);
    return typeof made === 'function' ? made() : this.#random.next() < 0.5 ? made : this.#hostileText();
  }

  #hostileText(): string {
    const text = this.#random.pick(TEXTS);
    return this.#random.next() < 0.1 ? text.repeat(1 + this.#random.below(200)) : text;
  }

  #hostileHeader(): string {
    return this.#random.pick([
      'text/plain',
      'application/json; charset=utf-16',
      'application/xml',
      '*/*',
      ';',
    ]);
  }
}

/** Percent-encodes a text for a place in a URL; half of a pair cannot be. */
function encoded(text: string): string {
  const whole = text.toWellFormed().slice(0, 60).toWellFormed();
  // A client resolves dots itself.
  return /^\.+$/.test(whole) ? '%2F' : encodeURIComponent(whole);
}

const MOST_IDS = 200;

const TEXTS = [
  '',
  ' ',
  '\0',
  '\u001b[31m',
  '\ud800',
  '\uffff',
  '\u202e',
  '\u200b',
  '٣',
  'İ',
  'ﬃ',
  '👩‍👩‍👧',
  'e\u0301',
  'null',
  'true',
  '-0',
  '1e400',
  '9007199254740993',
  '0x10',
  'NaN',
  '00',
  '1_000',
  '+1',
  '..',
  '../../etc/passwd',
  '%',
  '%00',
  '%2e%2e',
  '?',
  '#',
  '/',
  '\\',
  ';',
  ',',
  "'",
  '"',
  '`',
  '{{1}}',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'length',
  'ext:',
  'ext:a/b',
  'ext:\0',
  '2026-13-40T99:99:99Z',
  '9999-12-31T23:59:59.999999Z',
  '0000-01-01T00:00:00Z',
  '-1',
  '1970-01-01',
  'http://127.0.0.1/',
  'javascript:alert(1)',
  'file:///etc/passwd',
  'https://a@b@c/',
  'mailto:a@b',
  'a@b',
  '@',
  "' OR 1=1 --",
  '\\u0000',
  '<script>',
  '](x)',
  '[x]: y',
  '> > >',
  '\r\nX: y',
  'x'.repeat(5_000),
  '𝕏'.repeat(300),
];

const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  1,
  0.5,
  1e308,
  -1e308,
  2 ** 31,
  2 ** 53,
  1e-320,
  [],
  {},
  [[]],
  [null],
  [''],
  { __proto__: null, length: 1 },
  { toString: 1 },
  { id: {} },
  { '': '' },
  { $ref: '#' },
  [{}],
  [1, 'a', null],
  () => Array(10_000).fill('x'),
  () => Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`k${n}`, n])),
  () => Array.from({ length: 200 }).reduce<unknown>((inside) => [inside], 'deep'),
  () => Array.from({ length: 200 }).reduce<unknown>((inside) => ({ a: inside }), 'deep'),
];
