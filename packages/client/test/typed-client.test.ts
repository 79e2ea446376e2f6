/**
 * The types of what belongs to the client as a whole: tsc checks this file, and each line of
 * `Checks` fails to compile if it is false.
 */

import t from 'tap';
import type {
  Actor,
  AgentRunAction,
  Change,
  Client,
  ConnectionSnapshot,
  Conversation,
  InboxQuery,
  InboxSnapshot,
  InboxSummary,
  LiveObject,
  Notification,
  NotificationSummary,
  NotificationsSnapshot,
  ParleyError,
  PresenceSnapshot,
  PresenceStatus,
  RunSnapshot,
} from '../index.ts';

type Expect<T extends true> = T;
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Accepts<Wanted, Given> = Given extends Wanted ? true : false;

type Snapshot<O> = O extends LiveObject<infer S> ? S : never;
type Made<M extends 'inbox' | 'notifications' | 'presence' | 'run'> = ReturnType<Client[M]>;

export type Checks = [
  // Every live object is one, with the snapshot of its kind.
  Expect<Equal<Snapshot<Made<'inbox'>>, InboxSnapshot>>,
  Expect<Equal<Snapshot<Made<'notifications'>>, NotificationsSnapshot>>,
  Expect<Equal<Snapshot<Made<'presence'>>, PresenceSnapshot>>,
  Expect<Equal<Snapshot<Made<'run'>>, RunSnapshot>>,
  Expect<Equal<Snapshot<Client['connection']>, ConnectionSnapshot>>,
  Expect<Equal<Change<InboxSnapshot>['what'], 'status' | 'error' | 'conversations' | 'hasMore' | 'summary'>>,
  // To the field.
  Expect<Equal<InboxSnapshot['conversations'][number], Conversation>>,
  Expect<Equal<InboxSnapshot['summary'], InboxSummary | null>>,
  Expect<Equal<InboxSnapshot['error'], ParleyError | null>>,
  Expect<Equal<NotificationsSnapshot['notifications'][number], Notification>>,
  Expect<Equal<NotificationsSnapshot['summary'], NotificationSummary | null>>,
  Expect<Equal<PresenceSnapshot['presence'], ReadonlyMap<string, PresenceStatus>>>,
  Expect<Equal<RunSnapshot['waiting'][number], AgentRunAction>>,
  Expect<Equal<ReturnType<Client['actors']['get']>, Actor | undefined>>,
  Expect<Accepts<InboxQuery, { filter: 'unread'; workflow_status: ['open']; pageSize: 10 }>>,
  Expect<Equal<Accepts<InboxQuery, { filter: 'all' }>, false>>,
  Expect<Equal<Accepts<Parameters<Client['conversations']['moveTo']>[1], 'done'>, false>>,
  Expect<Equal<Accepts<Parameters<Client['setPresence']>[0], 'offline'>, false>>,
];

/** As an application writes it. */
export function asWritten(client: Client): void {
  const inbox = client.inbox({ filter: 'mine' });
  inbox.on('change', ({ what }) => (what === 'hasMore' ? inbox.loadMore() : undefined));
  void inbox.snapshot.conversations.map(({ id, unread, last_message }) => [id, unread, last_message?.body]);
  void client.conversations.update('cnv_1', { title: null, topic: { type: 'entity', id: 'ent_1' } });
  void client.conversations.addParticipant('cnv_1', { type: 'customer', name: 'Cleo' });
}

t.pass('it compiles');
