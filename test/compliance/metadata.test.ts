/** The removal of metadata, and its place in exports (docs/contract.md#metadata). */

import { randomUUID } from 'node:crypto';
import type { Attachment } from '@parley/protocol/resources/attachment.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Erasure } from '@parley/protocol/resources/erasure.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { User } from '@parley/protocol/resources/user.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { PATH } from '../conversations/fixture.ts';
import { Cases } from '../messages/cases.ts';
import { freshDirectory } from '../start/parley.ts';
import { type CallOptions, callsAt, startTestApp } from '../support/app.ts';
import { storedText } from '../support/stored-text.ts';
import { until } from '../support/until.ts';
import { downloaded, exported, lines } from './export-fixture.ts';

const app = await startTestApp(t);
const { demo, database } = app;
const { grace } = demo.users;
const cases = new Cases(app);
const NEWEST = { 'Service-Version': NEWEST_VERSION };
const LINK = { kind: 'link', url: 'https://example.com/' };

for (const [what, end] of [
  ['deletion', (id: string) => ok('DELETE', `/v1/messaging/messages/${id}`)],
  [
    'redaction',
    (id: string) => ok('POST', `/v1/messaging/messages/${id}/actions/redact`, { body: { reason: 'r' } }),
  ],
] as const) {
  t.test(`${what} takes it from rows, stored answers and what is shown`, async (t) => {
    const secret = `marlin ${what}`;
    const id = await cases.conversation('internal');
    const body = {
      body: 'ahoy',
      client_message_id: randomUUID(),
      metadata: { code: secret },
      attachments: [{ ...LINK, metadata: { code: secret } }],
    };
    const headers = { ...NEWEST, 'Idempotency-Key': randomUUID() };
    const path = `${PATH}/${id}/messages?include[]=attachments`;
    const send = { body, headers, token: grace.access_token };
    const sent = await ok<ChatMessage>('POST', path, send);
    const change = { metadata: { more: secret } };
    const patched = { body: change, headers: { 'Idempotency-Key': randomUUID() } };
    await ok('PATCH', `/v1/messaging/messages/${sent.id}`, patched);
    const stored = ['attachments.metadata', 'idempotency_keys.response', 'messages.metadata'];
    t.strictSame(
      await storedText(database, secret),
      stored.map((place) => `public.${place}`),
    );
    await end(sent.id);
    t.strictSame(await storedText(database, secret), []);
    const tombstone = await ok<ChatMessage>('GET', `/v1/messaging/messages/${sent.id}?include[]=attachments`);
    t.match(tombstone, { metadata: {}, attachments: [], deleted_at: String });
    const replayed = await ok<ChatMessage>('POST', path, send);
    t.match(replayed, { id: sent.id, metadata: {}, attachments: [] });
  });
}

t.test(
  'erasure takes it from the person and its participants, and from messages that it removes',
  async (t) => {
    for (const messages of ['keep', 'remove'] as const) {
      const secret = `marlin ${randomUUID()}`;
      const person = await createPerson({ crm: secret });
      const id = await cases.conversation('internal');
      const add = {
        body: { type: 'user', actor_id: person.id, metadata: { seat: secret } },
        headers: { 'Idempotency-Key': randomUUID() },
      };
      const { id: participantId } = await ok<Participant>('POST', `${PATH}/${id}/participants`, add);
      const token = await app.tokenOf(person.id);
      const attachments = [{ ...LINK, metadata: { code: secret } }];
      await cases.sent(id, { metadata: { code: secret }, attachments }, { token, headers: NEWEST });
      const answer = { body: { metadata: { more: secret } }, headers: { 'Idempotency-Key': randomUUID() } };
      await ok('PATCH', `/v1/users/${person.id}`, answer);
      t.ok((await storedText(database, secret)).includes('public.idempotency_keys.response'));
      const erasure = await ok<Erasure>('POST', `/v1/users/${person.id}/actions/erase`, {
        body: { messages },
      });
      t.match(await ok<User>('GET', `/v1/users/${person.id}`), { metadata: {} }, 'with the answer');
      await until(
        async () => (await ok<Erasure>('GET', `/v1/erasures/${erasure.id}`)).status === 'complete',
        { what: 'the erasure' },
      );
      t.match(await ok('GET', `${PATH}/${id}/participants/${participantId}`), { metadata: {} });
      const written = ['public.attachments.metadata', 'public.messages.metadata'];
      t.strictSame(await storedText(database, secret), messages === 'keep' ? written : []);
    }
  },
);

t.test('exports have all of it', async (t) => {
  const directory = freshDirectory(t);
  const person = await createPerson({ crm: '17' });
  const metadata = { public_order: '4711', margin: '40' };
  const participants = [{ type: 'user', actor_id: person.id, metadata: { seat: '3' } }];
  const { id } = await ok<Conversation>('POST', PATH, { body: { type: 'group', participants, metadata } });
  const token = await app.tokenOf(person.id);
  const attachments = [{ ...LINK, metadata: { page: '1' } }];
  const sent = await cases.sent(id, { metadata: { state: 'new' }, attachments }, { token, headers: NEWEST });
  const bare = await cases.sent(id, {}, { token });
  const ofConversation = await downloaded(await exported(app, `${PATH}/${id}/exports`), directory);
  const ofPerson = await downloaded(await exported(app, `/v1/users/${person.id}/exports`), directory);
  t.match(JSON.parse(ofConversation.files.get('conversation.json')!), { metadata });
  const members = lines<Participant>(ofConversation.files, 'participants.jsonl');
  t.strictSame(
    members.map((one) => one.metadata).filter((one) => 'seat' in one!),
    [{ seat: '3' }],
  );
  t.match(JSON.parse(ofPerson.files.get('profile.json')!), { metadata: { crm: '17' } });
  t.match(lines(ofPerson.files, 'memberships.jsonl'), [{ metadata: { seat: '3' } }]);
  for (const { files } of [ofConversation, ofPerson]) {
    const messages = lines<ChatMessage & { attachments: Attachment[] }>(files, 'messages.jsonl');
    const own = messages.find((one) => one.id === sent.id);
    t.match(own, { metadata: { state: 'new' }, attachments: [{ metadata: { page: '1' } }] });
    t.strictSame(messages.find((one) => one.id === bare.id)?.metadata, {});
  }
});

t.test('search does not find it', async (t) => {
  const id = await cases.conversation('internal');
  const metadata = { code: 'flounder' };
  const sent = await cases.sent(id, { body: 'a halibut', metadata }, { headers: NEWEST });
  const found = async (q: string) =>
    (await ok<{ data: object[] }>('GET', `/v1/messaging/search?q=${q}&conversation_id=${id}`)).data.length;
  await until(async () => (await found('halibut')) === 1, { what: 'the message is indexed' });
  await ok('PATCH', `/v1/messaging/messages/${sent.id}`, { body: { metadata: { code: 'flounders' } } });
  t.equal(await found('flounder'), 0);
  t.notOk((await storedText(database, 'flounder')).some((place) => place.includes('search')));
});

async function createPerson(metadata: object): Promise<User> {
  const { role_id } = await ok<User>('GET', `/v1/users/${grace.id}`);
  const body = { name: 'Zenobia Quux', email: `${randomUUID()}@example.net`, role_id, metadata };
  return ok('POST', '/v1/users', { body });
}

async function ok<Body = Record<string, unknown>>(
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Body> {
  const { status, text, body } = await callsAt(app, NEWEST_VERSION).call<Body>(method, path, options);
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
  return body;
}
