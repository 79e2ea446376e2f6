/**
 * Parts of a message that change without it: reactions, threads, pins (docs/contract.md#reactions
 * and behind).
 */

import { toEmoji } from '@parley/protocol/emoji.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Pin } from '@parley/protocol/resources/pin.ts';
import type { MessageReactions, Reaction } from '@parley/protocol/resources/reaction.ts';
import type { Thread } from '@parley/protocol/resources/thread.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { purgePrefix } from '../../src/features/compliance/purge.ts';
import { borrowTestApp, type CallAnswer, type Refusal, refusalOf } from '../support/app.ts';
import { Cases, user } from './cases.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const cases = new Cases(app);
const THUMB = '👍';
const NEWEST = { headers: { 'Service-Version': NEWEST_VERSION } };
const FORBIDDEN = '403 insufficient_permissions null';

t.test('an emoji has one form', async (t) => {
  const wrong: unknown[] = [];
  const sequences = ['👩‍❤️‍👨', '🏳️‍🌈', '👁️‍🗨️', '🕵🏽‍♂️', '🕵️‍♂️', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '🇩🇪', '👨‍👩‍👧‍👦', '🤷🏿‍♀️', '🏴‍☠️', '1️⃣', '*️⃣'];
  const known = [...sequences];
  const RGI = /^\p{RGI_Emoji}$/v;
  for (let point = 0; point < 0x1fbff; point += 1) {
    if (point >= 0xd800 && point < 0xe000) continue;
    const plain = String.fromCodePoint(point);
    known.push(...[plain, `${plain}\uFE0F`, `${plain}🏽`].filter((text) => RGI.test(text)));
  }
  for (const emoji of known) {
    for (const typed of [emoji, emoji.replaceAll('\uFE0F', '')]) {
      if (toEmoji(typed) !== emoji) wrong.push([typed, toEmoji(typed)]);
    }
  }
  t.strictSame(wrong, [], `${known.length} emojis`);
  t.ok(known.length > 1_000);
  t.equal(toEmoji('❤\uFE0E'), '❤\uFE0F', 'the selector of the plain form too');
  for (const none of ['a', '1', '', ' ', '👍👍', '👍 ', 'ok👍', '\u200D', '🇩', '<b>', '👍'.repeat(50)]) {
    t.equal(toEmoji(none), undefined, JSON.stringify(none));
  }
});

t.test('an actor reacts with one emoji once', async (t) => {
  const id = await cases.conversation('internal');
  const sent = await cases.sent(id);
  const own = { emoji: THUMB, count: 1, actor_ids: [grace.id], mine: true };
  for (let times = 0; times < 2; times += 1) {
    t.strictSame(await reacted(sent.id, THUMB), {
      object: 'message_reactions',
      message_id: sent.id,
      reactions: [own],
    });
  }
  await reacted(sent.id, '❤', ada.access_token);
  await reacted(sent.id, THUMB, ada.access_token);
  const heart = { emoji: '❤️', count: 1, actor_ids: [ada.id], mine: false };
  const both = { ...own, count: 2, actor_ids: [grace.id, ada.id] };
  t.strictSame(await shownOn(sent.id), [both, heart], 'in the order of the first use');
  t.strictSame(await shownOn(sent.id, ada.access_token), [both, { ...heart, mine: true }]);
  t.equal((await cases.read(sent.id)).updated_at, sent.updated_at, 'the message itself does not change');

  const taken = await ok<MessageReactions>('DELETE', reactionPath(sent.id, THUMB));
  t.strictSame(taken.reactions[0], { ...heart, count: 1 }, 'the thumb of ada came later');
  t.strictSame(taken.reactions[1], { ...own, actor_ids: [ada.id], mine: false });
  t.strictSame(await ok('DELETE', reactionPath(sent.id, THUMB)), taken, 'once more changes nothing');
  t.strictSame(await shownOn((await cases.sent(id)).id), [], 'a message without any');

  for (let pages = 0; pages < 3; pages += 1) {
    const page = await ok<List<ChatMessage>>(
      'GET',
      `/v1/messaging/conversations/${id}/messages?include[]=reactions`,
    );
    t.strictSame(
      page.data.find((message) => message.id === sent.id)?.reactions,
      taken.reactions,
      'on pages, kept ones too',
    );
  }
  await reacted(sent.id, '🎉');
  const again = await ok<List<ChatMessage>>(
    'GET',
    `/v1/messaging/conversations/${id}/messages?include[]=reactions`,
  );
  t.equal(again.data.at(-1)?.reactions?.length, 3, 'a kept page shows the newest reactions');
});

t.test('reactions of a message are listed in pages', async (t) => {
  const id = await cases.conversation('internal', user(vera.id));
  const sent = await cases.sent(id);
  for (const [token, emoji] of [
    [grace.access_token, THUMB],
    [ada.access_token, THUMB],
    [vera.access_token, THUMB],
    [ada.access_token, '🎉'],
  ] as const) {
    await reacted(sent.id, emoji, token);
  }
  const path = `/v1/messaging/messages/${sent.id}/reactions`;
  const rows: string[] = [];
  let next: string | null = `${path}?limit=1`;
  while (next !== null) {
    const page: List<Reaction> = await ok('GET', next);
    rows.push(...page.data.map(({ actor, emoji }) => `${actor.id} ${emoji}`));
    next = page.page_info.next_page_url;
  }
  t.strictSame(rows, [`${grace.id} 👍`, `${ada.id} 👍`, `${vera.id} 👍`, `${ada.id} 🎉`]);
  const party = await ok<List<Reaction>>('GET', `${path}?emoji=${encodeURIComponent('🎉')}`);
  t.match(party.data, [
    { object: 'reaction', message_id: sent.id, actor: { id: ada.id, name: 'Ada Lovelace' }, emoji: '🎉' },
  ]);
  t.equal(await refusal('GET', `${path}?emoji=x`), '400 parameter_invalid emoji');
});

t.test('an invalid reaction is refused', async (t) => {
  const id = await cases.conversation('internal', user(vera.id, 'viewer'));
  const sent = await cases.sent(id);
  for (const text of ['x', '👍👍', '1', '%20', '👍'.repeat(40)]) {
    t.equal(await refusal('PUT', reactionPath(sent.id, text)), '400 parameter_invalid emoji', text);
    t.equal(await refusal('DELETE', reactionPath(sent.id, text)), '400 parameter_invalid emoji', text);
  }
  t.equal(
    await refusal('PUT', `/v1/messaging/messages/${sent.id}/reactions/%F0%9F`),
    '400 invalid_format null',
  );
  t.equal(await refusal('PUT', reactionPath(sent.id, THUMB), vera.access_token), FORBIDDEN, 'viewers');
  t.equal(await refusal('DELETE', reactionPath(sent.id, THUMB), vera.access_token), FORBIDDEN);
  t.strictSame((await ok<List<Reaction>>('GET', `${pathOf(sent.id)}/reactions`, vera.access_token)).data, []);
  const aside = await cases.sent(await cases.conversation('internal'));
  const missing = '404 resource_not_found id';
  for (const method of ['PUT', 'DELETE']) {
    t.equal(await refusal(method, reactionPath(aside.id, THUMB), vera.access_token), missing, 'another one');
    t.equal(await refusal(method, reactionPath(newId('message'), THUMB)), missing);
  }
  const { id: caseId } = await cases.open();
  const draft = await cases.draft(caseId);
  t.equal(await refusal('PUT', reactionPath(draft.id, THUMB)), '409 resource_conflict null', 'a draft');
  const key = { token: grace.access_token, headers: { 'Idempotency-Key': newId('message') } };
  const [first, replayed] = [await put(sent.id, THUMB, key), await put(sent.id, THUMB, key)];
  t.equal(first.text, replayed.text);
  t.equal(replayed.headers.get('Idempotent-Replayed'), 'true');
});

t.test('twenty kinds, also where they arrive at once', async (t) => {
  const sent = await cases.sent(await cases.conversation('internal'));
  const kinds = Array.from({ length: 30 }, (_, index) => String.fromCodePoint(0x1f600 + index));
  const answers = await Promise.all(
    kinds.map((emoji, index) =>
      put(sent.id, emoji, { token: index % 2 ? ada.access_token : grace.access_token }),
    ),
  );
  const refused = answers.filter(({ status }) => status !== 200);
  t.equal(refused.length, 10);
  for (const answer of refused) {
    t.equal(refusalOf(answer as CallAnswer<Refusal>), '403 limit_exceeded emoji');
    t.match(answer.body, { error: { quota: { limit: 20, used: 20, reset_at: null } } });
  }
  const shown = await shownOn(sent.id);
  t.equal(shown.length, 20);
  t.ok(shown.every(({ count }) => count === 1));
  const other = shown[0]!.actor_ids[0] === ada.id ? grace.access_token : ada.access_token;
  await reacted(sent.id, shown[0]!.emoji, other);
  t.equal((await shownOn(sent.id))[0]!.count, 2, 'a kind that is there can be used by others');
  await ok('DELETE', reactionPath(sent.id, shown[1]!.emoji), tokenOf(shown[1]!.actor_ids[0]!));
  await reacted(sent.id, '🦀');
});

t.test('customers react to what they see, and learn of no member of the team', async (t) => {
  const { id, customerId, customerToken } = await cases.open();
  const note = await cases.sent(id);
  const reply = await cases.sent(id, { audience: 'customer' });
  t.equal(await refusal('PUT', reactionPath(note.id, THUMB), customerToken), '404 resource_not_found id');
  await reacted(reply.id, THUMB);
  await reacted(reply.id, '🎉', ada.access_token);
  const answer = await put(reply.id, THUMB, { token: customerToken });
  t.strictSame((answer.body as unknown as MessageReactions).reactions, [
    { emoji: THUMB, count: 2, actor_ids: [customerId], mine: true },
    { emoji: '🎉', count: 1, actor_ids: [], mine: false },
  ]);
  const list = await put(reply.id, '', { token: customerToken }, 'GET', `${pathOf(reply.id)}/reactions`);
  for (const secret of [grace.id, ada.id, 'Hopper', 'Lovelace']) {
    t.notOk(answer.text.includes(secret), secret);
    t.notOk(list.text.includes(secret), secret);
  }
  t.strictSame(
    (list.body as unknown as List<Reaction>).data.map(({ actor }) => actor.id),
    [customerId],
  );
  t.strictSame(
    (await shownOn(reply.id)).map(({ actor_ids }) => actor_ids),
    [[grace.id, customerId], [ada.id]],
  );
});

t.test('actors that are blocked show nothing new', async (t) => {
  const { id, customerId, customerToken } = await cases.open();
  const reply = await cases.sent(id, { audience: 'customer' });
  await reacted(reply.id, THUMB, customerToken);
  await ok('POST', `/v1/messaging/actors/${customerId}/actions/block`, ada.access_token);
  t.equal(await refusal('PUT', reactionPath(reply.id, '🎉'), customerToken), FORBIDDEN);
  await ok('DELETE', reactionPath(reply.id, THUMB), customerToken);
  t.strictSame(await shownOn(reply.id), [], 'and may take back what they have shown');
});

t.test('a message that is deleted or redacted loses its reactions', async (t) => {
  const id = await cases.conversation('internal');
  const [first, second] = [await cases.sent(id), await cases.sent(id)];
  for (const sent of [first, second]) await reacted(sent.id, THUMB);
  await ok('DELETE', pathOf(first.id));
  await ok('POST', `${pathOf(second.id)}/actions/redact`, ada.access_token, { reason: 'a name' });
  for (const sent of [first, second]) {
    t.strictSame(await shownOn(sent.id), []);
    t.equal(await refusal('PUT', reactionPath(sent.id, THUMB)), '410 resource_gone id');
  }
  const left = await database.kysely
    .selectFrom('reactions')
    .select('emoji')
    .where('conversation_id', '=', id)
    .execute();
  t.strictSame(left, []);

  const raced = await cases.sent(id);
  await Promise.all([
    ok('DELETE', pathOf(raced.id)),
    ...['👍', '🎉', '🦀', '🐙', '🐬'].map((emoji) => put(raced.id, emoji, { token: ada.access_token })),
  ]);
  t.strictSame(await shownOn(raced.id), [], 'also where they arrive at once');
});

t.test('threads: replies are listed and counted as the reader sees them', async (t) => {
  const { id, customerToken } = await cases.open();
  const question = await cases.sent(id, { body: 'Where?' }, { token: customerToken });
  const reply = (fields: object = {}, token = grace.access_token) =>
    cases.sent(id, { reply_to_message_id: question.id, ...fields }, { token, ...NEWEST });
  const empty = { object: 'thread', message_id: question.id, reply_count: 0, last_reply: null, unread: 0 };
  t.strictSame(await threadOf(question.id), empty);

  const [open, note, own] = [
    await reply({ audience: 'customer' }),
    await reply({ body: 'between ourselves' }),
    await reply({}, customerToken),
  ];
  await cases.sent(id, { reply_to_message_id: note.id });
  t.equal(open.reply_to_id, question.id, 'a message names what it replies to');
  t.strictSame(await repliesTo(question.id), [own.id, note.id, open.id]);
  const expected = {
    object: 'thread',
    message_id: question.id,
    reply_count: 3,
    last_reply: {
      id: own.id,
      sequence: own.sequence,
      sender_id: own.sender_id,
      author_id: own.sender_id,
      at: own.created_at,
    },
  };
  t.strictSame(await threadOf(question.id), { ...expected, unread: 1 });
  t.strictSame(await threadOf(question.id, ada.access_token), { ...expected, unread: 3 });

  t.strictSame(await repliesTo(question.id, customerToken), [own.id, open.id]);
  t.strictSame(await threadOf(question.id, customerToken), {
    ...expected,
    reply_count: 2,
    unread: 1,
    last_reply: { ...expected.last_reply, author_id: null },
  });
  const seen = await put(open.id, '', { token: customerToken }, 'GET', pathOf(open.id));
  t.match(seen.body, { reply_to_id: null }, 'what the team replies to may be a note');

  await ok('DELETE', pathOf(note.id));
  t.strictSame(await repliesTo(question.id), [own.id, open.id], 'deleted replies are not listed');
  await ok('DELETE', pathOf(open.id));
  const { reply_count, last_reply } = await threadOf(question.id);
  t.strictSame([reply_count, last_reply?.id], [1, own.id]);
  t.strictSame(await repliesTo(question.id, customerToken), [own.id]);

  for (let pages = 0; pages < 3; pages += 1) {
    const page = await ok<List<ChatMessage>>(
      'GET',
      `/v1/messaging/conversations/${id}/messages?include[]=thread&include[]=reactions`,
    );
    t.strictSame(page.data.at(-1)?.thread, await threadOf(question.id), 'on pages, kept ones too');
  }
  const older = { token: grace.access_token, headers: { 'Service-Version': '1.1.harbor' } };
  const page = `/v1/messaging/conversations/${id}/messages`;
  const { body: old } = await app.call<List<ChatMessage>>('GET', page, older);
  t.notOk('thread' in old.data[0]!, 'callers of an older version lack the fields');
  for (const newer of ['thread', 'reactions']) {
    const refused = await app.call<Refusal>('GET', `${page}?include[]=${newer}`, older);
    t.equal(refusalOf(refused), '400 parameter_invalid include[]', 'and cannot ask for them');
  }
  t.equal(await refusal('GET', `${pathOf(newId('message'))}/replies`), '404 resource_not_found id');
  t.equal(await refusal('GET', `${pathOf(question.id)}/replies?limit=0`), '400 parameter_invalid limit');
});

t.test('threads are paged in both directions', async (t) => {
  const id = await cases.conversation('internal');
  const root = await cases.sent(id);
  const replies = [];
  for (let number = 0; number < 5; number += 1) {
    replies.unshift((await cases.sent(id, { reply_to_message_id: root.id })).id);
    await cases.sent(id);
  }
  const first = await ok<List<ChatMessage>>('GET', `${pathOf(root.id)}/replies?limit=2`);
  const second = await ok<List<ChatMessage>>('GET', first.page_info.next_page_url!);
  t.strictSame(
    [...first.data, ...second.data].map((reply) => reply.id),
    replies.slice(0, 4),
  );
  const back = await ok<List<ChatMessage>>('GET', second.page_info.previous_page_url!);
  t.strictSame(back.data, first.data);
});

t.test('threads: a position of their own', async (t) => {
  const id = await cases.conversation('internal');
  const root = await cases.sent(id);
  const reply = () => cases.sent(id, { reply_to_message_id: root.id });
  const [first, second, third] = [await reply(), await reply(), await reply()];
  const unread = async () => (await threadOf(root.id, ada.access_token)).unread;
  t.equal(await unread(), 3);
  const marked = await ok<Thread>('POST', markPath(root.id), ada.access_token, { sequence: second.sequence });
  t.strictSame(marked, await threadOf(root.id, ada.access_token));
  t.equal(marked.unread, 1);
  await ok('POST', markPath(root.id), ada.access_token, { sequence: first.sequence });
  t.equal(await unread(), 1, 'it never moves back');
  await ok('DELETE', pathOf(third.id));
  t.equal(await unread(), 0, 'a tombstone does not count');
  const fourth = await reply();
  t.equal(await unread(), 1);
  await ok('POST', `/v1/messaging/conversations/${id}/actions/mark-read`, ada.access_token, {
    sequence: fourth.sequence,
  });
  t.equal(await unread(), 0, 'what was read in the conversation was read in the thread');

  const beyond = { sequence: fourth.sequence! + 1 };
  t.equal(
    await refusal('POST', markPath(root.id), ada.access_token, beyond),
    '422 validation_failed sequence',
  );
  t.equal(await refusal('POST', markPath(root.id), ada.access_token, {}), '400 missing_field sequence');
  t.equal(
    await refusal('POST', markPath(root.id), ada.access_token, { sequence: -1 }),
    '422 validation_failed sequence',
  );
  const admin = await app.call('POST', markPath(root.id), {
    headers: { 'Service-Version': NEWEST_VERSION },
    body: { sequence: 1 },
  });
  t.equal(refusalOf(admin), '409 resource_conflict null', 'a key has no position');
});

t.test('a message can be pinned and unpinned', async (t) => {
  const { id, customerToken } = await cases.open(user(vera.id, 'viewer'));
  const [first, second] = [await cases.sent(id), await cases.sent(id, { audience: 'customer' })];
  const pinned = await ok<Pin>('POST', pinPath(first.id));
  t.match(pinned, { object: 'pin', message_id: first.id, pinned_by: grace.id, message: { id: first.id } });
  t.strictSame(await ok('POST', pinPath(first.id), ada.access_token), forReader(pinned), 'once');
  await ok('POST', pinPath(second.id), ada.access_token);
  const pins = () => ok<List<Pin>>('GET', `/v1/messaging/conversations/${id}/pins?include[]=sender`);
  t.match((await pins()).data, [
    { message_id: second.id, pinned_by: ada.id, message: { sender: { name: 'Customer Service' } } },
    { message_id: first.id, pinned_at: pinned.pinned_at },
  ]);
  const unpinned = await ok<Pin>('POST', pinPath(first.id, 'unpin'));
  t.match(unpinned, { message_id: first.id, pinned_by: null, pinned_at: null });
  t.strictSame(await ok('POST', pinPath(first.id, 'unpin')), unpinned, 'once');
  await ok('DELETE', pathOf(second.id));
  t.strictSame((await pins()).data, [], 'a deleted message loses its pin');

  t.equal(await refusal('POST', pinPath(second.id)), '410 resource_gone id');
  t.equal(await refusal('POST', pinPath((await cases.draft(id)).id)), '409 resource_conflict null');
  t.equal(await refusal('POST', pinPath(newId('message'))), '404 resource_not_found id');
  for (const action of ['pin', 'unpin'] as const) {
    t.equal(await refusal('POST', pinPath(first.id, action), vera.access_token), FORBIDDEN, 'viewers');
    t.equal(await refusal('POST', pinPath(first.id, action), customerToken), FORBIDDEN, 'customers');
  }
  t.equal(await refusal('GET', `/v1/messaging/conversations/${id}/pins`, customerToken), FORBIDDEN);
  const more = await Promise.all(Array.from({ length: 103 }, () => cases.sent(id)));
  const answers = await Promise.all(more.map((sent) => ask('POST', pinPath(sent.id), ada.access_token)));
  const refused = answers.filter(({ status }) => status !== 200);
  t.strictSame(refused.map(refusalOf), Array(3).fill('403 limit_exceeded null'), 'a hundred, also at once');
});

t.test('a purge removes all that belongs to a message', async (t) => {
  const id = await cases.conversation('internal');
  const sent = await cases.sent(id);
  await reacted(sent.id, THUMB);
  await ok('POST', pinPath(sent.id));
  await ok('POST', markPath(sent.id), grace.access_token, { sequence: 1 });
  const left = async () => {
    const counts = [];
    for (const table of ['reactions', 'reacted_messages', 'pins', 'thread_reads'] as const) {
      const rows = await database.kysely
        .selectFrom(table)
        .select('message_id')
        .where('message_id', '=', sent.id)
        .execute();
      counts.push(rows.length);
    }
    return counts;
  };
  t.strictSame(await left(), [1, 1, 1, 1]);
  await database.transaction((tx) => purgePrefix(tx, id, 1));
  t.strictSame(await left(), [0, 0, 0, 0]);
});

function pinPath(messageId: string, action: 'pin' | 'unpin' = 'pin'): string {
  return `${pathOf(messageId)}/actions/${action}`;
}

/** Only its author sees the client's own key of a message. */
function forReader(pin: Pin): Pin {
  return { ...pin, message: { ...pin.message, client_message_id: null } };
}

function pathOf(messageId: string): string {
  return `/v1/messaging/messages/${messageId}`;
}

function reactionPath(messageId: string, emoji: string): string {
  return `${pathOf(messageId)}/reactions/${encodeURIComponent(emoji)}`;
}

function markPath(messageId: string): string {
  return `${pathOf(messageId)}/actions/mark-thread-read`;
}

function tokenOf(actorId: string): string {
  return actorId === ada.id ? ada.access_token : grace.access_token;
}

function put(
  messageId: string,
  emoji: string,
  { token, headers = {} }: { token: string; headers?: Record<string, string> },
  method = 'PUT',
  path = reactionPath(messageId, emoji),
) {
  return app.call(method, path, { token, headers: { 'Service-Version': NEWEST_VERSION, ...headers } });
}

async function reacted(
  messageId: string,
  emoji: string,
  token = grace.access_token,
): Promise<MessageReactions> {
  return ok('PUT', reactionPath(messageId, emoji), token);
}

async function shownOn(messageId: string, token = grace.access_token) {
  return (await ok<ChatMessage>('GET', `${pathOf(messageId)}?include[]=reactions`, token)).reactions!;
}

async function threadOf(messageId: string, token = grace.access_token): Promise<Thread> {
  return (await ok<ChatMessage>('GET', `${pathOf(messageId)}?include[]=thread`, token)).thread!;
}

async function repliesTo(messageId: string, token = grace.access_token): Promise<string[]> {
  const list = await ok<List<ChatMessage>>('GET', `${pathOf(messageId)}/replies`, token);
  return list.data.map(({ id }) => id);
}

/** As grace by default. */
async function ok<Body = unknown>(
  method: string,
  path: string,
  token = grace.access_token,
  body?: object,
): Promise<Body> {
  const answer = await ask(method, path, token, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body as Body;
}

async function refusal(method: string, path: string, token = grace.access_token, body?: object) {
  return refusalOf(await ask(method, path, token, body));
}

function ask(method: string, path: string, token: string, body?: object): Promise<CallAnswer<Refusal>> {
  const headers = { 'Service-Version': NEWEST_VERSION };
  return app.call(method, path, { token, headers, ...(body !== undefined && { body }) });
}
