import { CreateAlertBody } from '../../../contract/protocol/resources/alert.ts';
import { ChatMessage, IncludeInSend } from '../../../contract/protocol/resources/chat-message.ts';
import { Body } from '../../../contract/protocol/schema/schema.ts';
import { type Answered, defineRoute, type Route } from '../../../platform/http/pipeline/route.ts';
import type { Downloads } from '../../resources/attachment.ts';
import { expandMessage } from '../../resources/expanded-message.ts';
import { type AlertOptions, raiseAlert } from './alerts.ts';
import type { AnswerOf } from './send.ts';

export function alertRoutes({ files, ...options }: AlertOptions & { readonly files: Downloads }): Route[] {
  return [
    defineRoute({
      name: 'create_alert',
      method: 'POST',
      path: '/v1/messaging/alerts',
      summary: 'Raise an alert to the admins of the account, or in a conversation',
      since: '1.2.harbor',
      permission: 'alerts:create',
      query: Body({ 'include[]': IncludeInSend }),
      body: CreateAlertBody,
      status: 201,
      response: ChatMessage,
      commits:
        'LockedWrites opens the transaction, perhaps more than once, until the message has a sequence number.',
      handle({ principal, query, body, trace, answer }) {
        const answerOf: AnswerOf<Answered> = async (row, tx) =>
          answer(await expandMessage(tx ?? options.database, files, principal, row, query['include[]']), tx);
        return raiseAlert(options, principal, body, answerOf, trace);
      },
    }),
  ];
}
