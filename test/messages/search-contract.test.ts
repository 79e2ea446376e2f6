/** Search over HTTP, on a whole server (docs/contract.md#search). */

import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { SearchHit } from '@parley/protocol/resources/search-hit.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { createCustomer } from '../../src/core/accounts/actors/actors.ts';
import { refusalOf, startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';

const app = await startTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
Object.assign(demo, { service_version: NEWEST_VERSION });

type Hits = List<SearchHit>;

t.test('words: folded, whole, begun, quoted, and without blanks', async (t) => {
  const id = await groupOf(ada.id, grace.id);
  const texts = {
    street: 'Lange Straße 5, neben dem Café',
    quick: 'the quick brown fox jumps',
    brown: 'a brown quick dog',
    tower: '明日は東京タワーへ行きます',
    thai: 'ฉันรักภาษาไทย',
    korean: '학교에서 만나요',
    wide: 'ＦＵＬＬ ｶﾞｷﾞ',
    emoji: 'done 👍🏽 today',
    mail: 'write to ada.lovelace@example.com please',
    arabic: 'مُحَمَّد',
    stroke: 'Łódź and Đà Nẵng',
    unseen: 'Liefer\u00adschein مـحـمـود',
    jamo: '서울역'.normalize('NFD'),
    digits: 'pier ٣٤',
  };
  const sent = new Map<string, string>();
  for (const [name, body] of Object.entries(texts)) sent.set((await send(id, { body })).id, name);
  const cases: Readonly<Record<string, readonly string[]>> = {
    strasse: ['street'],
    'CAFE lan': ['street'],
    'quick brown': ['quick', 'brown'],
    '"quick brown"': ['quick'],
    'qui bro': [],
    'brown qui': ['quick', 'brown'],
    'brown qui ': [],
    東京: ['tower'],
    京: ['tower'],
    タワーへ: ['tower'],
    京東: [],
    ภาษา: ['thai'],
    교에: ['korean'],
    full: ['wide'],
    ガ: ['wide'],
    '👍': ['emoji'],
    'lovelace@example': ['mail'],
    'example.org': [],
    محمد: ['arabic'],
    lodz: ['stroke'],
    'Đà Nẵng': ['stroke'],
    'da nan': ['stroke'],
    lieferschein: ['unseen'],
    'Liefer\u200bschein': ['unseen'],
    محمود: ['unseen'],
    서울: ['jamo'],
    ['서울역'.normalize('NFD')]: ['jamo'],
    '34': ['digits'],
  };
  const check = async (when: string) => {
    for (const [q, names] of Object.entries(cases)) {
      const { data } = await search({ q, conversation_id: id });
      t.same(new Set(data.map(({ message }) => sent.get(message!.id))), new Set(names), `${q}, ${when}`);
    }
  };
  await check('at once');
  await indexed();
  await check('indexed');
  const [hit] = (await search({ q: 'café stras', conversation_id: id })).data;
  t.match(hit, {
    object: 'search_hit',
    type: 'message',
    conversation_id: id,
    conversation: null,
    highlights: [{ field: 'body', actor_id: null, offset: 0, text: texts.street }],
  });
  const { text, ranges } = hit!.highlights[0]!;
  t.strictSame(
    ranges.map(({ start, end }) => text.slice(start, end)),
    ['Straße', 'Café'],
  );
});

t.test(
  'an edited, deleted or redacted message is never found by its old words, before and after indexing',
  async (t) => {
    const id = await groupOf(ada.id, grace.id);
    for (const isIndexed of [false, true]) {
      const [edited, deleted, redacted, kept] = await Promise.all(
        ['first', 'second', 'third', 'fourth'].map((word) =>
          send(id, { body: `zebra ${word}`, client_message_id: newId('message') }, ada.access_token),
        ),
      );
      if (isIndexed) await indexed();
      t.equal((await search({ q: 'zebra', conversation_id: id })).data.length, 4);
      const as = { token: ada.access_token };
      await ok('PATCH', `/v1/messaging/messages/${edited!.id}`, { ...as, body: { body: 'giraffe now' } });
      await ok('DELETE', `/v1/messaging/messages/${deleted!.id}`, as);
      await ok('POST', `/v1/messaging/messages/${redacted!.id}/actions/redact`, { body: { reason: 'spam' } });
      const found = async (q: string) =>
        (await search({ q, conversation_id: id })).data.map(({ message }) => message!.id);
      for (const when of ['at once', 'indexed']) {
        t.strictSame(await found('zebra'), [kept!.id], when);
        t.strictSame(await found('giraffe'), [edited!.id], when);
        await indexed();
      }
      const { rows } = await database.pool.query(
        `SELECT count(*)::int AS count FROM search_entries WHERE terms::text LIKE '%:third''%'`,
      );
      t.strictSame(rows, [{ count: 0 }], 'redacted words leave the index');
      await ok('DELETE', `/v1/messaging/messages/${edited!.id}`, as);
      await ok('DELETE', `/v1/messaging/messages/${kept!.id}`, as);
    }
  },
);

t.test('the search of messages can be filtered', async (t) => {
  const id = await groupOf(ada.id, grace.id);
  const other = await groupOf(ada.id);
  const word = 'parameters';
  const first = await send(id, { body: `${word} one` }, ada.access_token);
  const second = await send(id, { body: `${word} two` }, grace.access_token);
  const third = await send(other, { body: `${word} three` }, ada.access_token);
  const found = async (filters: Record<string, string>, token = ada.access_token) =>
    (await search({ q: word, ...filters }, token)).data.map(({ message }) => message!.id).sort();
  const ids = (...messages: { id: string }[]) => messages.map(({ id }) => id).sort();
  for (const when of ['at once', 'indexed']) {
    t.strictSame(await found({}), ids(first, second, third), when);
    t.strictSame(await found({}, grace.access_token), ids(first, second), 'only what one may read');
    t.strictSame(await found({}, vera.access_token), []);
    t.strictSame(await found({ conversation_id: other }), ids(third));
    t.strictSame(await found({ author_id: ada.id }), ids(first, third));
    t.strictSame(await found({ author_id: 'me', conversation_id: id }), ids(first));
    t.strictSame(await found({ before: second.created_at }), ids(first));
    t.strictSame(await found({ after: second.created_at }), ids(third));
    t.strictSame(await found({ has: 'file' }), []);
    await indexed();
  }
});

t.test('pages: ranked within an age, each once while messages arrive and are indexed', async (t) => {
  const id = await groupOf(ada.id);
  const sent = new Set<string>();
  for (let n = 0; n < 90; n++)
    sent.add((await send(id, { body: `walking ${n % 3 === 0 ? 'walking' : n}` })).id);
  await indexed();
  for (let n = 0; n < 20; n++) sent.add((await send(id, { body: `walking late ${n}` })).id);
  const seen: string[] = [];
  let page = await search({ q: 'walking', conversation_id: id, limit: '7' });
  for (;;) {
    t.equal(page.page_info.previous_page_url, null);
    t.equal(page.page_info.has_prev_page, seen.length > 0);
    seen.push(...page.data.map(({ message }) => message!.id));
    if (page.page_info.next_page_url === null) break;
    await send(id, { body: 'walking newer' });
    if (seen.length === 28) await indexed();
    page = (await ok('GET', page.page_info.next_page_url)) as Hits;
  }
  t.equal(seen.length, sent.size);
  t.same(new Set(seen), sent);
});

t.test('conversations: by title, members, and the name and address of the customer', async (t) => {
  const title = `Pumpernickel ${newId('conversation').slice(-6)}`;
  const id = await groupOf(ada.id, grace.id, title);
  const found = async (q: string, token?: string) =>
    (await search({ q, type: 'conversations' }, token)).data.map(({ conversation_id }) => conversation_id);
  const address = `zelda.${newId('actor').slice(-8).toLowerCase()}@example.net`;
  const { body: opened } = await app.call<{ id: string }>('POST', '/v1/messaging/conversations', {
    body: {
      type: 'group',
      audience: 'customer',
      title: 'Late parcel for Łódź',
      participants: [
        { type: 'user', actor_id: ada.id },
        { type: 'customer', name: 'Zelda Quarterman', email: address },
      ],
    },
  });
  for (const when of ['at once', 'indexed']) {
    t.strictSame(await found('pumpernickel'), [id], when);
    t.ok((await found('grace pumper', ada.access_token)).includes(id), 'title and member');
    t.strictSame(await found('pumpernickel', vera.access_token), []);
    t.strictSame(await found('quarterman'), [opened.id]);
    t.strictSame(await found(address), [opened.id]);
    t.strictSame(await found('parcel zelda', ada.access_token), [opened.id]);
    t.strictSame(await found('lodz'), [opened.id]);
    await indexed();
  }
  const [hit] = (await search({ q: 'quarterm', type: 'conversations', 'include[]': 'participants' })).data;
  t.match(hit, { type: 'conversation', message: null, conversation: { id: opened.id } });
  t.match(hit!.highlights, [
    { field: 'member_name', text: 'Zelda Quarterman', ranges: [{ start: 6, end: 16 }] },
  ]);
  await ok('PATCH', `/v1/messaging/conversations/${id}`, { body: { title: 'Sourdough' } });
  t.strictSame(await found('pumpernickel'), [], 'a title that changed');
  await until(async () => (await found('sourdough')).includes(id), { what: 'the new title is found' });
  await database.pool.query(`UPDATE actors SET name = 'Renamed Person' WHERE handle = $1`, [address]);
  t.strictSame(await found('quarterman'), []);
  await until(async () => (await found('renamed')).includes(opened.id), { what: 'the new name is found' });
});

t.test('customers find what they see, and never a person behind the persona', async (t) => {
  const caseId = demo.conversations.case;
  const word = `kumquat${newId('message').slice(-6)}`;
  await send(caseId, { body: `${word} internal` }, ada.access_token);
  const reply = await send(
    caseId,
    { body: `${word} external`, audience: 'customer', channel: 'message' },
    ada.access_token,
  );
  const { rows } = await database.pool.query<{ id: string; sender_id: string }>(
    `SELECT a.id, m.sender_id FROM participants p JOIN actors a ON a.id = p.actor_id AND a.customer
     JOIN messages m ON m.id = $2 WHERE p.conversation_id = $1`,
    [caseId, reply.id],
  );
  const { id: customerId, sender_id: persona } = rows[0]!;
  const token = await app.tokenOf(customerId);
  const found = async (filters: Record<string, string> = {}) =>
    (await search({ q: word, ...filters }, token)).data.map(({ message }) => message!.id);
  for (const when of ['at once', 'indexed']) {
    t.strictSame(await found(), [reply.id], when);
    t.strictSame(await found({ author_id: ada.id }), [], 'the author is hidden');
    t.strictSame(await found({ author_id: persona }), [reply.id], 'the persona is not');
    await indexed();
  }
  const stranger = await database.transaction((tx) =>
    createCustomer(tx, { accountId: demo.account_id, name: 'Ned', email: 'ned@example.net' } as never),
  );
  t.strictSame((await search({ q: word }, await app.tokenOf(stranger.id))).data, []);
  const byMember = await search({ q: 'ada', type: 'conversations' }, token);
  t.strictSame(byMember.data, [], 'customers find by title alone');
});

t.test('what cannot be searched is refused', async (t) => {
  const told = async (query: Record<string, string>) =>
    refusalOf(await app.call('GET', `/v1/messaging/search?${new URLSearchParams(query)}`));
  t.equal(await told({}), '400 parameter_missing q');
  t.equal(await told({ q: '' }), '400 parameter_missing q');
  t.equal(await told({ q: '... "!" --' }), '400 parameter_invalid q');
  t.equal(await told({ q: 'x'.repeat(257) }), '400 parameter_invalid q');
  t.equal(await told({ q: 'a', search: 'a' }), '400 parameters_exclusive search');
  t.equal(await told({ q: 'a', type: 'conversations', has: 'file' }), '400 parameters_exclusive has');
  t.equal(await told({ q: 'a', author_id: newId('actor') }), '400 parameter_invalid author_id');
  t.equal(
    await told({ q: 'a', conversation_id: newId('conversation') }),
    '400 parameter_invalid conversation_id',
  );
  const hostile = [
    "'; DROP",
    '\\',
    "a\\'b",
    '& | !',
    ':*',
    '<->',
    'x '.repeat(128),
    '日'.repeat(256),
    '\u{1F600}'.repeat(64),
  ];
  for (const q of hostile) {
    const answer = await app.call('GET', `/v1/messaging/search?${new URLSearchParams({ q })}`);
    t.ok([200, 400].includes(answer.status), `${q.slice(0, 12)} ${answer.status}`);
  }
});

async function search(query: Record<string, string>, token = demo.api_key): Promise<Hits> {
  return (await ok('GET', `/v1/messaging/search?${new URLSearchParams(query)}`, { token })) as Hits;
}

async function ok(
  method: string,
  path: string,
  options: Parameters<typeof app.call>[2] = {},
): Promise<unknown> {
  const answer = await app.call<unknown>(method, path, options);
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.text}`);
  return answer.body;
}

interface Sent {
  readonly id: string;
  readonly created_at: string;
}

async function send(conversationId: string, body: object, token = demo.api_key): Promise<Sent> {
  const sent = { client_message_id: newId('message'), ...body };
  return (await ok('POST', `/v1/messaging/conversations/${conversationId}/messages`, {
    token,
    body: sent,
  })) as Sent;
}

async function groupOf(...args: readonly string[]): Promise<string> {
  const members = args.filter((id) => id.startsWith('act_'));
  const title = args.find((id) => !id.startsWith('act_')) ?? 'Search';
  const body = {
    type: 'group',
    title,
    participants: members.map((actor_id) => ({ type: 'user', actor_id })),
  };
  return ((await ok('POST', '/v1/messaging/conversations', { body })) as { id: string }).id;
}

/** Resolves when the index has everything that was committed. */
async function indexed(): Promise<void> {
  const waiting = `SELECT FROM outbox UNION ALL SELECT FROM search_notes`;
  await until(async () => (await database.pool.query(waiting)).rowCount === 0, {
    what: 'everything is indexed',
  });
}
