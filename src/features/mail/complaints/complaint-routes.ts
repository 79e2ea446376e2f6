import { ListOf } from '@parley/protocol/lists.ts';
import { EmailComplaint } from '@parley/protocol/resources/email-complaint.ts';
import { defineList, readPage, SearchQuery, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { keyOf } from '../../../core/accounts/collections/account-list.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { COMPLAINTS, liftComplaints, presentComplaint, readComplaint } from './complaint-store.ts';

/** Returns the routes of complaints (docs/contract.md#complaints), closed to agents. */
export function complaintRoutes(database: Database): Route[] {
  const common = { since: '1.4.harbor', agents: false } as const;
  return [
    defineRoute({
      ...common,
      name: 'list_email_complaints',
      method: 'GET',
      path: '/v1/messaging/email-complaints',
      summary: 'List the addresses that have complained about mail, newest first',
      permission: 'users:read',
      query: SearchQuery({}),
      response: ListOf(EmailComplaint),
      async handle({ principal, query, url }) {
        const page = readPage(LIST, query, { account: principal.accountId });
        const rows = await COMPLAINTS.readPage(database, [principal.accountId], page);
        return toList(rows, page, url, keyOf, presentComplaint);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_email_complaint',
      method: 'GET',
      path: '/v1/messaging/email-complaints/:id',
      summary: 'Get a complaint about mail',
      permission: 'users:read',
      response: EmailComplaint,
      async handle({ principal, params }) {
        return presentComplaint(await readComplaint(database, principal.accountId, params.id!));
      },
    }),
    defineRoute({
      ...common,
      name: 'delete_email_complaint',
      method: 'DELETE',
      path: '/v1/messaging/email-complaints/:id',
      summary: 'Lift a complaint: mail is sent to its address again',
      permission: 'inboxes:update',
      response: EmailComplaint,
      async change(tx, { principal: { accountId, actor }, params }) {
        const row = await readComplaint(tx, accountId, params.id!);
        await liftComplaints(tx, { accountId, addresses: [row.address] }, actor.id);
        return presentComplaint(row);
      },
    }),
  ];
}

const LIST = defineList('email-complaints', ['time', 'text']);
