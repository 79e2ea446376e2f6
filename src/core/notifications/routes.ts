import { notFound } from '@parley/protocol/errors/errors.ts';
import { ListOf, listOf } from '@parley/protocol/lists.ts';
import {
  CategoryFilter,
  CreateNotificationsBody,
  FEED_FILTER_LIMITS,
  MarkAllBody,
  NOTIFICATION_INCLUDES,
  Notification,
  NotificationSummary,
  SENDER_TYPES,
  StatusFilter,
} from '@parley/protocol/resources/notification.ts';
import { IdOf } from '@parley/protocol/schema/external-ids.ts';
import { Body, OneOf } from '@parley/protocol/schema/schema.ts';
import type { NotificationMove } from '@parley/protocol/states/notification-states.ts';
import { type TSchema, Type } from 'typebox';
import { defineList, nameOf, readPage, SearchQuery, toEncodedList } from '../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { readActorFilter } from '../resources/actor-filter.ts';
import {
  type EncodedNotifications,
  expandNotifications,
  NOTIFICATIONS,
  presentNotification,
} from '../resources/notification.ts';
import { checkNotifications, createNotifications } from './causes/create-notifications.ts';
import { readFeedKeys, readFeedRows, readFeedRowsById, readSummary } from './feed/feed-store.ts';
import { mark, markAll } from './feed/mark.ts';

export function notificationRoutes(database: Database, encoded: EncodedNotifications): Route[] {
  return [
    listRoute(database, encoded),
    createRoute,
    getRoute(database),
    defineRoute({
      name: 'get_notification_summary',
      method: 'GET',
      path: '/v1/messaging/notifications/summary',
      summary: "Count the caller's notifications",
      since: '1.1.harbor',
      permission: 'messaging:read',
      response: NotificationSummary,
      handle: ({ principal }) => readSummary(database, principal.actor.id),
    }),
    markRoute('see', 'Mark a notification as seen'),
    markRoute('read', 'Mark a notification as read'),
    markRoute('dismiss', 'Dismiss a notification'),
    defineRoute({
      name: 'mark_all_notifications',
      method: 'POST',
      path: '/v1/messaging/notifications/actions/mark-all',
      summary: "Mark all of the caller's notifications as seen, read or dismissed",
      since: '1.1.harbor',
      permission: 'messaging:read',
      body: MarkAllBody,
      response: NotificationSummary,
      commits: 'A feed may be long: it is marked in batches, and the answer is stored with the last of them.',
      handle({ principal, body, answer }) {
        const recipientId = principal.actor.id;
        return markAll(database, recipientId, body.status, async (tx) =>
          answer(await readSummary(tx, recipientId), tx),
        );
      },
    }),
  ];
}

function listRoute(database: Database, encoded: EncodedNotifications): Route {
  return defineRoute({
    name: 'list_notifications',
    frequent: true,
    isUnpooled: ({ cursor: _, limit: __, ...filters }) => Object.keys(filters).length === 0,
    method: 'GET',
    path: '/v1/messaging/notifications',
    summary: "List the caller's notifications, newest first",
    since: '1.0.harbor',
    permission: 'messaging:read',
    query: SearchQuery({
      category: Type.Optional(CategoryFilter),
      status: Type.Optional(StatusFilter),
      'sender_ids[]': several(IdOf('actor')),
      'sender_types[]': several(OneOf(SENDER_TYPES)),
      'include[]': IncludeInNotification,
    }),
    response: ListOf(Notification),
    async handle({ principal, version, query, url }) {
      const { actor } = principal;
      const filters = {
        status: query.status,
        category: query.category,
        senderIds: query['sender_ids[]'],
        senderTypes: query['sender_types[]'],
      };
      const page = readPage(FEED, query, { actor: actor.id, ...filters });
      const senderIds =
        filters.senderIds && (await readActorFilter(database, principal, 'sender_ids[]', filters.senderIds));
      const place = [database, actor.id, { ...filters, senderIds }, page] as const;
      const rows = await encoded.read({
        name: nameOf(page),
        form: { version, customer: false },
        readKeys: () => readFeedKeys(...place),
        readRows: (ids) => readFeedRowsById(database, actor.id, ids),
        readWhole: () => readFeedRows(...place),
        keyOf: ({ id, version }) => ({ id, version }),
      });
      const complete = await expandNotifications(
        database,
        { ...principal, version },
        rows,
        query['include[]'] ?? [],
      );
      return toEncodedList(rows, page, url, ({ key }) => [key.id], complete);
    },
  });
}

function getRoute(database: Database): Route {
  return defineRoute({
    name: 'get_notification',
    method: 'GET',
    path: '/v1/messaging/notifications/:id',
    summary: "Get one of the caller's notifications",
    since: '1.2.harbor',
    permission: 'messaging:read',
    query: Body({ 'include[]': IncludeInNotification }),
    response: Notification,
    async handle({ principal, version, params, query }) {
      const [row] = await readFeedRowsById(database, principal.actor.id, [params.id!]);
      if (row === undefined) throw notFound('notification', 'id');
      const encoded = {
        key: row,
        json: NOTIFICATIONS.encode(row, { version, customer: false }),
        links: NOTIFICATIONS.linksOf(row),
      };
      const viewer = { ...principal, version };
      const complete = await expandNotifications(database, viewer, [encoded], query['include[]'] ?? []);
      return JSON.parse(complete(encoded));
    },
  });
}

const createRoute: Route = defineRoute({
  name: 'create_notifications',
  method: 'POST',
  path: '/v1/messaging/notifications',
  summary: 'Notify users of something in your application',
  since: '1.2.harbor',
  permission: 'notifications:create',
  body: CreateNotificationsBody,
  rules: ({ body }) => checkNotifications(body),
  status: 201,
  response: ListOf(Notification),
  async change(tx, { principal, body }) {
    const rows = await createNotifications(tx, principal, body);
    return listOf(rows.map(presentNotification));
  },
});

const FEED = defineList('notifications', ['text']);
const IncludeInNotification = several(OneOf(NOTIFICATION_INCLUDES));

function several<S extends TSchema>(schema: S) {
  return Type.Optional(Type.Array(schema, { maxItems: FEED_FILTER_LIMITS.items }));
}

function markRoute(move: NotificationMove, summary: string): Route {
  return defineRoute({
    name: `${move}_notification`,
    method: 'POST',
    path: `/v1/messaging/notifications/:id/actions/${move}`,
    summary,
    since: '1.1.harbor',
    permission: 'messaging:read',
    response: Notification,
    async change(tx, call) {
      return presentNotification(await mark(tx, call.principal.actor.id, call.params.id!, move));
    },
  });
}
