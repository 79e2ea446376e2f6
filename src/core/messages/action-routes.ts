import {
  ApproveDraftBody,
  ChatMessage,
  IncludeInMessage,
  IncludeInSend,
} from '../../contract/protocol/resources/chat-message.ts';
import { Body } from '../../contract/protocol/schema/schema.ts';
import type { Principal } from '../../platform/access/principal.ts';
import { defineRoute, type Route } from '../../platform/http/pipeline/route.ts';
import { requireWriter } from '../conversations/access.ts';
import { expandMessage } from '../resources/expanded-message.ts';
import { approveDraft, rejectDraft } from './drafts/drafts.ts';
import { cancelMessage } from './editing/edit-message.ts';
import { readableMessage } from './reading/readable-message.ts';
import type { MessageRoutesOptions } from './route-options.ts';
import { sendNow } from './schedules/send-now.ts';

export function actionRoutes({ database, files, directory, lockedWrites }: MessageRoutesOptions): Route[] {
  /** Returns a message on which the caller may act, beyond reading it. */
  const writable = async (principal: Principal, id: string) => {
    const found = await readableMessage({ database, directory }, principal, id);
    requireWriter(found.facts.members.get(principal.actor.id));
    return found;
  };
  return [
    defineRoute({
      name: 'reject_reply_draft',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/reject',
      summary: 'Discard an open reply draft without sending it',
      since: '1.0.harbor',
      permission: 'messaging:update',
      query: Body({ 'include[]': IncludeInSend }),
      status: 200,
      response: ChatMessage,
      prepare: ({ principal, params }) => writable(principal, params.id!),
      async change(tx, { principal, query }, { row }) {
        const rejected = await rejectDraft(tx, principal, row);
        return expandMessage(tx, files, principal, rejected, query['include[]']);
      },
    }),
    defineRoute({
      name: 'approve_reply_draft',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/approve',
      summary: 'Send an open reply draft to the customer',
      since: '1.1.harbor',
      permission: 'messaging:update',
      agents: false,
      query: IncludeQuery,
      body: ApproveDraftBody,
      status: 200,
      response: ChatMessage,
      commits:
        'LockedWrites opens the transaction, perhaps more than once, until the message has a sequence number.',
      async handle({ principal, params, query, body, answer }) {
        const { row } = await writable(principal, params.id!);
        return approveDraft(lockedWrites, principal, row, body, async (tx, sent) =>
          answer(await expandMessage(tx, files, principal, sent, query['include[]']), tx),
        );
      },
    }),
    defineRoute({
      name: 'cancel_scheduled_message',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/cancel',
      summary: 'Take back a scheduled message',
      since: '1.1.harbor',
      permission: 'messaging:update',
      own: { permission: 'messaging:create', of: 'your own messages' },
      customers: true,
      query: IncludeQuery,
      status: 200,
      response: ChatMessage,
      prepare: ({ principal, params }) => writable(principal, params.id!),
      async change(tx, { principal, query }, { row, facts }) {
        const canceled = await cancelMessage(tx, { principal, facts, row });
        return expandMessage(tx, files, principal, canceled, query['include[]']);
      },
    }),
    defineRoute({
      name: 'send_scheduled_message_now',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/send-now',
      summary: 'Send a scheduled message before its time',
      since: '1.2.harbor',
      permission: 'messaging:update',
      own: { permission: 'messaging:create', of: 'your own messages' },
      customers: true,
      reachesOutside: () => true,
      query: IncludeQuery,
      status: 200,
      response: ChatMessage,
      commits:
        'LockedWrites opens the transaction, perhaps more than once, until the message has a sequence number.',
      async handle({ principal, params, query, answer }) {
        const { row, facts } = await writable(principal, params.id!);
        return sendNow(lockedWrites, { principal, facts, row }, async (tx, sent) =>
          answer(await expandMessage(tx, files, principal, sent, query['include[]']), tx),
        );
      },
    }),
  ];
}

const IncludeQuery = Body({ 'include[]': IncludeInMessage });
