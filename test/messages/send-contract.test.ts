/**
 * Send Message (docs/contract.md#sending-a-message) as a client meets it: over HTTP, on a whole
 * server. One long file because its last test counts the sends of all other tests.
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import { type ChatMessage, MESSAGE_LIMITS } from '@parley/protocol/resources/chat-message.ts';
import { FORMER_NAMES, VERSIONS } from '@parley/protocol/versions.ts';
import t, { type Test } from 'tap';
import { newApiKey } from '../../src/api/access/api-keys.ts';
import { createAccount } from '../../src/core/accounts/account/accounts.ts';
import { createCustomer } from '../../src/core/accounts/actors/actors.ts';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import { createApiKey } from '../../src/core/accounts/keys/keys.ts';
import { enqueueRightsChanged } from '../../src/core/accounts/rights/rights-changed.ts';
import { createRole, findRole } from '../../src/core/accounts/rights/roles.ts';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import type { NewParticipant } from '../../src/core/conversations/rows/participant-store.ts';
import { type CallAnswer, type CallOptions, type Refusal, refusalOf, startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';

const DOCS = 'https://docs.example';
const app = await startTestApp(t, { PARLEY_DOCS_URL: DOCS });
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const { group, direct, case: supportCase } = demo.conversations;
const [customerRow] = await database.kysely
  .selectFrom('participants')
  .select('actor_id')
  .where('id', '=', demo.customer.participant_id)
  .execute();
const customer = { id: customerRow!.actor_id!, token: demo.customer.access_token };

const ADA = shownActor(ada.id, 'user', 'Ada Lovelace', ada.email);
const GRACE = shownActor(grace.id, 'user', 'Grace Hopper', grace.email);
const LINK = { kind: 'link', url: 'https://example.com/manual' };

t.test('the resource: every field of the contract and no other', async (t) => {
  const first = await sent(group, { body: 'ahoy', client_message_id: 'exact-1' }, as(ada));
  const { id, sequence, created_at } = first;
  t.strictSame(first, {
    id,
    object: 'chat_message',
    kind: 'chat',
    status: 'sent',
    visibility: 'internal',
    conversation: null,
    sequence,
    body: 'ahoy',
    subject: null,
    sender: null,
    author: null,
    attachments: null,
    reply_to: null,
    resource: null,
    channel: 'message',
    scheduled_at: null,
    agent_run: null,
    streaming_state: null,
    client_message_id: 'exact-1',
    edited_at: null,
    deleted_at: null,
    created_at,
    updated_at: created_at,
  });
  t.match(id, /^msg_\w{24}$/);
  t.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  t.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000, 'the time of this moment');
  t.ok(Number.isSafeInteger(sequence) && sequence! > 0);

  // All expansions at once, and all fields at once.
  const full = await sent(
    group,
    {
      body: 'all of it',
      mode: 'send',
      channel: 'message',
      audience: 'internal',
      client_message_id: 'exact-2',
      reply_to_message_id: id,
      link_resource_type: 'actor',
      link_resource_id: grace.id,
      attachments: [LINK],
      mentions: [grace.id, vera.id],
    },
    { ...as(ada), query: 'include[]=sender&include[]=author&include[]=resource' },
  );
  t.strictSame(full, {
    ...first,
    id: full.id,
    sequence: sequence! + 1,
    body: 'all of it',
    client_message_id: 'exact-2',
    sender: ADA,
    author: ADA,
    resource: shownEntity('actor', grace.id, 'Grace Hopper', grace.email),
    created_at: full.created_at,
    updated_at: full.created_at,
  });
  t.ok(full.created_at > created_at);
});

t.test('include[]: each alone and all together, only what was requested', async (t) => {
  const link = { link_resource_type: 'account', link_resource_id: demo.account_id };
  const expanded = {
    sender: ADA,
    author: ADA,
    resource: shownEntity('account', demo.account_id, 'Demo', null),
  };
  const names = ['sender', 'author', 'resource'] as const;
  for (let chosen = 0; chosen < 2 ** names.length; chosen++) {
    const asked = names.filter((_, bit) => chosen & (1 << bit));
    for (const key of ['include[]', 'include%5B%5D']) {
      const query = asked.map((name) => `${key}=${name}`).join('&');
      const message = await sent(group, link, { ...as(ada), query });
      for (const name of names) {
        const value = asked.includes(name) ? expanded[name] : null;
        t.strictSame(message[name], value, `${name} with "${query}"`);
      }
      t.strictSame([message.conversation, message.attachments, message.reply_to], [null, null, null]);
    }
  }
  const twice = await sent(group, {}, { ...as(ada), query: 'include[]=sender&include[]=sender' });
  t.strictSame(twice.sender, ADA);
  const without = await sent(group, {}, { ...as(ada), query: 'include[]=resource' });
  t.equal(without.resource, null, 'a message that links to nothing');
});

t.test('a body, an attachment or a link makes a message', async (t) => {
  const link = { link_resource_type: 'actor', link_resource_id: ada.id };
  const enough: [what: string, fields: Fields, body: string | null][] = [
    ['a body', { body: 'ahoy' }, 'ahoy'],
    ['a body keeps its white space', { body: ' ahoy\n' }, ' ahoy\n'],
    ['blank is empty', { body: ' \n', attachments: [LINK] }, null],
    ['a link', { body: undefined, ...link }, null],
    ['an attachment', { body: undefined, attachments: [LINK] }, null],
    ['an attachment beside an empty body', { body: '', attachments: [LINK] }, null],
    ['a link beside a body that is null', { body: null, ...link }, null],
    ['all three', { body: 'ahoy', attachments: [LINK], ...link }, 'ahoy'],
  ];
  for (const [what, fields, body] of enough) t.equal((await sent(group, fields)).body, body, what);
  for (const subject of ['', ' \n'])
    t.equal((await sent(group, { subject })).subject, null, 'a blank subject is none');
  for (const fields of [
    { body: undefined },
    { body: '' },
    { body: null },
    { body: '', attachments: [] },
    { body: null, attachments: null, link_resource_type: null, link_resource_id: null },
  ]) {
    await refused(t, await send(group, fields), '400 missing_field body', JSON.stringify(fields));
  }
});

t.test('text arrives as it was sent', async (t) => {
  for (const body of [
    'ünï 🚢 \u2028\u200d',
    '"\\u0041" \\ /',
    '\u0001\u001f\u007f\t\r\n',
    '<b>&amp;</b>',
    "'; --",
  ]) {
    const message = await sent(group, { body, client_message_id: `c ${body}` });
    t.equal(message.body, body);
    t.equal(message.client_message_id, `c ${body}`);
    t.equal((await stored(message.id)).body, body);
  }
  const whole = '🚢'.repeat(40_000);
  t.equal((await sent(group, { body: whole })).body, whole, '40,000 characters, whatever their size');
});

t.test('links to resources: each kind, and none that the account does not have', async (t) => {
  const theirs = await neighbour();
  const entityId = await insertEntity(demo.account_id, 'SO-1001', 'so-1001');
  const { actor: key } = await actorOfKey();
  const known: [type: string, id: string, name: string | null, handle: string | null][] = [
    ['account', demo.account_id, 'Demo', null],
    ['actor', grace.id, 'Grace Hopper', grace.email],
    ['actor', key.id, key.name, key.handle],
    ['actor', demo.agent.actor_id, 'Assistant', null],
    ['entity', entityId, 'SO-1001', 'so-1001'],
  ];
  for (const [type, id, name, handle] of known) {
    const linked = await sent(
      group,
      { link_resource_type: type, link_resource_id: id },
      { query: 'include[]=resource' },
    );
    t.strictSame(linked.resource, shownEntity(type, id, name, handle), type);
    const attached = await sent(group, {
      attachments: [LINK, { kind: 'resource', resource_type: type, resource_id: id }],
    });
    const [first, second] = await attachmentsOf(group, attached);
    t.strictSame([first!.resource, second!.resource], [null, shownEntity(type, id, name, handle)], type);
  }

  const foreign: [type: string, id: string][] = [
    ['account', demo.other_account.account_id],
    ['account', newId('account')],
    ['actor', theirs.actorId],
    ['actor', newId('actor')],
    ['actor', entityId],
    ['entity', theirs.entityId],
    ['entity', newId('entity')],
    ['entity', grace.id],
  ];
  for (const [type, id] of foreign) {
    const link = await send(group, { link_resource_type: type, link_resource_id: id });
    await refused(t, link, '404 resource_not_found link_resource_id', `${type} ${id}`);
    const attachments = [LINK, { kind: 'resource', resource_type: type, resource_id: id }];
    const attachment = await send(group, { attachments });
    await refused(t, attachment, '404 resource_not_found attachments[1].resource_id', `${type} ${id}`);
  }
});

t.test('attachments are kept in their order, with what their kind has', async (t) => {
  const message = await sent(group, {
    attachments: [
      { kind: 'resource', resource_type: 'actor', resource_id: ada.id },
      { ...LINK, filename: null },
      { kind: 'link', url: 'HTTP://example.com:8080/ä?q=%20#x' },
    ],
  });
  const shown = await attachmentsOf(group, message);
  const common = { object: 'message_attachment', filename: null, content_type: null, size_bytes: null };
  t.strictSame(
    shown,
    [
      { kind: 'resource', url: null },
      { kind: 'link', url: LINK.url },
      { kind: 'link', url: 'HTTP://example.com:8080/ä?q=%20#x' },
    ].map((own, index) => ({
      id: shown[index]!.id,
      ...common,
      ...own,
      resource: index === 0 ? shownEntity('actor', ada.id, 'Ada Lovelace', ada.email) : null,
      created_at: message.created_at,
    })),
  );
  t.equal(new Set(shown.map(({ id }) => id)).size, 3);

  const most = Array.from({ length: 20 }, (_, n) => ({ kind: 'link', url: `https://example.com/${n}` }));
  const many = await sent(group, { attachments: most });
  t.strictSame(
    (await attachmentsOf(group, many)).map(({ url }) => url),
    most.map(({ url }) => url),
  );
  for (const kind of ['file', 'image']) {
    const upload = await send(group, { attachments: [LINK, { kind, s3_key: 'nobody/uploaded/this' }] });
    await refused(t, upload, '404 resource_not_found attachments[1].s3_key', kind);
  }
});

t.test('mentions: active participants, agents among them', async (t) => {
  const theirs = await neighbour();
  const everybody = [ada.id, grace.id, vera.id, demo.agent.actor_id];
  const message = await sent(group, { mentions: everybody }, as(ada));
  t.strictSame((await stored(message.id)).mentions, everybody);
  const twice = await send(group, { mentions: [...everybody, grace.id] }, as(ada));
  await refused(t, twice, '422 validation_failed mentions[4]', 'the second time');
  t.equal((await stored((await sent(group, { mentions: [] })).id)).mentions, null);

  const left = await createConversationOf([user(ada.id), user(grace.id), user(vera.id)]);
  await database.kysely
    .updateTable('participants')
    .set({ membership: 'left' })
    .where('conversation_id', '=', left)
    .where('actor_id', '=', vera.id)
    .execute();
  const nobodies: [what: string, conversation: string, id: string][] = [
    ['not in this conversation', direct, vera.id],
    ['not any more', left, vera.id],
    ['of another account', group, theirs.actorId],
    ['absent', group, newId('actor')],
    ['nobody', group, ''],
    ['an e-mail address', group, grace.email],
    ['the participant in place of the actor', supportCase, demo.customer.participant_id],
  ];
  for (const [what, conversation, id] of nobodies) {
    const answer = await send(conversation, { mentions: [grace.id, id] }, as(ada));
    await refused(t, answer, '422 validation_failed mentions[1]', what);
  }
});

t.test('reply_to: a message of this conversation that the caller sees and that is not deleted', async (t) => {
  const original = await sent(group);
  const reply = await sent(group, { reply_to_message_id: original.id }, as(grace));
  t.equal((await stored(reply.id)).reply_to_id, original.id);
  t.equal(reply.reply_to, null, 'there is no include for it at this version');
  const link = { kind: 'link', url: 'https://example.com/' };
  const whole = await app.call<ChatMessage>(
    'POST',
    `/v1/messaging/conversations/${group}/messages?include[]=reply_to&include[]=attachments`,
    {
      token: ada.access_token,
      headers: { 'Service-Version': '1.2.harbor' },
      body: {
        body: 'whole',
        client_message_id: 'whole',
        reply_to_message_id: original.id,
        attachments: [link],
      },
    },
  );
  t.match(whole.body, { reply_to: { id: original.id }, attachments: [link], sender: null });

  const elsewhere = await sent(direct);
  for (const id of [elsewhere.id, newId('message'), 'x', '']) {
    const answer = await send(group, { reply_to_message_id: id });
    await refused(t, answer, '404 resource_not_found reply_to_message_id', `"${id}"`);
  }
  const gone = await sent(group);
  await tombstone(gone.id);
  const late = await send(group, { reply_to_message_id: gone.id });
  await refused(t, late, '410 resource_gone reply_to_message_id', 'deleted');
  await tombstone(elsewhere.id);
  const both = await send(group, { reply_to_message_id: elsewhere.id });
  await refused(
    t,
    both,
    '404 resource_not_found reply_to_message_id',
    'deleted, but not to be seen from here',
  );

  const note = await sent(supportCase, {}, as(ada));
  const answer = await sent(supportCase, { audience: 'customer' }, as(ada));
  const blind = await send(supportCase, { reply_to_message_id: note.id }, { token: customer.token });
  await refused(t, blind, '404 resource_not_found reply_to_message_id', 'a note, for the customer');
  const thanks = await sent(supportCase, { reply_to_message_id: answer.id }, { token: customer.token });
  t.equal((await stored(thanks.id)).reply_to_id, answer.id);
});

t.test('a resend with the same client_message_id answers the original', async (t) => {
  const fields = { body: 'once', client_message_id: 'dedupe' };
  const original = await send(group, fields, as(ada));
  t.equal(original.status, 201);
  const again = await send(group, fields, as(ada));
  t.equal(again.status, 201);
  t.strictSame(again.body, original.body);
  const others = { body: 'other contents', attachments: [LINK], mentions: [vera.id] };
  const other = await send(group, { ...fields, ...others }, as(ada));
  t.strictSame([other.status, other.body], [201, original.body], 'whatever else it contains');
  const expanded = await sent(group, fields, { ...as(ada), query: 'include[]=author' });
  t.strictSame(expanded, { ...message(original), author: ADA }, 'shown as this request asks');

  const { id, sequence } = message(original);
  t.not((await sent(group, fields, as(grace))).id, id, 'another author');
  t.not((await sent(direct, fields, as(ada))).id, id, 'another conversation');
  t.equal((await sent(group, {}, as(ada))).sequence, sequence! + 2, 'resends take no numbers');

  const racing = { body: 'race', client_message_id: 'dedupe-race' };
  const raced = await Promise.all(Array.from({ length: 12 }, () => sent(group, racing, as(ada))));
  for (const one of raced) t.strictSame(one, raced[0]);
  t.equal(await count({ client_message_id: 'dedupe-race' }), 1);
});

t.test('a resend returns the original even if it could not be sent any more', async (t) => {
  const conversation = await createConversationOf([user(ada.id), user(grace.id), user(vera.id)]);
  const first = await sent(conversation, {}, as(ada));
  const fields = { client_message_id: 'late', reply_to_message_id: first.id, mentions: [vera.id] };
  const original = await sent(conversation, fields, as(ada));
  await tombstone(first.id);
  t.strictSame(await sent(conversation, fields, as(ada)), original, 'what it replies to is gone');
  t.strictSame(await sent(conversation, { ...fields, mentions: ['x'] }, as(ada)), original);
  t.strictSame(
    await sent(conversation, { ...fields, body: 'other', audience: 'customer' }, as(ada)),
    original,
  );
  const fresh = await send(conversation, { ...fields, client_message_id: 'new' }, as(ada));
  await refused(t, fresh, '410 resource_gone reply_to_message_id', 'a first send');
  const others = await send(conversation, fields, as(grace));
  await refused(t, others, '410 resource_gone reply_to_message_id', "another author's");
  const draft = await send(conversation, { ...fields, mode: 'draft', channel: 'message' }, as(ada));
  await refused(t, draft, '422 validation_failed mode', 'drafts ignore it');

  await database.transaction(async (tx) => {
    await tx.kysely
      .updateTable('conversations')
      .set({ status: 'archived' })
      .where('id', '=', conversation)
      .execute();
    await enqueueRightsChanged(tx, [conversation]);
  });
  await until(async () => (await send(conversation, {}, as(ada))).status === 409, { what: 'it is archived' });
  t.strictSame(await sent(conversation, fields, as(ada)), original, 'the conversation is archived');
});

t.test('permissions to send, and the shown sender', async (t) => {
  const query = 'include[]=sender&include[]=author';
  const { actor: key } = await actorOfKey();
  const agentToken = await app.tokenOf(demo.agent.actor_id);
  const agent = shownActor(demo.agent.actor_id, 'agent', 'Assistant', null);
  const senders: [what: string, token: string, kind: string, actor: object][] = [
    ['an admin', ada.access_token, 'chat', ADA],
    ['a member', grace.access_token, 'chat', GRACE],
    ['an API key', demo.api_key, 'chat', key],
    ['an agent', agentToken, 'agent', agent],
  ];
  for (const [what, token, kind, actor] of senders) {
    const shown = await sent(group, {}, { token, query });
    t.match(shown, { kind, visibility: 'internal' }, what);
    t.strictSame([shown.sender, shown.author, shown.agent_run], [actor, actor, null], what);
  }

  // Those whose role or participation lets them read only.
  const reader = await send(group, {}, as(vera));
  await refused(t, reader, '403 insufficient_permissions null', 'a role without messaging:create');
  const viewing = await createConversationOf([user(ada.id), { ...user(grace.id), role: 'viewer' }]);
  const viewer = await send(viewing, {}, as(grace));
  await refused(t, viewer, '403 insufficient_permissions null', 'a participant that is a viewer');

  const strangers = await createConversationOf([user(vera.id)]);
  t.equal((await send(strangers, {}, as(ada))).status, 201, 'admins send everywhere in their account');
  t.equal((await send(strangers)).status, 201, 'so do keys');
  const removed = await createConversationOf([user(ada.id), user(grace.id)]);
  await database.kysely
    .updateTable('participants')
    .set({ membership: 'removed' })
    .where('conversation_id', '=', removed)
    .where('actor_id', '=', grace.id)
    .execute();
  const absent = await send(newId('conversation'), {}, as(grace));
  await refused(t, absent, '404 resource_not_found id', 'absent');
  for (const conversation of [strangers, removed]) {
    const answer = await send(conversation, {}, as(grace));
    t.equal(answer.status, 404);
    t.equal(answer.text, absent.text, 'not a participant: as if there were none');
  }
  const { api_key: token, account_id } = demo.other_account;
  const theirs = await send(group, {}, { token, headers: { 'Service-Account': account_id } });
  t.equal(theirs.status, 404);
  t.equal(
    theirs.text.replaceAll(group, '?'),
    absent.text.replaceAll(absent.conversation, '?'),
    'byte for byte',
  );
  const crossed = await send(group, {}, { token });
  await refused(t, crossed, '404 resource_not_found Service-Account', 'on behalf of our account');
});

t.test('of a member that a body has twice, the last one counts', async (t) => {
  const rawBody = '{"body":"first","client_message_id":"twice","body":"last"}';
  const { body } = await send(group, {}, { rawBody });
  t.match(body, { body: 'last' });
});

t.test('customers write to their own case, always visibly', async (t) => {
  const query = 'include[]=sender&include[]=author';
  const shownCustomer = shownActor(customer.id, 'user', 'Carl Customer', 'carl@example.net');
  for (const audience of [undefined, null, 'customer']) {
    const shown = await sent(supportCase, { audience }, { token: customer.token, query });
    t.match(shown, { kind: 'chat', visibility: 'external', channel: 'message' }, `audience ${audience}`);
    t.strictSame([shown.sender, shown.author], [shownCustomer, null]);
  }
  for (const version of VERSIONS) {
    const headers = { 'Service-Version': version };
    const note = await send(supportCase, { audience: 'internal' }, { token: customer.token, headers });
    await refused(t, note, '422 validation_failed audience', `a customer has no notes, at ${version}`);
  }
  for (const conversation of [group, direct, await createCase([]), newId('conversation')]) {
    const answer = await send(conversation, {}, { token: customer.token });
    await refused(t, answer, '404 resource_not_found id', 'any other conversation');
  }
});

t.test('a case: notes of the team, and replies under its persona', async (t) => {
  const query = 'include[]=sender&include[]=author';
  const persona = await personaOf(demo.account_id);
  for (const audience of [undefined, 'internal']) {
    const note = await sent(supportCase, { audience }, { ...as(ada), query });
    t.match(note, { visibility: 'internal', channel: 'message', sender: ADA, author: ADA });
  }
  const reply = await sent(supportCase, { audience: 'customer' }, { ...as(ada), query });
  t.match(reply, { visibility: 'external', channel: 'message', subject: null, kind: 'chat' });
  t.strictSame(reply.sender, shownActor(persona, 'group', 'Customer Service', null));
  t.strictSame(reply.author, ADA);

  for (const conversation of [group, direct]) {
    const answer = await send(conversation, { audience: 'customer' }, as(ada));
    await refused(t, answer, '422 validation_failed audience', 'no customer here');
  }
});

t.test('an agent answers customers only with messaging:send_external', async (t) => {
  const ownCase = await createCase([{ type: 'agent', actorId: demo.agent.actor_id }]);
  const token = await app.tokenOf(demo.agent.actor_id);
  t.match(await sent(ownCase, {}, { token }), { visibility: 'internal', kind: 'agent' });
  const unapproved = await send(ownCase, { audience: 'customer' }, { token });
  await refused(t, unapproved, '403 insufficient_permissions null', 'nobody approved it');

  const trusted = await insertAgentActor(['messaging:create', 'messaging:send_external']);
  const trustingCase = await createCase([{ type: 'agent', actorId: trusted }]);
  const reply = await sent(trustingCase, { audience: 'customer' }, { token: await app.tokenOf(trusted) });
  t.match(reply, { visibility: 'external', kind: 'agent' });
});

t.test('an archived conversation takes no messages', async (t) => {
  const conversation = await createConversationOf([user(ada.id), user(grace.id)]);
  await database.kysely
    .updateTable('conversations')
    .set({ status: 'archived' })
    .where('id', '=', conversation)
    .execute();
  for (const token of [ada.access_token, grace.access_token, demo.api_key]) {
    await refused(t, await send(conversation, {}, { token }), '409 resource_conflict null', 'archived');
  }
});

t.test('an Idempotency-Key makes a send repeatable', async (t) => {
  const keyed = (key: string, fields: Fields, options: SendOptions = as(ada)) =>
    send(group, fields, { ...options, headers: { 'Idempotency-Key': key } });
  const fields = { body: 'keyed', client_message_id: 'keyed-1' };
  const first = await keyed('k1', fields);
  t.equal(first.status, 201);
  t.equal(first.headers.get('idempotent-replayed'), null);
  const replayed = await keyed('k1', { ...fields, audience: null });
  t.equal(replayed.status, 201);
  t.equal(replayed.text, first.text, 'byte for byte; null is absent');
  t.equal(replayed.headers.get('idempotent-replayed'), 'true');
  t.equal(replayed.headers.get('content-type'), first.headers.get('content-type'));

  const mismatch = await keyed('k1', { ...fields, body: 'other' });
  await refused(t, mismatch, '422 validation_failed Idempotency-Key', 'another body', 'idempotency_error');
  const queried = await keyed('k1', fields, { ...as(ada), query: 'include[]=sender' });
  await refused(t, queried, '422 validation_failed Idempotency-Key', 'another query', 'idempotency_error');
  t.equal((await keyed('k1', fields, as(grace))).headers.get('idempotent-replayed'), null, 'another caller');

  for (const key of ['x'.repeat(256), '']) {
    await refused(
      t,
      await keyed(key, {}),
      '400 parameter_invalid Idempotency-Key',
      `${key.length} characters`,
    );
  }
  t.equal((await keyed('x'.repeat(255), {})).status, 201);

  await refused(t, await keyed('k2', { body: '' }), '400 missing_field body', 'a refused request');
  t.equal((await keyed('k2', {})).status, 201, 'does not use its key up');
  const missing = { reply_to_message_id: newId('message') };
  const kept = await keyed('k3', missing);
  const keptAgain = await keyed('k3', { ...missing, client_message_id: kept.sentId });
  await refused(t, keptAgain, '404 resource_not_found reply_to_message_id', 'what the state refused is kept');
  t.equal(keptAgain.text, kept.text);
  t.equal(keptAgain.headers.get('idempotent-replayed'), 'true');
});

t.test('a replay has the form of the version that asks for it, and every version its own', async (t) => {
  const fields = { body: 'keyed', client_message_id: 'versions-1' };
  const keyed = (version: string, key = 'versions') =>
    send(group, fields, {
      ...as(ada),
      headers: { 'Idempotency-Key': key, 'Service-Version': version },
    });
  for (const [first, second] of [
    ['1.0.harbor', '1.2.harbor'],
    ['1.2.harbor', '1.0.harbor'],
  ] as const) {
    const original = await keyed(first, `versions-${first}`);
    const replayed = await keyed(second, `versions-${first}`);
    t.equal(replayed.headers.get('idempotent-replayed'), 'true');
    // The call has checked each answer against the document of its version.
    t.notSame(Object.keys(replayed.body), Object.keys(original.body), `${first}, then ${second}`);
    t.equal(message(replayed).id, message(original).id);
    const again = await keyed(first, `versions-${first}`);
    t.equal(again.text, original.text, 'byte for byte in the version of the first request');
    t.notMatch(again.text, '\t');
  }
});

t.test('an answer that a node of an earlier version has stored is replayed as it is', async (t) => {
  const headers = { 'Idempotency-Key': 'earlier', 'Service-Version': '1.0.harbor' };
  const fields = { body: 'keyed', client_message_id: 'earlier-1' };
  const first = await send(group, fields, { ...as(ada), headers });
  // Earlier versions stored the form of the first request, without marks.
  await database.kysely
    .updateTable('idempotency_keys')
    .set({ response: Buffer.from(first.text) })
    .where('about', '=', message(first).id)
    .execute();
  const replayed = await send(group, fields, { ...as(ada), headers });
  t.equal(replayed.headers.get('idempotent-replayed'), 'true');
  t.equal(replayed.text, first.text);
});

// Every request below must be refused: a number, even of a void, would reveal one that was
// accepted.
t.test('a send refuses bad input', async (t) => {
  const before = await sent(supportCase, {}, as(ada));
  const rows = await count({ conversation_id: supportCase });
  let honest = 0;

  /** To the case, where every field has a meaning. */
  const post = (fields: Fields, options: SendOptions = {}) =>
    send(supportCase, fields, { ...as(ada), ...options });
  const accepted = async (t: Test, answer: Promise<CallAnswer<unknown>>, what: string) => {
    t.equal((await answer).status, 201, what);
    honest += 1;
  };

  await t.test('a send refuses values of the wrong JSON type', async (t) => {
    for (const [name, type] of Object.entries(FIELDS)) {
      for (const value of valuesNot(type)) {
        const answer = await post({ [name]: value });
        await refused(t, answer, `400 invalid_format ${name}`, `${name}: ${JSON.stringify(value)}`);
      }
    }
    for (const [name, type] of Object.entries({ cc: 'string', mentions: 'string', attachments: 'object' })) {
      const good = { cc: 'a@example.com', mentions: ada.id, attachments: LINK }[name];
      for (const value of [...valuesNot(type), null]) {
        const answer = await post({ audience: 'customer', [name]: [good, value] });
        await refused(t, answer, `400 invalid_format ${name}[1]`, `${name}: [… ${JSON.stringify(value)}]`);
      }
    }
    for (const [name, type] of Object.entries(ATTACHMENT_FIELDS)) {
      for (const value of valuesNot(type)) {
        const answer = await post({ attachments: [LINK, { ...LINK, [name]: value }] });
        const param = `attachments[1].${name}`;
        await refused(t, answer, `400 invalid_format ${param}`, `${param}: ${JSON.stringify(value)}`);
      }
    }
  });

  await t.test('null in the body of a send counts as absent', async (t) => {
    const nulls = Object.fromEntries(Object.keys(FIELDS).map((name) => [name, null]));
    await accepted(t, post({ ...nulls, body: 'ahoy', client_message_id: randomUUID() }), 'what is optional');
    const noise = Object.fromEntries(Object.keys(ATTACHMENT_FIELDS).map((name) => [name, null]));
    await accepted(t, post({ attachments: [{ ...noise, ...LINK }] }), 'what is optional of an attachment');
    const required: [fields: Fields, param: string][] = [
      [{ body: null }, 'body'],
      [{ client_message_id: null }, 'client_message_id'],
      [{ link_resource_type: 'actor', link_resource_id: null }, 'link_resource_id'],
      [{ link_resource_type: null, link_resource_id: ada.id }, 'link_resource_type'],
      [{ attachments: [LINK, { ...LINK, kind: null }] }, 'attachments[1].kind'],
      [{ attachments: [LINK, { ...LINK, url: null }] }, 'attachments[1].url'],
      [{ attachments: [{ kind: 'file', s3_key: null }] }, 'attachments[0].s3_key'],
      [{ attachments: [{ kind: 'image', s3_key: null }] }, 'attachments[0].s3_key'],
      [
        { attachments: [{ kind: 'resource', resource_type: null, resource_id: ada.id }] },
        'attachments[0].resource_type',
      ],
      [
        { attachments: [{ kind: 'resource', resource_type: 'actor', resource_id: null }] },
        'attachments[0].resource_id',
      ],
      [{ mode: 'draft', channel: null }, 'channel'],
    ];
    for (const [fields, param] of required) {
      await refused(t, await post(fields), `400 missing_field ${param}`, JSON.stringify(fields));
      await refused(t, await post(withoutNulls(fields)), `400 missing_field ${param}`, `absent: ${param}`);
    }
  });

  await t.test('a send checks empty values', async (t) => {
    const cases: [fields: Fields, expected: string][] = [
      [{ body: '' }, '400 missing_field body'],
      [{ client_message_id: '' }, '400 missing_field client_message_id'],
      [{ scheduled_at: '' }, '400 invalid_format scheduled_at'],
      [{ reply_to_message_id: '' }, '404 resource_not_found reply_to_message_id'],
      [{ audience: 'customer', cc: [''] }, '400 invalid_format cc[0]'],
      [{ mentions: [''] }, '422 validation_failed mentions[0]'],
      [{ attachments: [{}] }, '400 missing_field attachments[0].kind'],
    ];
    for (const name of ['mode', 'channel', 'audience', 'link_resource_type']) {
      cases.push([{ [name]: '' }, `422 validation_failed ${name}`]);
    }
    for (const name of ['kind', 'resource_type']) {
      cases.push([
        { attachments: [{ ...LINK, [name]: '' }] },
        `422 validation_failed attachments[0].${name}`,
      ]);
    }
    for (const [fields, expected] of cases) {
      await refused(t, await post(fields), expected, JSON.stringify(fields));
    }
    await accepted(t, post({ audience: 'customer', cc: [], mentions: [], attachments: [] }), 'empty lists');
  });

  await t.test('a send refuses values that are too long by one', async (t) => {
    const cases: [fields: Fields, param: string][] = [
      [{ body: 'a'.repeat(40_001) }, 'body'],
      [{ body: '🚢'.repeat(40_001) }, 'body'],
      [{ client_message_id: 'a'.repeat(MESSAGE_LIMITS.clientMessageIdCharacters + 1) }, 'client_message_id'],
      [{ audience: 'customer', subject: 'a'.repeat(MESSAGE_LIMITS.subjectCharacters + 1) }, 'subject'],
      [{ audience: 'customer', cc: addresses(51) }, 'cc'],
      [{ mentions: Array.from({ length: 51 }, (_, index) => `act_${index}`) }, 'mentions'],
      [{ attachments: Array(21).fill(LINK) }, 'attachments'],
      [{ source_thread_message_id: 'a'.repeat(65) }, 'source_thread_message_id'],
      [{ reply_to_message_id: 'a'.repeat(65) }, 'reply_to_message_id'],
      [{ link_resource_type: 'actor', link_resource_id: 'a'.repeat(65) }, 'link_resource_id'],
      [{ mentions: [ada.id, 'a'.repeat(65)] }, 'mentions[1]'],
    ];
    const nested = { s3_key: 1_024, filename: 255, content_type: 255, resource_id: 64 };
    for (const [name, most] of Object.entries(nested)) {
      cases.push([
        { attachments: [LINK, { ...LINK, [name]: 'a'.repeat(most + 1) }] },
        `attachments[1].${name}`,
      ]);
    }
    const url = `https://example.com/${'a'.repeat(MESSAGE_LIMITS.urlCharacters - 19)}`;
    t.equal(url.length, MESSAGE_LIMITS.urlCharacters + 1);
    cases.push([{ attachments: [LINK, { kind: 'link', url }] }, 'attachments[1].url']);
    for (const [fields, param] of cases) {
      await refused(t, await post(fields), `422 validation_failed ${param}`, param);
    }

    const longest = {
      body: 'a'.repeat(40_000),
      client_message_id: 'a'.repeat(MESSAGE_LIMITS.clientMessageIdCharacters),
      audience: 'customer',
      mentions: [grace.id],
      attachments: Array(20).fill({ kind: 'link', url: url.slice(0, -1) }),
    };
    await accepted(t, post(longest), 'everything as long as it may be');
  });

  await t.test('a send refuses values outside their sets, ranges and formats', async (t) => {
    const cases: [fields: Fields, expected: string][] = [
      [{ mode: 'Send' }, '422 validation_failed mode'],
      [{ channel: 'sms' }, '422 validation_failed channel'],
      [{ audience: 'everybody' }, '422 validation_failed audience'],
      [{ link_resource_type: 'user', link_resource_id: ada.id }, '422 validation_failed link_resource_type'],
      [{ attachments: [LINK, { ...LINK, kind: 'video' }] }, '422 validation_failed attachments[1].kind'],
      [
        { attachments: [{ ...LINK, resource_type: 'x' }] },
        '422 validation_failed attachments[0].resource_type',
      ],
      [{ attachments: [{ ...LINK, size_bytes: -1 }] }, '422 validation_failed attachments[0].size_bytes'],
      [{ attachments: [{ ...LINK, size_bytes: 1.5 }] }, '400 invalid_format attachments[0].size_bytes'],
      [{ scheduled_at: '2020-01-01T00:00:00Z' }, '422 validation_failed scheduled_at'],
      [{ scheduled_at: inDays(367) }, '422 validation_failed scheduled_at'],
      ...['file', 'image'].map((kind): [Fields, string] => [
        { attachments: [{ kind, s3_key: 'x', url: LINK.url }] },
        '422 validation_failed attachments[0].url',
      ]),
      ...['s3_key', 'filename', 'content_type', 'resource_id'].map((name): [Fields, string] => [
        { attachments: [LINK, { ...LINK, [name]: 'x' }] },
        `422 validation_failed attachments[1].${name}`,
      ]),
      ...[{ url: LINK.url }, { filename: 'x' }, { s3_key: 'x' }, { size_bytes: 1 }].map(
        (foreign): [Fields, string] => [
          { attachments: [{ kind: 'resource', resource_type: 'actor', resource_id: grace.id, ...foreign }] },
          `422 validation_failed attachments[0].${Object.keys(foreign)[0]}`,
        ],
      ),
      [{ body: ' ' }, '400 missing_field body'],
      [{ body: '\n\t\u00a0' }, '400 missing_field body'],
      [{ client_message_id: ' ' }, '400 missing_field client_message_id'],
      [{ subject: 'To whom?' }, '422 validation_failed subject'],
      [{ audience: 'customer', subject: 'a\r\nBcc: b@example.com' }, '422 validation_failed subject'],
      [{ cc: ['a@example.com'] }, '422 validation_failed cc'],
    ];
    for (const text of [
      'tomorrow',
      '2030-01-01',
      '2030-01-01T00:00:00',
      '2030-02-30T00:00:00Z',
      '1893456000',
    ]) {
      cases.push([{ scheduled_at: text }, '400 invalid_format scheduled_at']);
    }
    for (const text of ['nobody', 'a@', 'a b@example.com', 'A <a@example.com>', 'a@example.com\n']) {
      cases.push([{ audience: 'customer', cc: ['b@example.com', text] }, '400 invalid_format cc[1]']);
    }
    const mended = [
      'https:example.com',
      'http:///example.com',
      ' https://example.com',
      'https://example.com/\n',
    ];
    const noLinks = ['nowhere', '//example.com', 'https://'];
    for (const text of [...mended, 'https://example.com/a b', 'https://example.com\\a', ...noLinks]) {
      const attachments = [LINK, { kind: 'link', url: text }];
      cases.push([{ attachments }, '400 invalid_format attachments[1].url']);
    }
    for (const text of ['javascript:alert(1)', 'ftp://example.com']) {
      const attachments = [LINK, { kind: 'link', url: text }];
      cases.push([{ attachments }, '422 validation_failed attachments[1].url']);
    }
    for (const [fields, expected] of cases) {
      await refused(t, await post(fields), expected, JSON.stringify(fields));
    }
  });

  await t.test('drafts, as far as they can be refused', async (t) => {
    const draft = { mode: 'draft', channel: 'message' };
    await refused(t, await post({ mode: 'draft' }), '400 missing_field channel', 'no channel');
    const scheduled = await post({ ...draft, scheduled_at: inDays(1) });
    await refused(t, scheduled, '422 validation_failed scheduled_at', 'a draft is not sent by the clock');
    for (const conversation of [group, direct]) {
      const answer = await send(conversation, draft, as(ada));
      await refused(t, answer, '422 validation_failed mode', 'nobody to reply to');
    }
  });

  await t.test('fields that there are not', async (t) => {
    for (const name of ['text', 'Body', 'id', 'sender', 'constructor', 'toString', 'ünï', '']) {
      await refused(t, await post({ [name]: 'x' }), `422 validation_failed ${name}`, `"${name}"`);
      const attachments = [LINK, { ...LINK, [name]: 'x' }];
      const answer = await post({ attachments });
      await refused(t, answer, `422 validation_failed attachments[1].${name}`, `"${name}" of an attachment`);
    }
    for (const rawBody of [
      '{"body":"x","client_message_id":"proto","__proto__":{"mode":"draft"}}',
      '{"body":"x","client_message_id":"proto","__proto__":null}',
    ]) {
      const answer = await post({}, { rawBody });
      await refused(t, answer, '422 validation_failed __proto__', rawBody);
    }
  });

  await t.test('text that cannot be kept, in every string', async (t) => {
    const strings: [param: string, fieldsWith: (text: string) => Fields][] = [
      ...stringsOf(FIELDS).map((name): [string, (text: string) => Fields] => [
        name,
        (text) => ({ [name]: text }),
      ]),
      ...stringsOf(ATTACHMENT_FIELDS).map((name): [string, (text: string) => Fields] => [
        `attachments[1].${name}`,
        (text) => ({ attachments: [LINK, { ...LINK, [name]: text }] }),
      ]),
      ['cc[1]', (text) => ({ audience: 'customer', cc: ['a@example.com', text] })],
      ['mentions[0]', (text) => ({ mentions: [text] })],
      ['unknown', (text) => ({ unknown: text })],
      ['unknown.deep[0]', (text) => ({ unknown: { deep: [text] } })],
    ];
    for (const [what, text] of Object.entries(UNCLEAN)) {
      for (const [param, fieldsWith] of strings) {
        const answer = await post(fieldsWith(text));
        await refused(t, answer, `400 invalid_format ${param}`, `${what} in ${param}`);
      }
      const named = await post({ [text]: 'x' });
      await refused(t, named, '400 invalid_format null', `${what} in a name`);
    }
    const raw = await post({}, { rawBody: '{"body":"\0","client_message_id":"raw"}' });
    await refused(t, raw, '400 invalid_format null', 'U+0000 as a byte');
    await accepted(t, post({ body: 'a\u0001🚢\ufffe\ufffd' }), 'what looks odd can be kept');
  });

  await t.test('bodies that are no JSON object', async (t) => {
    const whole = JSON.stringify({ body: 'ahoy', client_message_id: 'whole' });
    const bodies: [body: string | Uint8Array<ArrayBuffer>, expected: string][] = [
      ['', '400 missing_field body'],
      ['{}', '400 missing_field body'],
      ...[
        ' ',
        '[]',
        `[${whole}]`,
        '"ahoy"',
        '5',
        'true',
        'null',
        'body=ahoy',
        `${whole}x`,
        `${whole}${whole}`,
      ].map((body): [string, string] => [body, '400 invalid_format null']),
      ...[1, 2, 10, whole.length - 1].map((length): [string, string] => [
        whole.slice(0, length),
        '400 invalid_format null',
      ]),
      [`{"body":${'['.repeat(200)}${']'.repeat(200)}}`, '400 invalid_format null'],
      [Uint8Array.from(Buffer.from('7b22626f6479223a22ff227d', 'hex')), '400 invalid_format null'],
      [' '.repeat(256 * 1024 + 1), '413 validation_failed null'],
      [whole.padEnd(256 * 1024 + 1), '413 validation_failed null'],
    ];
    for (const [rawBody, expected] of bodies) {
      const what = `${rawBody.length} bytes: ${String(rawBody).slice(0, 40)}`;
      await refused(t, await post({}, { rawBody }), expected, what);
    }
    await accepted(t, post({}, { rawBody: whole.padEnd(256 * 1024) }), '256 KiB');
    for (const type of ['application/json; charset=utf-8', 'application/merge-patch+json', '']) {
      await accepted(t, post({}, { headers: { 'Content-Type': type } }), `Content-Type "${type}"`);
    }
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'image/png', 'nonsense']) {
      const answer = await post({}, { headers: { 'Content-Type': type } });
      await refused(t, answer, '415 invalid_format Content-Type', `Content-Type "${type}"`);
    }
  });

  await t.test('a send checks its query parameters', async (t) => {
    const queries: [query: string, expected: string][] = [
      ['what=1', '400 parameter_unknown what'],
      ['limit=5', '400 parameter_unknown limit'],
      ['include=sender', '400 parameter_unknown include'],
      ['include[0]=sender', '400 parameter_unknown include[0]'],
      ...['attachments', 'conversation', 'reply_to', 'agent_run', 'Sender', 'sender,author', ''].map(
        (name): [string, string] => [`include[]=sender&include[]=${name}`, '400 parameter_invalid include[]'],
      ),
      ['include[]=%ff', '400 parameter_invalid include[]'],
      ['include[]=sender%00', '400 parameter_invalid include[]'],
    ];
    for (const [query, expected] of queries) await refused(t, await post({}, { query }), expected, query);
  });

  await t.test('a send checks its headers', async (t) => {
    const credentials = await badCredentials();
    for (const [what, authorization, expected] of credentials) {
      const answer = await post({}, { headers: { Authorization: authorization } });
      await refused(t, answer, expected, `Authorization ${what}`);
      t.equal(answer.headers.get('www-authenticate'), 'Bearer');
    }
    const others: [name: string, value: string | undefined, expected: string][] = [
      ['Service-Version', undefined, '400 api_version_required Service-Version'],
      ['Service-Version', '', '400 api_version_required Service-Version'],
      ...['1.1', '1.1.bay', '9.0.harbor', '1.1.Harbor', '1.2.harbour', '2', '1.2.harbor-preview.2'].map(
        (version): [string, string, string] => [
          'Service-Version',
          version,
          '400 api_version_invalid Service-Version',
        ],
      ),
      ['Service-Account', undefined, '400 parameter_missing Service-Account'],
      ['Service-Account', '', '400 parameter_missing Service-Account'],
      ['Service-Account', demo.other_account.account_id, '404 resource_not_found Service-Account'],
      ['Service-Account', newId('account'), '404 resource_not_found Service-Account'],
      ['Service-Account', 'Demo', '404 resource_not_found Service-Account'],
    ];
    for (const [name, value, expected] of others) {
      await refused(t, await post({}, { headers: { [name]: value } }), expected, `${name}: ${value}`);
    }
    const foreign = await post({}, { headers: { 'Service-Account': demo.other_account.account_id } });
    const absent = await post({}, { headers: { 'Service-Account': newId('account') } });
    t.equal(foreign.text, absent.text, 'another account looks like none');
    for (const version of ['1.0.harbor', ...FORMER_NAMES.keys(), ...VERSIONS.slice(2)]) {
      await accepted(t, post({}, { headers: { 'Service-Version': version } }), version);
    }
    const path = `/v1/messaging/conversations/${supportCase}/messages`;
    const companion = await app.call('GET', path, { headers: { 'Service-Version': '1.0.harbor' } });
    await refused(t, companion, '400 api_version_too_old Service-Version', 'a companion is younger');
    const unpaid = await unpaidAccount();
    const answer = await post({}, unpaid);
    await refused(t, answer, '402 payment_required null', 'a subscription that is not active');
  });

  await t.test('a send is found only by its method and path', async (t) => {
    const path = `/v1/messaging/conversations/${supportCase}/messages`;
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const answer = await app.call(method, path, { body: { body: 'x', client_message_id: 'x' } });
      await refused(t, answer, '405 method_not_allowed null', method);
      t.match(answer.headers.get('allow'), /GET.*POST|POST.*GET/);
    }
    for (const id of ['x', '..%2f', "'%20OR%20true", supportCase.toLowerCase()]) {
      const answer = await send(id, {}, as(ada));
      t.match(refusalOf(answer), /^404 resource_not_found (id|null)$/, id);
    }
    t.equal(refusalOf(await send('%00', {}, as(ada))), '400 invalid_format null');
  });

  t.equal(await count({ conversation_id: supportCase }), rows + honest, 'no row more than the honest ones');
  const after = await sent(supportCase, {}, as(ada));
  t.equal(after.sequence, before.sequence! + honest + 1, 'and no number');
});

type Fields = Readonly<Record<string, unknown>>;

interface SendOptions extends CallOptions {
  /** Without `?`. */
  readonly query?: string;
}

interface SendAnswer extends CallAnswer<Refusal> {
  readonly conversation: string;
  /** The client_message_id that went with it. */
  readonly sentId: unknown;
}

/** A body and a new client_message_id by default; undefined leaves one out. */
async function send(
  conversation: string,
  fields: Fields = {},
  { query, ...options }: SendOptions = {},
): Promise<SendAnswer> {
  const path = `/v1/messaging/conversations/${conversation}/messages${query === undefined ? '' : `?${query}`}`;
  const body = { body: 'ahoy', client_message_id: randomUUID(), ...fields };
  const answer = await app.call('POST', path, options.rawBody === undefined ? { ...options, body } : options);
  return { ...answer, conversation, sentId: body.client_message_id };
}

/** A send that must succeed. */
async function sent(...request: Parameters<typeof send>): Promise<ChatMessage> {
  return message(await send(...request));
}

function message({ status, text }: CallAnswer<unknown>): ChatMessage {
  if (status !== 201) throw new Error(`${status} ${text}`);
  return JSON.parse(text);
}

/** `<status> <code> <param>`, in the error envelope. */
async function refused(
  t: Test,
  answer: CallAnswer<Refusal>,
  expected: string,
  what: string,
  type = 'invalid_request_error',
): Promise<void> {
  t.equal(refusalOf(answer), expected, what);
  const { code, message, param } = answer.body.error ?? {};
  t.strictSame(
    answer.body,
    {
      error: {
        code,
        type,
        message,
        param,
        doc_url: `${DOCS}/api/errors#${code}`,
        is_transient: false,
        request_log_url: null,
      },
    },
    `${what}: the envelope`,
  );
  if (typeof message !== 'string' || message === '') t.fail(`${what}: it says nothing`);
}

function as({ access_token }: { readonly access_token: string }): { token: string } {
  return { token: access_token };
}

function shownActor(id: string, type: string, name: string | null, handle: string | null) {
  return { id, object: 'actor', type, name, handle, avatar_url: null, role: null };
}

function shownEntity(type: string, id: string, name: string | null, handle: string | null) {
  return { id, object: 'entity', type, name, handle };
}

async function attachmentsOf(conversation: string, { sequence }: ChatMessage) {
  const path = `/v1/messaging/conversations/${conversation}/messages`;
  const query = `after_sequence=${sequence! - 1}&limit=1&include[]=attachments`;
  const { body } = await app.call<List<ChatMessage>>('GET', `${path}?${query}`);
  return body.data[0]!.attachments!;
}

async function stored(id: string) {
  return database.kysely.selectFrom('messages').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

async function tombstone(id: string): Promise<void> {
  await database.kysely
    .updateTable('messages')
    .set({ deleted_at: new Date().toISOString() })
    .where('id', '=', id)
    .execute();
}

async function count(where: { conversation_id?: string; client_message_id?: string }): Promise<number> {
  let rows = database.kysely.selectFrom('messages').select('id');
  for (const [column, value] of Object.entries(where)) {
    rows = rows.where(column as keyof typeof where, '=', value);
  }
  return (await rows.execute()).length;
}

function user(actorId: string): NewParticipant {
  return { type: 'user', actorId };
}

async function createConversationOf(
  participants: readonly NewParticipant[],
  audience: 'internal' | 'customer' = 'internal',
): Promise<string> {
  const { conversation } = await database.transaction((tx) =>
    createConversation(tx, {
      accountId: demo.account_id,
      type: 'group',
      title: 'Pier',
      audience,
      participants,
    }),
  );
  return conversation.id;
}

/** A case of another customer. */
async function createCase(participants: readonly NewParticipant[]): Promise<string> {
  const { id } = await createCustomer(database, { accountId: demo.account_id, name: 'Cleo' });
  return createConversationOf([user(ada.id), { type: 'customer', actorId: id }, ...participants], 'customer');
}

async function insertAgentActor(
  permissions: Parameters<typeof createRole>[1]['permissions'],
): Promise<string> {
  const { id: role_id } = await createRole(database, {
    accountId: demo.account_id,
    name: randomUUID(),
    type: 'agent',
    permissions,
  });
  const id = newId('actor');
  await database.kysely
    .insertInto('actors')
    .values({ id, account_id: demo.account_id, type: 'agent', name: 'Trusted', role_id })
    .execute();
  return id;
}

async function insertEntity(accountId: string, name: string, handle: string | null): Promise<string> {
  const id = newId('entity');
  await database.kysely.insertInto('entities').values({ id, account_id: accountId, name, handle }).execute();
  return id;
}

/** Resources of another account. */
async function neighbour(): Promise<{ actorId: string; entityId: string }> {
  const accountId = demo.other_account.account_id;
  const { actor_id: actorId } = await database.kysely
    .selectFrom('api_keys')
    .select('actor_id')
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow();
  return { actorId, entityId: await insertEntity(accountId, 'Theirs', null) };
}

/** The actor of the demo account's API key. */
async function actorOfKey() {
  const { id, name, handle } = await database.kysely
    .selectFrom('actors')
    .select(['id', 'name', 'handle'])
    .where('account_id', '=', demo.account_id)
    .where('type', '=', 'api_key')
    .executeTakeFirstOrThrow();
  return { actor: shownActor(id, 'api_key', name, handle) };
}

async function personaOf(accountId: string): Promise<string> {
  const { actor_id } = await database.kysely
    .selectFrom('messaging_groups')
    .select('actor_id')
    .where('account_id', '=', accountId)
    .where('name', '=', 'Customer Service')
    .executeTakeFirstOrThrow();
  return actor_id;
}

async function unpaidAccount(): Promise<SendOptions> {
  return database.transaction(async (tx) => {
    const { account, roles } = await createAccount(tx, { name: 'Unpaid' });
    await tx.kysely
      .updateTable('accounts')
      .set({ subscription: 'inactive' })
      .where('id', '=', account.id)
      .execute();
    const { key } = await createApiKey(tx, { accountId: account.id, name: 'Key', roleId: roles.admin.id });
    return { token: key, headers: { 'Service-Account': account.id } };
  });
}

/** Values of the Authorization header that open nothing. */
async function badCredentials(): Promise<[what: string, value: string | undefined, expected: string][]> {
  const hourAgo = Date.now() - 3_600_000;
  const { expired, revoked, deactivated } = await database.transaction(async (tx) => {
    const { id: roleId } = await findRole(tx, demo.account_id, 'admin');
    const key = (name: string, expiresAt?: string) =>
      createApiKey(tx, { accountId: demo.account_id, name, roleId, ...(expiresAt && { expiresAt }) });
    const expired = await key('Expired', new Date(hourAgo).toISOString());
    const revoked = await key('Revoked');
    const now = new Date().toISOString();
    await tx.kysely
      .updateTable('api_keys')
      .set({ revoked_at: now })
      .where('id', '=', revoked.apiKey.id)
      .execute();
    const { user } = await createUser(tx, {
      accountId: demo.account_id,
      name: 'Gone',
      email: 'gone@example.com',
      roleId,
    });
    await tx.kysely.updateTable('actors').set({ deactivated_at: now }).where('id', '=', user.id).execute();
    return { expired: expired.key, revoked: revoked.key, deactivated: user.id };
  });
  const token = ada.access_token;
  const [header, payload, signature] = token.split('.') as [string, string, string];
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const forged = (changes: object, head = header) =>
    [head, Buffer.from(JSON.stringify({ ...claims, ...changes })).toString('base64url'), signature].join('.');
  const unsigned = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url');
  const { api_key } = demo;
  const mistyped = api_key.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
  const malformed = '401 invalid_credentials Authorization';
  const unknown = '401 invalid_credentials null';
  return [
    ['missing', undefined, malformed],
    ['empty', '', malformed],
    ['another scheme', `Basic ${Buffer.from(`ada:${api_key}`).toString('base64')}`, malformed],
    ['an unknown scheme', `Token ${api_key}`, malformed],
    ['no scheme', api_key, malformed],
    ['a scheme alone', 'Bearer', malformed],
    ['two credentials', `Bearer ${api_key} ${api_key}`, unknown],
    ['an unknown key', `Bearer ${newApiKey().key}`, unknown],
    ['a mistyped key', `Bearer ${mistyped}`, unknown],
    ['half a key', `Bearer ${api_key.slice(0, 20)}`, unknown],
    ['no token', 'Bearer a.b.c', unknown],
    ['a token of somebody else', `Bearer ${forged({ sub: grace.id })}`, unknown],
    ['a token without a signature', `Bearer ${forged({}, unsigned).replace(signature, '')}`, unknown],
    ['a token of nobody', `Bearer ${await app.tokenOf(newId('actor'))}`, unknown],
    ['a token of a deactivated user', `Bearer ${await app.tokenOf(deactivated)}`, unknown],
    [
      'an expired token',
      `Bearer ${await app.tokenOf(ada.id, { issuedAtMs: hourAgo })}`,
      '401 expired_token null',
    ],
    ['an expired key', `Bearer ${expired}`, '401 api_key_expired null'],
    ['a revoked key', `Bearer ${revoked}`, '401 api_key_revoked null'],
  ];
}

/** The fields of the contract by their JSON types. */
const FIELDS = {
  body: 'string',
  mode: 'string',
  channel: 'string',
  source_thread_message_id: 'string',
  client_message_id: 'string',
  audience: 'string',
  subject: 'string',
  cc: 'array',
  scheduled_at: 'string',
  reply_to_message_id: 'string',
  link_resource_type: 'string',
  link_resource_id: 'string',
  attachments: 'array',
  mentions: 'array',
} as const;

const ATTACHMENT_FIELDS = {
  kind: 'string',
  s3_key: 'string',
  filename: 'string',
  content_type: 'string',
  size_bytes: 'number',
  url: 'string',
  resource_type: 'string',
  resource_id: 'string',
} as const;

const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  string: ['', '5', '[]'],
  number: [0, 5, -1.5, 1e300],
  boolean: [true, false],
  array: [[], ['x'], [null]],
  object: [{}, { a: 1 }],
};

function valuesNot(type: string): unknown[] {
  return Object.entries(VALUES).flatMap(([name, values]) => (name === type ? [] : values));
}

/**
 * undefined in place of null, at any depth: JSON leaves it out, and the defaults of `send` do not
 * stand in for it.
 */
function withoutNulls(fields: Fields): Fields {
  const clean = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(clean);
    if (typeof value === 'object' && value !== null) return withoutNulls(value as Fields);
    return value ?? undefined;
  };
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, clean(value)]));
}

function stringsOf(fields: Readonly<Record<string, string>>): string[] {
  return Object.keys(fields).filter((name) => fields[name] === 'string');
}

const UNCLEAN = {
  'U+0000': 'a\u0000b',
  'a high surrogate': 'a\ud83d',
  'a low surrogate': '\ude80a',
  'surrogates in the wrong order': '\ude80\ud83d',
};

function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `reader-${n}@example.com`);
}

function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString();
}
