import { ChatMessage, IncludeInSend, SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import { Body } from '@parley/protocol/schema/schema.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import { editRoutes } from './editing/edit-routes.ts';
import { forwardRoutes } from './forwards/forward-routes.ts';
import { pinRoutes } from './pins/pin-routes.ts';
import { reactionRoutes } from './reactions/reaction-routes.ts';
import { conversationFileRoutes } from './reading/conversation-file-routes.ts';
import { listRoutes } from './reading/list-routes.ts';
import { answering, COMMITS, type MessageRoutesOptions, withoutResources } from './reading/message-routes.ts';
import { goesToCustomer } from './rules/destination.ts';
import { alertRoutes } from './sending/alert-routes.ts';
import type { Sender } from './sending/send.ts';
import { threadRoutes } from './threads/thread-routes.ts';

interface Sending extends MessageRoutesOptions {
  readonly sender: Sender;
}

export function messageRoutes(options: Sending): Route[] {
  return [
    sendRoute(options),
    ...listRoutes(options),
    ...editRoutes(options),
    ...alertRoutes(options),
    ...conversationFileRoutes(options),
    ...reactionRoutes(options),
    ...pinRoutes(options),
    ...forwardRoutes(options),
    ...threadRoutes(options),
  ];
}

function sendRoute({ sender, ...options }: Sending): Route {
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
    commits: COMMITS.both,
    handle(call) {
      const { principal, params, body, trace } = call;
      return sender.send(principal, params.id!, body, answering(options, call, withoutResources), trace);
    },
  });
}
