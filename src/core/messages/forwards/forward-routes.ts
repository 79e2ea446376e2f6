import {
  ChatMessage,
  ForwardMessageBody,
  IncludeInMessage,
} from '../../../contract/protocol/resources/chat-message.ts';
import { Body } from '../../../contract/protocol/schema/schema.ts';
import { type Answered, defineRoute, type Route } from '../../../platform/http/pipeline/route.ts';
import { readableConversation } from '../../conversations/access.ts';
import { expandMessage } from '../../resources/expanded-message.ts';
import { readableMessage } from '../reading/readable-message.ts';
import type { MessageRoutesOptions } from '../route-options.ts';
import type { AnswerOf } from '../sending/send.ts';
import { forwarded } from './forward.ts';

export function forwardRoutes({ sender, database, files, directory }: MessageRoutesOptions): Route[] {
  return [
    defineRoute({
      name: 'forward_message',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/forward',
      summary: 'Send the content of a message to another conversation',
      since: '1.2.harbor',
      permission: 'messaging:create',
      reachesOutside: ({ audience }) => audience === 'customer',
      query: Body({ 'include[]': IncludeInMessage }),
      body: ForwardMessageBody,
      status: 201,
      response: ChatMessage,
      // The text of the message is added to the caller's own words.
      rules: ({ principal, body: { conversation_id, ...body } }) =>
        sender.check(principal, conversation_id, body, true),
      commits:
        'WritePath commits many messages together, and LockedWrites those that change their conversation.',
      async handle({ principal, params, query, body, trace, answer }) {
        const { row } = await readableMessage({ database, directory }, principal, params.id!);
        const { id } = await readableConversation(
          directory,
          principal,
          body.conversation_id,
          'conversation_id',
        );
        const content = await forwarded(database, files, principal, row, body);
        const answerOf: AnswerOf<Answered> = async (sent, tx) =>
          answer(await expandMessage(tx ?? database, files, principal, sent, query['include[]']), tx);
        return sender.send(principal, id, content.body, answerOf, trace, content.attachments);
      },
    }),
  ];
}
