import { ForwardMessageBody } from '@parley/protocol/resources/chat-message.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { readableConversation } from '../../conversations/directory/access.ts';
import { answering, COMMITS, type MessageRoutesOptions, OF_MESSAGE } from '../reading/message-routes.ts';
import { readableMessage } from '../rules/readable-message.ts';
import type { Sender } from '../sending/send.ts';
import { forwarded } from './forward.ts';

export function forwardRoutes({
  sender,
  database,
  files,
  directory,
}: MessageRoutesOptions & { readonly sender: Sender }): Route[] {
  return [
    defineRoute({
      name: 'forward_message',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/forward',
      summary: 'Send the content of a message to another conversation',
      since: '1.2.harbor',
      permission: 'messaging:create',
      reachesOutside: ({ audience }) => audience === 'customer',
      ...OF_MESSAGE,
      body: ForwardMessageBody,
      status: 201,
      // The text of the message is added to the caller's own words.
      rules: ({ principal, body: { conversation_id, ...body } }) =>
        sender.check(principal, conversation_id, body, true),
      commits: COMMITS.both,
      async handle(call) {
        const { principal, params, body, trace } = call;
        const { row } = await readableMessage({ database, directory }, principal, params.id!);
        const { id } = await readableConversation(
          directory,
          principal,
          body.conversation_id,
          'conversation_id',
        );
        const content = await forwarded(database, files, principal, row, body);
        const answer = answering({ database, files }, call);
        return sender.send(principal, id, content.body, answer, trace, content);
      },
    }),
  ];
}
