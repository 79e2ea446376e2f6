import { ListOf } from '@parley/protocol/lists.ts';
import {
  CreateInstallationAccountBody,
  InstallationAccount,
  NewInstallationAccount,
  UpdateInstallationAccountBody,
} from '@parley/protocol/resources/installation-account.ts';
import { defineList, readPage, SearchQuery, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { presentApiKey } from '../../resources/api-key.ts';
import { keyOf } from '../collections/account-list.ts';
import { findApiKey } from '../keys/keys.ts';
import {
  changeAccount,
  findOperated,
  OPERATED_ACCOUNTS,
  openAccountWithKey,
  presentOperated,
  showOperated,
} from './operated-accounts.ts';

/** What endpoints for the keys of operators have in common (docs/contract.md#the-installation). */
export const BY_KEYS_OF_OPERATORS = {
  since: '1.4.harbor',
  permission: null,
  operators: 'keys',
  agents: false,
  unsubscribed: true,
} as const;

/** Returns the endpoints of accounts for the keys of operators. */
export function operatedAccountRoutes(database: Database): Route[] {
  return [
    defineRoute({
      ...BY_KEYS_OF_OPERATORS,
      name: 'create_installation_account',
      method: 'POST',
      path: '/v1/installation/accounts',
      summary: 'Create an account with its first API key, whose secret is shown this once',
      secret: true,
      body: CreateInstallationAccountBody,
      status: 201,
      response: NewInstallationAccount,
      async change(tx, { principal, body }) {
        const { account, key, keyId } = await openAccountWithKey(tx, principal.credential.id, body);
        const apiKey = presentApiKey(await findApiKey(tx, account.id, keyId), null);
        return { ...(await showOperated(tx, account)), api_key: { ...apiKey, key } };
      },
    }),
    defineRoute({
      ...BY_KEYS_OF_OPERATORS,
      name: 'list_installation_accounts',
      method: 'GET',
      path: '/v1/installation/accounts',
      summary: 'List the accounts of the installation, newest first',
      query: SearchQuery({}),
      response: ListOf(InstallationAccount),
      async handle({ query, url }) {
        const page = readPage(LIST, query, {});
        const rows = await OPERATED_ACCOUNTS.readPage(database, [], page);
        const shown = await presentOperated(database, rows);
        return toList(rows, page, url, keyOf, ({ id }) => shown.get(id)!);
      },
    }),
    defineRoute({
      ...BY_KEYS_OF_OPERATORS,
      name: 'get_installation_account',
      method: 'GET',
      path: '/v1/installation/accounts/:id',
      summary: 'Get an account of the installation',
      response: InstallationAccount,
      handle: async ({ params }) => showOperated(database, await findOperated(database, params.id!)),
    }),
    defineRoute({
      ...BY_KEYS_OF_OPERATORS,
      name: 'update_installation_account',
      method: 'PATCH',
      path: '/v1/installation/accounts/:id',
      summary: 'Rename an account, suspend or resume it, or change its plan',
      body: UpdateInstallationAccountBody,
      response: InstallationAccount,
      change: async (tx, { principal, params, body }) =>
        showOperated(tx, await changeAccount(tx, principal.credential.id, params.id!, body)),
    }),
  ];
}

const LIST = defineList('installation accounts', ['time', 'text']);
