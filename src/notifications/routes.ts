import { Type } from 'typebox';
import type { Database } from '../db/database.ts';
import { defineList, readPage, SearchQuery, toList } from '../http/pagination.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { ListOf } from '../protocol/lists.ts';
import {
  MESSAGING_CATEGORIES,
  NOTIFICATION_INCLUDES,
  NOTIFICATION_STATUS_FILTERS,
  Notification,
  SENDER_TYPES,
} from '../protocol/notification.ts';
import { OneOf } from '../protocol/schema.ts';
import { presentFeed, readFeed } from './list.ts';

export function notificationRoutes(database: Database): Route[] {
  return [
    defineRoute({
      name: 'list_notifications',
      method: 'GET',
      path: '/v1/messaging/notifications',
      summary: "List the caller's notifications, newest first",
      since: '1.0.harbor',
      permission: 'messaging:read',
      query: SearchQuery({
        category: Type.Optional(OneOf(MESSAGING_CATEGORIES)),
        status: Type.Optional(OneOf(NOTIFICATION_STATUS_FILTERS)),
        'sender_ids[]': Type.Optional(Type.Array(Type.String())),
        'sender_types[]': Type.Optional(Type.Array(OneOf(SENDER_TYPES))),
        'include[]': Type.Optional(Type.Array(OneOf(NOTIFICATION_INCLUDES))),
      }),
      status: 200,
      response: ListOf(Notification),
      async handle({ principal, query, url }) {
        const filters = {
          status: query.status,
          category: query.category,
          senderIds: query['sender_ids[]'],
          senderTypes: query['sender_types[]'],
        };
        const page = readPage(FEED, query, { actor: principal.actor.id, ...filters });
        const rows = await readFeed(
          database,
          principal.actor.id,
          { ...filters, q: page.search },
          {
            order: page.direction === 'next' ? 'newest_first' : 'oldest_first',
            after: page.after,
            limit: page.fetch,
          },
        );
        const include = query['include[]'] ?? [];
        const shown = await presentFeed(database, principal.accountId, rows, include);
        return toList(
          rows,
          page,
          url,
          (row) => [row.created_at, row.id],
          (row) => shown.get(row)!,
        );
      },
    }),
  ];
}

const FEED = defineList('notifications', ['time', 'text']);
