import { ListOf } from '@parley/protocol/lists.ts';
import {
  CreatePushSubscriptionBody,
  PushKey,
  PushSubscription,
} from '@parley/protocol/resources/push-subscription.ts';
import { defineList, PageQuery, readPage, toList } from '../../../api/pipeline/pagination.ts';
import { Answer, defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import {
  deleteSubscription,
  findSubscription,
  presentSubscription,
  SUBSCRIPTIONS,
  subscribe,
} from './subscriptions.ts';
import type { Vapid } from './vapid.ts';

/** Returns the routes for a user's browsers, closed to agents. API keys have no browsers. */
export function subscriptionRoutes({ database, guard }: NodeParts, vapid: Vapid): Route[] {
  const common = { since: '1.2.harbor', permission: 'messaging:read', agents: false } as const;
  return [
    defineRoute({
      ...common,
      name: 'get_push_key',
      method: 'GET',
      path: '/v1/messaging/push-subscriptions/key',
      summary: 'Get the key that a browser subscribes with',
      response: PushKey,
      handle: () => ({ id: vapid.keyId, object: 'push_key', public_key: vapid.publicKey }),
    }),
    defineRoute({
      ...common,
      name: 'create_push_subscription',
      method: 'POST',
      path: '/v1/messaging/push-subscriptions',
      summary: "Register a browser for the caller's notifications",
      secret: true,
      body: CreatePushSubscriptionBody,
      status: 201,
      mayExist: true,
      response: PushSubscription,
      async change(tx, { principal, body }) {
        const { row, isNew } = await subscribe(tx, principal, body, { guard, keyId: vapid.keyId });
        const shown = presentSubscription(row);
        return isNew === false ? new Answer(200, shown) : shown;
      },
    }),
    defineRoute({
      ...common,
      name: 'list_push_subscriptions',
      method: 'GET',
      path: '/v1/messaging/push-subscriptions',
      summary: "List the caller's registered browsers, newest first",
      query: PageQuery({}),
      response: ListOf(PushSubscription),
      async handle({ principal: { actor }, query, url }) {
        const page = readPage(LIST, query, { actor: actor.id });
        const rows = await SUBSCRIPTIONS.readPage(database, [actor.id], page);
        return toList(rows, page, url, ({ created_at, id }) => [created_at, id], presentSubscription);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_push_subscription',
      method: 'GET',
      path: '/v1/messaging/push-subscriptions/:id',
      summary: "Get one of the caller's registered browsers",
      response: PushSubscription,
      async handle({ principal, params }) {
        return presentSubscription(await findSubscription(database, principal.actor.id, params.id!));
      },
    }),
    defineRoute({
      ...common,
      name: 'delete_push_subscription',
      method: 'DELETE',
      path: '/v1/messaging/push-subscriptions/:id',
      summary: "End the push subscription of one of the caller's browsers",
      secret: true,
      response: PushSubscription,
      async change(tx, { principal, params }) {
        return presentSubscription(await deleteSubscription(tx, principal.actor.id, params.id!));
      },
    }),
  ];
}

const LIST = defineList('push_subscriptions', ['time', 'text']);
