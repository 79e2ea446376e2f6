import { Account } from '../../contract/protocol/resources/account.ts';
import type { Authenticator } from '../../platform/access/authenticate.ts';
import type { Tokens } from '../../platform/access/tokens.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { defineRoute, type Route } from '../../platform/http/pipeline/route.ts';
import { findAccount, presentAccount } from './accounts.ts';
import type { Avatars } from './avatars/avatars.ts';
import { customerRoutes } from './customer-routes.ts';
import { entityRoutes } from './entity-routes.ts';
import { groupRoutes } from './group-routes.ts';
import { apiKeyRoutes } from './key-routes.ts';
import { meRoutes } from './me-routes.ts';
import { peopleRoutes } from './people/people-routes.ts';
import { roleRoutes } from './role-routes.ts';
import { sessionRoutes } from './sessions/session-routes.ts';
import { tokenRoutes } from './sessions/token-routes.ts';
import { userRoutes } from './user-routes.ts';

/** Endpoints of the account (docs/contract.md#access), all closed to customers. */
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
  ];
}
