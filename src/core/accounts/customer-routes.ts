import { ListOf } from '../../contract/protocol/lists.ts';
import { Customer, PutCustomerBody, UpdateCustomerBody } from '../../contract/protocol/resources/customer.ts';
import { MetadataFilter } from '../../contract/protocol/resources/metadata.ts';
import { EXTERNAL_SINCE, OwnIdFilter } from '../../contract/protocol/schema/external-ids.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { defineList, readPage, SearchQuery, toList } from '../../platform/http/pipeline/pagination.ts';
import { Answer, defineRoute, type Route } from '../../platform/http/pipeline/route.ts';
import { keyOf } from './account-list.ts';
import { CUSTOMERS, changeCustomer, presentCustomer, putCustomer, readCustomer } from './customers.ts';
import { putIdOf } from './external-ids.ts';

/** Routes of the customers of an account, whom conversations make as well. */
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
