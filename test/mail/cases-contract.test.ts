/** Bridged cases over HTTP: how they begin, and which replies are mail (docs/contract.md#email). */

import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { ConversationEmail, Email } from '@parley/protocol/resources/email.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { createCustomer } from '../../src/core/accounts/actors/actors.ts';
import { asNeighbour } from '../agents/bodies.ts';
import { borrowTestApp, type CallOptions, type Refusal, refusalOf } from '../support/app.ts';
import { until } from '../support/until.ts';
import { addBridgedCase, addGroup, addInbox, addMail } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const VERSION = '1.2.harbor';
const CONVERSATIONS = '/v1/messaging/conversations';
const { ada, grace } = demo.users;
const owner = { database, accountId: demo.account_id, actorId: ada.id };
const group = await addGroup(owner, 'Billing');
const inbox = await addInbox(owner, { group_id: group.id, assignee_id: grace.id });
const customer = () => ({ type: 'customer', name: 'Cleo', email: `${newId('actor').slice(4)}@c.example` });

t.test('a case of an inbox is assigned to its assignee, who takes part', async (t) => {
  const body = { type: 'group', audience: 'customer', inbox_id: inbox.id, participants: [customer()] };
  const answer = await call<Conversation>(
    'POST',
    `${CONVERSATIONS}?include[]=assignee&include[]=participants`,
    {
      body,
    },
  );
  t.equal(answer.status, 201);
  const { id, inbox_id, assignee, participants } = answer.body;
  t.strictSame([inbox_id, assignee!.id], [inbox.id, grace.id]);
  t.strictSame(
    participants!.map(({ type, role, actor }) => [type, role, actor!.name]),
    [
      ['user', 'owner', 'Ada Lovelace'],
      ['customer', 'member', 'Cleo'],
      ['user', 'member', 'Grace Hopper'],
    ],
  );
  const notified = await until(
    async () => {
      const path = '/v1/messaging/notifications?limit=100&include[]=resource';
      const { body } = await call<List<Notification>>('GET', path, { token: grace.access_token });
      return body.data.find(
        ({ category, resource }) => category === 'conversation.assigned' && resource?.id === id,
      );
    },
    { what: 'the notification of the assignee' },
  );
  t.match(notified.title, /^Ada Lovelace assigned /);

  const token = await app.tokenOf(participants!.find(({ type }) => type === 'customer')!.actor!.id);
  t.equal((await call<Conversation>('GET', `${CONVERSATIONS}/${id}`, { token })).body.inbox_id, null);
  const old = await app.call('GET', `${CONVERSATIONS}/${id}`, {
    headers: { 'Service-Version': '1.1.harbor' },
  });
  t.notOk(Object.hasOwn(old.body, 'inbox_id'), 'since 1.2');
});

t.test('what a case of an inbox cannot be', async (t) => {
  const removed = await addInbox(owner, { deleted_at: new Date().toISOString() });
  const silent = await createCustomer(database, { accountId: demo.account_id, name: 'Silent' });
  const named = { type: 'customer', actor_id: silent.id };
  const bodies: [body: object, refusal: string][] = [
    [{ audience: 'internal', participants: [] }, '422 validation_failed inbox_id'],
    [{ inbox_id: newId('inbox') }, '404 resource_not_found inbox_id'],
    [{ inbox_id: removed.id }, '404 resource_not_found inbox_id'],
    [{ inbox_id: 7 }, '400 invalid_format inbox_id'],
    [{ participants: [{ type: 'user', actor_id: grace.id }] }, '422 validation_failed participants'],
    [{ participants: [customer(), named] }, '422 validation_failed participants[1]'],
    [{ participants: [{ type: 'customer', name: 'A' }] }, '422 validation_failed participants[0]'],
  ];
  for (const [fields, refusal] of bodies) {
    const body = {
      type: 'group',
      audience: 'customer',
      inbox_id: inbox.id,
      participants: [customer()],
      ...fields,
    };
    t.equal(refusalOf(await call('POST', CONVERSATIONS, { body })), refusal, JSON.stringify(fields));
  }
  const body = {
    type: 'direct_message',
    inbox_id: inbox.id,
    participants: [{ type: 'user', actor_id: grace.id }],
  };
  t.equal(refusalOf(await call('POST', CONVERSATIONS, { body })), '422 validation_failed inbox_id');
  const { id } = await addBridgedCase(owner, inbox.id);
  const patched = await call('PATCH', `${CONVERSATIONS}/${id}`, { body: { inbox_id: null } });
  t.equal(refusalOf(patched), '422 validation_failed inbox_id', 'a case keeps its inbox');
});

t.test('replies to the customer of a bridged case are mail, and nothing else is', async (t) => {
  const bridged = await addBridgedCase(owner, inbox.id);
  const reply = await sent(bridged.id, { audience: 'customer', subject: 'Ahoy', cc: ['a@b.example'] });
  t.match(reply, { channel: 'email', subject: 'Ahoy', cc: ['a@b.example'], sender_id: group.actor_id });
  t.equal(reply.email_status, 'queued');
  t.match(await sent(bridged.id, { audience: 'customer', channel: 'message' }), CHAT);
  t.match(await sent(bridged.id, {}), CHAT, 'a note');
  const token = await app.tokenOf(bridged.customerId);
  t.match(await sent(bridged.id, {}, { token }), CHAT, 'the customer');
  const shown = await call<ChatMessage>('GET', `/v1/messaging/messages/${reply.id}`, { token });
  t.match(shown.body, { email_status: null, cc: null, channel: 'email' });

  const draft = await sent(bridged.id, { mode: 'draft', channel: 'email', subject: 'Draft' });
  t.match(draft, { channel: 'email', subject: 'Draft', email_status: null });
  const edited = await call<ChatMessage>('PATCH', `/v1/messaging/messages/${draft.id}`, {
    body: { subject: 'Edited', cc: ['c@d.example'] },
  });
  t.match(edited.body, { subject: 'Edited', cc: ['c@d.example'] });
  const approved = await call<ChatMessage>('POST', `/v1/messaging/messages/${draft.id}/actions/approve`, {
    token: ada.access_token,
  });
  t.match(approved.body, { status: 'sent', channel: 'email', email_status: 'queued' });

  const chatDraft = await sent(bridged.id, { mode: 'draft', channel: 'message' });
  const refused: [method: string, path: string, body: object, refusal: string][] = [
    ['PATCH', `/v1/messaging/messages/${chatDraft.id}`, { subject: 'A' }, '422 validation_failed subject'],
    ['PATCH', `/v1/messaging/messages/${chatDraft.id}`, { cc: ['a@b.example'] }, '422 validation_failed cc'],
    ['PATCH', `/v1/messaging/messages/${reply.id}`, { subject: 'A' }, '409 resource_conflict subject'],
    ...[{ subject: 'A' }, { cc: ['a@b.example'] }, { channel: 'email' }].flatMap((fields) => {
      const [name] = Object.keys(fields);
      const refusal = `422 validation_failed ${name}`;
      const onCase = { audience: 'customer', channel: 'message', ...fields };
      return [
        ...[{}, ...(name === 'channel' ? [] : [onCase])].map(
          (others) => ['POST', messagesOf(bridged.id), send({ ...fields, ...others }), refusal] as const,
        ),
        [
          'POST',
          messagesOf(demo.conversations.case),
          send({ audience: 'customer', ...fields }),
          refusal,
        ] as const,
      ].map(([method, path, body, refusal]): [string, string, object, string] => [
        method,
        path,
        body,
        refusal,
      ]);
    }),
  ];
  for (const [method, path, body, refusal] of refused) {
    t.equal(refusalOf(await call(method, path, { body })), refusal, JSON.stringify(body));
  }
  const injected = send({ audience: 'customer', cc: ['a@b.example\r\nBcc: c@d.example'] });
  t.equal(
    refusalOf(await call('POST', messagesOf(bridged.id), { body: injected })),
    '400 invalid_format cc[0]',
  );
});

t.test('the replies of a case whose inbox was deleted are messages of the conversation', async (t) => {
  const other = await addInbox(owner);
  const { id } = await addBridgedCase(owner, other.id);
  t.match(await sent(id, { audience: 'customer' }), { channel: 'email' });
  const deleted = await call('DELETE', `/v1/messaging/inboxes/${other.id}`);
  t.equal(deleted.status, 200);
  await until(
    async () =>
      (await call<ChatMessage>('POST', messagesOf(id), { body: send({ audience: 'customer' }) })).body
        .channel === 'message',
    { what: 'the deletion to be known' },
  );
  const body = send({ audience: 'customer', channel: 'email' });
  t.equal(refusalOf(await call('POST', messagesOf(id), { body })), '422 validation_failed channel');
  t.match(await emailOf(id), { inbox: null, subject: null, to: [] });
});

t.test('how mail of a case travels', async (t) => {
  const bridged = await addBridgedCase(owner, inbox.id);
  t.strictSame(await emailOf(bridged.id), {
    object: 'conversation_email',
    conversation_id: bridged.id,
    inbox: (await call('GET', `/v1/messaging/inboxes/${inbox.id}`)).body,
    subject: 'Where is my order?',
    to: [bridged.customerAddress],
    cc: [],
    last_out: null,
    last_in: null,
  });
  t.match(await emailOf(demo.conversations.group), { inbox: null, subject: null, to: [], cc: [] });
  const message = await sent(bridged.id, { audience: 'customer' });
  const out = await until(
    async () => {
      const { status, body } = await call<Email>('GET', `/v1/messaging/messages/${message.id}/email`);
      return status === 200 ? body : undefined;
    },
    { what: 'the mail of the reply' },
  );
  t.match(out, {
    direction: 'out',
    purpose: 'reply',
    message_id: message.id,
    inbox_id: inbox.id,
    verdict: null,
    protection: null,
  });
  t.equal(out.recipients[0]!.address, bridged.customerAddress.toLowerCase());

  const mail = await addMail(owner, {
    conversation_id: bridged.id,
    inbox_id: inbox.id,
    message_id: newId('message'),
    from_address: 'cleo@c.example',
    reply_to: 'home@c.example',
    body_html: '<p>ahoy</p>',
    verdict: JSON.stringify(VERDICT),
    source_key: newId('upload'),
    size_bytes: 7,
  });
  await database.kysely
    .updateTable('mail_threads')
    .set({ last_in_id: mail.id, cc: ['b@c.example'] })
    .where('conversation_id', '=', bridged.id)
    .execute();
  const { to, cc, last_in } = await emailOf(bridged.id);
  t.strictSame([to, cc], [['home@c.example'], ['b@c.example']]);
  t.match(last_in, { id: mail.id, html: '<p>ahoy</p>', verdict: VERDICT, size_bytes: 7 });
  t.match(last_in!.source_url, /^http.*\/v1\/files\/upl_.*signature=/);
});

t.test('what a message leaves out of its mail is shown, since 1.4', async (t) => {
  const { id } = await addBridgedCase(owner, inbox.id);
  const message = await sent(id, { body: 'Yes.\n\nBut not today.' });
  const text = 'Yes.\n\nBut not today.\n\nOn 3 Nov 2026, Ada wrote:\n> Now?';
  await addMail(owner, { conversation_id: id, inbox_id: inbox.id, message_id: message.id, body_text: text });
  const path = `/v1/messaging/messages/${message.id}/email`;
  const newest = { headers: { 'Service-Version': NEWEST_VERSION } };
  const { body } = await call<Email>('GET', path, newest);
  t.match(body, { text, omitted_text: /^On 3 Nov 2026, Ada wrote:\n> Now\?$/ });
  await call('PATCH', `/v1/messaging/messages/${message.id}`, { body: { body: 'No.' } });
  t.match((await call<Email>('GET', path, newest)).body, { omitted_text: text }, 'all of it behind an edit');
  for (const version of ['1.2.harbor', '1.3.harbor']) {
    const old = await call<Email>('GET', path, { headers: { 'Service-Version': version } });
    t.notOk('omitted_text' in old.body, version);
    t.equal(old.body.text, text);
  }
  const whole = await sent(id, { body: 'All.' });
  await addMail(owner, {
    conversation_id: id,
    inbox_id: inbox.id,
    message_id: whole.id,
    body_text: 'All.\n',
  });
  const second = await call<Email>('GET', `/v1/messaging/messages/${whole.id}/email`, newest);
  t.equal(second.body.omitted_text, null);
});

t.test('mails of a case are read only by those who may', async (t) => {
  const { id, customerId } = await addBridgedCase(owner, inbox.id);
  const message = await sent(id, { audience: 'customer' });
  const none = await sent(id, {});
  const paths = [`${CONVERSATIONS}/${id}/email`, `/v1/messaging/messages/${message.id}/email`];
  t.equal(
    refusalOf(await call('GET', `/v1/messaging/messages/${none.id}/email`)),
    '404 resource_not_found id',
  );
  for (const path of paths) {
    const neighbour = {
      ...asNeighbour(app),
      headers: { ...asNeighbour(app).headers, 'Service-Version': VERSION },
    };
    const refusals = [
      await call('GET', path, { token: '', headers: { Authorization: undefined } }),
      await call('GET', path, { token: await app.tokenOf(customerId) }),
      await call('GET', path, { token: grace.access_token }),
      await app.call('GET', path, neighbour),
    ];
    t.strictSame(refusals.map(refusalOf), [
      '401 invalid_credentials Authorization',
      '403 insufficient_permissions null',
      '404 resource_not_found id',
      '404 resource_not_found id',
    ]);
  }
});

const CHAT = { channel: 'message', email_status: null, subject: null };
const VERDICT = { source: 'checked', spf: 'pass', dkim: 'none', dmarc: 'pass', result: 'pass' };

function call<Body = Refusal>(method: string, path: string, options: CallOptions = {}) {
  const headers = { 'Service-Version': VERSION, ...options.headers };
  return app.call<Body>(method, path, { token: ada.access_token, ...options, headers });
}

async function sent(id: string, fields: object, options: CallOptions = {}): Promise<ChatMessage> {
  const { status, text, body } = await call<ChatMessage>('POST', messagesOf(id), {
    body: send(fields),
    ...options,
  });
  if (status !== 201) throw new Error(text);
  return body;
}

function send(fields: object): object {
  return { body: 'ahoy', client_message_id: newId('message'), ...fields };
}

function messagesOf(id: string): string {
  return `${CONVERSATIONS}/${id}/messages`;
}

async function emailOf(id: string): Promise<ConversationEmail> {
  const { status, text, body } = await call<ConversationEmail>('GET', `${CONVERSATIONS}/${id}/email`);
  if (status !== 200) throw new Error(text);
  return body;
}
