import { InstallationAccount } from '@parley/protocol/resources/installation-account.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import { BY_KEYS_OF_OPERATORS } from '../../core/accounts/installation/operated-account-routes.ts';
import { showOperated } from '../../core/accounts/installation/operated-accounts.ts';
import { beginAccountRemoval } from './account-removal.ts';

/** Returns the endpoint by which keys of operators delete accounts. */
export function accountRemovalRoutes(): Route[] {
  return [
    defineRoute({
      ...BY_KEYS_OF_OPERATORS,
      name: 'delete_installation_account',
      method: 'DELETE',
      path: '/v1/installation/accounts/:id',
      summary: 'Delete an account for good, with everything in it',
      response: InstallationAccount,
      change: async (tx, { principal, params }) =>
        showOperated(tx, await beginAccountRemoval(tx, principal.credential.id, params.id!)),
    }),
  ];
}
