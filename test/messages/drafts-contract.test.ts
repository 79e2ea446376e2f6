/** Reply drafts over HTTP: proposing, rejecting and approving (docs/contract.md#drafts). */

import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import t from 'tap';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { Cases, message, shownActor, user } from './cases.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const cases = new Cases(app);

const GRACE = shownActor(grace.id, 'user', 'Grace Hopper', grace.email);
const PERSONA = await persona();
const LINK = { kind: 'link', url: 'https://example.com/manual' };
const agentToken = await app.tokenOf(demo.agent.actor_id);
const AGENT = { type: 'agent', actorId: demo.agent.actor_id } as const;
const NEIGHBOUR = {
  token: demo.other_account.api_key,
  headers: { 'Service-Account': demo.other_account.account_id },
};

t.test('a draft: every field, nothing in the timeline, and the case waits for approval', async (t) => {
  const { id } = await cases.open();
  const query = 'include[]=sender&include[]=author';
  const draft = await cases.draft(id, { client_message_id: 'ignored' }, { query });
  t.strictSame(draft, {
    id: draft.id,
    object: 'chat_message',
    kind: 'chat',
    status: 'draft',
    visibility: 'external',
    conversation: null,
    sequence: null,
    body: 'ahoy',
    subject: null,
    sender: PERSONA,
    author: GRACE,
    attachments: null,
    reply_to: null,
    resource: null,
    channel: 'message',
    scheduled_at: null,
    agent_run: null,
    streaming_state: null,
    client_message_id: null,
    edited_at: null,
    deleted_at: null,
    created_at: draft.created_at,
    updated_at: draft.created_at,
  });
  t.strictSame(await cases.read(draft.id, query), draft);
  t.strictSame(await listed(id), []);
  t.strictSame(await cases.lanes(id), ['needs_approval', 'new']);
  t.strictSame(await outcome(draft.id), {
    object: 'message_outcome',
    message_id: draft.id,
    status: 'draft',
    result: null,
    reason: null,
    at: null,
  });
});

t.test('a draft may contain everything that a reply may', async (t) => {
  const { id, customerToken } = await cases.open();
  const question = await cases.sent(id, {}, { token: customerToken });
  const note = await cases.sent(id);
  const { client_message_id, ...full } = {
    client_message_id: note.client_message_id,
    body: 'all of it',
    channel: 'message',
    audience: 'customer',
    source_thread_message_id: note.id,
    reply_to_message_id: question.id,
    link_resource_type: 'actor',
    link_resource_id: grace.id,
    attachments: [LINK, { kind: 'file', s3_key: await cases.upload('bill.txt') }],
    mentions: [ada.id],
  };
  const draft = await cases.draft(id, { ...full, client_message_id });
  t.match(draft, { status: 'draft', visibility: 'external', channel: 'message', subject: null });
  const include = ['attachments', 'reply_to', 'resource'].map((name) => `include[]=${name}`).join('&');
  t.match(await cases.read(draft.id, include), {
    attachments: [
      { kind: 'link', url: LINK.url },
      { kind: 'file', filename: 'bill.txt', size_bytes: 2, url: String },
    ],
    reply_to: { id: question.id, sequence: question.sequence },
    resource: { id: grace.id, type: 'actor' },
  });
  const row = await stored(draft.id);
  t.strictSame(
    [row.mentions, row.source_thread_message_id, row.client_message_id],
    [full.mentions, note.id, null],
  );
  await cases.act('approve', draft.id);
  const [file] = (await cases.read(draft.id, include)).attachments!.slice(1);
  t.equal(await (await fetch(file!.url!)).text(), 'hi');
  t.not((await cases.draft(id, { client_message_id })).id, draft.id, 'a draft is never deduplicated');
});

t.test('an invalid draft is refused', async (t) => {
  const { id } = await cases.open();
  const elsewhere = await cases.sent((await cases.open()).id);
  const open = await cases.draft(id);
  const gone = await cases.sent(id);
  await app.call('DELETE', `/v1/messaging/messages/${gone.id}`);
  const refusals: [fields: object, expected: string][] = [
    [{ channel: undefined }, '400 missing_field channel'],
    [{ channel: null }, '400 missing_field channel'],
    [{ channel: 'sms' }, '422 validation_failed channel'],
    [{ channel: 'email' }, '422 validation_failed channel'],
    [{ subject: 'S' }, '422 validation_failed subject'],
    [{ cc: ['a@example.com'] }, '422 validation_failed cc'],
    [{ audience: 'internal' }, '422 validation_failed audience'],
    [{ scheduled_at: '2099-01-01T00:00:00Z' }, '422 validation_failed scheduled_at'],
    [{ body: '' }, '400 missing_field body'],
    [{ mentions: [vera.id] }, '422 validation_failed mentions[0]'],
    [{ cc: ['nobody'] }, '400 invalid_format cc[0]'],
    [{ reply_to_message_id: elsewhere.id }, '404 resource_not_found reply_to_message_id'],
    ...[elsewhere.id, newId('message'), open.id, ''].map((source): [object, string] => [
      { source_thread_message_id: source },
      '404 resource_not_found source_thread_message_id',
    ]),
    [{ source_thread_message_id: gone.id }, '410 resource_gone source_thread_message_id'],
    [
      { attachments: [{ kind: 'file', s3_key: 'nobody/uploaded/this' }] },
      '404 resource_not_found attachments[0].s3_key',
    ],
  ];
  for (const [fields, expected] of refusals) {
    const answer = await cases.send(id, { mode: 'draft', channel: 'message', ...fields });
    t.equal(refusalOf(answer), expected, JSON.stringify(fields));
  }
  const sends: [fields: object, expected: string][] = [
    [{ source_thread_message_id: gone.id }, '422 validation_failed source_thread_message_id'],
    [{ channel: 'email' }, '422 validation_failed channel'],
    [{ channel: 'email', audience: 'internal' }, '422 validation_failed channel'],
    [{ channel: 'email', audience: 'customer' }, '422 validation_failed channel'],
    [{ subject: 'S', audience: 'customer' }, '422 validation_failed subject'],
    [{ cc: ['a@example.com'], audience: 'customer' }, '422 validation_failed cc'],
  ];
  for (const [fields, expected] of sends) {
    t.equal(refusalOf(await cases.send(id, fields)), expected, `sent: ${JSON.stringify(fields)}`);
  }
  const internal = await cases.conversation('internal');
  for (const channel of ['message', 'email']) {
    const answer = await cases.send(internal, { mode: 'draft', channel });
    t.equal(refusalOf(answer), '422 validation_failed mode', `no customer, channel ${channel}`);
  }
  await cases.set(id, { status: 'archived' });
  const late = await cases.send(id, { mode: 'draft', channel: 'message' });
  t.equal(refusalOf(late), '409 resource_conflict null', 'archived');
});

t.test('drafting requires its permission', async (t) => {
  const { id, customerToken } = await cases.open(AGENT);
  const byAgent = await cases.draft(
    id,
    {},
    { token: agentToken, query: 'include[]=sender&include[]=author' },
  );
  t.match(byAgent, { kind: 'agent', status: 'draft', author: { id: demo.agent.actor_id, type: 'agent' } });
  t.strictSame(byAgent.sender, PERSONA);
  t.match(await cases.draft(id, {}, { token: demo.api_key }), { kind: 'chat', status: 'draft' });

  const viewed = await cases.open(user(vera.id, 'viewer'));
  const alone = await cases.conversation('customer');
  await cases.setParticipant(alone, grace.id, { membership: 'removed' });
  const refusals: [what: string, conversation: string, options: CallOptions, expected: string][] = [
    ['vera may only read', viewed.id, { token: vera.access_token }, '403 insufficient_permissions null'],
    ['a customer', id, { token: customerToken }, '422 validation_failed mode'],
    ['not a participant', alone, {}, '404 resource_not_found id'],
    ['another account', id, NEIGHBOUR, '404 resource_not_found id'],
  ];
  for (const [what, conversation, options, expected] of refusals) {
    const answer = await cases.send(conversation, { mode: 'draft', channel: 'message' }, options);
    t.equal(refusalOf(answer), expected, what);
  }
  const viewing = await cases.conversation('customer');
  await cases.setParticipant(viewing, grace.id, { role: 'viewer' });
  const viewer = await cases.send(viewing, { mode: 'draft', channel: 'message' });
  t.equal(refusalOf(viewer), '403 insufficient_permissions null', 'a viewer of the case');
});

t.test('a newer draft for the same thread message supersedes the older', async (t) => {
  const { id } = await cases.open();
  const note = await cases.sent(id);
  const other = await cases.sent(id);
  const source = { source_thread_message_id: note.id };
  const first = await cases.draft(id, source);
  const unrelated = await cases.draft(id, { source_thread_message_id: other.id });
  const unbound = await cases.draft(id);
  const second = await cases.draft(id, source);
  t.match(await cases.read(first.id), { status: 'superseded', sequence: null });
  t.match(await outcome(first.id), { status: 'superseded', result: 'superseded', reason: null, at: String });
  for (const { id } of [unrelated, unbound, second]) t.equal((await cases.read(id)).status, 'draft');
  t.strictSame(
    (await listed(id, 'status=draft')).map((draft) => draft.id),
    [second.id, unbound.id, unrelated.id],
    'newest first',
  );
  t.strictSame(await listed(id, 'status=superseded'), [await cases.read(first.id)]);
  for (const name of ['approve', 'reject'] as const) {
    t.equal(refusalOf(await cases.act(name, first.id)), '409 resource_conflict null', name);
  }
  const racing = await Promise.all(Array.from({ length: 6 }, () => cases.draft(id, source)));
  const open = (await listed(id, 'status=draft')).map((draft) => draft.id);
  t.equal(open.length, 3, 'one of those for the same message is left');
  t.equal(racing.filter((draft) => open.includes(draft.id)).length, 1);
});

t.test('a draft can be rejected', async (t) => {
  const { id } = await cases.open();
  const draft = await cases.draft(id);
  const other = await cases.draft(id, {}, { token: ada.access_token });
  const query = 'include[]=sender&include[]=author&include[]=resource';
  const rejected = message(await cases.act('reject', draft.id, { query }), 200);
  const { updated_at } = rejected;
  t.strictSame(rejected, { ...draft, status: 'rejected', sender: PERSONA, author: GRACE, updated_at });
  t.ok(updated_at > draft.updated_at);
  t.match(await outcome(draft.id), { status: 'rejected', result: 'rejected', reason: null, at: String });
  t.strictSame(await cases.lanes(id), ['needs_approval', 'new'], 'another one is open');
  const version = { headers: { 'Service-Version': '1.0.harbor' } };
  t.equal((await cases.act('reject', other.id, version)).status, 200, "grace rejects ada's; since 1.0");
  t.strictSame(await cases.lanes(id), ['new', null]);
  t.strictSame(
    await cases.audited(id),
    [draft, other].map((of) => ({
      action: 'draft.rejected',
      actor_id: grace.id,
      details: { message_id: of.id },
    })),
  );
  t.strictSame(await listed(id), [], 'none was sent');
});

t.test('approve: the draft is sent, and the case waits for the customer', async (t) => {
  const { id, customerToken } = await cases.open();
  const question = await cases.sent(id, { body: 'Where?' }, { token: customerToken });
  const draft = await cases.draft(id, { body: 'There.' });
  const body = { if_version: draft.updated_at, if_last_sequence: question.sequence };
  const query = 'include[]=sender&include[]=author';
  const sent = message(await cases.act('approve', draft.id, { token: ada.access_token, body, query }), 200);
  t.strictSame(sent, {
    ...draft,
    status: 'sent',
    sequence: question.sequence! + 1,
    sender: PERSONA,
    author: GRACE,
    updated_at: sent.updated_at,
  });
  t.ok(sent.updated_at > draft.updated_at);
  t.strictSame(await cases.lanes(id), ['waiting_external', null]);
  const { at, ...ended } = await outcome(draft.id);
  t.strictSame(ended, {
    object: 'message_outcome',
    message_id: draft.id,
    status: 'sent',
    result: 'sent',
    reason: null,
  });
  t.match(at, /^\d{4}-.*\.\d{6}Z$/);
  t.strictSame(await cases.audited(id), [
    { action: 'draft.approved', actor_id: ada.id, details: { message_id: draft.id } },
  ]);
  const asCustomer = await listed(id, 'include[]=sender&include[]=author', { token: customerToken });
  t.strictSame(
    asCustomer.map(({ body, sender, author }) => [body, sender?.name, author]),
    [
      ['There.', 'Customer Service', null],
      ['Where?', 'Cleo', null],
    ],
  );
});

t.test('an approver who has not seen the latest is refused', async (t) => {
  const { id, customerToken } = await cases.open();
  const first = await cases.sent(id, {}, { token: customerToken });
  const draft = await cases.draft(id);
  const edit = { token: ada.access_token, body: { body: 'better' } };
  const edited = message(await app.call('PATCH', `/v1/messaging/messages/${draft.id}`, edit), 200);
  const stale = await cases.act('approve', draft.id, { body: { if_version: draft.updated_at } });
  t.equal(refusalOf(stale), '409 resource_conflict if_version');
  const second = await cases.sent(id, {}, { token: customerToken });
  const missed = await cases.act('approve', draft.id, {
    body: { if_version: edited.updated_at, if_last_sequence: first.sequence },
  });
  t.equal(refusalOf(missed), '409 resource_conflict if_last_sequence');
  t.equal((await cases.read(draft.id)).status, 'draft', 'it stays open');
  // Only the customer's messages count: the team may go on talking.
  await cases.sent(id);
  await cases.sent(id, { audience: 'customer' });
  const body = { if_version: edited.updated_at, if_last_sequence: second.sequence };
  const sent = message(await cases.act('approve', draft.id, { body }), 200);
  t.strictSame([sent.body, sent.sequence], ['better', second.sequence! + 3]);

  const other = await cases.draft(id);
  const refusals: [body: object, expected: string][] = [
    [{ if_version: 'yesterday' }, '400 invalid_format if_version'],
    [{ if_version: 5 }, '400 invalid_format if_version'],
    [{ if_last_sequence: '5' }, '400 invalid_format if_last_sequence'],
    [{ if_last_sequence: -1 }, '422 validation_failed if_last_sequence'],
    [{ if_last_sequence: 1.5 }, '400 invalid_format if_last_sequence'],
    [{ if_last_sequence: 2 ** 53 }, '422 validation_failed if_last_sequence'],
    [{ body: 'other' }, '422 validation_failed body'],
  ];
  for (const [body, expected] of refusals) {
    const answer = await cases.act('approve', other.id, { body });
    t.equal(refusalOf(answer), expected, JSON.stringify(body));
  }
  t.equal((await cases.act('approve', other.id, { body: { if_version: null } })).status, 200);
});

t.test('messages between team and customer move the case', async (t) => {
  const { id, customerToken } = await cases.open();
  const ask = (fields: object = {}) => cases.sent(id, fields, { token: customerToken });
  t.strictSame(await cases.lanes(id), ['new', null]);
  await cases.sent(id);
  t.strictSame(await cases.lanes(id), ['new', null], 'a note moves nothing');
  await ask();
  t.strictSame(await cases.lanes(id), ['open', null]);
  await cases.sent(id, { audience: 'customer' });
  t.strictSame(await cases.lanes(id), ['waiting_external', null]);
  const draft = await cases.draft(id);
  await ask();
  t.strictSame(await cases.lanes(id), ['needs_approval', 'open'], 'the draft is still open');
  await cases.act('reject', draft.id);
  t.strictSame(await cases.lanes(id), ['open', null]);
});

t.test('a message of the case is there once, however often it is sent', async (t) => {
  const { id, customerToken } = await cases.open();
  const token = customerToken;
  const fields = { body: 'race', client_message_id: 'race' };
  const raced = await Promise.all(Array.from({ length: 8 }, () => cases.sent(id, fields, { token })));
  for (const one of raced) t.strictSame(one, raced[0]);
  const reply = { audience: 'customer', client_message_id: 'reply' };
  const sent = await cases.sent(id, reply);
  t.equal(sent.sequence, raced[0]!.sequence! + 1, 'resends take no numbers');
  await cases.set(id, { status: 'archived' });
  t.strictSame(
    await cases.sent(id, { ...reply, body: 'other' }),
    sent,
    'also when it could not be sent any more',
  );
  t.strictSame(await cases.sent(id, fields, { token }), raced[0]);
  for (const options of [{ token }, {}]) {
    const late = await cases.send(id, { audience: 'customer' }, options);
    t.equal(refusalOf(late), '409 resource_conflict null', 'archived');
  }
  t.equal((await listed(id)).length, 2);
});

t.test("an agent's newer draft supersedes only its own open one", async (t) => {
  const { id } = await cases.open(AGENT);
  const [first, second] = [await cases.sent(id), await cases.sent(id)];
  const byGrace = await cases.draft(id);
  const byAgent = { token: agentToken };
  const older = await cases.draft(id, { source_thread_message_id: first.id }, byAgent);
  const newer = await cases.draft(id, { source_thread_message_id: second.id }, byAgent);
  t.equal((await cases.read(older.id)).status, 'superseded');
  t.equal((await cases.read(byGrace.id)).status, 'draft');
  t.equal((await cases.read(newer.id)).status, 'draft');
  const again = await cases.draft(id, {}, byAgent);
  t.equal((await cases.read(newer.id)).status, 'superseded', 'without a source too');
  const elsewhere = await cases.draft((await cases.open(AGENT)).id, {}, byAgent);
  t.strictSame([elsewhere.status, (await cases.read(again.id)).status], ['draft', 'draft'], 'another case');
  t.strictSame(await cases.lanes(id), ['needs_approval', 'new']);
});

t.test('only open drafts of the caller can be decided', async (t) => {
  const { id, customerToken } = await cases.open(AGENT);
  const sent = await cases.sent(id);
  const done = await cases.draft(id);
  await cases.act('approve', done.id);
  const draft = await cases.draft(id);
  const hidden = await cases.conversation('customer');
  await cases.setParticipant(hidden, grace.id, { membership: 'removed' });
  const foreign = await cases.draft(hidden, {}, { token: ada.access_token });
  const absent = await cases.act('reject', newId('message'));
  const nothing = await insertVoid(id);
  t.equal(refusalOf(absent), '404 resource_not_found id');
  for (const name of ['reject', 'approve'] as const) {
    const refusals: [what: string, id: string, options: CallOptions, expected: string][] = [
      ['a sent message', sent.id, {}, '409 resource_conflict null'],
      ['an approved draft', done.id, {}, '409 resource_conflict null'],
      [
        'a role without messaging:update',
        draft.id,
        { token: vera.access_token },
        '403 insufficient_permissions null',
      ],
      ['a customer', draft.id, { token: customerToken }, '403 insufficient_permissions null'],
      ['a field', draft.id, { body: { what: 1 } }, '422 validation_failed what'],
      [
        'no credential',
        draft.id,
        { headers: { Authorization: undefined } },
        '401 invalid_credentials Authorization',
      ],
    ];
    for (const [what, of, options, expected] of refusals) {
      // Without a body of its own, Reject has none to look at.
      if (what === 'a field' && name === 'reject') continue;
      t.equal(refusalOf(await cases.act(name, of, options)), expected, `${name}: ${what}`);
    }
    const others: [what: string, id: string, options: CallOptions][] = [
      ['of a case without the caller', foreign.id, {}],
      ['of another account', draft.id, NEIGHBOUR],
      ['of a void', nothing, {}],
    ];
    for (const [what, of, options] of others) {
      const { status, text } = await cases.act(name, of, options);
      t.strictSame([status, text], [404, absent.text], `${name}: ${what}: byte for byte`);
    }
  }
  const query = 'include[]=conversation';
  t.equal(refusalOf(await cases.act('reject', draft.id, { query })), '400 parameter_invalid include[]');
  const old = { headers: { 'Service-Version': '1.0.harbor' } };
  t.equal(refusalOf(await cases.act('approve', draft.id, old)), '400 api_version_too_old Service-Version');
  const agent = await cases.act('approve', draft.id, { token: agentToken });
  t.equal(refusalOf(agent), '403 insufficient_permissions null', 'agents decide nothing');
  await cases.set(id, { status: 'archived' });
  t.equal(refusalOf(await cases.act('approve', draft.id)), '409 resource_conflict null', 'archived');
  t.equal((await cases.act('reject', draft.id)).status, 200, 'that sends nothing');
});

t.test('of concurrent decisions on a draft one counts', async (t) => {
  const { id, customerToken } = await cases.open();
  for (const names of [
    ['approve', 'approve', 'approve', 'approve'],
    ['approve', 'reject', 'approve', 'reject'],
  ] as const) {
    const draft = await cases.draft(id);
    const before = (await listed(id)).length;
    const answers = await Promise.all(names.map((name) => cases.act(name, draft.id)));
    t.strictSame(answers.map(({ status }) => status).sort(), [200, 409, 409, 409]);
    const winner = answers.findIndex(({ status }) => status === 200);
    t.equal((await listed(id)).length - before, names[winner] === 'approve' ? 1 : 0);
  }
  // The customer writes at the moment of the approval: either it is seen, or it comes behind the
  // reply.
  for (let round = 0; round < 5; round++) {
    const [newest] = await listed(id, 'limit=1');
    const draft = await cases.draft(id);
    const [approval, question] = await Promise.all([
      cases.act('approve', draft.id, { body: { if_last_sequence: newest?.sequence ?? 0 } }),
      cases.sent(id, {}, { token: customerToken }),
    ]);
    if (approval.status === 200) t.ok(message(approval, 200).sequence! < question.sequence!);
    else t.equal(refusalOf(approval), '409 resource_conflict if_last_sequence');
    await cases.act('reject', draft.id);
  }
});

t.test('an Idempotency-Key makes drafting repeatable', async (t) => {
  const { id, customerToken } = await cases.open();
  const keyed = (key: string) => ({ headers: { 'Idempotency-Key': key } });
  const proposal = { mode: 'draft', channel: 'message', client_message_id: undefined };
  const requests = {
    draft: () => cases.send(id, proposal, keyed('draft')),
    approve: () => cases.act('approve', draft.id, keyed('approve')),
    'approve again': () => cases.act('approve', draft.id, keyed('approve again')),
    reject: () => cases.act('reject', other.id, keyed('reject')),
    customer: () =>
      cases.send(id, { client_message_id: 'mine' }, { ...keyed('customer'), token: customerToken }),
    reply: () => cases.send(id, { audience: 'customer', client_message_id: 'ours' }, keyed('reply')),
  };
  const draft = message(await requests.draft(), 201);
  const other = await cases.draft(id);
  for (const [name, request] of Object.entries(requests)) {
    const first = await request();
    const again = await request();
    t.strictSame([again.status, again.text], [first.status, first.text], name);
    t.equal(again.headers.get('idempotent-replayed'), 'true', name);
    t.equal(first.status, { draft: 201, 'approve again': 409, customer: 201, reply: 201 }[name] ?? 200, name);
  }
  t.equal((await listed(id)).length, 3, 'the draft, the question and the reply, each once');
  t.strictSame(await listed(id, 'status=draft'), []);
});

async function listed(conversation: string, query = '', options: CallOptions = {}): Promise<ChatMessage[]> {
  const path = `/v1/messaging/conversations/${conversation}/messages?${query}`;
  const { status, text, body } = await app.call<List<ChatMessage>>('GET', path, options);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return [...body.data];
}

async function outcome(id: string) {
  const { body } = await app.call<{ at: string | null }>('GET', `/v1/messaging/messages/${id}/outcome`);
  return body;
}

function stored(id: string) {
  return database.kysely.selectFrom('messages').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

async function insertVoid(conversation: string): Promise<string> {
  const id = newId('message');
  await database.kysely
    .insertInto('messages')
    .values({
      id,
      account_id: demo.account_id,
      conversation_id: conversation,
      sequence: 9_000,
      kind: 'void',
      status: 'void',
      visibility: 'internal',
    })
    .execute();
  return id;
}

async function persona() {
  const { id, name } = await database.kysely
    .selectFrom('actors')
    .select(['id', 'name'])
    .where('account_id', '=', demo.account_id)
    .where('type', '=', 'group')
    .executeTakeFirstOrThrow();
  return shownActor(id, 'group', name, null);
}
