import { Conversation } from '@parley/protocol/resources/conversation.ts';
import { InboxSummary, MarkUnreadBody } from '@parley/protocol/resources/inbox.ts';
import { Work } from '@parley/protocol/resources/work.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { publishRead } from '../conversations/participants/own-state.ts';
import type { Engine } from '../frames/engine.ts';
import { ConversationQuery, show } from '../resources/shown-conversation.ts';
import { listRoute } from './list-routes.ts';
import { readClock } from './list-store.ts';
import { markAllRead, markUnread } from './marks.ts';
import { readInboxSummary } from './summary-store.ts';
import { viewRoutes } from './view-routes.ts';
import { readWork } from './work-store.ts';

/** Returns the routes of the conversation list, its counts, and marks beyond one message. */
export function conversationListRoutes(database: Database, engine: Engine): Route[] {
  const common = {
    since: '1.2.harbor',
    permission: 'messaging:read',
    customers: true,
  } as const;
  return [
    listRoute(database),
    ...viewRoutes(database),
    defineRoute({
      ...common,
      name: 'get_inbox_summary',
      method: 'GET',
      path: '/v1/messaging/conversations/summary',
      summary: "Count the caller's conversations: unread, owned, unassigned, snoozed, and by lane",
      response: InboxSummary,
      handle: ({ principal }) => readInboxSummary(database, principal),
    }),
    defineRoute({
      name: 'get_work',
      method: 'GET',
      path: '/v1/messaging/work',
      summary: 'List what waits for the caller: cases without an owner, its own, approvals and drafts',
      since: '1.4.harbor',
      permission: 'messaging:read',
      query: ConversationQuery,
      response: Work,
      handle: ({ principal, query }) => readWork(database, principal, query['include[]'] ?? []),
    }),
    defineRoute({
      ...common,
      name: 'mark_conversation_unread',
      method: 'POST',
      path: '/v1/messaging/conversations/:id/actions/mark-unread',
      summary: "Move the caller's read position back before a message",
      query: ConversationQuery,
      body: MarkUnreadBody,
      response: Conversation,
      async change(tx, { principal, params, query, body, afterCommit }) {
        const id = params.id!;
        const { conversation, movedAt } = await markUnread(tx, principal, id, body.sequence);
        if (movedAt !== undefined) {
          afterCommit(() => publishRead(engine, id, principal.actor, body.sequence - 1, movedAt));
        }
        return show(tx, principal, conversation, query['include[]']);
      },
    }),
    defineRoute({
      ...common,
      name: 'mark_all_conversations_read',
      method: 'POST',
      path: '/v1/messaging/conversations/actions/mark-all-read',
      summary: 'Mark all conversations of the caller as read',
      response: InboxSummary,
      async change(tx, { principal, afterCommit }) {
        const moved = await markAllRead(tx, principal);
        const at = await readClock(tx);
        afterCommit(() => {
          for (const { conversation_id: id, through } of moved.slice(0, MOST_PUBLISHED)) {
            publishRead(engine, id, principal.actor, through, at);
          }
        });
        return readInboxSummary(tx, principal);
      },
    }),
  ];
}

/**
 * The number of positions that are published at once. Readers see other positions when they move
 * next, as after any lost event of this kind.
 */
const MOST_PUBLISHED = 500;
