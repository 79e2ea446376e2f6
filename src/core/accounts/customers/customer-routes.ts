import { ListOf } from '@parley/protocol/lists.ts';
import { Customer, PutCustomerBody, UpdateCustomerBody } from '@parley/protocol/resources/customer.ts';
import { MetadataFilter } from '@parley/protocol/resources/metadata.ts';
import { EXTERNAL_SINCE, OwnIdFilter } from '@parley/protocol/schema/external-ids.ts';
import { defineList, readPage, SearchQuery, toList } from '../../../api/pipeline/pagination.ts';
import { Answer, defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { keyOf } from '../collections/account-list.ts';
import { putIdOf } from '../collections/external-ids.ts';
import { CUSTOMERS, changeCustomer, presentCustomer, putCustomer, readCustomer } from './customers.ts';

/** Returns the routes of an account's customers, which conversations create as well. */
export function customerRoutes(database: Database): Route[] {
  const ofOne = { path: '/v1/customers/:id', since: EXTERNAL_SINCE, response: Customer } as const;
  return [
    defineRoute({
      name: 'list_customers',
      method: 'GET',
      path: '/v1/customers',
      summary: 'List the customers of the account, newest first',
      since: EXTERNAL_SINCE,
      permission: 'users:read',
      query: SearchQuery({ external_id: OwnIdFilter, metadata: MetadataFilter }),
      response: ListOf(Customer),
      async handle({ principal, query, url }) {
        const { external_id, metadata } = query;
        const page = readPage(LIST, query, { account: principal.accountId, external_id, metadata });
        const values = [principal.accountId, external_id ?? null] as const;
        const rows = await CUSTOMERS.readPage(database, values, page, metadata);
        return toList(rows, page, url, keyOf, presentCustomer);
      },
    }),
    defineRoute({
      ...ofOne,
      name: 'get_customer',
      method: 'GET',
      summary: 'Get a customer',
      permission: 'users:read',
      handle: async ({ principal, params }) =>
        presentCustomer(await readCustomer(database, principal.accountId, params.id!)),
    }),
    defineRoute({
      ...ofOne,
      name: 'update_customer',
      method: 'PATCH',
      summary: 'Change the name, address, external id or metadata of a customer',
      permission: 'users:update',
      agents: false,
      body: UpdateCustomerBody,
      refuses: ['resource_exists'],
      change: async (tx, { principal, params, body }) =>
        presentCustomer(await changeCustomer(tx, principal, params.id!, body)),
    }),
    defineRoute({
      ...ofOne,
      name: 'put_customer',
      method: 'PUT',
      summary: 'Create the customer with an external id, or change it',
      permission: 'users:create',
      own: { permission: 'users:update', of: 'a customer that is there' },
      agents: false,
      upserts: true,
      body: PutCustomerBody,
      rules: ({ params }) => void putIdOf(params),
      status: 201,
      mayExist: true,
      async change(tx, { principal, params, body }) {
        const { found, isNew } = await putCustomer(tx, principal, putIdOf(params), body);
        return new Answer(isNew ? 201 : 200, presentCustomer(found));
      },
    }),
  ];
}

const LIST = defineList('customers', ['time', 'text']);
