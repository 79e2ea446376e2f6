import {
  ChatMessage,
  IncludeInSend,
  SendMessageBody,
} from '../../contract/protocol/resources/chat-message.ts';
import { Body } from '../../contract/protocol/schema/schema.ts';
import { type Answered, defineRoute, type Route } from '../../platform/http/pipeline/route.ts';
import { expandMessage } from '../resources/expanded-message.ts';
import { actionRoutes } from './action-routes.ts';
import { editRoutes, revisionRoutes } from './editing/edit-routes.ts';
import { forwardRoutes } from './forwards/forward-routes.ts';
import { pinRoutes } from './pins/pin-routes.ts';
import { reactionRoutes } from './reactions/reaction-routes.ts';
import { conversationFileRoutes } from './reading/conversation-file-routes.ts';
import { listRoutes } from './reading/list-routes.ts';
import type { MessageRoutesOptions } from './route-options.ts';
import { alertRoutes } from './sending/alert-routes.ts';
import type { AnswerOf } from './sending/send.ts';
import { goesToCustomer } from './sending/send-rules.ts';
import { threadRoutes } from './threads/thread-routes.ts';

export function messageRoutes(options: MessageRoutesOptions): Route[] {
  return [
    sendRoute(options),
    ...listRoutes(options),
    ...editRoutes(options),
    ...actionRoutes(options),
    ...revisionRoutes(options),
    ...alertRoutes(options),
    ...conversationFileRoutes(options),
    ...reactionRoutes(options),
    ...pinRoutes(options),
    ...forwardRoutes(options),
    ...threadRoutes(options),
  ];
}

function sendRoute({ sender, database, files }: MessageRoutesOptions): Route {
  return defineRoute({
    name: 'send_message',
    frequent: true,
    method: 'POST',
    path: '/v1/messaging/conversations/:id/messages',
    summary: 'Send a message to a conversation',
    since: '1.0.harbor',
    permission: 'messaging:create',
    customers: true,
    reachesOutside: (body) => goesToCustomer(body) && body.mode !== 'draft',
    query: Body({ 'include[]': IncludeInSend }),
    body: SendMessageBody,
    status: 201,
    response: ChatMessage,
    rules: ({ principal, params, body }) => sender.check(principal, params.id!, body),
    commits:
      'WritePath commits many messages together, and LockedWrites those that change their conversation.',
    handle({ principal, params, query, body, trace, answer }) {
      const answerOf: AnswerOf<Answered> = async (row, tx) =>
        answer(await expandMessage(tx ?? database, files, principal, row, query['include[]']), tx);
      return sender.send(principal, params.id!, body, answerOf, trace);
    },
  });
}
