import { ListOf } from '@parley/protocol/lists.ts';
import { CreatePushDeviceBody, PushDevice } from '@parley/protocol/resources/push-device.ts';
import { defineList, PageQuery, readPage, toList } from '../../../api/pipeline/pagination.ts';
import { Answer, defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { PushAppRow } from './push-apps.ts';
import {
  deletePushDevice,
  findPushDevice,
  PUSH_DEVICES,
  presentPushDevice,
  registerDevice,
} from './push-devices.ts';

/**
 * Returns the routes for a user's phones (docs/contract.md#phones), closed to agents. `originOf`:
 * the origin of the service of an app.
 */
export function deviceRoutes(database: Database, originOf: (app: PushAppRow) => string): Route[] {
  const common = { since: '1.4.harbor', permission: 'messaging:read', agents: false } as const;
  return [
    defineRoute({
      ...common,
      name: 'create_push_device',
      method: 'POST',
      path: '/v1/messaging/push-devices',
      summary: "Register a phone for the caller's notifications",
      body: CreatePushDeviceBody,
      status: 201,
      mayExist: true,
      response: PushDevice,
      async change(tx, { principal, body }) {
        const { row, isNew } = await registerDevice(tx, principal, body, originOf);
        const shown = presentPushDevice(row);
        return isNew ? shown : new Answer(200, shown);
      },
    }),
    defineRoute({
      ...common,
      name: 'list_push_devices',
      method: 'GET',
      path: '/v1/messaging/push-devices',
      summary: "List the caller's registered phones, newest first",
      query: PageQuery({}),
      response: ListOf(PushDevice),
      async handle({ principal: { actor }, query, url }) {
        const page = readPage(LIST, query, { actor: actor.id });
        const rows = await PUSH_DEVICES.readPage(database, [actor.id], page);
        return toList(rows, page, url, ({ created_at, id }) => [created_at, id], presentPushDevice);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_push_device',
      method: 'GET',
      path: '/v1/messaging/push-devices/:id',
      summary: "Get one of the caller's registered phones",
      response: PushDevice,
      async handle({ principal, params }) {
        return presentPushDevice(await findPushDevice(database, principal.actor.id, params.id!));
      },
    }),
    defineRoute({
      ...common,
      name: 'delete_push_device',
      method: 'DELETE',
      path: '/v1/messaging/push-devices/:id',
      summary: "End the pushes to one of the caller's phones",
      response: PushDevice,
      async change(tx, { principal, params }) {
        return presentPushDevice(await deletePushDevice(tx, principal.actor.id, params.id!));
      },
    }),
  ];
}

const LIST = defineList('push_devices', ['time', 'text']);
