import { ListOf } from '@parley/protocol/lists.ts';
import { ChatMessage, IncludeInMessage } from '@parley/protocol/resources/chat-message.ts';
import { MarkThreadReadBody, Thread } from '@parley/protocol/resources/thread.ts';
import { defineList, PageQuery, readPage, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { keysetList } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { requireThere } from '../../conversations/participants/own-state.ts';
import { lockOwnParticipant } from '../../conversations/rows/locked-conversation.ts';
import { expandMessages } from '../../resources/expanded-message.ts';
import { withLargeBodies } from '../../resources/large-bodies.ts';
import { type BriefRow, briefColumns } from '../../resources/message.ts';
import { isReplyTo, readThreads } from '../../resources/thread.ts';
import type { MessageRoutesOptions } from '../reading/message-routes.ts';
import { readableMessage } from '../rules/readable-message.ts';
import { readHead } from '../timeline/timeline-store.ts';

export function threadRoutes({ database, files, directory, timeline }: MessageRoutesOptions): Route[] {
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
      response: ListOf(ChatMessage),
      async handle({ principal, params, query, url }) {
        const page = readPage(REPLIES, query, { message: params.id });
        const { row } = await readableMessage(sources, principal, params.id!);
        if (page.after === null) {
          // Waits for sends in progress, so that no reply appears later between two that were
          // listed.
          const { conversation_id: conversationId } = row;
          const { head: upTo, floor: after } = await readHead(database, conversationId);
          await timeline.settle({ conversationId, after, upTo });
        }
        const brief = await REPLY_PAGES.readPage(database, [row.id, principal.customer], page);
        const rows = await withLargeBodies(database, brief);
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
      response: Thread,
      prepare: ({ principal, params }) => readableMessage(sources, principal, params.id!),
      async change(tx, { principal, body: { sequence } }, { row }) {
        const { id, conversation_id } = row;
        await lockOwnParticipant(tx, principal, conversation_id);
        await requireThere(tx, principal, conversation_id, sequence);
        await tx.query(WRITE_POSITION, id, principal.actor.id, conversation_id, sequence);
        const threads = await readThreads(tx, principal, [row]);
        return threads.get(id)!;
      },
    }),
  ];
}

const REPLIES = defineList('replies', ['integer']);

const REPLY_PAGES = keysetList<[messageId: string, forCustomer: boolean], BriefRow>({
  name: 'list-replies',
  columns: briefColumns('r'),
  from: 'messages r',
  where: isReplyTo('$1', '$2'),
  key: [['r.sequence', 'integer']],
});

// Moves a position forward, never back.
const WRITE_POSITION = statement<
  [messageId: string, actorId: string, conversationId: string, sequence: number]
>('write-thread-position')`
    INSERT INTO thread_reads (message_id, actor_id, conversation_id, read_sequence) VALUES ($1, $2, $3, $4)
    ON CONFLICT (message_id, actor_id) DO UPDATE
      SET read_sequence = greatest(thread_reads.read_sequence, excluded.read_sequence)`;
