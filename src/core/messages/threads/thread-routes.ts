import { ListOf } from '../../../contract/protocol/lists.ts';
import { ChatMessage, IncludeInMessage } from '../../../contract/protocol/resources/chat-message.ts';
import { MarkThreadReadBody, Thread } from '../../../contract/protocol/resources/thread.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { defineList, PageQuery, readPage, toList } from '../../../platform/http/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../platform/http/pipeline/route.ts';
import type { ConversationDirectory } from '../../conversations/directory.ts';
import type { Downloads } from '../../resources/attachment.ts';
import { expandMessages } from '../../resources/expanded-message.ts';
import { readableMessage } from '../reading/readable-message.ts';
import type { Timeline } from '../timeline/timeline.ts';
import { SETTLE_WINDOW } from '../timeline/timeline-store.ts';
import { markThreadRead } from './mark-thread-read.ts';
import { readReplyPage } from './thread-store.ts';

export interface ThreadRoutesOptions {
  readonly database: Database;
  readonly files: Downloads;
  readonly directory: ConversationDirectory;
  readonly timeline: Timeline;
}

export function threadRoutes({ database, files, directory, timeline }: ThreadRoutesOptions): Route[] {
  const sources = { database, directory };
  return [
    defineRoute({
      name: 'list_replies',
      method: 'GET',
      path: '/v1/messaging/messages/:id/replies',
      summary: 'List the replies to a message, newest first',
      since: '1.2.harbor',
      permission: 'messaging:read',
      customers: true,
      query: PageQuery({ 'include[]': IncludeInMessage }),
      status: 200,
      response: ListOf(ChatMessage),
      async handle({ principal, params, query, url }) {
        const page = readPage(REPLIES, query, { message: params.id });
        const { row } = await readableMessage(sources, principal, params.id!);
        if (page.after === null) await settle(timeline, row.conversation_id);
        const rows = await readReplyPage(database, row.id, principal.customer, page);
        const shown = await expandMessages(database, files, principal, rows, query['include[]'] ?? []);
        return toList(
          rows,
          page,
          url,
          ({ sequence }) => [sequence!],
          (reply) => shown.get(reply)!,
        );
      },
    }),
    defineRoute({
      name: 'mark_thread_read',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/mark-thread-read',
      summary: 'Mark the replies to a message as read',
      since: '1.2.harbor',
      permission: 'messaging:read',
      customers: true,
      body: MarkThreadReadBody,
      status: 200,
      response: Thread,
      prepare: ({ principal, params }) => readableMessage(sources, principal, params.id!),
      change: (tx, { principal, body }, { row }) => markThreadRead(tx, principal, row, body.sequence),
    }),
  ];
}

/**
 * Waits for what is being sent, so that no reply appears later between two that were listed
 * together.
 */
async function settle(timeline: Timeline, conversationId: string): Promise<void> {
  const upTo = await timeline.head(conversationId);
  await timeline.settle({ conversationId, after: Math.max(0, upTo - SETTLE_WINDOW), upTo });
}

const REPLIES = defineList('replies', ['integer']);
