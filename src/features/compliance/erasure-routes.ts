import { notFound } from '@parley/protocol/errors/errors.ts';
import { ListOf } from '@parley/protocol/lists.ts';
import { EraseUserBody, Erasure } from '@parley/protocol/resources/erasure.ts';
import { defineList, PageQuery, readPage, toList } from '../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import { keyOf } from '../../core/accounts/collections/account-list.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { type ErasureOptions, eraseUser } from './erase.ts';
import { type ComplianceJobRow, findComplianceJob, readComplianceJobs } from './jobs/job-store.ts';

/** Returns the routes of erasures (docs/contract.md#erasing-a-person), for admins, not agents. */
export function erasureRoutes(database: Database): Route[] {
  const common = {
    since: '1.2.harbor',
    permission: 'users:erase',
    agents: false,
    response: Erasure,
  } as const;
  return [
    defineRoute({
      ...common,
      name: 'erase_user',
      method: 'POST',
      path: '/v1/users/:id/actions/erase',
      summary:
        'Erase a person, user or customer: name, addresses and credentials go at once, the rest in a job',
      body: EraseUserBody,
      status: 201,
      async change(tx, { principal, params, body }) {
        return present(await eraseUser(tx, principal, params.id!, body.messages));
      },
    }),
    defineRoute({
      ...common,
      name: 'get_erasure',
      method: 'GET',
      path: '/v1/erasures/:id',
      summary: 'Get the erasure of a person: how far it is, and what is held',
      async handle({ principal, params }) {
        const row = await findComplianceJob(database, principal.accountId, params.id!);
        if (row?.kind !== 'user_erasure') throw notFound('erasure', 'id');
        return present(row);
      },
    }),
    defineRoute({
      ...common,
      name: 'list_erasures',
      method: 'GET',
      path: '/v1/erasures',
      summary: 'List the erasures of persons of the account, newest first',
      query: PageQuery({}),
      response: ListOf(Erasure),
      async handle({ principal: { accountId }, query, url }) {
        const page = readPage(LIST, query, { account: accountId });
        const rows = await readComplianceJobs(database, accountId, ['user_erasure'], page);
        return toList(rows, page, url, keyOf, present);
      },
    }),
  ];
}

const LIST = defineList('erasures', ['time', 'text']);

function present(row: ComplianceJobRow): Erasure {
  const { messages, held_conversations } = row.options as unknown as ErasureOptions;
  return {
    id: row.id,
    object: 'erasure',
    user_id: row.subject_id,
    messages,
    // Only exports expire.
    status: row.status === 'expired' ? 'complete' : row.status,
    progress: { done: row.done, total: row.total },
    held_conversations: [...((row.result?.held_conversations as string[] | undefined) ?? held_conversations)],
    error: row.error,
    requested_by: row.requested_by,
    created_at: row.created_at,
    completed_at: row.completed_at,
  };
}
