/**
 * A caller's lesser permission for its own state and messages, which does not apply to other
 * authors.
 */

import { randomUUID } from 'node:crypto';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import t from 'tap';
import { type Person, personWith } from '../accounts/fixture.ts';
import { borrowTestApp, type Refusal, refusalOf } from '../support/app.ts';
import { Conversations, PATH } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { ada, grace } = demo.users;
const conversations = new Conversations(app);
const GRACE = { type: 'user', actor_id: grace.id };
const MESSAGES = '/v1/messaging/messages';
const FORBIDDEN = '403 insufficient_permissions null';

t.test('messaging:read is enough to mute and to leave', async (t) => {
  const person = await personWith(app, ['messaging:read']);
  const { id, own, others } = await groupWith(person);
  const path = `${PATH}/${id}/participants/${own.id}`;
  const muted = await as<Participant>(person, 'PATCH', path, { notifications: 'muted' });
  t.strictSame([muted.status, muted.body.notifications], [200, 'muted']);
  t.equal((await as(person, 'POST', `${PATH}/${id}/actions/hide`)).status, 200);
  t.equal((await as(person, 'POST', `${PATH}/${id}/actions/mark-read`, { sequence: 0 })).status, 200);

  for (const [what, method, body] of [
    ['its own role', 'PATCH', { role: 'viewer' }],
    ['its own role beside its mute', 'PATCH', { role: 'member', notifications: 'unmuted' }],
    ['a trigger', 'PATCH', { agent_trigger_policy: 'always' }],
  ] as const) {
    t.equal(refusalOf(await as(person, method, path, body)), FORBIDDEN, what);
  }
  for (const other of others) {
    const theirs = `${PATH}/${id}/participants/${other.id}`;
    t.equal(refusalOf(await as(person, 'PATCH', theirs, { notifications: 'muted' })), FORBIDDEN);
    t.equal(refusalOf(await as(person, 'DELETE', theirs)), FORBIDDEN);
  }
  const left = await as<Participant>(person, 'DELETE', path);
  t.strictSame([left.status, left.body.membership], [200, 'left']);
});

t.test('without messaging:read one’s own participation is neither changed nor ended', async (t) => {
  const person = await personWith(app, ['messaging:create']);
  const { id, own } = await groupWith(person);
  const path = `${PATH}/${id}/participants/${own.id}`;
  t.equal(refusalOf(await as(person, 'PATCH', path, { notifications: 'muted' })), FORBIDDEN);
  const refused = await as(person, 'DELETE', path);
  t.equal(refusalOf(refused), FORBIDDEN);
  t.match(refused.body.error.message, /messaging:read or messaging:update/, 'which permissions would do');
});

t.test('messaging:create is enough to edit, delete and cancel one’s own messages', async (t) => {
  const person = await personWith(app, ['messaging:read', 'messaging:create']);
  const { id } = await groupWith(person);
  const sent = await send(person, id);
  const edited = await as<ChatMessage>(person, 'PATCH', `${MESSAGES}/${sent.id}`, { body: 'better' });
  t.strictSame([edited.status, edited.body.body], [200, 'better']);
  const deleted = await as<ChatMessage>(person, 'DELETE', `${MESSAGES}/${sent.id}`);
  t.strictSame([deleted.status, deleted.body.deleted_at === null], [200, false]);
  const scheduled_at = new Date(Date.now() + 3_600_000).toISOString();
  const scheduled = await send(person, id, { scheduled_at });
  const later = new Date(Date.now() + 7_200_000).toISOString();
  const moved = await as(person, 'PATCH', `${MESSAGES}/${scheduled.id}`, { scheduled_at: later });
  t.equal(moved.status, 200);
  const canceled = await as<ChatMessage>(person, 'POST', `${MESSAGES}/${scheduled.id}/actions/cancel`);
  t.strictSame([canceled.status, canceled.body.status], [200, 'canceled']);
});

t.test('other people’s messages and drafts need messaging:update', async (t) => {
  const person = await personWith(app, ['messaging:read', 'messaging:create']);
  const updater = await personWith(app, ['messaging:read', 'messaging:update']);
  const { id } = await groupWith(person, { role: 'admin' });
  await conversations.add(id, { type: 'user', actor_id: updater.id, role: 'admin' });
  const scheduled_at = new Date(Date.now() + 3_600_000).toISOString();
  const byAda = { token: ada.access_token };
  const sent = await send(byAda, id);
  const { conversation } = await conversations.createCase();
  // On a case the team sees what is scheduled.
  const scheduled = await send(byAda, conversation.id, { scheduled_at });
  await conversations.add(conversation.id, { type: 'user', actor_id: person.id });
  await conversations.add(conversation.id, { type: 'user', actor_id: updater.id, role: 'admin' });
  const draft = { mode: 'draft', channel: 'message', client_message_id: undefined };
  const [theirs, own] = [
    await send(byAda, conversation.id, draft),
    await send(person, conversation.id, draft),
  ];
  for (const [what, method, path, body] of [
    ['edit', 'PATCH', sent.id, { body: 'x' }],
    ['delete', 'DELETE', sent.id, undefined],
    ['cancel', 'POST', `${scheduled.id}/actions/cancel`, undefined],
    ['edit a draft', 'PATCH', theirs.id, { body: 'x' }],
  ] as const) {
    t.equal(refusalOf(await as(person, method, `${MESSAGES}/${path}`, body)), FORBIDDEN, what);
  }
  t.equal((await as(person, 'PATCH', `${MESSAGES}/${own.id}`, { body: 'x' })).status, 200, 'its own draft');
  t.equal((await as(updater, 'PATCH', `${MESSAGES}/${theirs.id}`, { body: 'x' })).status, 200);
  t.equal((await as(updater, 'POST', `${MESSAGES}/${scheduled.id}/actions/cancel`)).status, 200);
  t.equal((await as(updater, 'DELETE', `${MESSAGES}/${sent.id}`)).status, 200);
});

t.test("a no-op change of another actor's participant is refused like a real one", async (t) => {
  const { id, others } = await groupWith(await personWith(app, []));
  const viewer = await personWith(app, ['messaging:read', 'messaging:update']);
  const member = await personWith(app, ['messaging:read', 'messaging:update']);
  await conversations.add(id, { type: 'user', actor_id: viewer.id, role: 'viewer' });
  await conversations.add(id, { type: 'user', actor_id: member.id });
  const path = `${PATH}/${id}/participants/${others[0]!.id}`;
  for (const body of [{}, { role: others[0]!.role }, { notifications: 'unmuted' }]) {
    t.equal(refusalOf(await as(viewer, 'PATCH', path, body)), FORBIDDEN, `a viewer, ${JSON.stringify(body)}`);
    t.equal(refusalOf(await as(member, 'PATCH', path, body)), FORBIDDEN, `a member, ${JSON.stringify(body)}`);
  }
  t.equal((await as({ token: ada.access_token }, 'PATCH', path, {})).status, 200, 'its owner');
});

t.test(
  "OpenAPI and the page of permissions state which permission suffices for one's own participant",
  async (t) => {
    const { paths } = (await (await fetch(`${app.baseUrl}/v1/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { description: string }>>;
    };
    const page = await (await fetch(`${app.baseUrl}/docs/access`)).text();
    const routes = app.routes.filter(({ own }) => own !== undefined);
    t.strictSame(routes.map(({ name }) => name).sort(), [
      'block_actor',
      'cancel_scheduled_message',
      'delete_message',
      'put_conversation',
      'put_customer',
      'put_user',
      'remove_participant',
      'send_scheduled_message_now',
      'unblock_actor',
      'update_message',
      'update_participant',
      'withdraw_question',
    ]);
    for (const { path, method, permission, own } of routes) {
      const { description } = paths[path.replace(/:(\w+)/g, '{$1}')]![method.toLowerCase()]!;
      t.match(description, `Permission: \`${permission}\`, or \`${own!.permission}\` for ${own!.of}.`);
      const section = page
        .split('<section')
        .find((text) => text.includes(`<h3><code>${own!.permission}</code>`));
      t.ok(section?.includes(`${method} ${path}</code>`), `${method} ${path} under ${own!.permission}`);
      t.ok(section?.includes(`(for ${own!.of} only)`));
    }
  },
);

interface Group {
  readonly id: string;
  readonly own: Participant;
  readonly others: readonly Participant[];
}

/** A group of ada's with grace and this person. */
async function groupWith(person: Person, fields: object = {}): Promise<Group> {
  const { id } = await conversations.create({
    participants: [GRACE, { type: 'user', actor_id: person.id, ...fields }],
  });
  const members = await conversations.members(id);
  const own = members.find(({ actor }) => actor?.id === person.id)!;
  return { id, own, others: members.filter((one) => one !== own) };
}

function as<Body = Refusal>({ token }: Pick<Person, 'token'>, method: string, path: string, body?: object) {
  return app.call<Body & Refusal>(method, path, { token, ...(body && { body }) });
}

function send(by: Pick<Person, 'token'>, id: string, fields: object = {}): Promise<ChatMessage> {
  const body = { body: 'ahoy', client_message_id: randomUUID(), ...fields };
  return conversations.ok('POST', `${PATH}/${id}/messages`, { token: by.token, body });
}
