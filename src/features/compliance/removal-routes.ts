import {
  ChatMessage,
  IncludeInMessage,
  RedactMessageBody,
} from '../../contract/protocol/resources/chat-message.ts';
import { Conversation } from '../../contract/protocol/resources/conversation.ts';
import { Body } from '../../contract/protocol/schema/schema.ts';
import type { ConversationDirectory } from '../../core/conversations/directory.ts';
import { ConversationQuery, show } from '../../core/conversations/routes.ts';
import { readableMessage } from '../../core/messages/reading/readable-message.ts';
import type { Downloads } from '../../core/resources/attachment.ts';
import { expandMessage } from '../../core/resources/expanded-message.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { defineRoute, type Route } from '../../platform/http/pipeline/route.ts';
import { deleteConversation, restoreConversation } from './conversation-removal.ts';
import { redactMessage } from './redact.ts';

export interface RemovalRoutesOptions {
  readonly database: Database;
  readonly files: Downloads;
  readonly directory: ConversationDirectory;
  /** How long a deleted conversation can be restored. */
  readonly restoreDays: number;
}

export function removalRoutes({ database, files, directory, restoreDays }: RemovalRoutesOptions): Route[] {
  return [
    defineRoute({
      name: 'redact_message',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/redact',
      summary: 'Remove the content of a message for good',
      since: '1.2.harbor',
      permission: 'messaging:redact',
      agents: false,
      query: Body({ 'include[]': IncludeInMessage }),
      body: RedactMessageBody,
      status: 200,
      response: ChatMessage,
      prepare: ({ principal, params }) => readableMessage({ database, directory }, principal, params.id!),
      async change(tx, { principal, query, body }, { row, facts }) {
        const tombstone = await redactMessage(tx, { principal, facts, row }, body.reason);
        return expandMessage(tx, files, principal, tombstone, query['include[]']);
      },
    }),
    defineRoute({
      name: 'delete_conversation',
      method: 'DELETE',
      path: '/v1/messaging/conversations/:id',
      summary: 'Delete a conversation; it can be restored for a while',
      since: '1.2.harbor',
      permission: 'messaging:update',
      agents: false,
      query: ConversationQuery,
      status: 200,
      response: Conversation,
      async change(tx, { principal, params, query }) {
        const row = await deleteConversation(tx, principal, params.id!);
        return show(tx, principal, row, query['include[]']);
      },
    }),
    defineRoute({
      name: 'restore_conversation',
      method: 'POST',
      path: '/v1/messaging/conversations/:id/actions/restore',
      summary: 'Bring a deleted conversation back',
      since: '1.2.harbor',
      permission: 'messaging:update',
      agents: false,
      query: ConversationQuery,
      status: 200,
      response: Conversation,
      async change(tx, { principal, params, query }) {
        const row = await restoreConversation(tx, principal, params.id!, restoreDays);
        return show(tx, principal, row, query['include[]']);
      },
    }),
  ];
}
