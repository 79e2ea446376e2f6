/**
 * One message over HTTP: reading, editing, deleting, canceling, its outcome
 * (docs/contract.md#editing-and-deleting).
 */

import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { AvailableTool } from '@parley/protocol/resources/available-tool.ts';
import type { ChatMessage, MessageRevision } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { ConversationFile } from '@parley/protocol/resources/conversation-file.ts';
import type { Notification, NotificationSummary } from '@parley/protocol/resources/notification.ts';
import { covers, NEWEST_VERSION, VERSIONS } from '@parley/protocol/versions.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { createdAgent } from '../agents/bodies.ts';
import { Client } from '../gateway/fixture.ts';
import { borrowTestApp, type CallAnswer, type CallOptions, type Refusal, refusalOf } from '../support/app.ts';
import { hastenJobs } from '../support/hasten-jobs.ts';
import { until } from '../support/until.ts';
import { Cases, message, shownActor, user } from './cases.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const cases = new Cases(app);

const PREVIEW = { headers: { 'Service-Version': '1.2.harbor' } };
const GRACE = shownActor(grace.id, 'user', 'Grace Hopper', grace.email);
const LINK = { kind: 'link', url: 'https://example.com/manual' };
const asAda = { token: ada.access_token };
const asGrace = () => ({ token: grace.access_token });
const NEIGHBOUR = {
  token: demo.other_account.api_key,
  headers: { 'Service-Account': demo.other_account.account_id },
};
/** Only its author sees the client's own key of a message. */
const toOthers = (sent: ChatMessage): ChatMessage => ({ ...sent, client_message_id: null });
const NOT_FOUND = '404 resource_not_found id';
const FORBIDDEN = '403 insufficient_permissions null';
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();

t.test('the files of a conversation, newest first, to those who see their messages', async (t) => {
  const { id, customerToken } = await cases.open();
  const path = `/v1/messaging/conversations/${id}/files`;
  const attach = async (filename: string, fields: object = {}) =>
    cases.sent(id, {
      attachments: [{ kind: 'file', s3_key: await cases.upload(filename) }, LINK],
      ...fields,
    });
  const files = async (query = '', options: CallOptions = {}) => {
    const { status, text, body } = await app.call<List<ConversationFile>>('GET', `${path}?${query}`, {
      token: grace.access_token,
      ...PREVIEW,
      ...options,
    });
    if (status !== 200) throw new Error(`${status} ${text}`);
    return body;
  };
  const names = ({ data }: List<ConversationFile>) => data.map(({ filename }) => filename);
  t.strictSame((await files()).data, []);

  const note = await attach('note.txt');
  const reply = await attach('reply.txt', { audience: 'customer' });
  const deleted = await attach('deleted.txt', { audience: 'customer' });
  const redacted = await attach('redacted.txt');
  await attach('draft.txt', { mode: 'draft', channel: 'message' });
  const due = await attach('due.txt', { scheduled_at: TOMORROW });
  t.strictSame(names(await files()), ['redacted.txt', 'deleted.txt', 'reply.txt', 'note.txt']);
  await app.call('DELETE', `/v1/messaging/messages/${deleted.id}`);
  await app.call('POST', `/v1/messaging/messages/${redacted.id}/actions/redact`, {
    body: { reason: 'a test' },
    ...PREVIEW,
  });
  const { data } = await files();
  const [newest] = data;
  t.strictSame(names({ data } as List<ConversationFile>), ['reply.txt', 'note.txt']);
  t.strictSame(newest, {
    id: newest!.id,
    object: 'conversation_file',
    kind: 'file',
    filename: 'reply.txt',
    content_type: 'text/plain',
    size_bytes: 2,
    url: newest!.url,
    removed_at: null,
    message_id: reply.id,
    sequence: reply.sequence,
    sender: newest!.sender,
    sent_at: reply.created_at,
  });
  t.match(newest!.sender, { type: 'group', name: 'Customer Service' });
  t.equal(await (await fetch(newest!.url!)).text(), 'hi');
  t.strictSame(names(await files('', { token: customerToken })), ['reply.txt'], 'no notes for a customer');
  t.equal((await cases.act('send-now', due.id, PREVIEW)).status, 200);
  const first = await files('limit=1');
  t.strictSame(names(first), ['due.txt'], 'once it is sent');
  const second = await app.call<List<ConversationFile>>('GET', first.page_info.next_page_url!, PREVIEW);
  t.strictSame(names(second.body), ['reply.txt']);
  const back = await app.call<List<ConversationFile>>(
    'GET',
    second.body.page_info.previous_page_url!,
    PREVIEW,
  );
  t.strictSame(names(back.body), ['due.txt']);

  await database.kysely
    .updateTable('attachments')
    .set({ s3_key: null, removed_at: '2026-01-02T03:04:05.000006Z' })
    .where('message_id', '=', note.id)
    .execute();
  const removed = (await files()).data.at(-1);
  t.strictSame([removed?.filename, removed?.url], ['note.txt', null], 'its name stays');
  t.equal(removed?.removed_at, '2026-01-02T03:04:05.000006Z');

  const { id: strange } = await cases.open();
  const refusals: [what: string, path: string, options: CallOptions, expected: string][] = [
    ['another case', `/v1/messaging/conversations/${strange}/files`, { token: customerToken }, NOT_FOUND],
    ['not a member', path, { token: vera.access_token }, NOT_FOUND],
    ['another page', `${path}?page=2`, {}, '400 parameter_unknown page'],
    ['a limit', `${path}?limit=101`, {}, '400 parameter_invalid limit'],
    ['a kind', `${path}?kind=image`, {}, '400 parameter_unknown kind'],
  ];
  for (const [what, path, options, expected] of refusals) {
    t.equal(refusalOf(await app.call('GET', path, { ...PREVIEW, ...options })), expected, what);
  }
  const elsewhere = { ...NEIGHBOUR, headers: { ...NEIGHBOUR.headers, ...PREVIEW.headers } };
  t.equal(refusalOf(await app.call('GET', path, elsewhere)), NOT_FOUND, 'another account');
});

t.test('GET: the message as it was sent, with the requested expansions', async (t) => {
  const { id, customerToken } = await cases.open();
  const question = await cases.sent(id, { body: 'Where?' }, { token: customerToken });
  const answer = await cases.sent(id, {
    audience: 'customer',
    body: 'There.',
    reply_to_message_id: question.id,
    attachments: [LINK],
    link_resource_type: 'actor',
    link_resource_id: grace.id,
  });
  t.strictSame(await cases.read(answer.id), answer);

  const all = ['conversation', 'sender', 'author', 'attachments', 'reply_to', 'resource', 'agent_run'];
  const shown = await cases.read(answer.id, all.map((name) => `include[]=${name}`).join('&'));
  const [file] = shown.attachments!;
  const { conversation, sender } = shown;
  t.strictSame(shown, {
    ...answer,
    conversation: {
      id,
      object: 'conversation',
      type: 'group',
      audience: 'customer',
      title: 'Pier',
      workflow_status: 'waiting_external',
      group: null,
      status: 'active',
      legal_hold: 'released',
      assignee: null,
      participants: null,
      topic: null,
      unread: 1,
      last_message_at: answer.created_at,
      last_message: null,
      created_at: conversation?.created_at,
      updated_at: conversation?.updated_at,
    },
    sender: { ...shownActor(sender!.id, 'group', 'Customer Service', null) },
    author: GRACE,
    attachments: [
      {
        id: file?.id,
        object: 'message_attachment',
        kind: 'link',
        filename: null,
        content_type: null,
        size_bytes: null,
        url: LINK.url,
        resource: null,
        created_at: answer.created_at,
      },
    ],
    reply_to: toOthers(question),
    resource: { id: grace.id, object: 'entity', type: 'actor', name: 'Grace Hopper', handle: grace.email },
  });
  for (const name of all) {
    const one = await cases.read(answer.id, `include[]=${name}`);
    t.strictSame(one, { ...answer, [name]: shown[name as keyof ChatMessage] }, `${name} alone`);
  }
  const plain = await cases.read(question.id, 'include[]=reply_to&include[]=attachments&include[]=resource');
  t.strictSame(plain, { ...toOthers(question), attachments: [] }, 'a message without any of it');
  const page = await listed(id, 'include[]=conversation&include[]=reply_to&limit=1');
  t.strictSame(page, [{ ...answer, conversation, reply_to: toOthers(question) }], 'on a page as well');
});

t.test('forward: the content goes on as a message of the caller, with its files', async (t) => {
  const source = await cases.conversation('internal');
  const { id: target, customerToken } = await cases.open();
  const s3_key = await cases.upload('list.txt');
  const sent = await cases.sent(source, {
    body: 'between ourselves',
    attachments: [{ kind: 'file', s3_key }, LINK],
    link_resource_type: 'actor',
    link_resource_id: ada.id,
  });
  // The file is too old to be attached anew.
  await database.kysely
    .updateTable('uploads')
    .set({ created_at: '2026-01-01T00:00:00Z' })
    .where('s3_key', '=', s3_key)
    .execute();
  const forward = (fields: object = {}, options: CallOptions = {}, id = sent.id) =>
    app.call<ChatMessage & Refusal>(
      'POST',
      `/v1/messaging/messages/${id}/actions/forward?include[]=attachments&include[]=resource`,
      {
        token: ada.access_token,
        ...PREVIEW,
        ...options,
        body: { conversation_id: target, client_message_id: newId('message'), ...fields },
      },
    );
  const key = { client_message_id: newId('message') };
  const { status, body: copy } = await forward({ ...key, body: 'Look:' });
  t.equal(status, 201);
  t.match(copy, {
    body: 'Look:\n\nbetween ourselves',
    author_id: ada.id,
    visibility: 'internal',
    status: 'sent',
    attachments: [
      { kind: 'file', filename: 'list.txt' },
      { kind: 'link', url: LINK.url },
    ],
    resource: { id: ada.id },
  });
  t.equal((await forward({ ...key, body: 'other words' })).body.id, copy.id, 'once for each key');
  const replay = { ...asAda, headers: { ...PREVIEW.headers, 'Idempotency-Key': newId('message') } };
  t.equal((await forward(key, replay)).text, (await forward(key, replay)).text);

  const outside = await forward({ audience: 'customer' });
  t.match(outside.body, { visibility: 'external', body: 'between ourselves' });
  const seen = await app.call<List<ChatMessage>>('GET', `/v1/messaging/conversations/${target}/messages`, {
    token: customerToken,
  });
  t.strictSame(
    seen.body.data.map((message) => message.id),
    [outside.body.id],
    'a customer reads what was meant for it, and no other',
  );

  await app.call('DELETE', `/v1/messaging/messages/${sent.id}`, { token: grace.access_token });
  t.equal(
    await (await fetch(copy.attachments![0]!.url!)).text(),
    'hi',
    'the file outlives its first message',
  );
  t.equal(refusalOf(await forward()), '410 resource_gone id');
  const again = await forward({ conversation_id: source }, asGrace(), copy.id);
  t.match(
    again.body,
    { attachments: [{ filename: 'list.txt' }, { kind: 'link' }] },
    'and goes on from there',
  );
  await app.call('DELETE', `/v1/messaging/messages/${copy.id}`, asAda);
  await app.call('DELETE', `/v1/messaging/messages/${outside.body.id}`, asAda);
  t.equal((await fetch(again.body.attachments![0]!.url!)).status, 200);
  await app.call('DELETE', `/v1/messaging/messages/${again.body.id}`, { token: grace.access_token });
  t.equal((await fetch(again.body.attachments![0]!.url!)).status, 410, 'until the last one goes');

  const other = await cases.sent(source, { body: 'x'.repeat(40_000) });
  const [quiet, left] = [await cases.conversation('internal'), await cases.conversation('internal')];
  await cases.setParticipant(quiet, grace.id, { role: 'viewer' });
  await cases.setParticipant(left, grace.id, { membership: 'removed' });
  const hidden = await cases.sent(left, {}, asAda);
  for (const [expected, fields, options, id] of [
    ['422 validation_failed body', { body: 'more' }, {}, other.id],
    ['409 resource_conflict null', {}, {}, (await cases.draft(target)).id],
    ['404 resource_not_found id', {}, {}, newId('message')],
    ['404 resource_not_found id', {}, asGrace(), hidden.id],
    ['404 resource_not_found conversation_id', { conversation_id: left }, asGrace(), other.id],
    [FORBIDDEN, { conversation_id: quiet }, asGrace(), other.id],
    [FORBIDDEN, {}, { token: customerToken }, outside.body.id],
    ['422 validation_failed audience', { conversation_id: source, audience: 'customer' }, {}, other.id],
    ['400 missing_field conversation_id', { conversation_id: undefined }, {}, other.id],
    ['400 missing_field client_message_id', { client_message_id: undefined }, {}, other.id],
  ] as const) {
    t.equal(refusalOf(await forward(fields, options, id)), expected, JSON.stringify(fields));
  }
});

t.test('PATCH of a message changes its mentions', async (t) => {
  const id = await cases.conversation('internal', user(vera.id));
  await database.kysely
    .updateTable('participants')
    .set({ notifications: 'muted' })
    .where('conversation_id', '=', id)
    .where('actor_id', '=', vera.id)
    .execute();
  const sent = await cases.sent(id, { body: 'see here' });
  const notice = async (actor: { access_token: string }) => {
    const path = `/v1/messaging/notifications?limit=100&include[]=resource`;
    const { body } = await app.call<List<Notification>>('GET', path, {
      token: actor.access_token,
      ...PREVIEW,
    });
    const { category, title, status } = body.data.find(({ message_id }) => message_id === sent.id) ?? {};
    return category === undefined ? 'none' : `${category} ${status} ${title}`;
  };
  const becomes = (actor: { access_token: string }, expected: string) =>
    until(async () => (await notice(actor)) === expected, { what: expected });
  const mention = async (mentions: readonly string[]) => {
    const answer = await edit(sent.id, { mentions }, { ...asGrace(), ...PREVIEW });
    return message(answer, 200);
  };
  const [ORDINARY, MENTION] = ['Grace Hopper in Pier', 'Grace Hopper mentioned you in Pier'];
  await becomes(ada, `chat.message unseen ${ORDINARY}`);
  t.equal(await notice(vera), 'none', 'she has muted it');

  const mentioned = await mention([ada.id, vera.id]);
  t.match(mentioned, { mentions: [ada.id, vera.id], body: 'see here', edited_by: grace.id });
  await becomes(ada, `chat.mention unseen ${MENTION}`);
  await becomes(vera, `chat.mention unseen ${MENTION}`);
  t.strictSame(await mention([ada.id, vera.id]), mentioned, 'an edit that changes nothing leaves no trace');
  await mention([vera.id]);
  await becomes(ada, `chat.message unseen ${ORDINARY}`);
  await mention([]);
  await becomes(vera, 'none');
  await mention([vera.id]);
  await becomes(vera, `chat.mention unseen ${MENTION}`);
  const reworded = message(await edit(sent.id, { body: '@ada.lovelace' }, { ...asGrace(), ...PREVIEW }), 200);
  t.strictSame(reworded.mentions, [vera.id], 'the text alone changes none that were sent');

  for (const [fields, options, expected] of [
    [{ mentions: [newId('actor')] }, PREVIEW, '422 validation_failed mentions[0]'],
    [{ mentions: Array(51).fill(ada.id) }, PREVIEW, '422 validation_failed mentions'],
    [{ mentions: [] }, {}, '422 validation_failed mentions'],
    [{ mentions: [] }, { ...PREVIEW, ...asAda }, FORBIDDEN],
  ] as const) {
    const answer = await edit(sent.id, fields, { ...asGrace(), ...options });
    t.equal(refusalOf(answer), expected, JSON.stringify(fields));
  }
  const { id: caseId, customerToken } = await cases.open();
  const reply = await cases.sent(caseId, { audience: 'customer', mentions: [ada.id] });
  const seen = await app.call<ChatMessage>('GET', `/v1/messaging/messages/${reply.id}`, {
    token: customerToken,
    ...PREVIEW,
  });
  t.equal(seen.body.mentions, null, 'customers do not learn of them');
});

t.test('PATCH of a message changes its attachments', async (t) => {
  const id = await cases.conversation('internal');
  const s3_key = await cases.upload('list.txt');
  const sent = await cases.sent(id, { body: 'see', attachments: [{ kind: 'file', s3_key }, LINK] });
  const change = (attachments: readonly object[], fields: object = {}, options: CallOptions = {}) =>
    edit(
      sent.id,
      { attachments, ...fields },
      { ...asGrace(), ...PREVIEW, ...options, query: 'include[]=attachments' },
    );
  const now = async () => (await cases.read(sent.id, 'include[]=attachments')).attachments!;
  const [file, link] = await now();
  const same = await change([{ id: file!.id }, { id: link!.id }]);
  t.equal(message(same, 200).updated_at, sent.updated_at, 'an edit that changes nothing leaves no trace');
  const other = { kind: 'link', url: 'https://example.com/other' };
  const changed = message(await change([other, { id: link!.id }]), 200);
  t.match(changed, {
    attachments: [
      { kind: 'link', url: other.url },
      { id: link!.id, created_at: link!.created_at },
    ],
    edited_by: grace.id,
  });
  t.equal(changed.attachments!.length, 2);
  t.equal((await fetch(file!.url!)).status, 410, 'the links of what was removed end');
  t.equal(
    refusalOf(await change([{ kind: 'file', s3_key }])),
    '404 resource_not_found attachments[0].s3_key',
  );
  const added = message(
    await change([{ id: link!.id }, { kind: 'file', s3_key: await cases.upload('b.txt') }]),
    200,
  );
  t.match(added.attachments, [{ id: link!.id }, { kind: 'file', filename: 'b.txt' }]);

  for (const [attachments, fields, expected] of [
    [[{ id: newId('attachment') }], {}, '404 resource_not_found attachments[0].id'],
    [[{ id: link!.id }, { id: link!.id }], {}, '422 validation_failed attachments[1].id'],
    [[{ id: link!.id, url: other.url }], {}, '422 validation_failed attachments[0].url'],
    [[{ url: other.url }], {}, '400 missing_field attachments[0].kind'],
    [[{ id: link!.id }, { kind: 'link' }], {}, '400 missing_field attachments[1].url'],
    [
      [{ id: link!.id }, { kind: 'link', url: 'javascript:1' }],
      {},
      '422 validation_failed attachments[1].url',
    ],
    [
      [{ id: link!.id }, { kind: 'resource', resource_type: 'entity', resource_id: newId('entity') }],
      {},
      '404 resource_not_found attachments[1].resource_id',
    ],
    [Array(21).fill(other), {}, '422 validation_failed attachments'],
    [[], { body: '' }, '400 missing_field body'],
  ] as const) {
    t.equal(refusalOf(await change(attachments, fields)), expected, JSON.stringify(attachments));
  }
  t.equal(refusalOf(await change([], {}, asAda)), FORBIDDEN);
  const left = (await now()).map((one) => one.id);
  t.strictSame(
    left,
    added.attachments!.map((one) => one.id),
    'nothing of that has changed it',
  );

  await cases.set(id, { legal_hold: 'held' });
  t.equal(refusalOf(await change([{ id: link!.id }])), '409 resource_conflict attachments');
  const kept = added.attachments!.map((one) => one.id);
  message(await change([...kept.map((id) => ({ id })), other], { mentions: [ada.id] }), 200);
  message(await change([...(await now()).map(({ id }) => ({ id })).reverse()]), 200);
  const revised = await revisionsOf(sent.id, { token: ada.access_token });
  t.match(revised.data, [
    { revision: 2, mentions: [ada.id], attachment_ids: [kept[0], kept[1], String] },
    { revision: 1, mentions: [], attachment_ids: kept },
  ]);
  await cases.set(id, { legal_hold: 'released' });
  const bare = message(await change([]), 200);
  t.strictSame(bare.attachments, []);
  const [{ has_attachments }] = (await database.kysely
    .selectFrom('messages')
    .select('has_attachments')
    .where('id', '=', sent.id)
    .execute()) as [{ has_attachments: boolean }];
  t.equal(has_attachments, false);
});

t.test('GET: what the customer sees', async (t) => {
  const { id, customerToken } = await cases.open();
  const note = await cases.sent(id);
  const draft = await cases.draft(id);
  const reply = await cases.sent(id, { audience: 'customer', reply_to_message_id: note.id });
  const asCustomer = (messageId: string, query = '') =>
    app.call<ChatMessage>('GET', `/v1/messaging/messages/${messageId}?${query}`, { token: customerToken });
  const query = 'include[]=sender&include[]=author&include[]=reply_to&include[]=conversation';
  const { body: shown } = await asCustomer(reply.id, query);
  const { conversation, sender } = shown;
  t.strictSame(shown, { ...toOthers(reply), conversation, sender, author: null, reply_to: null });
  t.match(sender, { type: 'group', name: 'Customer Service' });
  t.match(conversation, { id, workflow_status: null, assignee: null, legal_hold: 'released' });
  const absent = await asCustomer(newId('message'));
  t.equal(refusalOf(absent as unknown as CallAnswer<Refusal>), '404 resource_not_found id');
  const { id: foreign } = await cases.open();
  const elsewhere = await cases.sent(foreign, { audience: 'customer' });
  for (const hidden of [note, draft, elsewhere]) {
    const { status, text } = await asCustomer(hidden.id);
    t.strictSame([status, text], [404, absent.text], 'byte for byte');
  }
  const closed: [method: string, path: string][] = [
    ['PATCH', reply.id],
    ['DELETE', reply.id],
    ['GET', `${reply.id}/outcome`],
    ['POST', `${reply.id}/actions/cancel`],
    ['POST', `${reply.id}/actions/send-now`],
  ];
  for (const [method, path] of closed) {
    const answer = await app.call(method, `/v1/messaging/messages/${path}`, {
      token: customerToken,
      headers: { 'Service-Version': NEWEST_VERSION },
    });
    t.equal(refusalOf(answer), '403 insufficient_permissions null', `${method} ${path}`);
  }
  const drafts = await app.call('GET', `/v1/messaging/conversations/${id}/messages?status=draft`, {
    token: customerToken,
  });
  t.equal(refusalOf(drafts), '403 insufficient_permissions null', 'drafts are not for customers');
});

t.test('every endpoint of a message: credentials, permissions, and callers that cannot see it', async (t) => {
  const conversation = await cases.conversation('internal', user(vera.id));
  const { id } = await cases.sent(conversation);
  const strange = await cases.conversation('internal');
  await cases.setParticipant(strange, grace.id, { membership: 'removed' });
  const foreign = await cases.sent(strange, {}, asAda);
  const endpoints: [method: string, suffix: string, reads: boolean][] = [
    ['GET', '', true],
    ['PATCH', '', false],
    ['DELETE', '', false],
    ['GET', '/outcome', true],
    ['POST', '/actions/cancel', false],
    ['POST', '/actions/send-now', false],
  ];
  for (const [method, suffix, reads] of endpoints) {
    const call = (messageId: string, options: CallOptions = {}) =>
      app.call(method, `/v1/messaging/messages/${messageId}${suffix}`, {
        token: grace.access_token,
        ...options,
        headers: { 'Service-Version': NEWEST_VERSION, ...options.headers },
      });
    const what = `${method} ${suffix}`;
    const nobody = await call(id, { headers: { Authorization: undefined } });
    t.equal(refusalOf(nobody), '401 invalid_credentials Authorization', what);
    const old = await call(id, { headers: { 'Service-Version': '1.0.harbor' } });
    t.equal(refusalOf(old), '400 api_version_too_old Service-Version', what);
    const reader = await call(id, { token: vera.access_token });
    if (reads) t.equal(reader.status, 200, what);
    else t.equal(refusalOf(reader), '403 insufficient_permissions null', what);
    const absent = await call(newId('message'));
    t.equal(refusalOf(absent), '404 resource_not_found id', what);
    for (const [of, options] of [
      [foreign.id, {}],
      [id, NEIGHBOUR],
      ['x', {}],
    ] as const) {
      const { status, text } = await call(of, options);
      t.strictSame([status, text], [404, absent.text], `${what}: byte for byte`);
    }
    const queries = { 'include[]=x': 'parameter_invalid include[]', 'what=1': 'parameter_unknown what' };
    for (const [query, expected] of Object.entries(queries)) {
      const wrong =
        suffix === '/outcome' && query.startsWith('include') ? 'parameter_unknown include[]' : expected;
      const answer = await app.call(method, `/v1/messaging/messages/${id}${suffix}?${query}`, {
        headers: { 'Service-Version': NEWEST_VERSION },
      });
      t.equal(refusalOf(answer), `400 ${wrong}`, `${what}?${query}`);
    }
  }
});

t.test('a sent message is edited as a whole', async (t) => {
  const conversation = await cases.conversation('internal');
  const sent = await cases.sent(conversation);
  const edited = message(await edit(sent.id, { body: 'ahoy again' }, { query: 'include[]=author' }), 200);
  const { edited_at, updated_at } = edited;
  t.strictSame(edited, { ...sent, body: 'ahoy again', author: GRACE, edited_at, updated_at });
  t.ok(edited_at! > sent.created_at && updated_at > sent.updated_at);
  t.strictSame(await cases.read(sent.id, 'include[]=author'), edited);
  for (const nothing of [{}, { body: 'ahoy again' }, { cc: [] }, { subject: '' }]) {
    t.strictSame(
      message(await edit(sent.id, nothing, { query: 'include[]=author' }), 200),
      edited,
      `${JSON.stringify(nothing)} changes nothing`,
    );
  }
  t.strictSame(await revisions(sent.id), [], 'nothing is kept where nothing is held');

  const linked = await cases.sent(conversation, { attachments: [LINK] });
  t.equal(message(await edit(linked.id, { body: '' }), 200).body, null, 'what has a link needs no body');
  const answer = await edit(sent.id, { body: '' });
  t.equal(refusalOf(answer), '400 missing_field body');
});

t.test('PATCH of a message refuses invalid requests', async (t) => {
  const { id } = await cases.open(user(vera.id, 'viewer'));
  const note = await cases.sent(id);
  const adas = await cases.sent(id, {}, asAda);
  const reply = await cases.sent(id, { audience: 'customer' });
  const draft = await cases.draft(id);
  const rejected = await cases.draft(id);
  await cases.act('reject', rejected.id);
  const gone = await cases.sent(id);
  await app.call('DELETE', `/v1/messaging/messages/${gone.id}`);
  const streaming = await cases.sent(id);
  await setRow(streaming.id, { streaming_state: 'streaming' });
  const scheduled = await cases.sent(id, { scheduled_at: TOMORROW });
  const viewing = await cases.conversation('internal');
  const seen = await insertSent(viewing, grace.id);
  await cases.setParticipant(viewing, grace.id, { role: 'viewer' });
  const refusals: [what: string, id: string, body: object, expected: string][] = [
    ['no body', note.id, { body: '' }, '400 missing_field body'],
    ['too long', note.id, { body: 'a'.repeat(40_001) }, '422 validation_failed body'],
    ['another type', note.id, { body: 5 }, '400 invalid_format body'],
    ['U+0000', note.id, { body: 'a\0' }, '400 invalid_format body'],
    ['no such field', note.id, { visibility: 'external' }, '422 validation_failed visibility'],
    ['a subject of a note', note.id, { subject: 'S' }, '422 validation_failed subject'],
    ['copies of a note', note.id, { cc: ['a@example.com'] }, '422 validation_failed cc'],
    ['no address', draft.id, { cc: ['a'] }, '400 invalid_format cc[0]'],
    ['too long a subject', draft.id, { subject: 'a'.repeat(999) }, '422 validation_failed subject'],
    ['a subject where no mail leaves', draft.id, { subject: 'S' }, '422 validation_failed subject'],
    ['copies where no mail leaves', draft.id, { cc: ['a@example.com'] }, '422 validation_failed cc'],
    ['the subject of what is sent', reply.id, { subject: '' }, '409 resource_conflict subject'],
    ['the copies of what is sent', reply.id, { cc: [] }, '409 resource_conflict cc'],
    ['a time of what is sent', note.id, { scheduled_at: TOMORROW }, '409 resource_conflict scheduled_at'],
    ['a time of a draft', draft.id, { scheduled_at: TOMORROW }, '422 validation_failed scheduled_at'],
    ['no time', scheduled.id, { scheduled_at: 'tomorrow' }, '400 invalid_format scheduled_at'],
    [
      'a time past',
      scheduled.id,
      { scheduled_at: '2020-01-01T00:00:00Z' },
      '422 validation_failed scheduled_at',
    ],
    ["somebody else's", adas.id, { body: 'x' }, '403 insufficient_permissions null'],
    ["somebody else's, with nothing to say", adas.id, {}, '403 insufficient_permissions null'],
    ['a viewer', seen, { body: 'x' }, '403 insufficient_permissions null'],
    ['a rejected draft', rejected.id, { body: 'x' }, '409 resource_conflict null'],
    ['deleted', gone.id, { body: 'x' }, '410 resource_gone id'],
    ['still being written', streaming.id, { body: 'x' }, '409 resource_conflict null'],
  ];
  for (const [what, of, body, expected] of refusals) t.equal(refusalOf(await edit(of, body)), expected, what);
  const byAdmin = await edit(note.id, { body: 'x' }, asAda);
  t.equal(refusalOf(byAdmin), '403 insufficient_permissions null', 'nobody puts words into a mouth');
  t.strictSame(await cases.read(note.id), note);
});

t.test('PATCH a draft: every participant that may send here', async (t) => {
  const { id } = await cases.open();
  const draft = await cases.draft(id);
  await setRow(draft.id, { subject: 'Old', cc: ['a@example.com'] });
  const edited = message(await edit(draft.id, { body: 'better' }, asAda), 200);
  const { edited_at, updated_at } = edited;
  t.strictSame(edited, { ...draft, body: 'better', subject: 'Old', edited_at, updated_at });
  const blank = await edit(draft.id, { body: ' \n\t' });
  t.equal(refusalOf(blank), '400 missing_field body', 'blank is empty');
  const cleared = message(await edit(draft.id, { subject: '', cc: [] }), 200);
  t.equal(cleared.subject, null);
  t.equal((await stored(draft.id)).cc, null);
  t.ok(edited.updated_at < cleared.updated_at);
});

t.test('PATCH a scheduled message: its author, the body and the time', async (t) => {
  const conversation = await cases.conversation('internal');
  const scheduled = await cases.sent(conversation, { scheduled_at: TOMORROW });
  const later = new Date(Date.parse(TOMORROW) + 60_000).toISOString();
  const edited = message(await edit(scheduled.id, { body: 'later', scheduled_at: later }), 200);
  t.match(edited, { status: 'scheduled', body: 'later', sequence: null });
  t.equal(Date.parse(edited.scheduled_at!), Date.parse(later));
  const elsewhere = new Date(Date.parse(later) + 3_600_000).toISOString().replace('Z', '+01:00');
  const same = message(await edit(scheduled.id, { scheduled_at: elsewhere }), 200);
  t.strictSame(same, edited, 'the same moment, written otherwise, is no change');
  const others = await edit(scheduled.id, { body: 'x' }, asAda);
  t.equal(refusalOf(others), '403 insufficient_permissions null', 'an admin does not edit it');
});

t.test('DELETE of a message leaves a tombstone', async (t) => {
  const conversation = await cases.conversation('internal');
  const original = await cases.sent(conversation);
  const sent = await cases.sent(conversation, {
    attachments: [LINK],
    mentions: [ada.id],
    reply_to_message_id: original.id,
    link_resource_type: 'actor',
    link_resource_id: grace.id,
  });
  const query = 'include[]=attachments&include[]=resource&include[]=reply_to';
  const tombstone = message(await remove(sent.id, { query }), 200);
  const { deleted_at, updated_at } = tombstone;
  t.strictSame(tombstone, {
    ...sent,
    body: null,
    deleted_at,
    updated_at,
    attachments: [],
    reply_to: original,
  });
  t.ok(deleted_at !== null && updated_at > sent.updated_at);
  t.strictSame(await cases.read(sent.id, query), tombstone);
  t.strictSame(await listed(conversation, query), [tombstone, { ...original, attachments: [] }]);
  const { body, mentions, resource_id } = await stored(sent.id);
  t.strictSame([body, mentions, resource_id, await files(sent.id)], [null, null, null, []]);
  t.strictSame(await cases.audited(conversation), [
    { action: 'message.deleted', actor_id: grace.id, details: { message_id: sent.id } },
  ]);
  t.equal(refusalOf(await remove(sent.id)), '410 resource_gone id', 'once');
  t.equal(refusalOf(await edit(sent.id, { body: 'x' })), '410 resource_gone id');
  const reply = await cases.send(conversation, { reply_to_message_id: sent.id });
  t.equal(refusalOf(reply), '410 resource_gone reply_to_message_id');
  t.match(await outcome(sent.id), { status: 'sent', result: 'sent' });
});

t.test('the previews in notifications are removed with a deleted message', async (t) => {
  const conversation = await cases.conversation('internal', user(vera.id));
  const sent = await cases.sent(conversation, { body: 'the password is swordfish' });
  const ofVera = async () => {
    const path = '/v1/messaging/notifications?limit=1&q=swordfish';
    const answer = await app.call<List<Notification>>('GET', path, { token: vera.access_token });
    return answer.body.data;
  };
  await until(async () => (await ofVera()).length === 1, { what: 'a notification' });
  const headers = {
    Authorization: `Bearer ${vera.access_token}`,
    'Service-Account': demo.account_id,
    'Service-Version': demo.service_version,
  };
  const socket = new Client(new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
  t.teardown(() => socket.close());
  await socket.frame('ready');
  const [before] = await ofVera();
  t.equal((await edit(sent.id, { body: 'the password was here' })).status, 200);
  await until(async () => (await ofVera()).length === 0, { what: 'the old text is not found' });
  const refreshed = await socket.frame(({ event }) => event === 'notification.updated');
  t.match(refreshed.data, { id: before!.id, body: 'the password was here', status: 'unseen' });
  const summary = () => app.call('GET', '/v1/messaging/notifications/summary', { token: vera.access_token });
  const { total, unseen } = (await summary()).body as unknown as NotificationSummary;
  t.equal((await remove(sent.id)).status, 200);
  const { data } = await socket.frame(
    (frame) => frame.event === 'notification.updated' && frame.data?.body === null,
  );
  t.match(data, { id: before!.id, title: before!.title, status: 'dismissed', dismissed_at: String });
  t.ok(String(data?.updated_at) > before!.updated_at);
  t.match((await summary()).body, { total: total - 1, unseen: unseen - 1 });
});

t.test('a deleted message is neither unread nor the last one', async (t) => {
  const conversation = await cases.conversation('internal');
  const seen = async () =>
    (
      await app.call<Conversation>(
        'GET',
        `/v1/messaging/conversations/${conversation}?include[]=last_message`,
        asAda,
      )
    ).body;
  const [first, second] = [await cases.sent(conversation), await cases.sent(conversation)];
  t.match(await seen(), { unread: 2, last_message: { id: second.id } });
  await remove(second.id);
  t.match(await seen(), { unread: 1, last_message: { id: first.id }, last_message_at: first.created_at });
  await remove(first.id);
  t.match(await seen(), { unread: 0, last_message: null, last_message_at: null });
});

t.test(
  'the resource of an attachment: for the team in companions and events, not for customers',
  async (t) => {
    const { id, customerToken } = await cases.open();
    const attachments = [{ kind: 'resource', resource_type: 'actor', resource_id: ada.id }];
    const sent = await cases.sent(id, { audience: 'customer', attachments });
    const resource = { id: ada.id, object: 'entity', type: 'actor', name: 'Ada Lovelace', handle: ada.email };
    const query = 'include[]=attachments';
    t.strictSame((await cases.read(sent.id, query)).attachments![0]!.resource, resource);
    const path = `/v1/messaging/messages/${sent.id}?${query}`;
    const seen = await app.call<ChatMessage>('GET', path, { token: customerToken });
    t.match(seen.body.attachments, [{ kind: 'resource', resource: null }]);
    const draft = await cases.draft(id, { attachments });
    t.strictSame(
      (await cases.read(draft.id, query)).attachments![0]!.resource,
      resource,
      'of a draft as well',
    );
    const unnamed = [{ kind: 'resource', resource: null }];
    for (const version of VERSIONS.filter((one) => covers(one, '1.2.harbor'))) {
      const headers = { 'Service-Version': version };
      const fields = { attachments, client_message_id: version };
      const answered = await cases.sent(id, fields, { query, headers });
      t.match(answered.attachments, unnamed, `Send Message answers without it at ${version}`);
      const proposed = await cases.draft(id, { attachments }, { query, headers });
      t.match(proposed.attachments, unnamed, `for a draft too at ${version}`);
      const rejected = await cases.act('reject', proposed.id, { query, headers });
      t.match(
        rejected.body,
        { status: 'rejected', attachments: unnamed },
        `Reject Reply Draft at ${version}`,
      );
    }
  },
);

t.test('a keyed PATCH or DELETE that comes again answers as it did, and does nothing', async (t) => {
  const conversation = await cases.conversation('internal');
  const sent = await cases.sent(conversation);
  const keyed = (key: string) => ({ headers: { 'Idempotency-Key': key } });
  const first = await edit(sent.id, { body: 'first' }, keyed('edit'));
  t.equal((await edit(sent.id, { body: 'second' })).status, 200);
  const again = await edit(sent.id, { body: 'first' }, keyed('edit'));
  t.strictSame([again.text, again.headers.get('idempotent-replayed')], [first.text, 'true']);
  t.equal((await cases.read(sent.id)).body, 'second', 'a retry overwrites nothing newer');
  const other = await edit(sent.id, { body: 'third' }, keyed('edit'));
  t.equal(refusalOf(other), '422 validation_failed Idempotency-Key');
  const removed = await remove(sent.id, keyed('delete'));
  const removedAgain = await remove(sent.id, keyed('delete'));
  t.strictSame([removedAgain.status, removedAgain.text], [200, removed.text]);
  const editedAgain = await edit(sent.id, { body: 'first' }, keyed('edit'));
  t.strictSame([editedAgain.status, editedAgain.headers.get('idempotent-replayed')], [200, 'true']);
  t.strictSame(editedAgain.text, first.text.replace('"body":"first"', '"body":null'), 'without the text');
});

t.test('the keyed send of a deleted message comes again without its text', async (t) => {
  const path = `/v1/messaging/conversations/${await cases.conversation('internal')}/messages`;
  const asked = {
    body: { body: 'to be deleted', client_message_id: 'keyed' },
    headers: { 'Idempotency-Key': 'keyed send' },
    token: grace.access_token,
  };
  const first = await app.call<ChatMessage>('POST', path, asked);
  t.equal((await remove(first.body.id)).status, 200);
  const again = await app.call<ChatMessage>('POST', path, asked);
  t.strictSame([again.status, again.headers.get('idempotent-replayed')], [201, 'true']);
  t.strictSame(again.text, first.text.replace('"body":"to be deleted"', '"body":null'));
});

t.test('an agent changes messages to customers only if its role allows it', async (t) => {
  const permissions = ['messaging:read', 'messaging:create', 'messaging:update'];
  const role = await app.call<{ id: string }>('POST', '/v1/roles', { body: { name: 'Editor', permissions } });
  const agent = await createdAgent(app, { role_id: role.body.id });
  const { actor_id: actorId } = await database.kysely
    .selectFrom('agent_definitions')
    .select('actor_id')
    .where('id', '=', agent.id)
    .executeTakeFirstOrThrow();
  const { id } = await cases.open({ type: 'agent', actorId });
  const token = await app.tokenOf(actorId);
  const [note, reply] = [await cases.sent(id, {}, { token }), await cases.sent(id, {}, { token })];
  await database.kysely
    .updateTable('messages')
    .set({ visibility: 'external' })
    .where('id', '=', reply.id)
    .execute();
  message(await edit(note.id, { body: 'a better note' }, { token }), 200);
  const refused = await edit(reply.id, { body: 'a refund of 10,000' }, { token });
  t.equal(refusalOf(refused), '403 insufficient_permissions null');
});

t.test('the file of a deleted message: its links end, it is not attached again, its bytes go', async (t) => {
  const conversation = await cases.conversation('internal');
  const s3_key = await cases.upload('a.txt');
  const attachments = [{ kind: 'file', s3_key }];
  const [sent, twin] = [
    await cases.sent(conversation, { attachments }),
    await cases.sent(conversation, { attachments }),
  ];
  const upload = () => database.kysely.selectFrom('uploads').selectAll().where('s3_key', '=', s3_key);
  await database.kysely
    .updateTable('uploads')
    .set({ attached_at: sent.created_at })
    .where('s3_key', '=', s3_key)
    .execute();
  const url = (await cases.read(sent.id, 'include[]=attachments')).attachments![0]!.url!;
  t.equal((await fetch(url)).status, 200);

  t.equal((await remove(sent.id)).status, 200);
  t.strictSame(await files(sent.id), []);
  const again = await cases.send(conversation, { attachments });
  t.equal(refusalOf(again), '404 resource_not_found attachments[0].s3_key');
  t.equal((await fetch(url)).status, 200, 'another message still has it');
  await removeNow(s3_key);
  await until(async () => (await jobsOf('remove_withdrawn_uploads')) === 0, { what: 'the job is done' });
  t.ok(await upload().executeTakeFirst(), 'and keeps it');

  t.equal((await remove(twin.id)).status, 200);
  const gone = await fetch(url);
  t.equal(gone.status, 410);
  t.match(await gone.json(), { error: { code: 'resource_gone' } });
  await removeNow(s3_key);
  await until(async () => (await upload().executeTakeFirst()) === undefined, { what: 'the bytes are gone' });
  t.equal((await fetch(url)).status, 410, 'gone for good');
});

t.test('deleting a message requires its permission', async (t) => {
  const run = await cases.conversation('internal', user(vera.id));
  await cases.setParticipant(run, grace.id, { role: 'admin' });
  const member = await cases.conversation('internal');
  const viewed = await cases.conversation('internal');
  await cases.setParticipant(viewed, grace.id, { role: 'viewer' });
  const cast: [what: string, conversation: string, author: string, token: string, status: number][] = [
    ['an admin of the conversation', run, ada.id, grace.access_token, 200],
    ['a member, of another', member, ada.id, grace.access_token, 403],
    ['a member, of its own', member, grace.id, grace.access_token, 200],
    ['an admin of the account', member, grace.id, ada.access_token, 200],
    ['a key of the account', member, grace.id, demo.api_key, 200],
    ['a viewer, of its own', viewed, grace.id, grace.access_token, 403],
  ];
  for (const [what, conversation, author, token, status] of cast) {
    const answer = await remove(await insertSent(conversation, author), { token });
    t.equal(answer.status, status, what);
    if (status === 403) t.equal(refusalOf(answer), '403 insufficient_permissions null', what);
  }
  const { id } = await cases.open();
  const waiting = [await cases.draft(id), await cases.sent(id, { scheduled_at: TOMORROW })];
  for (const { id: of, status } of waiting) {
    t.equal(refusalOf(await remove(of)), '409 resource_conflict null', `${status}: it was never sent`);
  }
  const streaming = await cases.sent(id);
  await setRow(streaming.id, { streaming_state: 'streaming' });
  t.equal(refusalOf(await remove(streaming.id)), '409 resource_conflict null', 'still being written');
  const racing = await cases.sent(id);
  const answers = await Promise.all([1, 2, 3].map(() => remove(racing.id)));
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 410, 410]);
});

t.test('revisions: what a hold has kept, for callers that may set it', async (t) => {
  const { id, customerToken } = await cases.open(user(vera.id, 'viewer'));
  const sent = await cases.sent(id, { body: 'first' });
  t.strictSame((await revisionsOf(sent.id)).data, [], 'none without a hold');
  await cases.set(id, { legal_hold: 'held' });
  await edit(sent.id, { body: 'second' });
  await edit(sent.id, { body: 'third' });
  const { data, page_info } = await revisionsOf(sent.id);
  const common = { object: 'message_revision', message_id: sent.id, subject: null, cc: null };
  t.strictSame(
    data,
    ['second', 'first'].map((body, index) => ({
      ...common,
      mentions: [],
      attachment_ids: [],
      revision: 2 - index,
      body,
      replaced_by: GRACE,
      replaced_at: data[index]!.replaced_at,
    })),
  );
  t.match(page_info, { has_next_page: false, has_prev_page: false });
  for (const token of [ada.access_token, demo.api_key]) {
    t.equal((await revisionsOf(sent.id, { token })).data.length, 2);
  }
  const path = `/v1/messaging/messages/${sent.id}/revisions`;
  const refusals: [what: string, token: string, expected: string][] = [
    ['a viewer', vera.access_token, FORBIDDEN],
    ['the customer', customerToken, FORBIDDEN],
  ];
  for (const [what, token, expected] of refusals) {
    t.equal(refusalOf(await app.call('GET', path, { ...PREVIEW, token })), expected, what);
  }
  const tooOld = await app.call('GET', path, { token: grace.access_token });
  t.equal(refusalOf(tooOld), '400 api_version_too_old Service-Version');
  const agent = await app.tokenOf(demo.agent.actor_id);
  t.equal(refusalOf(await app.call('GET', path, { ...PREVIEW, token: agent })), FORBIDDEN, 'an agent');
  const tools = await app.call<List<AvailableTool>>('GET', '/v1/ai/tools?q=revisions');
  t.strictSame(tools.body.data, [], 'it is no tool of agents');
  await cases.set(id, { legal_hold: 'released' });
  t.equal((await revisionsOf(sent.id)).data.length, 2, 'they outlive the hold');
  await setRow(sent.id, { deleted_at: sent.created_at });
  t.equal((await revisionsOf(sent.id)).data.length, 2, 'a tombstone with revisions shows them');
  await setRow(sent.id, { deleted_at: null });
  t.equal((await remove(sent.id)).status, 200);
  t.strictSame((await revisionsOf(sent.id)).data, [], 'but not the message');
});

t.test('under legal hold nothing is deleted, and every version of an edit is kept', async (t) => {
  const { id } = await cases.open();
  const sent = await cases.sent(id, { body: 'first' });
  const draft = await cases.draft(id, { body: 'draft' });
  await setRow(draft.id, { subject: 'S', cc: ['a@example.com'] });
  await cases.set(id, { legal_hold: 'held' });
  t.equal(refusalOf(await remove(sent.id)), '409 resource_conflict null');
  t.equal((await cases.read(sent.id)).body, 'first');
  for (const body of ['second', 'third', 'third']) t.equal((await edit(sent.id, { body })).status, 200);
  await edit(draft.id, { subject: '' }, asAda);
  t.strictSame(await revisions(sent.id), [
    { revision: 1, body: 'first', subject: null, cc: null, replaced_by: grace.id },
    { revision: 2, body: 'second', subject: null, cc: null, replaced_by: grace.id },
  ]);
  t.strictSame(await revisions(draft.id), [
    { revision: 1, body: 'draft', subject: 'S', cc: ['a@example.com'], replaced_by: ada.id },
  ]);
  t.strictSame(await cases.audited(id), [
    ...[1, 2].map((revision) => ({
      action: 'message.edited',
      actor_id: grace.id,
      details: { message_id: sent.id, revision },
    })),
    {
      action: 'draft.edited',
      actor_id: ada.id,
      details: { message_id: draft.id, fields: ['subject'], revision: 1 },
    },
  ]);
  await cases.set(id, { legal_hold: 'released' });
  t.equal((await edit(sent.id, { body: 'fourth' })).status, 200);
  t.equal((await revisions(sent.id)).length, 2, 'not any more');
  t.equal((await remove(sent.id)).status, 200);
});

t.test('edits of one message at the same moment: each is whole, and kept', async (t) => {
  const conversation = await cases.conversation('internal');
  const { id } = await cases.sent(conversation, { body: '0' });
  await cases.set(conversation, { legal_hold: 'held' });
  const bodies = ['1', '2', '3', '4', '5'];
  const answers = await Promise.all(bodies.map((body) => edit(id, { body })));
  const times = answers.map((answer) => message(answer, 200).updated_at);
  t.equal(new Set(times).size, bodies.length, 'updated_at grows strictly');
  const kept = (await revisions(id)).map(({ body }) => body);
  const last = (await cases.read(id)).body;
  t.strictSame([...kept, last].sort(), ['0', ...bodies]);
});

t.test('a scheduled message can be canceled', async (t) => {
  const conversation = await cases.conversation('internal');
  const scheduled = await cases.sent(conversation, { scheduled_at: TOMORROW });
  t.match(await outcome(scheduled.id), { status: 'scheduled', result: null, reason: null, at: null });
  const byAdmin = await cases.sent(conversation, { scheduled_at: TOMORROW });
  const adas = await cases.sent(conversation, { scheduled_at: TOMORROW }, asAda);
  const keyed = { headers: { 'Idempotency-Key': 'cancel' } };
  const first = await cases.act('cancel', scheduled.id, keyed);
  const canceled = message(first, 200);
  t.strictSame(canceled, { ...scheduled, status: 'canceled', updated_at: canceled.updated_at });
  t.match(await outcome(scheduled.id), { status: 'canceled', result: 'canceled', at: String });
  const again = await cases.act('cancel', scheduled.id, keyed);
  t.strictSame([again.text, again.headers.get('idempotent-replayed')], [first.text, 'true']);
  t.strictSame(message(await cases.act('cancel', scheduled.id), 200), canceled, 'it is canceled');
  t.equal((await cases.act('cancel', byAdmin.id, asAda)).status, 200, 'an admin may');
  t.equal(refusalOf(await cases.act('cancel', adas.id)), '404 resource_not_found id', 'not seen by others');
  const sent = await cases.sent(conversation);
  t.equal(refusalOf(await cases.act('cancel', sent.id)), '409 resource_conflict null', 'it is sent');
  t.strictSame(await cases.audited(conversation), [
    { action: 'message.canceled', actor_id: grace.id, details: { message_id: scheduled.id } },
    { action: 'message.canceled', actor_id: ada.id, details: { message_id: byAdmin.id } },
  ]);
});

t.test('outcome of a plain message', async (t) => {
  const conversation = await cases.conversation('internal');
  const sent = await cases.sent(conversation);
  t.strictSame(await outcome(sent.id), {
    object: 'message_outcome',
    message_id: sent.id,
    status: 'sent',
    result: 'sent',
    reason: null,
    at: sent.created_at,
  });
});

t.test('GET messages: what is outside the timeline, by status', async (t) => {
  const { id } = await cases.open();
  const drafts: ChatMessage[] = [];
  for (let n = 0; n < 5; n++) drafts.unshift(await cases.draft(id, { body: `${n}` }));
  const sent = await cases.sent(id);
  const scheduled = await cases.sent(id, { scheduled_at: TOMORROW });
  t.strictSame(await listed(id), [sent], 'sent, unless asked otherwise');
  t.strictSame(await listed(id, 'status=sent'), [sent]);
  t.strictSame(await listed(id, 'status=draft'), drafts);
  t.strictSame(await listed(id, 'status=scheduled'), [scheduled]);
  for (const status of ['canceled', 'rejected', 'failed', 'superseded']) {
    t.strictSame(await listed(id, `status=${status}`), [], status);
  }
  t.strictSame((await listed(id, 'status=draft&include[]=author&limit=1'))[0]?.author, GRACE);

  const first = await page(pathOf(id, 'status=draft&limit=2'));
  t.strictSame(first.data, drafts.slice(0, 2));
  t.equal(first.page_info.has_prev_page, false);
  const second = await page(first.page_info.next_page_url!);
  t.strictSame(second.data, drafts.slice(2, 4));
  const third = await page(second.page_info.next_page_url!);
  t.strictSame(third.data, drafts.slice(4));
  t.equal(third.page_info.next_page_url, null);
  const back = await page(third.page_info.previous_page_url!);
  t.strictSame(back, second);
  t.strictSame(await page(back.page_info.previous_page_url!), first);

  const cursor = new URL(first.page_info.next_page_url!, app.baseUrl).searchParams.get('cursor');
  const refusals: [query: string, expected: string][] = [
    ['status=open', 'parameter_invalid status'],
    ['status=', 'parameter_invalid status'],
    ['status=draft&status=sent', 'parameter_invalid status'],
    ['status=draft&after_sequence=1', 'parameters_exclusive after_sequence'],
    ['status=draft&before_sequence=1', 'parameters_exclusive before_sequence'],
    [`status=rejected&cursor=${cursor}`, 'parameter_invalid cursor'],
    [`cursor=${cursor}`, 'parameter_invalid cursor'],
  ];
  for (const [query, expected] of refusals) {
    t.equal(refusalOf(await app.call('GET', pathOf(id, query))), `400 ${expected}`, query);
  }
  t.strictSame(
    await listed(id, 'status=draft', { token: grace.access_token }),
    drafts,
    'for any of the team',
  );
});

t.test('a system event has no author, and only managers of the conversation edit or delete it', async (t) => {
  const conversation = await cases.conversation('internal');
  const id = await insertSent(conversation, null, 'system_event');
  const shown = await cases.read(id, 'include[]=sender&include[]=author');
  t.match(shown, { kind: 'system_event', sender: null, author: null });
  t.equal(refusalOf(await edit(id, { body: 'x' }, asAda)), '403 insufficient_permissions null');
  t.equal(refusalOf(await remove(id)), '403 insufficient_permissions null');
});

function edit(
  id: string,
  body: object,
  { query = '', ...options }: CallOptions & { query?: string } = {},
): Promise<CallAnswer<Refusal>> {
  const path = `/v1/messaging/messages/${id}?${query}`;
  return app.call('PATCH', path, { token: grace.access_token, ...options, body });
}

function remove(
  id: string,
  { query = '', ...options }: CallOptions & { query?: string } = {},
): Promise<CallAnswer<Refusal>> {
  const path = `/v1/messaging/messages/${id}?${query}`;
  return app.call('DELETE', path, { token: grace.access_token, ...options });
}

async function outcome(id: string): Promise<object> {
  const { body } = await app.call<object>('GET', `/v1/messaging/messages/${id}/outcome`);
  return body;
}

function pathOf(conversation: string, query: string): string {
  return `/v1/messaging/conversations/${conversation}/messages?${query}`;
}

async function listed(
  conversation: string,
  query = '',
  options: CallOptions = { token: grace.access_token },
): Promise<ChatMessage[]> {
  return [...(await page(pathOf(conversation, query), options)).data];
}

async function page(
  url: string,
  options: CallOptions = { token: grace.access_token },
): Promise<List<ChatMessage>> {
  const { status, text, body } = await app.call<List<ChatMessage>>('GET', url, options);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return body;
}

function stored(id: string) {
  return database.kysely.selectFrom('messages').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

async function setRow(
  id: string,
  columns: { streaming_state?: 'streaming'; subject?: string; cc?: string[]; deleted_at?: string | null },
): Promise<void> {
  await database.kysely.updateTable('messages').set(columns).where('id', '=', id).execute();
}

/** Has the withdrawal of an upload be long ago, and its job due. */
async function removeNow(s3_key: string): Promise<void> {
  await database.query(
    {
      name: 'test-withdrawn-long-ago',
      text: `UPDATE uploads SET withdrawn_at = withdrawn_at - interval '1 hour' WHERE s3_key = $1`,
    },
    s3_key,
  );
  await hastenJobs(database, { topic: 'remove_withdrawn_uploads' });
}

async function jobsOf(topic: string): Promise<number> {
  return (await database.kysely.selectFrom('jobs').select('id').where('topic', '=', topic).execute()).length;
}

function files(messageId: string) {
  return database.kysely.selectFrom('attachments').select('id').where('message_id', '=', messageId).execute();
}

async function revisionsOf(messageId: string, { token = grace.access_token } = {}) {
  const path = `/v1/messaging/messages/${messageId}/revisions`;
  const { status, text, body } = await app.call<List<MessageRevision>>('GET', path, { ...PREVIEW, token });
  if (status !== 200) throw new Error(`${status} ${text}`);
  return body;
}

function revisions(messageId: string) {
  return database.kysely
    .selectFrom('message_revisions')
    .select(['revision', 'body', 'subject', 'cc', 'replaced_by'])
    .where('message_id', '=', messageId)
    .orderBy('revision')
    .execute();
}

/**
 * Inserts a sent message as if it were written earlier, independent of the current right to write.
 */
async function insertSent(
  conversation: string,
  author: string | null,
  kind: 'chat' | 'system_event' = 'chat',
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
      kind,
      status: 'sent',
      visibility: 'internal',
      body: 'earlier',
      author_id: author,
      sender_id: author,
    })
    .execute();
  return id;
}
