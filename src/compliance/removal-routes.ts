import type { ConversationDirectory } from '../conversations/directory.ts';
import type { Database } from '../db/database.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { readableMessage } from '../messages/readable-message.ts';
import { ChatMessage, MESSAGE_INCLUDES, RedactMessageBody } from '../protocol/resources/chat-message.ts';
import { Body, Include } from '../protocol/schema.ts';
import type { Downloads } from '../resources/attachment.ts';
import { expandMessage } from '../resources/expanded-message.ts';
import { redactMessage } from './redact.ts';

export interface RemovalRoutesOptions {
  readonly database: Database;
  readonly files: Downloads;
  readonly directory: ConversationDirectory;
}

export function removalRoutes({ database, files, directory }: RemovalRoutesOptions): Route[] {
  return [
    defineRoute({
      name: 'redact_message',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/redact',
      summary: 'Remove the content of a message for good',
      since: '1.2.harbor-preview.1',
      permission: 'messaging:redact',
      agents: false,
      query: Body({ 'include[]': Include(MESSAGE_INCLUDES) }),
      body: RedactMessageBody,
      status: 200,
      response: ChatMessage,
      prepare: ({ principal, params }) => readableMessage({ database, directory }, principal, params.id!),
      async change(tx, { principal, query, body }, { row, facts }) {
        const tombstone = await redactMessage(tx, { principal, facts, row }, body.reason);
        return expandMessage(tx, files, principal, tombstone, query['include[]']);
      },
    }),
  ];
}
