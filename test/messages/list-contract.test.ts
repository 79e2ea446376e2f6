/** The messages of a conversation over HTTP, on a whole server (docs/contract.md#lists). */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import {
  type ChatMessage,
  IncludeInMessage,
  type MessageInclude,
} from '@parley/protocol/resources/chat-message.ts';
import { schemaAt } from '@parley/protocol/schema/since.ts';
import { NEWEST_VERSION, VERSIONS } from '@parley/protocol/versions.ts';
import t from 'tap';
import { createCustomer } from '../../src/core/accounts/actors/actors.ts';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import type { NewParticipant } from '../../src/core/conversations/rows/participant-store.ts';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { Random } from '../support/random.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const ADA = shownActor(ada.id, 'user', 'Ada Lovelace', ada.email);

type Page = List<ChatMessage>;

t.test('newest first, 25 a page unless asked otherwise', async (t) => {
  const conversation = await conversationOf(ada.id);
  t.strictSame(await list(conversation), envelope([]), 'an empty conversation');
  for (let n = 1; n <= 30; n++) await send(conversation, { body: `${n}` });

  const first = await list(conversation);
  t.strictSame(sequences(first), downFrom(30, 25));
  t.strictSame(
    first.data.map(({ body }) => body),
    downFrom(30, 25).map(String),
  );
  const { next_page_url, ...rest } = first.page_info;
  t.strictSame(rest, { previous_page_url: null, has_next_page: true, has_prev_page: false });
  t.ok(next_page_url?.startsWith(`${pathOf(conversation)}?`), 'relative, to this list');
  const last = await follow(next_page_url);
  t.strictSame(sequences(last), [5, 4, 3, 2, 1]);
  t.strictSame([last.page_info.next_page_url, last.page_info.has_next_page], [null, false]);
  t.equal(last.page_info.has_prev_page, true);
  t.strictSame(await follow(last.page_info.previous_page_url), {
    ...first,
    page_info: { ...first.page_info },
  });

  t.strictSame(await list(conversation, 'limit=30'), envelope((await list(conversation, 'limit=100')).data));
  t.strictSame(sequences(await list(conversation, 'limit=1')), [30]);
});

t.test('each item is the message as Send Message answered it', async (t) => {
  const conversation = await conversationOf(ada.id);
  const sent = await send(conversation, { body: 'ahoy' });
  t.strictSame((await list(conversation, '', { token: ada.access_token })).data, [sent]);
});

t.test('after_sequence lists later messages, oldest first', async (t) => {
  const conversation = await filled(9);
  t.strictSame(sequences(await list(conversation, 'after_sequence=0')), upFrom(1, 9));
  t.strictSame(await list(conversation, 'after_sequence=9'), envelope([]));
  t.strictSame(await list(conversation, 'after_sequence=999999'), envelope([]));
  const first = await list(conversation, 'after_sequence=3&limit=4');
  t.strictSame(sequences(first), [4, 5, 6, 7]);
  t.equal(first.page_info.previous_page_url, null, 'what is before it was not asked for');
  const second = await follow(first.page_info.next_page_url);
  t.strictSame(sequences(second), [8, 9]);
  t.equal(second.page_info.next_page_url, null);
  t.strictSame(sequences(await follow(second.page_info.previous_page_url)), [4, 5, 6, 7]);
});

t.test('before_sequence lists earlier messages, newest first', async (t) => {
  const conversation = await filled(9);
  for (const before of [0, 1]) {
    t.strictSame(await list(conversation, `before_sequence=${before}`), envelope([]), `${before}`);
  }
  t.strictSame(sequences(await list(conversation, 'before_sequence=999999')), downFrom(9, 9));
  const first = await list(conversation, 'before_sequence=8&limit=4');
  t.strictSame(sequences(first), [7, 6, 5, 4]);
  t.equal(first.page_info.previous_page_url, null);
  const second = await follow(first.page_info.next_page_url);
  t.strictSame(sequences(second), [3, 2, 1]);
  t.strictSame(sequences(await follow(second.page_info.previous_page_url)), [7, 6, 5, 4]);
});

t.test('every message of the start once and in order, forth and back, while others are sent', async (t) => {
  for (let seed = 1; seed <= 8; seed++) {
    const random = new Random(seed);
    const total = random.below(24);
    const conversation = await filled(total);
    const limit = 1 + random.below(7);
    const [query, isUp] = random.pick([
      ['', false],
      [`&after_sequence=0`, true],
      [`&before_sequence=${total + 1}`, false],
    ] as const);
    const initial = isUp ? upFrom(1, total) : downFrom(total, total);
    const what = `seed ${seed}: ${total} messages, limit ${limit}${query}`;
    const disturb = async () => {
      for (let i = random.below(3); i > 0; i--) await send(conversation);
    };

    let page = await list(conversation, `limit=${limit}${query}`);
    const forth = sequences(page);
    let last = page.data;
    // Upwards the list grows at its end: walk until what was there at the start is through.
    while (page.page_info.next_page_url !== null && forth.length < 200) {
      if (!isUp || forth.length < total) await disturb();
      page = await follow(page.page_info.next_page_url);
      forth.push(...sequences(page));
      last = page.data;
    }
    t.strictSame(
      forth.filter((sequence) => sequence <= total),
      initial,
      `${what}, forth`,
    );
    t.strictSame(forth, isUp ? upFrom(1, forth.length) : initial, `${what}: nothing between them`);

    const back = last.map(({ sequence }) => sequence!).reverse();
    while (page.page_info.previous_page_url !== null && back.length < 200) {
      await disturb();
      page = await follow(page.page_info.previous_page_url);
      back.push(...sequences(page).reverse());
    }
    t.strictSame(
      back.filter((sequence) => sequence <= total),
      initial.toReversed(),
      `${what}, and back`,
    );
  }
});

t.test('a walk that began with the newest leads back to what came since', async (t) => {
  const conversation = await filled(4);
  const first = await list(conversation, 'limit=2');
  const second = await follow(first.page_info.next_page_url);
  for (let n = 0; n < 3; n++) await send(conversation);
  const back = await follow(second.page_info.previous_page_url);
  t.strictSame(sequences(back), [4, 3]);
  t.equal(back.page_info.has_prev_page, true);
  const newer = await follow(back.page_info.previous_page_url);
  t.strictSame(sequences(newer), [6, 5]);
  const newest = await follow(newer.page_info.previous_page_url);
  t.strictSame(sequences(newest), [7]);
  t.equal(newest.page_info.previous_page_url, null);
});

t.test('around_sequence: the page in the middle of the list, whatever is at the number', async (t) => {
  const total = 12;
  const conversation = await filled(total);
  const around = (query: string, options = NEWEST) => list(conversation, `around_sequence=${query}`, options);
  t.strictSame(sequences(await around('6&limit=5')), [8, 7, 6, 5, 4]);
  t.strictSame(sequences(await around('6&limit=4')), [7, 6, 5, 4]);
  t.strictSame(sequences(await around('6&limit=1')), [6]);
  for (let at = 0; at <= total + 2; at++) {
    for (const limit of [1, 2, 5, 11, 12, 13]) {
      const shown = sequences(await around(`${at}&limit=${limit}`));
      t.equal(shown.length, Math.min(limit, total), `around ${at}, ${limit}: a page is full at both ends`);
      t.strictSame(shown, downFrom(shown[0]!, shown.length), 'and has no gap');
      const inside = Math.min(Math.max(at, 1), total);
      t.ok(shown.includes(inside), `around ${at}, ${limit}: ${inside} is in it`);
    }
  }
  t.strictSame(sequences(await around('9007199254740991&limit=2')), [12, 11]);

  let page = await around('6&limit=3');
  const back = [...sequences(page)];
  for (let next = page; next.page_info.next_page_url !== null; ) {
    next = await follow(next.page_info.next_page_url, NEWEST);
    back.push(...sequences(next));
  }
  t.strictSame(back, downFrom(7, 7), 'older ones follow, each once');
  const forth: number[] = [];
  while (page.page_info.previous_page_url !== null) {
    page = await follow(page.page_info.previous_page_url, NEWEST);
    forth.push(...sequences(page).toReversed());
  }
  t.strictSame(forth, upFrom(8, 5), 'newer ones in the other direction');
  const [first, again] = [await around('6&limit=5'), await around('6&limit=5')];
  t.strictSame(first, again, 'also when its rows are kept');

  const gapped = await conversationOf(ada.id);
  for (let n = 0; n < 3; n++) {
    await send(gapped);
    await insertRow(gapped, { kind: 'void', status: 'void', visibility: 'internal', author_id: null });
  }
  const aroundVoid = await list(gapped, 'around_sequence=4&limit=2', NEWEST);
  t.strictSame(sequences(aroundVoid), [5, 3], 'a void takes no place');
  // A number that was taken and not committed: nothing behind it is shown until it is settled.
  await database.kysely
    .deleteFrom('messages')
    .where('conversation_id', '=', gapped)
    .where('sequence', '=', 4)
    .execute();
  t.strictSame(sequences(await list(gapped, 'around_sequence=4&limit=3', NEWEST)), [5, 3, 1], 'a hole');

  const purged = await filled(6);
  await database.kysely
    .deleteFrom('messages')
    .where('conversation_id', '=', purged)
    .where('sequence', '<=', 3)
    .execute();
  await database.kysely
    .updateTable('conversations')
    .set({ purged_through: 3 })
    .where('id', '=', purged)
    .execute();
  t.strictSame(sequences(await list(purged, 'around_sequence=2&limit=2', NEWEST)), [5, 4], 'purged');
  t.strictSame(await list(await filled(0), 'around_sequence=1', NEWEST), envelope([]), 'an empty one');

  const { case: supportCase } = demo.conversations;
  const reply = await send(supportCase, { audience: 'customer' });
  const note = await send(supportCase, { body: 'a note' });
  const later = await send(supportCase, { audience: 'customer' });
  const asCustomer = { token: demo.customer.access_token, ...NEWEST };
  const seen = await list(supportCase, `around_sequence=${note.sequence}&limit=2`, asCustomer);
  t.strictSame(
    seen.data.map(({ id }) => id),
    [later.id, reply.id],
    'a customer sees what is beside a note',
  );

  const long = await conversationOf(ada.id);
  const body = 'é'.repeat(16_000);
  await Promise.all(Array.from({ length: 60 }, () => send(long, { body })));
  const heavy = await list(long, 'around_sequence=20&limit=100', NEWEST);
  t.ok(sequences(heavy).includes(20), 'a page that ends at 1 MiB has the message that was asked for');
  t.equal(heavy.page_info.has_prev_page, true);
});

t.test('large texts are the same bytes on a page as alone, whatever is read with them', async (t) => {
  const conversation = await conversationOf(ada.id, grace.id);
  const control = Array.from({ length: 31 }, (_, code) => String.fromCharCode(code + 1)).join('');
  const odd = [
    control,
    '\u007f\u0080\u2028\u2029\ufeff',
    '"\\u0000"',
    '\\"\\',
    '</script>',
    'é語🦭',
    '"body":null',
  ];
  for (const piece of odd) await send(conversation, { body: piece.repeat(Math.ceil(5_000 / piece.length)) });
  await send(conversation, { body: 'a short one' });
  // From the second read on rows are kept, and from the third they are taken from there.
  for (const query of ['', '', '', 'include[]=conversation&include[]=sender', 'around_sequence=3']) {
    for (const token of [ada.access_token, grace.access_token]) {
      const path = `${pathOf(conversation)}?${query}`;
      const { status, text, body } = await app.call<Page>('GET', path, { token, ...NEWEST });
      t.equal(status, 200);
      t.equal(text, JSON.stringify(body), 'escaped as JSON.stringify does');
      for (const { id, body: shown } of body.data) {
        const alone = await app.call<ChatMessage>('GET', `/v1/messaging/messages/${id}`, {
          token,
          ...NEWEST,
        });
        t.equal(shown, alone.body.body, query);
      }
      t.equal(body.data.length, odd.length + 1);
    }
  }
});

t.test('the list of messages refuses invalid parameters', async (t) => {
  const conversation = await filled(3);
  const other = await filled(3);
  const cursorOf = async (query: string, of = conversation) => {
    const { page_info } = await list(of, `limit=1&${query}`);
    return new URL(page_info.next_page_url!, app.baseUrl).searchParams.get('cursor')!;
  };
  const plain = await cursorOf('');
  const after = await cursorOf('after_sequence=0');
  const queries: [query: string, expected: string][] = [
    ['after_sequence=1&before_sequence=3', 'parameters_exclusive before_sequence'],
    ...['0', '-1', '101', '1.5', 'abc', '', '1e1', '99999999999999999999'].map((limit): [string, string] => [
      `limit=${limit}`,
      'parameter_invalid limit',
    ]),
    ...['-1', '1.5', 'abc', '', '9007199254740993', '99999999999999999999'].flatMap((bound) =>
      ['after_sequence', 'before_sequence'].map((name): [string, string] => [
        `${name}=${bound}`,
        `parameter_invalid ${name}`,
      ]),
    ),
    ['around_sequence=1', 'parameter_unknown around_sequence'],
    ['after_sequence=1&after_sequence=2', 'parameter_invalid after_sequence'],
    ['page=2', 'parameter_unknown page'],
    [`page=2&cursor=${plain}`, 'parameters_exclusive page'],
    ['what=1', 'parameter_unknown what'],
    ['q=ahoy', 'parameter_unknown q'],
    ['include=sender', 'parameter_unknown include'],
    ['include[]=sender&include[]=x', 'parameter_invalid include[]'],
    ...['', 'x', `${plain}A`, plain.slice(1), 'bnVsbA'].map((cursor): [string, string] => [
      `cursor=${cursor}`,
      'parameter_invalid cursor',
    ]),
    [`cursor=${plain}&after_sequence=0`, 'parameter_invalid cursor'],
    [`cursor=${after}`, 'parameter_invalid cursor'],
    [`cursor=${after}&after_sequence=1`, 'parameter_invalid cursor'],
    [`cursor=${await cursorOf('', other)}`, 'parameter_invalid cursor'],
  ];
  for (const [query, expected] of queries) {
    const answer = await app.call('GET', `${pathOf(conversation)}?${query}`);
    t.equal(refusalOf(answer), `400 ${expected}`, query);
  }
  const newest: [query: string, expected: string][] = [
    ['after_sequence=1&around_sequence=3', 'parameters_exclusive around_sequence'],
    ['around_sequence=1&before_sequence=3', 'parameters_exclusive around_sequence'],
    ['around_sequence=1&status=draft', 'parameters_exclusive around_sequence'],
    ['around_sequence=-1', 'parameter_invalid around_sequence'],
    ['around_sequence=x', 'parameter_invalid around_sequence'],
    [`cursor=${plain}&around_sequence=1`, 'parameter_invalid cursor'],
  ];
  for (const [query, expected] of newest) {
    const answer = await app.call('GET', `${pathOf(conversation)}?${query}`, NEWEST);
    t.equal(refusalOf(answer), `400 ${expected}`, query);
  }
  t.strictSame(
    sequences(await list(conversation, `limit=2&cursor=${plain}`)),
    [2, 1],
    'the limit may change',
  );
});

t.test('reading messages requires its permission', async (t) => {
  const { group, direct, case: supportCase } = demo.conversations;
  await send(group);
  const { customer } = demo;
  const readers: [what: string, conversation: string, token: string][] = [
    ['an admin', group, ada.access_token],
    ['a member', group, grace.access_token],
    ['a role with messaging:read alone', group, vera.access_token],
    ['an API key', direct, demo.api_key],
    ['an admin, elsewhere', await conversationOf(vera.id), ada.access_token],
    ['an agent', group, await app.tokenOf(demo.agent.actor_id)],
    ['the customer', supportCase, customer.access_token],
  ];
  for (const [what, conversation, token] of readers) {
    t.equal((await app.call('GET', pathOf(conversation), { token })).status, 200, what);
  }

  const absent = newId('conversation');
  const { text: nothing, ...nowhere } = await app.call('GET', pathOf(absent));
  t.equal(refusalOf({ text: nothing, ...nowhere }), '404 resource_not_found id');
  const { api_key, account_id } = demo.other_account;
  const others: [what: string, conversation: string, options: CallOptions][] = [
    ['not a participant', direct, { token: vera.access_token }],
    ['the customer, of the team', group, { token: customer.access_token }],
    ['another case', await caseOf('Cleo'), { token: customer.access_token }],
    ['an agent, elsewhere', direct, { token: await app.tokenOf(demo.agent.actor_id) }],
    ['another account', group, { token: api_key, headers: { 'Service-Account': account_id } }],
  ];
  for (const [what, conversation, options] of others) {
    const { status, text } = await app.call('GET', pathOf(conversation), options);
    t.equal(status, 404, what);
    t.equal(text.replaceAll(conversation, '?'), nothing.replaceAll(absent, '?'), `${what}: as an absent one`);
  }

  const early = await app.call('GET', pathOf(group), { headers: { 'Service-Version': '1.0.harbor' } });
  t.equal(refusalOf(early), '400 api_version_too_old Service-Version');
});

t.test('customers see what is external and what is of the system, and no author', async (t) => {
  const { case: conversation } = demo.conversations;
  const customer = { token: demo.customer.access_token };
  const before = (await list(conversation, 'limit=1')).data[0]?.sequence ?? 0;
  const note = await send(conversation, { body: 'a note' });
  const reply = await send(conversation, { body: 'a reply', audience: 'customer', attachments: [LINK] });
  const event = await insertRow(conversation, {
    kind: 'system_event',
    visibility: 'system',
    body: 'resolved',
  });
  const secret = await insertRow(conversation, {
    kind: 'system_event',
    visibility: 'internal',
    body: 'joined',
  });
  const question = await send(conversation, { body: 'a question' }, customer);
  const whisper = await send(conversation, { body: 'another note' });

  const query = `after_sequence=${before}&include[]=sender&include[]=author&include[]=attachments`;
  const team = await list(conversation, query);
  t.strictSame(
    team.data.map(({ id }) => id),
    [note.id, reply.id, event, secret, question.id, whisper.id],
  );
  t.strictSame(
    team.data.slice(0, 2).map(({ author }) => author),
    [ADA, ADA],
    'the team sees who wrote behind the persona',
  );

  const shown = await list(conversation, query, customer);
  const persona = shown.data[0]!.sender;
  t.match(persona, { type: 'group', name: 'Customer Service', handle: null });
  t.strictSame(
    shown.data.map(({ id, visibility, sender, author, attachments }) => [
      id,
      visibility,
      sender?.name ?? null,
      author,
      attachments?.length,
    ]),
    [
      [reply.id, 'external', 'Customer Service', null, 1],
      [event, 'system', null, null, 0],
      [question.id, 'external', 'Carl Customer', null, 0],
    ],
  );
  for (const message of shown.data) t.equal(message.agent_run, null);
  t.notMatch(JSON.stringify(shown), new RegExp(`${ada.id}|Ada Lovelace| note"|"joined"`));

  // Pages are full of what is visible, whatever lies between.
  const first = await list(conversation, `limit=2&after_sequence=${before}`, customer);
  t.strictSame(
    first.data.map(({ id }) => id),
    [reply.id, event],
  );
  const second = await follow(first.page_info.next_page_url, customer);
  t.strictSame(
    second.data.map(({ id }) => id),
    [question.id],
  );
  t.equal(second.page_info.has_next_page, false, 'a note behind it does not count');
  const newest = await list(conversation, 'limit=1', customer);
  t.equal(newest.data[0]?.id, question.id);
});

t.test('voids are never shown and take no place on a page', async (t) => {
  const conversation = await conversationOf(ada.id);
  const shown: number[] = [];
  for (let n = 0; n < 4; n++) {
    shown.push((await send(conversation)).sequence!);
    await insertRow(conversation, { kind: 'void', status: 'void', visibility: 'internal', author_id: null });
  }
  t.strictSame(shown, [1, 3, 5, 7], 'each void has a number of its own');
  t.strictSame(sequences(await list(conversation, 'limit=4')), [7, 5, 3, 1]);
  t.equal((await list(conversation, 'limit=4')).page_info.next_page_url, null);
  t.strictSame(sequences(await list(conversation, 'after_sequence=1&limit=2')), [3, 5]);
  t.strictSame(sequences(await list(conversation, 'before_sequence=7&limit=2')), [5, 3]);
});

t.test('a deleted message is a tombstone in its place', async (t) => {
  const conversation = await filled(3);
  const [, middle] = (await list(conversation)).data;
  const at = '2026-01-02T03:04:05.000006Z';
  await database.kysely
    .updateTable('messages')
    .set({ deleted_at: at, updated_at: at })
    .where('id', '=', middle!.id)
    .execute();
  const { data } = await list(conversation);
  t.strictSame(data[1], { ...middle, body: null, deleted_at: at, updated_at: at });
  t.equal(data.length, 3);
});

t.test('the list of messages accepts include[]', async (t) => {
  const conversation = await conversationOf(ada.id, grace.id);
  const link = { link_resource_type: 'actor', link_resource_id: grace.id };
  await send(conversation, { ...link, attachments: [LINK] });
  await send(conversation, {}, { token: grace.access_token });
  const names = ['sender', 'author', 'attachments', 'resource'] as const;
  const GRACE = shownActor(grace.id, 'user', 'Grace Hopper', grace.email);
  const attachment = {
    object: 'message_attachment',
    kind: 'link',
    filename: null,
    content_type: null,
    size_bytes: null,
    url: LINK.url,
    resource: null,
  };
  for (let chosen = 0; chosen < 2 ** names.length; chosen++) {
    const asked = names.filter((_, bit) => chosen & (1 << bit));
    const query = asked.map((name) => `include[]=${name}`).join('&');
    const { data } = await list(conversation, `after_sequence=0&${query}`);
    const [first, second] = data as [ChatMessage, ChatMessage];
    const [file] = first.attachments ?? [];
    const expanded = [
      {
        sender: ADA,
        author: ADA,
        attachments: [{ ...attachment, id: file?.id, created_at: first.created_at }],
        resource: { id: grace.id, object: 'entity', type: 'actor', name: GRACE.name, handle: GRACE.handle },
      },
      { sender: GRACE, author: GRACE, attachments: [], resource: null },
    ] as const;
    for (const [index, message] of [first, second].entries()) {
      for (const name of names) {
        const value = asked.includes(name) ? expanded[index]![name] : null;
        t.strictSame(message[name], value, `${name} of message ${index + 1} with "${query}"`);
      }
      t.strictSame([message.conversation, message.reply_to, message.agent_run], [null, null, null]);
    }
  }
});

t.test('a page that is read again is the same bytes, for each reader in its own form', async (t) => {
  const { case: conversation } = demo.conversations;
  const before = (await list(conversation, 'limit=1')).data[0]?.sequence ?? 0;
  const ship = { body: ',"sender":null,"author":null é🚢', attachments: [LINK] };
  await send(conversation, ship);
  await send(conversation, { ...ship, audience: 'customer' });
  await send(conversation, { body: 'a question' }, { token: demo.customer.access_token });
  const tokens = [ada.access_token, grace.access_token, demo.customer.access_token];
  for (const version of VERSIONS.slice(1)) {
    const { items } = schemaAt(version, IncludeInMessage) as { items: { enum?: MessageInclude[] } };
    const includes = ['', ...items.enum!.map((name) => `&include[]=${name}`)];
    for (const include of [...includes, includes.join('')]) {
      const read = (token: string) =>
        app.call<Page>('GET', `${pathOf(conversation)}?after_sequence=${before}${include}`, {
          token,
          headers: { 'Service-Version': version },
        });
      const first = await Promise.all(tokens.map(read));
      for (const [reader, token] of [...tokens.entries(), ...tokens.entries()]) {
        const { status, text } = await read(token);
        t.equal(status, 200);
        t.equal(text, first[reader]!.text, `${version} ${include}, reader ${reader}`);
      }
      const own = first.map(({ body }) => body.data.filter((message) => message.client_message_id !== null));
      t.strictSame(
        own.map(({ length }) => length),
        [2, 0, 1],
        'each author sees its own client ids',
      );
      t.notMatch(first[2]!.text, new RegExp(`${ada.id}|Ada`), 'customers get nothing of the team');
    }
  }
});

t.test('sub-objects are read for each request', async (t) => {
  const conversation = await conversationOf(ada.id);
  await send(conversation, { attachments: [LINK] });
  const read = async () => (await list(conversation, 'include[]=attachments')).data[0]?.attachments?.[0]?.url;
  for (let n = 0; n < 3; n++) t.equal(await read(), LINK.url);
  const url = 'https://example.com/signed-later';
  await database.kysely
    .updateTable('attachments')
    .set({ url })
    .where('conversation_id', '=', conversation)
    .execute();
  t.equal(await read(), url);
});

t.test('a text that is being written is read for each request', async (t) => {
  const conversation = await filled(2);
  const messages = () => database.kysely.updateTable('messages').where('conversation_id', '=', conversation);
  await messages().set({ streaming_state: 'streaming' }).where('sequence', '=', 2).execute();
  for (const body of ['Good', 'Good morning', 'Good morning,', 'Good morning, harbor']) {
    // As a reply is kept while it streams: its time stays.
    await messages().set({ body }).where('sequence', '=', 2).execute();
    t.equal((await list(conversation)).data[0]?.body, body);
  }
});

t.test('who may read is decided before a page is taken from memory', async (t) => {
  const conversation = await conversationOf(ada.id, vera.id);
  await send(conversation);
  const asVera = { token: vera.access_token };
  for (let n = 0; n < 3; n++) t.equal((await list(conversation, '', asVera)).data.length, 1);
  const { other_account: other } = demo;
  const path = pathOf(conversation);
  const stranger = { token: other.api_key, headers: { 'Service-Account': other.account_id } };
  t.equal((await app.call('GET', path, stranger)).status, 404, 'another account');
  t.equal((await app.call('GET', path, { token: grace.access_token })).status, 404, 'not a participant');
  const own = await database.kysely
    .selectFrom('participants')
    .select('id')
    .where('conversation_id', '=', conversation)
    .where('actor_id', '=', vera.id)
    .executeTakeFirstOrThrow();
  const removed = await app.call(
    'DELETE',
    `/v1/messaging/conversations/${conversation}/participants/${own.id}`,
  );
  t.equal(removed.status, 200);
  t.equal((await app.call('GET', path, asVera)).status, 404, 'no longer a participant');
});

const NEWEST: CallOptions = { headers: { 'Service-Version': NEWEST_VERSION } };
const LINK = { kind: 'link', url: 'https://example.com/manual' };

function pathOf(conversation: string): string {
  return `/v1/messaging/conversations/${conversation}/messages`;
}

async function list(conversation: string, query = '', options: CallOptions = {}): Promise<Page> {
  return follow(`${pathOf(conversation)}?${query}`, options);
}

async function follow(url: string | null, options: CallOptions = {}): Promise<Page> {
  if (url === null) throw new Error('there is no such page');
  const { status, text, body } = await app.call<Page>('GET', url, options);
  if (status !== 200) throw new Error(`${status} ${text}`);
  const { page_info: info } = body;
  const flags = [info.next_page_url !== null, info.previous_page_url !== null];
  if (info.has_next_page !== flags[0] || info.has_prev_page !== flags[1]) {
    throw new Error(`flags that contradict the URLs: ${text}`);
  }
  return body;
}

/** Sends as ada unless `options` state otherwise. */
async function send(conversation: string, fields: object = {}, options: CallOptions = {}) {
  const { status, text, body } = await app.call<ChatMessage>('POST', pathOf(conversation), {
    token: ada.access_token,
    ...options,
    body: { body: 'ahoy', client_message_id: randomUUID(), ...fields },
  });
  if (status !== 201) throw new Error(`${status} ${text}`);
  return body;
}

/** Inserts a row that no request makes yet, at the end of the timeline. */
async function insertRow(
  conversation: string,
  row: { kind: 'system_event' | 'void'; status?: 'void'; visibility: 'internal' | 'system' } & {
    body?: string;
    author_id?: null;
  },
): Promise<string> {
  const id = newId('message');
  const { head } = await database.kysely
    .selectFrom('messages')
    .select((select) => select.fn.max('sequence').as('head'))
    .where('conversation_id', '=', conversation)
    .executeTakeFirstOrThrow();
  await database.kysely
    .insertInto('messages')
    .values({
      id,
      account_id: demo.account_id,
      conversation_id: conversation,
      sequence: (head ?? 0) + 1,
      status: 'sent',
      ...row,
    })
    .execute();
  return id;
}

function conversationOf(...actorIds: string[]): Promise<string> {
  return create(
    actorIds.map((actorId) => ({ type: 'user', actorId })),
    'internal',
  );
}

async function caseOf(name: string): Promise<string> {
  const { id } = await createCustomer(database, { accountId: demo.account_id, name });
  return create([{ type: 'customer', actorId: id }], 'customer');
}

async function create(participants: NewParticipant[], audience: 'internal' | 'customer'): Promise<string> {
  const { conversation } = await database.transaction((tx) =>
    createConversation(tx, { accountId: demo.account_id, type: 'group', audience, participants }),
  );
  return conversation.id;
}

/** A new conversation with messages 1 to `total`. */
async function filled(total: number): Promise<string> {
  const conversation = await conversationOf(ada.id);
  await Promise.all(Array.from({ length: total }, () => send(conversation)));
  return conversation;
}

function sequences({ data }: Page): number[] {
  return data.map(({ sequence }) => sequence!);
}

/** The only page of a list. */
function envelope(data: readonly ChatMessage[]): Page {
  return {
    object: 'list',
    page_info: { next_page_url: null, previous_page_url: null, has_next_page: false, has_prev_page: false },
    data,
  };
}

function upFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, n) => first + n);
}

function downFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, n) => first - n);
}

function shownActor(id: string, type: string, name: string, handle: string) {
  return { id, object: 'actor', type, name, handle, avatar_url: null, role: null };
}
