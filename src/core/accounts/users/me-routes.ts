import { ApiError } from '@parley/protocol/errors/errors.ts';
import { permissionsAt } from '@parley/protocol/permissions.ts';
import { Me, UpdateMeBody } from '@parley/protocol/resources/me.ts';
import type { Version } from '@parley/protocol/versions.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { IMAGE_REFUSALS } from '../../attachments/images.ts';
import { readActors } from '../../resources/actor.ts';
import { permissionsOf, presentRole } from '../../resources/role.ts';
import { presentUser } from '../../resources/user.ts';
import { findAccount, presentAccount } from '../account/accounts.ts';
import { lockUser, readUser } from '../actors/users.ts';
import type { Avatars } from '../avatars/avatars.ts';
import { readRole } from '../rights/roles.ts';
import { readOperator } from './operators.ts';
import { writeUser } from './user-changes.ts';

/** Returns the routes of the caller: identity, rights, profile (docs/contract.md#the-caller). */
export function meRoutes(database: Database, avatars: Avatars): Route[] {
  const common = {
    path: '/v1/me',
    since: '1.2.harbor',
    permission: null,
    response: Me,
  } as const;
  return [
    defineRoute({
      ...common,
      name: 'get_me',
      method: 'GET',
      summary: 'Get the caller: its actor, its account and what it may do',
      handle: ({ principal, version }) => readMe(database, principal, version),
    }),
    defineRoute({
      ...common,
      name: 'update_me',
      method: 'PATCH',
      summary: "Change the caller's own profile",
      agents: false,
      body: UpdateMeBody,
      refuses: ['resource_exists', ...IMAGE_REFUSALS],
      prepare: ({ principal, body }) => avatars.find(principal.accountId, body.avatar_s3_key),
      async change(tx, { principal, body, version }, image) {
        const { accountId, actor } = principal;
        const user = await lockUser(tx, accountId, actor.id);
        if (user === undefined) {
          throw new ApiError(
            'insufficient_permissions',
            'Only users of the account have a profile to change.',
          );
        }
        await writeUser(tx, principal, user, body);
        await avatars.set(tx, { accountId, actorId: actor.id }, image);
        return readMe(tx, principal, version);
      },
    }),
  ];
}

/** Bypasses the caches of this node, which may predate a change on another node. */
async function readMe(
  db: Db,
  { accountId, actor, roleId, credential }: Principal,
  version: Version,
): Promise<Me> {
  const [account, actors, user, role, operator] = await Promise.all([
    findAccount(db, accountId),
    readActors(db, [actor.id]),
    readUser(db, accountId, actor.id),
    roleId === null ? undefined : readRole(db, accountId, roleId),
    credential.provider === undefined ? readOperator(db, actor.id) : undefined,
  ]);
  return {
    object: 'me',
    actor: actors.get(actor.id) ?? actor,
    account: presentAccount(account),
    user: user === undefined ? null : presentUser(user, null),
    role: role === undefined ? null : presentRole(role, { permissions: false }),
    permissions: role === undefined ? [] : permissionsAt(version, permissionsOf(role)),
    operator: operator !== undefined,
  };
}
