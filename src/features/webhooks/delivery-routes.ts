import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId, timedId } from '@parley/protocol/ids.ts';
import { ListOf } from '@parley/protocol/lists.ts';
import {
  DELIVERY_STATUSES,
  WebhookDelivery,
  WebhookRequest,
} from '@parley/protocol/resources/webhook-delivery.ts';
import { OneOf } from '@parley/protocol/schema/schema.ts';
import { formatTraceparent } from '@parley/protocol/traceparent.ts';
import { keptVersion } from '@parley/protocol/versions.ts';
import { Type } from 'typebox';
import { defineList, PageQuery, readPage, toList } from '../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import { presentAs } from '../../core/resources/present-as.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { bodyOf, headersOf } from './attempt.ts';
import type { Deliverer } from './deliverer.ts';
import type { DeliveryRow, ReadData } from './delivery.ts';
import { findDelivery, findToShow, insertTest, readDeliveries, startOver } from './delivery-store.ts';
import { findWebhook, lockEnabled } from './webhook-store.ts';

/** Returns the routes of deliveries (docs/contract.md#webhooks), for admins. Closed to agents. */
export function deliveryRoutes(database: Database, deliverer: Deliverer, readData: ReadData): Route[] {
  const common = { since: '1.2.harbor', agents: false } as const;
  return [
    defineRoute({
      ...common,
      name: 'list_webhook_deliveries',
      method: 'GET',
      path: '/v1/webhooks/:id/deliveries',
      summary: 'List the deliveries of a webhook, newest event first',
      permission: 'webhooks:read',
      query: PageQuery({ status: Type.Optional(OneOf(DELIVERY_STATUSES)) }),
      response: ListOf(WebhookDelivery),
      async handle({ principal, params, query, url }) {
        const { id } = await findWebhook(database, principal.accountId, params.id!);
        const page = readPage(LIST, query, { webhook: id, status: query.status });
        const rows = await readDeliveries(database, id, query.status, page);
        return toList(rows, page, url, (row) => [row.id], presentDelivery);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_webhook_delivery',
      method: 'GET',
      path: '/v1/webhooks/:id/deliveries/:delivery_id',
      summary: 'Get a delivery: what became of it',
      permission: 'webhooks:read',
      response: WebhookDelivery,
      async handle({ principal, params }) {
        const { id } = await findWebhook(database, principal.accountId, params.id!);
        return presentDelivery(await findDelivery(database, id, params.delivery_id!));
      },
    }),
    defineRoute({
      ...common,
      since: '1.4.harbor',
      name: 'get_webhook_request',
      method: 'GET',
      path: '/v1/webhooks/:id/deliveries/:delivery_id/request',
      summary: 'Get the request of a delivery, as the next try sends it',
      // Whoever may change the address may read what is sent there.
      permission: 'webhooks:update',
      refuses: ['resource_conflict'],
      response: WebhookRequest,
      async handle({ principal, params }) {
        const webhook = await findWebhook(database, principal.accountId, params.id!);
        const { isWithheld, ...row } = await findToShow(database, webhook, params.delivery_id!);
        const receiver = { id: webhook.id, version: keptVersion(webhook.version) };
        const data = isWithheld ? undefined : await readData(receiver, row);
        if (data === undefined) {
          throw new ApiError(
            'resource_conflict',
            'There is nothing to send any more: the resource was removed.',
          );
        }
        return { object: 'webhook_request', headers: headersOf(receiver, row), body: bodyOf(row, data) };
      },
    }),
    defineRoute({
      ...common,
      name: 'redeliver_webhook_delivery',
      method: 'POST',
      path: '/v1/webhooks/:id/deliveries/:delivery_id/actions/redeliver',
      summary: 'Send an event again, whatever became of it; its ids stay',
      permission: 'webhooks:update',
      response: WebhookDelivery,
      async change(tx, { principal, params, afterCommit }) {
        const webhook = await lockEnabled(tx, principal.accountId, params.id!);
        afterCommit(() => deliverer.wake());
        return presentDelivery(await startOver(tx, webhook.id, params.delivery_id!));
      },
    }),
    defineRoute({
      ...common,
      name: 'test_webhook',
      method: 'POST',
      path: '/v1/webhooks/:id/actions/test',
      summary:
        'Send the event webhook.test at once, whatever the filter; the delivery says what became of it',
      permission: 'webhooks:update',
      status: 201,
      response: WebhookDelivery,
      async change(tx, { principal, params, trace, afterCommit }) {
        const { id } = await lockEnabled(tx, principal.accountId, params.id!);
        afterCommit(() => deliverer.wake());
        const eventId = newId('event');
        const row = await insertTest(tx, {
          webhook_id: id,
          id: timedId('webhookDelivery', Date.now() * 1_000, eventId),
          event_id: eventId,
          trace: trace === undefined ? null : formatTraceparent(trace),
        });
        return presentDelivery(row);
      },
    }),
  ];
}

const LIST = defineList('webhook_deliveries', ['text']);

function presentDelivery(row: DeliveryRow): WebhookDelivery {
  return presentAs(WebhookDelivery, {
    ...row,
    last_error: row.last_error === 'address_not_public' ? 'connection_error' : row.last_error,
    last_duration_ms: row.last_ms,
    tries: (row.tries ?? []).map((one) => ({ object: 'webhook_try' as const, ...one })),
  });
}
