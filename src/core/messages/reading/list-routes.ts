import { ApiError } from '@parley/protocol/errors/errors.ts';
import { ListOf } from '@parley/protocol/lists.ts';
import { ChatMessage, IncludeInMessage, MESSAGE_STATUSES } from '@parley/protocol/resources/chat-message.ts';
import { OneOf } from '@parley/protocol/schema/schema.ts';
import { Since } from '@parley/protocol/schema/since.ts';
import { type Static, Type } from 'typebox';
import {
  defineList,
  nameOf,
  PageQuery,
  type PageRequest,
  readPage,
  toEncodedList,
  toList,
} from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { readableConversation } from '../../conversations/directory/access.ts';
import { jsonBytesOf, withText } from '../../resources/encoded-rows.ts';
import { expandMessages, readExpansions } from '../../resources/expanded-message.ts';
import { withLargeBodies } from '../../resources/large-bodies.ts';
import { completeMessage, type MessageRow } from '../../resources/message.ts';
import { OUTSIDE } from '../rows/waiting-store.ts';
import { seesSchedules } from '../rules/readable-message.ts';
import { readSentById, type TimelineKey, type TimelineRange } from '../timeline/timeline-store.ts';
import { readTimeline, readTimelineKeys } from './list.ts';
import type { MessageRoutesOptions } from './message-routes.ts';

export function listRoutes({ database, files, directory, timeline, encoded }: MessageRoutesOptions): Route[] {
  return [
    defineRoute({
      name: 'list_messages',
      frequent: true,
      // Messages that customers may see can be far apart, so they are read over the pool.
      isUnpooled: ({ status = 'sent', 'include[]': include = [] }, { customer }) =>
        status === 'sent' && include.length === 0 && !customer,
      method: 'GET',
      path: '/v1/messaging/conversations/:id/messages',
      summary: 'List the messages of a conversation, newest first; from a number on, oldest first',
      since: '1.1.harbor',
      permission: 'messaging:read',
      customers: true,
      query: ListQuery,
      response: ListOf(ChatMessage),
      async handle({ principal, version, params, query, url }) {
        const { status = 'sent', after_sequence, before_sequence, around_sequence } = query;
        checkBounds(query);
        const isSent = status === 'sent';
        const filters = { conversation: params.id, status, after_sequence, before_sequence, around_sequence };
        const page = readPage(isSent ? TIMELINE : UNSENT, query, filters);
        const facts = await readableConversation(directory, principal, params.id!);
        const { id: conversationId } = facts;
        const include = query['include[]'] ?? [];
        if (isSent) {
          const { customer, actor } = principal;
          const read = (bounds: RangeBounds, part = '') => {
            const range = { conversationId, ...bounds, limit: page.fetch, forCustomer: customer };
            return encoded.read({
              name: `${nameOf(page)}${part}`,
              form: { version, customer },
              readKeys: () => readTimelineKeys({ database, timeline }, range, actor.id),
              readRows: (ids) => readSentById(database, conversationId, ids, customer),
              readWhole: () => readTimeline({ database, timeline }, range),
              keyOf: ({ id, version, sequence, author_id, client_message_id: own }) => ({
                id,
                version,
                sequence: sequence!,
                client_message_id: author_id === actor.id ? own : null,
              }),
            });
          };
          const isMiddle = around_sequence !== undefined && query.cursor === undefined;
          const { rows, startsInside } = isMiddle
            ? middleOf(
                await read({ ...NEWER, after: Math.max(around_sequence - 1, 0) }, ' newer'),
                await read({ ...OLDER, before: around_sequence }, ' older'),
                page.limit,
              )
            : { rows: await read(rangeOf(page, after_sequence, before_sequence)), startsInside: false };
          const links = rows.map((row) => row.links);
          const expansionsOf = await readExpansions(database, files, principal, links, include);
          return toEncodedList(rows, { ...page, startsInside }, url, byNumber, (row) => {
            const { client_message_id } = row.key;
            if (include.length === 0 && client_message_id === null) return withText(row.json, row);
            const fields = { ...expansionsOf(row.links), client_message_id };
            return withText(completeMessage(row.json, version, principal, fields), row);
          });
        }
        const isSchedule = status === 'scheduled' || status === 'canceled' || status === 'failed';
        if (!isSchedule && principal.customer) throw teamOnly();
        const isOwn = isSchedule && !seesSchedules(principal, facts);
        const authorId = isOwn ? principal.actor.id : null;
        const brief = await OUTSIDE.readPage(database, [conversationId, status, authorId], page);
        const rows = await withLargeBodies(database, brief);
        const shown = await expandMessages(database, files, principal, rows, include);
        return toList(rows, page, url, byTime, (row) => shown.get(row)!);
      },
    }),
  ];
}

/** 0 precedes the first message. */
const SequenceBound = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

const ListQuery = PageQuery({
  status: Type.Optional(OneOf(MESSAGE_STATUSES, { default: 'sent' })),
  after_sequence: Type.Optional(SequenceBound),
  before_sequence: Type.Optional(SequenceBound),
  around_sequence: Since('1.2.harbor', SequenceBound),
  'include[]': IncludeInMessage,
});

const TIMELINE = defineList('messages', ['integer']);
const byNumber = ({ key }: { readonly key: TimelineKey }) => [key.sequence];

/** Messages that are not sent have no number, so they are listed by their time of creation. */
const UNSENT = defineList('messages outside the timeline', ['time', 'text']);
const byTime = (row: MessageRow) => [row.created_at, row.id];

const BOUNDS = ['after_sequence', 'before_sequence', 'around_sequence'] as const;

function checkBounds(query: Static<typeof ListQuery>): void {
  const [first, second] = BOUNDS.filter((name) => query[name] !== undefined);
  if (first === undefined) return;
  if (second !== undefined) throw exclusive(second, `Send either ${first} or ${second}.`);
  if ((query.status ?? 'sent') !== 'sent') throw exclusive(first, 'Only sent messages have a sequence.');
}

type RangeBounds = Pick<TimelineRange, 'order' | 'after' | 'before'>;

const NEWER: RangeBounds = { order: 'oldest_first', after: 0, before: Number.MAX_SAFE_INTEGER };
const OLDER: RangeBounds = { ...NEWER, order: 'newest_first' };

/**
 * Returns the range of a page: newest first, or oldest first with `after`. A previous page is read
 * in the opposite order.
 */
function rangeOf(page: PageRequest, after: number | undefined, before: number | undefined): RangeBounds {
  const isUp = (after !== undefined) === (page.direction === 'next');
  const edge = page.after === null ? undefined : Number(page.after[0]);
  return {
    order: isUp ? 'oldest_first' : 'newest_first',
    after: Math.max(after ?? 0, isUp && edge !== undefined ? edge : 0),
    before: Math.min(before ?? Infinity, !isUp && edge !== undefined ? edge : Number.MAX_SAFE_INTEGER),
  };
}

function teamOnly(): ApiError {
  const message = 'Customers can only list sent messages and their own scheduled messages.';
  return new ApiError('insufficient_permissions', message);
}

function exclusive(param: string, message: string): ApiError {
  return new ApiError('parameters_exclusive', message, { param });
}

/**
 * Returns the rows nearest to a place: one half newer, one half older, and more of one side if the
 * other side ends. Both sides begin at the place and have up to one row more than the page, like
 * the result; `startsInside` tells whether newer rows follow in the other direction. A page that
 * grows too large ends early (api/pipeline/pagination.ts), so the newer side, which comes first,
 * gets at most half of its bytes.
 */
function middleOf<Row extends Parameters<typeof jsonBytesOf>[0]>(
  newer: readonly Row[],
  older: readonly Row[],
  limit: number,
) {
  const half = Math.min(newer.length, Math.ceil(limit / 2));
  const wanted = Math.min(newer.length, Math.max(half, limit - older.length));
  const count = fitting(newer.slice(0, wanted));
  return {
    rows: [...newer.slice(0, count).reverse(), ...older.slice(0, limit - count + 1)],
    startsInside: newer.length > count,
  };
}

/** Returns the number of rows that fit, at least 1. */
function fitting(rows: readonly Parameters<typeof jsonBytesOf>[0][]): number {
  let left = MAX_NEWER_BYTES;
  const end = rows.findIndex((row, index) => {
    left -= jsonBytesOf(row);
    return left < 0 && index > 0;
  });
  return end === -1 ? rows.length : end;
}

const MAX_NEWER_BYTES = 512 * 1024;
