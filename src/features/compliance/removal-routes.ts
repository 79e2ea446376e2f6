import { ChatMessage, IncludeInMessage, RedactMessageBody } from '@parley/protocol/resources/chat-message.ts';
import { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Body } from '@parley/protocol/schema/schema.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { readableMessage } from '../../core/messages/rules/readable-message.ts';
import { expandMessage } from '../../core/resources/expanded-message.ts';
import { ConversationQuery, show } from '../../core/resources/shown-conversation.ts';
import { deleteConversation, restoreConversation } from './conversation-removal.ts';
import { redactMessage } from './redact.ts';

/** Returns the routes that remove messages and conversations. Closed to agents. */
export function removalRoutes({
  config: { restoreDays },
  database,
  store,
  directory,
}: Pick<NodeParts, 'config' | 'database' | 'store' | 'directory'>): Route[] {
  const common = { since: '1.2.harbor', agents: false } as const;
  const ofConversation = {
    ...common,
    permission: 'messaging:update',
    query: ConversationQuery,
    response: Conversation,
  } as const;
  return [
    defineRoute({
      ...common,
      name: 'redact_message',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/redact',
      summary: 'Remove the content of a message for good',
      permission: 'messaging:redact',
      query: Body({ 'include[]': IncludeInMessage }),
      body: RedactMessageBody,
      response: ChatMessage,
      prepare: ({ principal, params }) => readableMessage({ database, directory }, principal, params.id!),
      async change(tx, { principal, query, body }, { row, facts }) {
        const tombstone = await redactMessage(tx, { principal, facts, row }, body.reason);
        return expandMessage(tx, store, principal, tombstone, query['include[]']);
      },
    }),
    defineRoute({
      ...ofConversation,
      name: 'delete_conversation',
      method: 'DELETE',
      path: '/v1/messaging/conversations/:id',
      summary: 'Delete a conversation; it can be restored for a while',
      async change(tx, { principal, params, query }) {
        const row = await deleteConversation(tx, principal, params.id!);
        return show(tx, principal, row, query['include[]']);
      },
    }),
    defineRoute({
      ...ofConversation,
      name: 'restore_conversation',
      method: 'POST',
      path: '/v1/messaging/conversations/:id/actions/restore',
      summary: 'Bring a deleted conversation back',
      async change(tx, { principal, params, query }) {
        const row = await restoreConversation(tx, principal, params.id!, restoreDays);
        return show(tx, principal, row, query['include[]']);
      },
    }),
  ];
}
