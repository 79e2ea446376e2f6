/** The names by which texts mention users (docs/contract.md#users). */

import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Me } from '@parley/protocol/resources/me.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { Person } from '@parley/protocol/resources/person.ts';
import type { User } from '@parley/protocol/resources/user.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { findRole } from '../../src/core/accounts/rights/roles.ts';
import { borrowTestApp, callsAt } from '../support/app.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const { call, refusal } = callsAt(app, NEWEST_VERSION);
const before = callsAt(app, '1.3.harbor');
const { id: role_id } = await findRole(database, demo.account_id, 'member');

t.test('who sets it, and where it is shown', async (t) => {
  const { body: made } = await call<User>('POST', '/v1/users', {
    body: { name: 'Nemo', role_id, username: 'nemo' },
  });
  t.equal(made.username, 'nemo');
  const put = { body: { username: 'captain.nemo' } };
  const path = `/v1/users/ext:${newId('actor')}`;
  await call('PATCH', `/v1/users/${made.id}`, { body: { external_id: path.slice('/v1/users/ext:'.length) } });
  t.equal((await call<User>('PUT', path, put)).body.username, 'captain.nemo');
  const token = await app.tokenOf(made.id);
  const own = await call<Me>('PATCH', '/v1/me', { token, body: { username: 'nemo-1' } });
  t.match(own.body, { actor: { username: 'nemo-1' }, user: { username: 'nemo-1' } });
  t.equal((await call<Person>('GET', `/v1/messaging/people/${made.id}`)).body.username, 'nemo-1');
  const old = await before.call<User>('GET', `/v1/users/${made.id}`);
  t.notOk('username' in old.body);
  await before.call('PATCH', '/v1/me', { token, body: { username: 'x' } });
  t.equal((await call<Me>('GET', '/v1/me', { token })).body.actor.username, 'nemo-1', 'unknown before');
  t.equal(
    (await call<User>('PATCH', `/v1/users/${made.id}`, { body: { username: null } })).body.username,
    null,
  );
});

t.test('refusals', async (t) => {
  await call('PATCH', `/v1/users/${grace.id}`, { body: { username: 'taken' } });
  const own = { token: vera.access_token };
  t.equal(
    await refusal('PATCH', '/v1/me', { ...own, body: { username: 'taken' } }),
    '409 resource_exists username',
  );
  const user = { name: 'Nemo', role_id, username: 'taken' };
  t.equal(await refusal('POST', '/v1/users', { body: user }), '409 resource_exists username');
  for (const username of ['', 'Vera', 'a b', '@vera', '.vera', 'vera.', 've..ra', 'v'.repeat(65), 'müller']) {
    const refused = await refusal('PATCH', '/v1/me', { ...own, body: { username } });
    t.equal(refused, '422 validation_failed username', username);
  }
  t.equal(
    await refusal('PATCH', `/v1/users/${ada.id}`, { ...own, body: { username: 'ada' } }),
    '403 insufficient_permissions null',
  );
  const { other_account: other } = demo;
  const theirs = { headers: { 'Service-Account': other.account_id }, token: other.api_key };
  const { body: users } = await call<List<User>>('GET', '/v1/users', theirs);
  const their = users.data[0];
  if (their !== undefined) {
    const path = `/v1/users/${their.id}`;
    t.equal(
      await refusal('PATCH', path, { ...theirs, body: { username: 'taken' } }),
      '200',
      'of the account',
    );
  }
});

t.test('a text mentions by it, also where an address begins so', async (t) => {
  const local = ada.email.split('@')[0]!;
  await call('PATCH', `/v1/users/${grace.id}`, { body: { username: local } });
  const { body: room } = await call<Conversation>('POST', '/v1/messaging/conversations', {
    body: {
      type: 'group',
      participants: [ada.id, grace.id, vera.id].map((actor_id) => ({ type: 'user', actor_id })),
    },
  });
  const at = `/v1/messaging/conversations/${room.id}`;
  const say = async (body: string) => {
    const sent = await call<ChatMessage>('POST', `${at}/messages`, {
      body: { client_message_id: newId('message'), body },
    });
    if (sent.status !== 201) throw new Error(sent.text);
    return sent.body.mentions;
  };
  t.strictSame(await say(`Ask @${local}.`), [grace.id]);
  const { body: participants } = await call<List<Participant>>('GET', `${at}/participants`);
  const shown = participants.data.find(({ actor_id }) => actor_id === grace.id)?.actor;
  t.equal(shown?.username, local);
  await call('PATCH', `/v1/users/${grace.id}`, { body: { username: 'amazing' } });
  t.strictSame(await say(`Ask @${local} and @Amazing.`), [ada.id, grace.id], 'at once after a change');
});
