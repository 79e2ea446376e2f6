/** Consecutive polls under load: each change once, and none lost. */

import { STREAMS_SINCE } from '@parley/protocol/versions.ts';
import t from 'tap';
import { type AnswerFrame, Poller } from '../support/answer-clients.ts';
import { borrowTestApp } from '../support/app.ts';
import { Random } from '../support/random.ts';
import { until } from '../support/until.ts';

/** Far fewer changes between two polls than the cursor remembers, however busy the machine is. */
const AT_ONCE = 20;
/** With a notification each and some edits, more changes than the cursor of a poll remembers. */
const SENDS = 600;

t.test('changes come once while others follow', async (t) => {
  const app = await borrowTestApp(t);
  const { ada, grace } = app.demo.users;
  const random = new Random(7);
  const asAda = { token: ada.access_token };
  const members = [{ type: 'user', actor_id: grace.id }];
  const { body: group } = await app.call<{ id: string }>('POST', '/v1/messaging/conversations', {
    ...asAda,
    body: { type: 'group', title: 'Gale', participants: members },
  });
  const headers = {
    Authorization: `Bearer ${grace.access_token}`,
    'Service-Version': STREAMS_SINCE,
    'Service-Account': app.demo.account_id,
  };
  const poller = new Poller(t, {
    node: () => ({ baseUrl: app.baseUrl, headers }),
    conversations: { [group.id]: 0 },
  });
  /** The version of each message by its id. */
  const versions = new Map<string, string>();
  const send = async (n: number) => {
    const { status, body } = await app.call<Message>(
      'POST',
      `/v1/messaging/conversations/${group.id}/messages`,
      {
        ...asAda,
        body: { body: `gust ${n}`, client_message_id: `gust-${n}` },
      },
    );
    if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
    versions.set(body.id, body.updated_at);
    if (random.below(8) > 0) return;
    const path = `/v1/messaging/messages/${body.id}`;
    const edited = await app.call<Message>('PATCH', path, { ...asAda, body: { body: `edited ${n}` } });
    versions.set(body.id, edited.body.updated_at);
  };
  for (let n = 0; n < SENDS; n += AT_ONCE) {
    const { polls } = poller;
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => send(n + index)));
    await until(() => poller.polls > polls, { what: 'the next poll' });
  }
  const notified = await app.database.kysely
    .selectFrom('notifications')
    .select('id')
    .where('recipient_id', '=', grace.id)
    .execute();
  t.equal(versions.size, SENDS);
  t.ok(notified.length >= SENDS, `${notified.length} notifications`);

  const events = (...names: readonly string[]) =>
    poller.frames.filter(({ event }) => event !== undefined && names.includes(event));
  const seen = (frame: AnswerFrame) => `${frame.data?.id} ${frame.data?.updated_at}`;
  const lacking = () => {
    const messages = new Set(events('message.created', 'message.updated').map(seen));
    const notifications = new Set(
      events('notification.created', 'notification.updated').map(({ data }) => data?.id),
    );
    return [
      ...[...versions].map(([id, at]) => `${id} ${at}`).filter((version) => !messages.has(version)),
      ...notified.map(({ id }) => id).filter((id) => !notifications.has(id)),
    ];
  };
  await until(() => lacking().length === 0, { what: () => `all; lacks ${lacking().slice(0, 5)}` });
  poller.stop();
  const lasting = poller.frames.filter(
    ({ type, event }) => type === 'event' && event !== 'presence' && !event?.startsWith('inbox.'),
  );
  const known = new Map(lasting.map((frame) => [`${frame.event} ${seen(frame)} ${frame.at}`, frame]));
  t.equal(lasting.length, known.size, `${lasting.length} events in ${poller.polls} polls`);
  const added = events('conversation.added').filter(({ data }) => data?.id === group.id);
  t.equal(added.length, 1, 'conversation.added, whose content each message changes');
});

interface Message {
  readonly id: string;
  readonly updated_at: string;
}
