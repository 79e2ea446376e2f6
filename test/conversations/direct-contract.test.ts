/**
 * Direct messages, hidden conversations, and the messages that bring them back, over HTTP on a
 * whole server.
 */

import { randomUUID } from 'node:crypto';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import t from 'tap';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { until } from '../support/until.ts';
import { Conversations, PATH } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);
const VERA = { type: 'user', actor_id: vera.id };
const BY_GRACE = { token: grace.access_token };
const DIRECT = { type: 'direct_message', participants: [VERA] };

t.test('both users of a direct message are members, whichever of them began it', async (t) => {
  const { id } = await conversations.create(DIRECT);
  const both = await conversations.members(id);
  t.strictSame(
    both.map(({ role }) => role),
    ['member', 'member'],
  );
  t.strictSame(await roles(demo.conversations.direct), ['member', 'member'], 'the demo has no owners');
  const [own, other] = both as [Participant, Participant];
  for (const participant of [own, other]) {
    const path = `${PATH}/${id}/participants/${participant.id}`;
    for (const role of ['viewer', 'owner', 'member']) {
      const answer = await app.call('PATCH', path, { body: { role }, token: ada.access_token });
      t.equal(refusalOf(answer), '422 validation_failed role', role);
    }
  }
  const body = { ...DIRECT, participants: [{ ...VERA, role: 'viewer' }] };
  const created = await app.call('POST', PATH, { body, token: grace.access_token });
  t.equal(refusalOf(created), '422 validation_failed participants[0].role');
  const answer = await app.call('DELETE', `${PATH}/${id}/participants/${other.id}`, BY_GRACE);
  t.equal(refusalOf(answer), '404 resource_not_found id', 'and nobody else is in it');
  const muted = await mute(id, own.id, ada.access_token);
  t.equal(muted.notifications, 'muted', 'a setting of its own is no role');
});

t.test('an archived direct message is active again when either user opens it', async (t) => {
  const body = { type: 'direct_message', participants: [{ type: 'user', actor_id: ada.id }] };
  const direct = demo.conversations.direct;
  for (const options of [{ token: ada.access_token }, BY_GRACE]) {
    await conversations.update(direct, { status: 'archived' });
    const other = options === BY_GRACE ? ada.id : grace.id;
    const opened = await conversations.answer<Conversation>('POST', PATH, {
      ...options,
      body: { ...body, participants: [{ type: 'user', actor_id: other }] },
    });
    t.strictSame([opened.status, opened.body.id, opened.body.status], [200, direct, 'active']);
    t.equal((await send(direct, {}, options)).status, 'sent');
  }
  await hide(direct, BY_GRACE);
  const shown = await conversations.ok<Conversation>('POST', PATH, { ...BY_GRACE, body });
  t.equal(shown.status, 'active', 'a hidden one is in the list of who opens it');
});

t.test('a new message shows a hidden conversation again, for each member that hid it', async (t) => {
  const { id } = await conversations.create({ participants: [{ type: 'user', actor_id: grace.id }, VERA] });
  await send(id);
  await hide(id, { token: ada.access_token });
  await hide(id, BY_GRACE);
  await conversations.update(id, { title: 'Renamed' });
  const audience = { token: vera.access_token };
  await eventually('the system event', async () => {
    const { last_message } = await conversations.get(id, 'include[]=last_message');
    return (last_message as ChatMessage).kind === 'system_event';
  });
  t.equal((await conversations.get(id)).status, 'hidden', 'a system event does not');
  t.equal((await conversations.get(id, '', audience)).status, 'active');

  await send(id, {}, BY_GRACE);
  for (const options of [{ token: ada.access_token }, BY_GRACE]) {
    await eventually(
      'shown again',
      async () => (await conversations.get(id, '', options)).status === 'active',
    );
  }
  t.strictSame(
    (await conversations.members(id)).map(({ membership }) => membership),
    ['active', 'active', 'active'],
  );
});

t.test('a message sent before a conversation was hidden does not bring it back', async (t) => {
  const { id } = await conversations.create({ participants: [{ type: 'user', actor_id: grace.id }] });
  for (let round = 0; round < 5; round++) {
    await send(id, {}, BY_GRACE);
    t.equal((await hide(id, { token: ada.access_token })).status, 'hidden');
    // The effects of a later message of another conversation follow those of the one above.
    const other = await conversations.create({ participants: [{ type: 'user', actor_id: grace.id }] });
    const { id: last } = await send(other.id, {}, BY_GRACE);
    await eventually('the effects of the later message', () =>
      database.kysely
        .selectFrom('notifications')
        .select('id')
        .where('message_id', '=', last)
        .executeTakeFirst(),
    );
    t.equal((await conversations.get(id)).status, 'hidden');
    await conversations.ok('POST', `${PATH}/${id}/actions/unhide`);
  }
});

function eventually(what: string, condition: () => Promise<unknown>): Promise<unknown> {
  return until(condition, { what, timeoutMs: 60_000 });
}

function hide(id: string, options: CallOptions): Promise<Conversation> {
  return conversations.ok('POST', `${PATH}/${id}/actions/hide`, options);
}

function mute(id: string, participant: string, token: string): Promise<Participant> {
  const body = { notifications: 'muted' };
  return conversations.ok('PATCH', `${PATH}/${id}/participants/${participant}`, { body, token });
}

function send(id: string, fields: object = {}, options: CallOptions = {}): Promise<ChatMessage> {
  const body = { body: 'ahoy', client_message_id: randomUUID(), ...fields };
  return conversations.ok('POST', `${PATH}/${id}/messages`, { ...options, body });
}

async function roles(id: string): Promise<string[]> {
  return (await conversations.members(id)).map(({ role }) => role);
}
