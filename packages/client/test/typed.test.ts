/**
 * The SDK's types: tsc checks this file, and each line of `Checks` fails to compile if it is false.
 */

import type { AgentRun } from '@parley/protocol/resources/agent-run.ts';
import type { ApproveDraftBody } from '@parley/protocol/resources/chat-message.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import type { Pin } from '@parley/protocol/resources/pin.ts';
import type { CommandFields, CommandResult } from '@parley/protocol/socket/commands.ts';
import type { EventOf } from '@parley/protocol/socket/event-data.ts';
import t from 'tap';
import type {
  ChatMessage,
  Client,
  ClientEvents,
  Conversation,
  ConversationFilter,
  ConversationHandlers,
  ConversationSnapshot,
  LiveConversation,
  Me,
  RequestOp,
  TimelineMessage,
} from '../index.ts';

type Expect<T extends true> = T;
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Accepts<Wanted, Given> = Given extends Wanted ? true : false;

type Data<E extends keyof ClientEvents> = ClientEvents[E][0];
type HandledEvent = Parameters<NonNullable<ConversationHandlers['onEvent']>>[0];

export type Checks = [
  Expect<Equal<Data<'notification.created'>, Notification>>,
  Expect<Equal<Data<'agent_run.updated'>, AgentRun>>,
  Expect<Equal<Data<'state'>, Client['state']>>,
  // Events of conversations come to their subscriptions.
  Expect<Equal<Extract<keyof ClientEvents, 'typing' | 'message.created'>, never>>,
  Expect<Equal<RequestOp, 'typing' | 'mark_read' | 'presence'>>,
  Expect<Accepts<CommandFields<'typing'>, { conversation_id: string; state: 'start' }>>,
  Expect<Equal<Accepts<CommandFields<'typing'>, { conversation_id: string; state: 'started' }>, false>>,
  Expect<Equal<Accepts<CommandFields<'typing'>, { state: 'start' }>, false>>,
  Expect<Equal<Accepts<CommandFields<'presence'>, { status: 'offline' }>, false>>,
  Expect<Equal<CommandResult<'mark_read'>['unread'], number>>,
  Expect<Equal<Extract<HandledEvent, { event: 'typing' }>['data']['state'], 'start' | 'stop'>>,
  Expect<Equal<EventOf<'read'>['data']['sequence'], number>>,
  Expect<Equal<Data<'inbox.updated'>['unread'], number>>,
  // Of a conversation: `delivery` tells the messages of the server from local echoes.
  Expect<Equal<Extract<TimelineMessage, { delivery: 'sent' }>['id'], string>>,
  Expect<Equal<Extract<TimelineMessage, { id: null }>['delivery'], 'pending' | 'failed'>>,
  Expect<Equal<Parameters<LiveConversation['approve']>[1], ApproveDraftBody | undefined>>,
  Expect<Equal<Awaited<ReturnType<LiveConversation['pin']>>, Pin>>,
  Expect<Equal<Accepts<Parameters<LiveConversation['edit']>[1], { text: string }>, false>>,
  Expect<Equal<ConversationSnapshot['typing'][number]['name'], string | null>>,
  Expect<Accepts<ChatMessage | null, TimelineMessage['reply_to']>>,
  // Of an attachment of a message in any state, a page draws these without a look at `delivery`.
  Expect<Equal<NonNullable<TimelineMessage['attachments']>[number]['filename'], string | null>>,
  Expect<Accepts<ConversationFilter, { order: 'activity'; filter: 'unread'; status: ['active'] }>>,
  Expect<Equal<Accepts<ConversationFilter, { order: 'newest' }>, false>>,
  Expect<Equal<Awaited<ReturnType<Client['me']>>, Me>>,
  // Messages inside of others are messages.
  Expect<Accepts<ChatMessage, NonNullable<Conversation['last_message']>>>,
  Expect<Accepts<ChatMessage, NonNullable<ChatMessage['reply_to']>>>,
  Expect<Equal<NonNullable<Conversation['last_message']>['body'], string | null>>,
];

/** As an application writes it. */
export function asWritten(client: Client): void {
  client.on('notification.created', (data, frame) => [data.title, frame.at, frame.data.id]);
  client.request('typing', { conversation_id: 'cnv_1', state: 'stop' }).catch(() => undefined);
  client.subscribe('cnv_1', {
    onMessage: () => undefined,
    onEvent: (frame) => (frame.event === 'presence' ? frame.data.status : undefined),
  });
}

t.pass('it compiles');
