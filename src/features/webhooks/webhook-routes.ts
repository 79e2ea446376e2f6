import { ListOf } from '@parley/protocol/lists.ts';
import type { AuditAction } from '@parley/protocol/resources/audit-event.ts';
import {
  CreateWebhookBody,
  NewWebhook,
  UpdateWebhookBody,
  Webhook,
} from '@parley/protocol/resources/webhook.ts';
import { keptName } from '@parley/protocol/versions.ts';
import type { Principal } from '../../api/access/principal.ts';
import { defineList, readPage, SearchQuery, toList } from '../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import { keyOf } from '../../core/accounts/collections/account-list.ts';
import { auditAccount } from '../../core/audit/audit.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { checkWebhook, presentNewWebhook, presentWebhook, readWebhookUrl } from './webhook.ts';
import {
  deleteWebhook,
  findWebhook,
  insertWebhook,
  lockWebhook,
  rotateSecret,
  setDisabled,
  updateWebhook,
  WEBHOOKS,
  type WebhookRow,
} from './webhook-store.ts';

/** Returns the routes of webhooks (docs/contract.md#webhooks), for admins. Closed to agents. */
export function webhookRoutes({ database, guard }: NodeParts): Route[] {
  const common = { since: '1.2.harbor', agents: false } as const;
  return [
    defineRoute({
      ...common,
      name: 'create_webhook',
      method: 'POST',
      path: '/v1/webhooks',
      summary: 'Have events of the account sent to a URL; the secret that signs them is shown this once',
      permission: 'webhooks:create',
      secret: true,
      body: CreateWebhookBody,
      status: 201,
      response: NewWebhook,
      rules: ({ body }) => checkWebhook(body, guard),
      async change(tx, { principal, body, version }) {
        const row = await insertWebhook(tx, {
          account_id: principal.accountId,
          url: readWebhookUrl(body.url, guard),
          event_types: body.event_types,
          include_direct: body.include_direct === true,
          version: keptName(body.version ?? version),
          created_by: principal.actor.id,
        });
        await record(tx, principal, 'webhook.created', row, { event_types: row.event_types });
        if (row.include_direct) await record(tx, principal, 'webhook.direct_included', row);
        return presentNewWebhook(row);
      },
    }),
    defineRoute({
      ...common,
      name: 'list_webhooks',
      method: 'GET',
      path: '/v1/webhooks',
      summary: 'List the webhooks of the account, newest first',
      permission: 'webhooks:read',
      query: SearchQuery({}),
      response: ListOf(Webhook),
      async handle({ principal, query, url }) {
        const page = readPage(LIST, query, { account: principal.accountId });
        const rows = await WEBHOOKS.readPage(database, [principal.accountId], page);
        return toList(rows, page, url, keyOf, presentWebhook);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_webhook',
      method: 'GET',
      path: '/v1/webhooks/:id',
      summary: 'Get a webhook',
      permission: 'webhooks:read',
      response: Webhook,
      handle: async ({ principal, params }) =>
        presentWebhook(await findWebhook(database, principal.accountId, params.id!)),
    }),
    defineRoute({
      ...common,
      name: 'update_webhook',
      method: 'PATCH',
      path: '/v1/webhooks/:id',
      summary: 'Change where a webhook is sent and what, disable it, or enable it again',
      permission: 'webhooks:update',
      body: UpdateWebhookBody,
      response: Webhook,
      rules: ({ body }) => checkWebhook(body, guard),
      async change(tx, { principal, params, body }) {
        const before = await lockWebhook(tx, principal.accountId, params.id!);
        const { status, ...fields } = body;
        let row = before;
        if (Object.keys(fields).length > 0) {
          row = await updateWebhook(tx, before, {
            ...fields,
            ...(fields.url !== undefined && { url: readWebhookUrl(fields.url, guard) }),
            ...(fields.version !== undefined && { version: keptName(fields.version) }),
          });
          await record(tx, principal, 'webhook.updated', row, { fields: Object.keys(fields) });
          if (row.include_direct && !before.include_direct) {
            await record(tx, principal, 'webhook.direct_included', row);
          }
        }
        if (status !== undefined && status !== before.status) {
          row = await setDisabled(tx, row, status === 'disabled' ? 'requested' : null);
          await record(tx, principal, `webhook.${status}`, row);
        }
        return presentWebhook(row);
      },
    }),
    defineRoute({
      ...common,
      name: 'delete_webhook',
      method: 'DELETE',
      path: '/v1/webhooks/:id',
      summary: 'Delete a webhook with its deliveries; nothing is sent to it any more',
      permission: 'webhooks:update',
      response: Webhook,
      async change(tx, { principal, params }) {
        const row = await lockWebhook(tx, principal.accountId, params.id!);
        await deleteWebhook(tx, row);
        await record(tx, principal, 'webhook.deleted', row);
        return presentWebhook(row);
      },
    }),
    defineRoute({
      ...common,
      name: 'rotate_webhook_secret',
      method: 'POST',
      path: '/v1/webhooks/:id/actions/rotate-secret',
      summary: 'Give a webhook a new secret; the one before signs as well for 24 hours',
      permission: 'webhooks:update',
      secret: true,
      status: 201,
      response: NewWebhook,
      async change(tx, { principal, params }) {
        const before = await lockWebhook(tx, principal.accountId, params.id!);
        const row = await rotateSecret(tx, before);
        await record(tx, principal, 'webhook.secret_rotated', row);
        return presentNewWebhook(row);
      },
    }),
  ];
}

const LIST = defineList('webhooks', ['time', 'text']);

function record(
  tx: Tx,
  principal: Principal,
  action: AuditAction,
  { id }: WebhookRow,
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  return auditAccount(tx, principal, action, { webhook_id: id, ...details });
}
