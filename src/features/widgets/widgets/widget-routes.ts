import { invalid, notFound } from '@parley/protocol/errors/errors.ts';
import { ListOf } from '@parley/protocol/lists.ts';
import type { AuditAction } from '@parley/protocol/resources/audit-event.ts';
import {
  CreateWidgetBody,
  UpdateWidgetBody,
  Widget,
  WidgetPublic,
} from '@parley/protocol/resources/widget.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { defineList, readPage, SearchQuery, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { keyOf } from '../../../core/accounts/collections/account-list.ts';
import { auditAccount } from '../../../core/audit/audit.ts';
import { hasGroup } from '../../../core/conversations/rows/conversation-store.ts';
import { readMailboxOf } from '../../../core/resources/mailbox.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { AnswerTimes } from './answer-times.ts';
import { checkWidget, columnsOf, presentPublic, presentWidget } from './widget.ts';
import {
  deleteWidget,
  findOffered,
  findWidget,
  insertWidget,
  lockWidget,
  personOfProvider,
  updateWidget,
  WIDGETS,
  type WidgetRow,
} from './widget-store.ts';

export interface WidgetRoutesOptions {
  readonly database: Database;
  /** Whether this server sends mail. */
  readonly sendsMail: boolean;
}

/** Returns the routes of widgets (docs/contract.md#widgets), for admins and visitors. */
export function widgetRoutes({ database, sendsMail }: WidgetRoutesOptions): Route[] {
  const common = { since: '1.3.harbor', agents: false } as const;
  const answerTimes = new AnswerTimes(database);
  return [
    defineRoute({
      ...common,
      name: 'create_widget',
      method: 'POST',
      path: '/v1/widgets',
      summary: 'Make a chat that pages embed',
      permission: 'widgets:create',
      refuses: ['limit_exceeded'],
      body: CreateWidgetBody,
      status: 201,
      response: Widget,
      rules: ({ body }) => checkWidget(body),
      async change(tx, { principal, body }) {
        const { accountId, actor } = principal;
        await checkReferences(tx, accountId, body);
        const columns = { ...columnsOf(body), name: body.name, sites: columnsOf(body).sites! };
        const row = await insertWidget(tx, { account_id: accountId, created_by: actor.id, ...columns });
        await record(tx, principal, 'widget.created', row, { sites: row.sites });
        return presentWidget(row);
      },
    }),
    defineRoute({
      ...common,
      name: 'list_widgets',
      method: 'GET',
      path: '/v1/widgets',
      summary: 'List the widgets of the account, newest first',
      permission: 'widgets:read',
      query: SearchQuery({}),
      response: ListOf(Widget),
      async handle({ principal, query, url }) {
        const page = readPage(LIST, query, { account: principal.accountId });
        const rows = await WIDGETS.readPage(database, [principal.accountId], page);
        return toList(rows, page, url, keyOf, presentWidget);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_widget',
      method: 'GET',
      path: '/v1/widgets/:id',
      summary: 'Get a widget',
      permission: 'widgets:read',
      response: Widget,
      handle: async ({ principal, params }) =>
        presentWidget(await findWidget(database, principal.accountId, params.id!)),
    }),
    defineRoute({
      ...common,
      name: 'update_widget',
      method: 'PATCH',
      path: '/v1/widgets/:id',
      summary: 'Change a widget',
      permission: 'widgets:update',
      body: UpdateWidgetBody,
      response: Widget,
      rules: ({ body }) => checkWidget(body),
      async change(tx, { principal, params, body }) {
        const before = await lockWidget(tx, principal.accountId, params.id!);
        await checkReferences(tx, principal.accountId, body);
        const row = await updateWidget(tx, before, columnsOf(body));
        const details = { fields: Object.keys(body), ...(body.sites && { sites: row.sites }) };
        await record(tx, principal, 'widget.updated', row, details);
        return presentWidget(row);
      },
    }),
    defineRoute({
      ...common,
      name: 'delete_widget',
      method: 'DELETE',
      path: '/v1/widgets/:id',
      summary: 'Delete a widget: the sessions of its visitors end, their conversations stay',
      permission: 'widgets:update',
      response: Widget,
      async change(tx, { principal, params }) {
        const row = await lockWidget(tx, principal.accountId, params.id!);
        await deleteWidget(tx, row);
        await record(tx, principal, 'widget.deleted', row, { name: row.name });
        return presentWidget(row);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_public_widget',
      method: 'GET',
      path: '/v1/widgets/:id/public',
      summary: 'Get what a widget shows to visitors',
      permission: null,
      open: true,
      customers: true,
      response: WidgetPublic,
      async handle({ params }) {
        const row = await findOffered(database, params.id!);
        const answersIn = await answerTimes.of(row);
        return presentPublic(row, { nowMs: Date.now(), answersIn, sendsMail });
      },
    }),
  ];
}

const LIST = defineList('widgets', ['time', 'text']);

type References = Pick<UpdateWidgetBody, 'group_id' | 'identity_provider_id' | 'inbox_id'>;

async function checkReferences(
  tx: Tx,
  accountId: string,
  { group_id, identity_provider_id, inbox_id }: References,
): Promise<void> {
  if (group_id && !(await hasGroup(tx, accountId, group_id))) throw notFound('group', 'group_id');
  if (inbox_id && (await readMailboxOf(tx, accountId, inbox_id)) === undefined)
    throw notFound('inbox', 'inbox_id');
  if (!identity_provider_id) return;
  const person = await personOfProvider(tx, accountId, identity_provider_id);
  if (person === undefined) throw notFound('identity provider', 'identity_provider_id');
  if (person !== 'customer') {
    throw invalid('identity_provider_id', 'Must be an identity provider with the person customer.');
  }
}

function record(
  tx: Tx,
  principal: Principal,
  action: AuditAction,
  { id }: WidgetRow,
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  return auditAccount(tx, principal, action, { widget_id: id, ...details });
}
