import { newId } from '@parley/protocol/ids.ts';
import { ListOf } from '@parley/protocol/lists.ts';
import type { AuditAction } from '@parley/protocol/resources/audit-event.ts';
import { CreatePushAppBody, PushApp, UpdatePushAppBody } from '@parley/protocol/resources/push-app.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { defineList, readPage, SearchQuery, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { keyOf } from '../../../core/accounts/collections/account-list.ts';
import { auditAccount } from '../../../core/audit/audit.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import {
  type CredentialSeal,
  changedCredential,
  checkChange,
  credentialColumns,
  newCredential,
} from './credential.ts';
import {
  deletePushApp,
  findPushApp,
  insertPushApp,
  lockPushApp,
  PUSH_APPS,
  type PushAppRow,
  presentPushApp,
  updatePushApp,
} from './push-apps.ts';

/** Returns the routes of an account's push apps (docs/contract.md#phones), for admins. */
export function appRoutes(database: Database, seal: CredentialSeal): Route[] {
  const common = { since: '1.4.harbor', agents: false } as const;
  return [
    defineRoute({
      ...common,
      name: 'create_push_app',
      method: 'POST',
      path: '/v1/push-apps',
      summary: 'Let an app on phones get the notifications of its users',
      permission: 'push_apps:create',
      refuses: ['limit_exceeded'],
      body: CreatePushAppBody,
      status: 201,
      response: PushApp,
      rules({ body }) {
        newCredential(body);
      },
      async change(tx, { principal, body }) {
        const credential = newCredential(body);
        const id = newId('pushApp');
        const row = await insertPushApp(tx, {
          id,
          account_id: principal.accountId,
          name: body.name,
          ...credentialColumns(credential),
          credential: seal.seal(id, credential),
          created_by: principal.actor.id,
        });
        await record(tx, principal, 'push_app.created', row);
        return presentPushApp(row);
      },
    }),
    defineRoute({
      ...common,
      name: 'list_push_apps',
      method: 'GET',
      path: '/v1/push-apps',
      summary: 'List the push apps of the account, newest first',
      permission: 'push_apps:read',
      query: SearchQuery({}),
      response: ListOf(PushApp),
      async handle({ principal, query, url }) {
        const page = readPage(LIST, query, { account: principal.accountId });
        const rows = await PUSH_APPS.readPage(database, [principal.accountId], page);
        return toList(rows, page, url, keyOf, presentPushApp);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_push_app',
      method: 'GET',
      path: '/v1/push-apps/:id',
      summary: 'Get a push app',
      permission: 'push_apps:read',
      response: PushApp,
      handle: async ({ principal, params }) =>
        presentPushApp(await findPushApp(database, principal.accountId, params.id!)),
    }),
    defineRoute({
      ...common,
      name: 'update_push_app',
      method: 'PATCH',
      path: '/v1/push-apps/:id',
      summary: 'Change the name or the credential of a push app',
      permission: 'push_apps:update',
      body: UpdatePushAppBody,
      response: PushApp,
      rules: ({ body }) => checkChange(body),
      async change(tx, { principal, params, body }) {
        const before = await lockPushApp(tx, principal.accountId, params.id!);
        const credential = changedCredential(before, body);
        const row = await updatePushApp(tx, before, {
          ...(body.name !== undefined && { name: body.name }),
          ...(credential !== undefined && {
            ...credentialColumns(credential),
            credential: seal.seal(before.id, credential),
          }),
        });
        await record(tx, principal, 'push_app.updated', row, { fields: Object.keys(body) });
        return presentPushApp(row);
      },
    }),
    defineRoute({
      ...common,
      name: 'delete_push_app',
      method: 'DELETE',
      path: '/v1/push-apps/:id',
      summary: 'Delete a push app with its phones',
      permission: 'push_apps:update',
      response: PushApp,
      async change(tx, { principal, params }) {
        const row = await lockPushApp(tx, principal.accountId, params.id!);
        await deletePushApp(tx, row);
        await record(tx, principal, 'push_app.deleted', row);
        return presentPushApp(row);
      },
    }),
  ];
}

const LIST = defineList('push apps', ['time', 'text']);

function record(
  tx: Tx,
  principal: Principal,
  action: AuditAction,
  { id, platform, identifier }: PushAppRow,
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  return auditAccount(tx, principal, action, { push_app_id: id, platform, identifier, ...details });
}
