import { notFound } from '@parley/protocol/errors/errors.ts';
import { ListOf } from '@parley/protocol/lists.ts';
import { CreateInboxBody, Inbox, UpdateInboxBody } from '@parley/protocol/resources/inbox.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { defineList, readPage, SearchQuery, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { keyOf } from '../../../core/accounts/collections/account-list.ts';
import { auditAccount } from '../../../core/audit/audit.ts';
import { findAssignable } from '../../../core/conversations/cases/assignable.ts';
import { hasGroup } from '../../../core/conversations/rows/conversation-store.ts';
import { type MailboxRow, presentMailbox, readMailboxOf } from '../../../core/resources/mailbox.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { type MailboxDomains, readMailboxAddress } from './mailbox-address.ts';
import { deleteMailbox, insertMailbox, lockMailbox, MAILBOXES, updateMailbox } from './mailbox-store.ts';

/** Returns the routes of inboxes (docs/contract.md#inboxes), closed to agents. */
export function mailboxRoutes(database: Database, domains: MailboxDomains): Route[] {
  const common = { since: '1.2.harbor', agents: false } as const;
  return [
    defineRoute({
      ...common,
      name: 'create_inbox',
      method: 'POST',
      path: '/v1/messaging/inboxes',
      summary: 'Make an address at which customers write to the account',
      permission: 'inboxes:create',
      body: CreateInboxBody,
      status: 201,
      response: Inbox,
      rules: ({ body }) => void readMailboxAddress(body.address, domains),
      async change(tx, { principal, body }) {
        const { accountId, actor } = principal;
        const address = readMailboxAddress(body.address, domains);
        const references = await readReferences(tx, principal, body);
        const row = await insertMailbox(tx, {
          account_id: accountId,
          created_by: actor.id,
          name: body.name,
          address,
          ...references,
        });
        await auditAccount(tx, principal, 'inbox.created', { inbox_id: row.id, address });
        return presentMailbox(row);
      },
    }),
    defineRoute({
      ...common,
      name: 'list_inboxes',
      method: 'GET',
      path: '/v1/messaging/inboxes',
      summary: 'List the inboxes of the account, newest first',
      permission: 'inboxes:read',
      query: SearchQuery({}),
      response: ListOf(Inbox),
      async handle({ principal, query, url }) {
        const page = readPage(LIST, query, { account: principal.accountId });
        const rows = await MAILBOXES.readPage(database, [principal.accountId], page);
        return toList(rows, page, url, keyOf, presentMailbox);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_inbox',
      method: 'GET',
      path: '/v1/messaging/inboxes/:id',
      summary: 'Get an inbox',
      permission: 'inboxes:read',
      response: Inbox,
      async handle({ principal, params }) {
        const row = await readMailboxOf(database, principal.accountId, params.id!);
        if (row === undefined) throw notFound('inbox', 'id');
        return presentMailbox(row);
      },
    }),
    defineRoute({
      ...common,
      name: 'update_inbox',
      method: 'PATCH',
      path: '/v1/messaging/inboxes/:id',
      summary: 'Change the name or address of an inbox, its identity, or who gets its cases',
      permission: 'inboxes:update',
      refuses: ['resource_exists'],
      body: UpdateInboxBody,
      response: Inbox,
      rules: ({ body: { address } }) => void (address === undefined || readMailboxAddress(address, domains)),
      async change(tx, { principal, params, body }) {
        const before = await lockMailbox(tx, principal.accountId, params.id!);
        const { name, address } = body;
        const row = await updateMailbox(tx, before, {
          ...(name !== undefined && { name }),
          ...(address !== undefined && { address: readMailboxAddress(address, domains) }),
          ...(await readReferences(tx, principal, body)),
        });
        const changed = (['name', 'address', 'group_id', 'assignee_id'] as const).filter(
          (field) => row[field] !== before[field],
        );
        if (changed.length > 0)
          await auditAccount(tx, principal, 'inbox.updated', { inbox_id: row.id, fields: changed });
        return presentMailbox(row);
      },
    }),
    defineRoute({
      ...common,
      name: 'delete_inbox',
      method: 'DELETE',
      path: '/v1/messaging/inboxes/:id',
      summary: 'Delete an inbox; its cases are not bridged any more',
      permission: 'inboxes:update',
      response: Inbox,
      async change(tx, { principal, params }) {
        const row = await deleteMailbox(tx, await lockMailbox(tx, principal.accountId, params.id!));
        for (const forget of tx.hooks.all('inboxDeleted')) await forget(tx, row.id);
        await auditAccount(tx, principal, 'inbox.deleted', { inbox_id: row.id, address: row.address });
        return presentMailbox(row);
      },
    }),
  ];
}

const LIST = defineList('inboxes', ['time', 'text']);

type References = Partial<Pick<MailboxRow, 'group_id' | 'assignee_id'>>;

/** Returns the given columns. Throws ApiError for resources that the account does not have. */
async function readReferences(
  tx: Tx,
  principal: Principal,
  { group_id, assignee_id }: References,
): Promise<References> {
  if (group_id && !(await hasGroup(tx, principal.accountId, group_id))) throw notFound('group', 'group_id');
  return {
    ...(group_id !== undefined && { group_id }),
    ...(assignee_id !== undefined && {
      assignee_id: assignee_id && (await findAssignable(tx, principal, assignee_id)).id,
    }),
  };
}
