import { Type } from 'typebox';
import type { Principal } from '../access/principal.ts';
import type { Downloads } from '../attachments/storage.ts';
import { requireSender } from '../conversations/access.ts';
import type { ConversationDirectory } from '../conversations/directory.ts';
import type { Database } from '../db/database.ts';
import { defineRoute, type Route } from '../http/route.ts';
import {
  ApproveDraftBody,
  ChatMessage,
  MESSAGE_INCLUDES,
  SEND_MESSAGE_INCLUDES,
} from '../protocol/resources/chat-message.ts';
import { Body, OneOf } from '../protocol/schema.ts';
import { answering } from './answering.ts';
import { approveDraft, rejectDraft } from './drafts.ts';
import { cancelMessage } from './edit-message.ts';
import type { LockedWrites } from './locked-write.ts';
import { readableMessage } from './readable-message.ts';

export interface ActionRoutesOptions {
  readonly database: Database;
  readonly files: Downloads;
  readonly directory: ConversationDirectory;
  readonly lockedWrites: LockedWrites;
}

export function actionRoutes({ database, files, directory, lockedWrites }: ActionRoutesOptions): Route[] {
  /** A message where the caller may do more than read. */
  const writable = async (principal: Principal, id: string) => {
    const found = await readableMessage({ database, directory }, principal, id);
    requireSender(principal, found.facts);
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
      query: Body({ 'include[]': Type.Optional(Type.Array(OneOf(SEND_MESSAGE_INCLUDES))) }),
      status: 200,
      response: ChatMessage,
      async handle(call) {
        const { principal, params, query } = call;
        const { row } = await writable(principal, params.id!);
        const answer = answering(database, files, call, query['include[]']);
        return database.transaction(async (tx) => answer(await rejectDraft(tx, principal, row), tx));
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
      async handle(call) {
        const { principal, params, query, body } = call;
        const { row } = await writable(principal, params.id!);
        return approveDraft(
          lockedWrites,
          principal,
          row,
          body,
          answering(database, files, call, query['include[]']),
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
      async handle(call) {
        const { principal, params, query } = call;
        const { row, facts } = await writable(principal, params.id!);
        const answer = answering(database, files, call, query['include[]']);
        return database.transaction(async (tx) =>
          answer(await cancelMessage(tx, { principal, facts, row }), tx),
        );
      },
    }),
  ];
}

const IncludeQuery = Body({ 'include[]': Type.Optional(Type.Array(OneOf(MESSAGE_INCLUDES))) });
