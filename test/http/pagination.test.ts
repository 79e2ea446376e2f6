import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { List } from '@parley/protocol/lists.ts';
import { compileQuery } from '@parley/protocol/validation/validation.ts';
import t from 'tap';
import { defineList, PageQuery, readPage } from '../../src/api/pipeline/pagination.ts';
import { parseQuery } from '../../src/api/pipeline/query.ts';
import { Random } from '../support/random.ts';
import { FEED, Feed, PATH, type Row } from './feed.ts';
import { HEADERS, serve } from './fixture.ts';

t.test(
  'rows that exist at the start are shown once, in order, while others are added and removed',
  async (t) => {
    for (let seed = 1; seed <= 60; seed++) {
      const random = new Random(seed);
      const feed = new Feed();
      for (let i = random.below(40); i > 0; i--) feed.add(random);
      const initial = feed.ids();
      const limit = 1 + random.below(9);

      let page = feed.page(`${PATH}?limit=${limit}`);
      const down = page.data.map(({ id }) => id);
      t.equal(page.page_info.previous_page_url, null);
      while (page.page_info.next_page_url !== null) {
        for (let i = random.below(3); i > 0; i--) feed.add(random);
        page = feed.page(page.page_info.next_page_url);
        down.push(...page.data.map(({ id }) => id));
      }
      t.same(onlyFirst(down, initial), initial, `down, seed ${seed}`);

      const up = page.data.map(({ id }) => id).reverse();
      while (page.page_info.previous_page_url !== null) {
        for (let i = random.below(2); i > 0; i--) feed.add(random);
        page = feed.page(page.page_info.previous_page_url);
        up.push(...page.data.map(({ id }) => id).reverse());
      }
      t.same(onlyFirst(up, initial), initial.toReversed(), `and up again, seed ${seed}`);
    }
  },
);

t.test('has_next_page and has_prev_page are correct', async (t) => {
  const feed = new Feed();
  const random = new Random(7);
  for (let i = 0; i < 10; i++) feed.add(random);
  const ids = feed.ids();

  const first = feed.page(`${PATH}?limit=4&status=unseen`);
  const second = feed.page(first.page_info.next_page_url!);
  const third = feed.page(second.page_info.next_page_url!);
  t.same(edges(first), [false, true]);
  t.same(edges(second), [true, true]);
  t.same(edges(third), [true, false]);
  t.same(
    [first, second, third].flatMap(({ data }) => data.map(({ id }) => id)),
    ids,
  );
  t.match(second.page_info.previous_page_url, /^\/v1\/feed\?limit=4&status=unseen&cursor=[\w-]+$/);

  const back = feed.page(third.page_info.previous_page_url!);
  t.same(back.data, second.data);
  t.same(edges(back), [true, true]);
  const start = feed.page(back.page_info.previous_page_url!);
  t.same(start.data, first.data);
  t.same(edges(start), [false, true]);

  const whole = feed.page(`${PATH}?limit=10&status=unseen`);
  t.same(edges(whole), [false, false]);
  t.same(edges(new Feed().page(PATH)), [false, false]);
});

t.test('a page that has become empty still leads to its neighbours', async (t) => {
  const feed = new Feed();
  const random = new Random(8);
  for (let i = 0; i < 6; i++) feed.add(random);
  const first = feed.page(`${PATH}?limit=4`);
  const last = feed.page(first.page_info.next_page_url!);

  feed.remove(last.data.map(({ id }) => id));
  const empty = feed.page(first.page_info.next_page_url!);
  t.same(empty.data, []);
  t.same(edges(empty), [true, false]);
  t.same(feed.page(empty.page_info.previous_page_url!).data, first.data);

  feed.remove(first.data.map(({ id }) => id));
  feed.add(random);
  const before = feed.page(last.page_info.previous_page_url!);
  t.same(feed.page(before.page_info.next_page_url ?? PATH).data.length + before.data.length, 1);
});

t.test('cursors: those of others and broken ones are refused', async (t) => {
  const feed = new Feed();
  const random = new Random(9);
  for (let i = 0; i < 3; i++) feed.add(random);
  const cursor = new URL(
    feed.page(`${PATH}?limit=1&status=unseen`).page_info.next_page_url!,
    'http://x',
  ).searchParams.get('cursor')!;

  t.ok(feed.page(`${PATH}?limit=2&status=unseen&cursor=${cursor}`), 'the limit may change');
  const forged = (...content: unknown[]) => Buffer.from(JSON.stringify(content)).toString('base64url');
  const [, filters] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  const refused = [
    `${PATH}?cursor=${cursor}`,
    `${PATH}?status=read&cursor=${cursor}`,
    `${PATH}?status=unseen&q=x&cursor=${cursor}`,
    ...['', 'x', `${cursor}A`, cursor.slice(1), `${cursor}=`, `${cursor}%0A`, 'bnVsbA', 'e30', 'W10'].map(
      withStatus,
    ),
    ...[
      forged(0, filters, 'not a time', 'x'),
      forged(0, filters, '2026-11-21T10:00:00Z'),
      forged(0, filters, '2026-11-21T10:00:00Z', 5),
      forged(0, filters, '2026-11-21T10:00:00Z', 'a\u0000'),
      forged(0, filters, '2026-11-21T10:00:00Z', 'x', 'y'),
      forged(2, filters, '2026-11-21T10:00:00Z', 'x'),
      forged('0', filters, '2026-11-21T10:00:00Z', 'x'),
      forged(0, 'x', '2026-11-21T10:00:00Z', 'x'),
    ].map(withStatus),
  ];
  for (const url of refused)
    t.equal(
      refusalOf(() => feed.page(url)),
      'parameter_invalid cursor',
      url,
    );

  const other = readPage(defineList('other', FEED.key), {}, { status: 'unseen' });
  t.not(other.filtersHash, filters, 'another list with the same filters');
});

t.test('page is refused; search and limit are checked', async (t) => {
  const feed = new Feed();
  t.equal(
    refusalOf(() => feed.page(`${PATH}?page=2`)),
    'parameter_unknown page',
  );
  t.equal(
    refusalOf(() => feed.page(`${PATH}?page=2&cursor=x`)),
    'parameters_exclusive page',
  );
  t.equal(
    refusalOf(() => feed.page(`${PATH}?q=a&search=a`)),
    'parameters_exclusive search',
  );
  for (const limit of ['0', '-1', '101', 'abc', '1.5', '']) {
    t.equal(
      refusalOf(() => feed.page(`${PATH}?limit=${limit}`)),
      'parameter_invalid limit',
      limit,
    );
  }

  t.match(readPage(FEED, {}, {}), { limit: 25, fetch: 26, direction: 'next', after: null, search: null });
  t.equal(readPage(FEED, { search: 'a' }, {}).search, 'a');
  t.equal(readPage(FEED, { q: '' }, {}).search, null);
  t.equal(
    readPage(FEED, { search: 'a' }, { a: 1, b: 2 }).filtersHash,
    readPage(FEED, { q: 'a' }, { b: 2, a: 1, c: undefined }).filtersHash,
    'the same rows by other names',
  );
  t.equal(
    refusalOf(() => compileQuery(PageQuery({}))(parseQuery('q=x'))),
    'parameter_unknown q',
  );
});

t.test('a page ends at 1 MiB, and the next one continues after it', async (t) => {
  const { url } = await serve(t);
  const read = async (path: string) => {
    const response = await fetch(url + path, { headers: HEADERS });
    const text = await response.text();
    t.ok(Buffer.byteLength(text) < 1.1 * 1024 * 1024, `${path}: ${text.length}`);
    return JSON.parse(text) as List<{ readonly n: number }>;
  };
  const all = Array.from({ length: 100 }, (_, n) => n);
  let page = await read('/v1/rows?limit=100');
  const down = page.data.map(({ n }) => n);
  t.ok(down.length > 5 && down.length < 20, `${down.length} rows`);
  while (page.page_info.next_page_url !== null) {
    page = await read(page.page_info.next_page_url);
    down.push(...page.data.map(({ n }) => n));
    t.equal(page.page_info.has_prev_page, true);
  }
  t.same(down, all);
  const up = page.data.map(({ n }) => n).reverse();
  while (page.page_info.previous_page_url !== null) {
    page = await read(page.page_info.previous_page_url);
    up.push(...page.data.map(({ n }) => n).reverse());
  }
  t.same(up, all.toReversed(), 'and back');
});

t.test('a cursor that was changed is refused', async (t) => {
  const { url } = await serve(t, { cursorSecret: 'one' });
  const read = async (base: string, cursor: string) => {
    const response = await fetch(`${base}/v1/rows?limit=2&cursor=${cursor}`, { headers: HEADERS });
    const { error, data } = (await response.json()) as {
      error?: { code: string; param: string };
      data?: { n: number }[];
    };
    return error === undefined ? data!.map(({ n }) => n) : `${error.code} ${error.param}`;
  };
  const first = await fetch(`${url}/v1/rows?limit=2`, { headers: HEADERS });
  const { page_info } = (await first.json()) as List<unknown>;
  const cursor = page_info.next_page_url!.split('cursor=')[1]!;
  t.same(await read(url, cursor), [2, 3]);

  const content = Buffer.from(cursor.slice(0, -16), 'base64url').toString();
  const forge = (text: string) => Buffer.from(text).toString('base64url');
  const [direction, filters] = JSON.parse(content);
  const refused = [
    cursor.slice(0, -16),
    cursor.slice(0, -1),
    cursor.slice(1),
    cursor.slice(-16),
    `${cursor}A`,
    forge(JSON.stringify([direction, filters])),
    forge(JSON.stringify([direction, filters, 50])),
    forge(JSON.stringify([direction, filters, 50])) + cursor.slice(-16),
  ];
  for (const [at, character] of [...cursor].entries()) {
    refused.push(`${cursor.slice(0, at)}${character === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`);
  }
  for (const text of refused) t.equal(await read(url, text), 'parameter_invalid cursor', text);

  const sibling = await serve(t, { cursorSecret: 'one' });
  t.same(await read(sibling.url, cursor), [2, 3], 'another node takes it');
  const stranger = await serve(t, { cursorSecret: 'two' });
  t.equal(await read(stranger.url, cursor), 'parameter_invalid cursor');
});

function onlyFirst(shown: readonly string[], initial: readonly string[]): string[] {
  return shown.filter((id) => initial.includes(id));
}

function edges({ page_info }: List<Row>): [boolean, boolean] {
  const { has_prev_page, has_next_page, previous_page_url, next_page_url } = page_info;
  if (has_prev_page !== (previous_page_url !== null) || has_next_page !== (next_page_url !== null)) {
    throw new Error('an URL without its flag, or the other way round');
  }
  return [has_prev_page, has_next_page];
}

function withStatus(cursor: string): string {
  return `${PATH}?status=unseen&cursor=${cursor}`;
}

function refusalOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof ApiError) return `${error.condition} ${error.param}`;
    throw error;
  }
  return 'not refused';
}
