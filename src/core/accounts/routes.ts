import { Account, UpdateAccountBody } from '@parley/protocol/resources/account.ts';
import type { Authenticator } from '../../api/access/authenticate.ts';
import type { Tokens } from '../../api/access/tokens.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { changeSettings, findAccount, presentAccount } from './account/accounts.ts';
import type { Avatars } from './avatars/avatars.ts';
import { customerRoutes } from './customers/customer-routes.ts';
import { entityRoutes } from './entity-routes.ts';
import { groupRoutes } from './groups/group-routes.ts';
import { operatedAccountRoutes } from './installation/operated-account-routes.ts';
import { apiKeyRoutes } from './keys/key-routes.ts';
import { peopleRoutes } from './people/people-routes.ts';
import { roleRoutes } from './rights/role-routes.ts';
import { sessionRoutes } from './sessions/session-routes.ts';
import { tokenRoutes } from './sessions/token-routes.ts';
import { meRoutes } from './users/me-routes.ts';
import { userRoutes } from './users/user-routes.ts';

/** Returns the endpoints of the account (docs/contract.md#access), all closed to customers. */
export function accountRoutes(
  database: Database,
  tokens: Pick<Tokens, 'issueAccess'>,
  authenticator: Pick<Authenticator, 'authenticate'>,
  avatars: Avatars,
): Route[] {
  return [
    defineRoute({
      name: 'get_account',
      method: 'GET',
      path: '/v1/account',
      summary: 'Get the account',
      since: '1.1.harbor',
      permission: 'accounts:read',
      unsubscribed: true,
      response: Account,
      handle: async ({ principal }) => presentAccount(await findAccount(database, principal.accountId)),
    }),
    defineRoute({
      name: 'update_account',
      method: 'PATCH',
      path: '/v1/account',
      summary: 'Change the settings of the account',
      since: '1.4.harbor',
      permission: 'accounts:update',
      agents: false,
      body: UpdateAccountBody,
      response: Account,
      change: async (tx, { principal, body }) => presentAccount(await changeSettings(tx, principal, body)),
    }),
    ...meRoutes(database, avatars),
    ...peopleRoutes(database),
    ...sessionRoutes(database),
    ...roleRoutes(database),
    ...userRoutes(database, avatars),
    ...customerRoutes(database),
    ...apiKeyRoutes(database),
    ...tokenRoutes(database, tokens, authenticator),
    ...groupRoutes(database, avatars),
    ...entityRoutes(database),
    ...operatedAccountRoutes(database),
  ];
}
