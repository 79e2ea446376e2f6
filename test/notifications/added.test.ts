/** `chat.added`: every user that is added to a conversation is notified, once. */

import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import t from 'tap';
import { enqueueAdded, type ParticipantAdded } from '../../src/core/conversations/outbox-topics.ts';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import { addParticipant, type NewParticipant } from '../../src/core/conversations/rows/participant-store.ts';
import { notifyAdded } from '../../src/core/notifications/causes/added.ts';
import type { ParticipantRow } from '../../src/core/resources/participant.ts';
import { borrowTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { newReader, openSocket, type Reader } from './readers.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada } = demo.users;

t.test('the added user is notified: exactly these fields, in the list and on the socket', async (t) => {
  const reader = await newReader(app);
  const client = await openSocket(t, app, reader, demo.service_version);

  const { conversationId } = await add({ type: 'user', actorId: reader.id }, ada.id);
  const [shown] = await until(
    async () => {
      const data = await feed(reader, 'category=chat.added&include[]=sender&include[]=resource');
      return data.length > 0 ? data : undefined;
    },
    { what: 'chat.added' },
  );
  t.strictSame(shown, {
    id: shown?.id,
    object: 'notification',
    category: 'chat.added',
    title: 'Ada Lovelace added you to Harbor',
    body: null,
    status: 'unseen',
    priority: 'normal',
    sender: {
      id: ada.id,
      object: 'actor',
      type: 'user',
      name: 'Ada Lovelace',
      handle: ada.email,
      avatar_url: null,
      role: null,
    },
    resource: { id: conversationId, object: 'entity', type: 'entity', name: 'Harbor', handle: null },
    seen_at: null,
    read_at: null,
    dismissed_at: null,
    created_at: shown?.created_at,
    updated_at: shown?.created_at,
  });
  const { data } = await client.frame(({ event }) => event === 'notification.created');
  t.strictSame(data, { ...shown, sender: null, resource: null });
  t.strictSame(await feed(reader, 'sender_types[]=user'), [{ ...shown, sender: null, resource: null }]);
});

t.test('once, however often and at once the row is dealt with', async (t) => {
  const reader = await newReader(app);
  const added = await addQuietly({ type: 'user', actorId: reader.id }, ada.id);
  await Promise.all(Array.from({ length: 4 }, () => notifyAdded(database, added)));
  await notifyAdded(database, added);
  t.strictSame(
    (await feed(reader)).map(({ created_at }) => created_at),
    [added.at],
  );
  const again = { ...added, at: added.at.replace(/....Z$/, '9999Z') };
  await notifyAdded(database, again);
  t.equal((await feed(reader)).length, 2, 'being added again is another cause');
});

t.test('an added participant is notified with the name of the adder', async (t) => {
  const { actor_id: key } = await database.kysely
    .selectFrom('api_keys')
    .select('actor_id')
    .where('account_id', '=', demo.account_id)
    .executeTakeFirstOrThrow();
  const cases: [what: string, by: string | null, title: string | null, told: string, senderType: string][] = [
    ['by a person', ada.id, 'Harbor', 'Ada Lovelace added you to Harbor', 'user'],
    ['without a title', ada.id, null, 'Ada Lovelace added you to a conversation', 'user'],
    ['by nobody in particular', null, 'Harbor', 'You were added to Harbor', 'system'],
    ['by a key', key, 'Harbor', `${await nameOf(key)} added you to Harbor`, 'system'],
    [
      'by an agent',
      demo.agent.actor_id,
      'Harbor',
      `${await nameOf(demo.agent.actor_id)} added you to Harbor`,
      'system',
    ],
  ];
  for (const [what, by, title, told, senderType] of cases) {
    const reader = await newReader(app);
    await notifyAdded(database, await addQuietly({ type: 'user', actorId: reader.id }, by, title));
    const [shown] = await feed(reader, `sender_types[]=${senderType}&include[]=sender`);
    t.strictSame([shown?.title, shown?.sender?.id ?? null], [told, by], what);
  }
});

t.test('actors that are not notified', async (t) => {
  const [own, gone, muted, customer, inactive] = [
    await newReader(app),
    await newReader(app),
    await newReader(app),
    await newReader(app),
    await newReader(app),
  ];
  const agent = demo.agent.actor_id;
  const ofOwn = await addQuietly({ type: 'user', actorId: own.id }, own.id);
  const ofGone = await addQuietly({ type: 'user', actorId: gone.id }, ada.id);
  await change(ofGone, { membership: 'removed' });
  const ofMuted = await addQuietly({ type: 'user', actorId: muted.id }, ada.id);
  await change(ofMuted, { notifications: 'muted' });
  const ofInactive = await addQuietly({ type: 'user', actorId: inactive.id }, ada.id);
  const headers = { 'Service-Version': '1.2.harbor' };
  await app.call('POST', `/v1/users/${inactive.id}/actions/deactivate`, { headers });
  const ofAgent = await addQuietly({ type: 'agent', actorId: agent }, ada.id);
  const ofCustomer = await addQuietly({ type: 'customer', actorId: customer.id }, ada.id);
  const ofSystem = await addQuietly({ type: 'system', actorId: null }, ada.id);
  const absent = { ...ofOwn, participant_id: newId('participant') };
  for (const added of [ofOwn, ofGone, ofMuted, ofInactive, ofAgent, ofCustomer, ofSystem, absent]) {
    await notifyAdded(database, added);
  }
  const rows = await database.kysely
    .selectFrom('notifications')
    .select('id')
    .where('recipient_id', 'in', [own.id, gone.id, muted.id, inactive.id, customer.id, agent])
    .where('category', '=', 'chat.added')
    .execute();
  t.strictSame(rows, []);
});

/** Adds a participant as the route does. */
function add(
  participant: NewParticipant,
  by: string | null,
): Promise<{ conversationId: string; participantId: string }> {
  return database.transaction(async (tx) => {
    const { conversation } = await createConversation(tx, {
      accountId: demo.account_id,
      type: 'group',
      title: 'Harbor',
      participants: [],
    });
    const added = await addParticipant(tx, conversation, participant);
    await enqueueAdded(tx, added, by);
    return { conversationId: conversation.id, participantId: added.id };
  });
}

/** The payload of an outbox row that no worker knows of. */
async function addQuietly(
  participant: NewParticipant,
  by: string | null,
  title: string | null = 'Harbor',
): Promise<ParticipantAdded> {
  const { participants } = await database.transaction((tx) =>
    createConversation(tx, { accountId: demo.account_id, type: 'group', title, participants: [participant] }),
  );
  const [{ id, updated_at }] = participants as [ParticipantRow];
  return { participant_id: id, at: updated_at, by };
}

async function change(
  { participant_id }: ParticipantAdded,
  set: { membership?: 'removed'; notifications?: 'muted' },
): Promise<void> {
  await database.kysely.updateTable('participants').set(set).where('id', '=', participant_id).execute();
}

async function nameOf(actorId: string): Promise<string | null> {
  const { name } = await database.kysely
    .selectFrom('actors')
    .select('name')
    .where('id', '=', actorId)
    .executeTakeFirstOrThrow();
  return name;
}

async function feed({ token }: Reader, query = ''): Promise<readonly Notification[]> {
  const { body } = await app.call<List<Notification>>('GET', `/v1/messaging/notifications?${query}`, {
    token,
  });
  return body.data;
}
