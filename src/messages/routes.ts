import { Type } from 'typebox';
import { readableConversation } from '../conversations/access.ts';
import type { ConversationDirectory } from '../conversations/directory.ts';
import { expandMessages } from '../conversations/message-expand.ts';
import type { Database } from '../db/database.ts';
import { defineList, PageQuery, type PageRequest, readPage, toList } from '../http/pagination.ts';
import { defineRoute, type Route } from '../http/route.ts';
import {
  ChatMessage,
  MESSAGE_INCLUDES,
  SEND_MESSAGE_INCLUDES,
  SendMessageBody,
} from '../protocol/chat-message.ts';
import { ApiError } from '../protocol/errors.ts';
import { ListOf } from '../protocol/lists.ts';
import { Body, OneOf } from '../protocol/schema.ts';
import { readTimeline } from './list.ts';
import type { Sender } from './send.ts';
import type { Timeline } from './timeline.ts';

export interface MessageRoutesOptions {
  readonly sender: Sender;
  readonly database: Database;
  readonly directory: ConversationDirectory;
  readonly timeline: Timeline;
}

export function messageRoutes({ sender, database, directory, timeline }: MessageRoutesOptions): Route[] {
  return [
    defineRoute({
      name: 'send_message',
      method: 'POST',
      path: '/v1/messaging/conversations/:id/messages',
      summary: 'Send a message to a conversation',
      since: '1.0.harbor',
      permission: 'messaging:create',
      customers: true,
      query: Body({ 'include[]': Type.Optional(Type.Array(OneOf(SEND_MESSAGE_INCLUDES))) }),
      body: SendMessageBody,
      status: 201,
      response: ChatMessage,
      handle: ({ principal, params, body, query }) =>
        sender.send(principal, params.id!, body, query['include[]'] ?? []),
    }),
    defineRoute({
      name: 'list_messages',
      method: 'GET',
      path: '/v1/messaging/conversations/:id/messages',
      summary: 'List the messages of a conversation, newest first; from a number on, oldest first',
      since: '1.1.harbor',
      permission: 'messaging:read',
      customers: true,
      query: PageQuery({
        after_sequence: Type.Optional(SequenceBound),
        before_sequence: Type.Optional(SequenceBound),
        'include[]': Type.Optional(Type.Array(OneOf(MESSAGE_INCLUDES))),
      }),
      status: 200,
      response: ListOf(ChatMessage),
      async handle({ principal, params, query, url }) {
        const { after_sequence, before_sequence } = query;
        if (after_sequence !== undefined && before_sequence !== undefined) throw oppositeOrders();
        const page = readPage(TIMELINE, query, { conversation: params.id, after_sequence, before_sequence });
        const { id } = await readableConversation(directory, principal, params.id!);
        const rows = await readTimeline(database, timeline, {
          conversationId: id,
          ...stretchOf(page, after_sequence, before_sequence),
          limit: page.fetch,
          forCustomer: principal.customer,
        });
        const shown = await expandMessages(database, principal, rows, query['include[]'] ?? []);
        return toList(
          rows,
          page,
          url,
          (row) => [row.sequence!],
          (row) => shown.get(row)!,
        );
      },
    }),
  ];
}

/** 0 stands before the first message. */
const SequenceBound = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

const TIMELINE = defineList('messages', ['integer']);

/** The list is newest first, but from a number on oldest first; a previous page is read against it. */
function stretchOf(page: PageRequest, after: number | undefined, before: number | undefined) {
  const isUp = (after !== undefined) === (page.direction === 'next');
  const edge = page.after === null ? undefined : Number(page.after[0]);
  return {
    order: isUp ? ('oldest_first' as const) : ('newest_first' as const),
    after: Math.max(after ?? 0, isUp && edge !== undefined ? edge : 0),
    before: Math.min(before ?? Infinity, !isUp && edge !== undefined ? edge : Number.MAX_SAFE_INTEGER),
  };
}

function oppositeOrders(): ApiError {
  return new ApiError('parameters_exclusive', 'Ask for one of after_sequence and before_sequence.', {
    param: 'before_sequence',
  });
}
