import { ListOf } from '@parley/protocol/lists.ts';
import { EventType } from '@parley/protocol/resources/event-type.ts';
import {
  CreateEventBody,
  PLATFORM_EVENT_LIMITS,
  PlatformEvent,
} from '@parley/protocol/resources/platform-event.ts';
import { Type } from 'typebox';
import { defineList, PageQuery, readPage, toList } from '../../api/pipeline/pagination.ts';
import { Answer, defineRoute, type Route } from '../../api/pipeline/route.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { checkEvent, createEvent } from './create-event.ts';
import { findEvent, readEventPage } from './event-store.ts';
import { presentEvent } from './platform-event.ts';

/** Returns the routes of platform events (docs/contract.md#events). */
export function eventRoutes(database: Database): Route[] {
  return [
    defineRoute({
      name: 'create_event',
      method: 'POST',
      path: '/v1/events',
      summary: 'Raise an event of your application, which starts agents and goes to webhooks',
      since: '1.2.harbor',
      permission: 'events:create',
      body: CreateEventBody,
      rules: ({ body }) => checkEvent(body),
      status: 201,
      response: PlatformEvent,
      async change(tx, call) {
        const { row, isRepeated } = await createEvent(tx, call, call.body);
        return new Answer(201, presentEvent(row), isRepeated);
      },
    }),
    defineRoute({
      name: 'list_events',
      method: 'GET',
      path: '/v1/events',
      summary: 'List the events that were raised in the last 30 days, newest first',
      since: '1.2.harbor',
      permission: 'events:read',
      query: PageQuery({
        type: Type.Optional(EventType),
        resource_id: Type.Optional(Type.String({ maxLength: PLATFORM_EVENT_LIMITS.resourceIdCharacters })),
      }),
      response: ListOf(PlatformEvent),
      async handle({ principal: { accountId }, query, url }) {
        const { type, resource_id: resourceId } = query;
        const page = readPage(LIST, query, { account: accountId, type, resourceId });
        const rows = await readEventPage(database, accountId, { type, resourceId }, page);
        return toList(rows, page, url, ({ created_at, id }) => [created_at, id], presentEvent);
      },
    }),
    defineRoute({
      name: 'get_event',
      method: 'GET',
      path: '/v1/events/:id',
      summary: 'Get an event',
      since: '1.2.harbor',
      permission: 'events:read',
      response: PlatformEvent,
      handle: async ({ principal, params }) =>
        presentEvent(await findEvent(database, principal.accountId, params.id!)),
    }),
  ];
}

const LIST = defineList('events', ['time', 'text']);
