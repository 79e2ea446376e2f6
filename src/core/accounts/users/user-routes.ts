import { ListOf } from '@parley/protocol/lists.ts';
import { MetadataFilter } from '@parley/protocol/resources/metadata.ts';
import {
  ClaimUserBody,
  CreateUserBody,
  PutUserBody,
  UpdateUserBody,
  USER_INCLUDES,
  User,
} from '@parley/protocol/resources/user.ts';
import { EXTERNAL_SINCE, OwnIdFilter } from '@parley/protocol/schema/external-ids.ts';
import { Body, Include } from '@parley/protocol/schema/schema.ts';
import { defineList, readPage, SearchQuery, toList } from '../../../api/pipeline/pagination.ts';
import { Answer, defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { IMAGE_REFUSALS } from '../../attachments/images.ts';
import { readRolesOf } from '../../resources/role.ts';
import { presentUser, type UserProfile } from '../../resources/user.ts';
import { createUser, findUser, USERS } from '../actors/users.ts';
import type { Avatars } from '../avatars/avatars.ts';
import { keyOf } from '../collections/account-list.ts';
import { putIdOf } from '../collections/external-ids.ts';
import { requireGrant } from '../rights/grants.ts';
import { findRoleById } from '../rights/roles.ts';
import { claimUser } from './claim-user.ts';
import { changeActivation, changeUser, putUser } from './user-changes.ts';

export function userRoutes(database: Database, avatars: Avatars): Route[] {
  const ofOne = {
    since: '1.2.harbor',
    agents: false,
    query: Body({ 'include[]': Include(USER_INCLUDES) }),
    response: User,
  } as const;
  return [
    defineRoute({
      name: 'create_user',
      method: 'POST',
      path: '/v1/users',
      summary: 'Create a user, with a role that grants no more than the caller has',
      since: '1.1.harbor',
      permission: 'users:create',
      agents: false,
      query: Body({ 'include[]': Include(USER_INCLUDES) }),
      body: CreateUserBody,
      status: 201,
      response: User,
      async change(tx, { principal, body, query }) {
        const { accountId } = principal;
        const role = await findRoleById(tx, accountId, body.role_id);
        requireGrant(principal, role);
        const { name, email, external_id: externalId, metadata, username } = body;
        const input = { accountId, name, email, roleId: role.id, externalId, metadata, username };
        const { user } = await createUser(tx, input);
        return present(tx, await findUser(tx, accountId, user.id), query);
      },
    }),
    defineRoute({
      name: 'list_users',
      method: 'GET',
      path: '/v1/users',
      summary: 'List the users of the account, newest first',
      since: '1.1.harbor',
      permission: 'users:read',
      agents: false,
      query: SearchQuery({
        external_id: OwnIdFilter,
        metadata: MetadataFilter,
        'include[]': Include(USER_INCLUDES),
      }),
      response: ListOf(User),
      async handle({ principal, query, url }) {
        const { external_id, metadata } = query;
        const page = readPage(LIST, query, { account: principal.accountId, external_id, metadata });
        const values = [principal.accountId, external_id ?? null] as const;
        const rows = await USERS.readPage(database, values, page, metadata);
        const roles = await readRolesOf(database, rows, query['include[]']);
        return toList(rows, page, url, keyOf, (row) =>
          presentUser(row, roles.get(row.role_id ?? '') ?? null),
        );
      },
    }),
    defineRoute({
      ...ofOne,
      name: 'get_user',
      method: 'GET',
      path: '/v1/users/:id',
      summary: 'Get a user',
      permission: 'users:read',
      handle: async ({ principal, params, query }) =>
        present(database, await findUser(database, principal.accountId, params.id!, 'id'), query),
    }),
    defineRoute({
      ...ofOne,
      name: 'update_user',
      method: 'PATCH',
      path: '/v1/users/:id',
      summary: 'Rename a user, or give the user another role, avatar or external id',
      permission: 'users:update',
      body: UpdateUserBody,
      refuses: ['resource_exists', ...IMAGE_REFUSALS],
      prepare: ({ principal, body }) => avatars.find(principal.accountId, body.avatar_s3_key),
      async change(tx, { principal, params, body, query }, image) {
        const { accountId } = principal;
        const { id } = await changeUser(tx, principal, params.id!, body);
        await avatars.set(tx, { accountId, actorId: id }, image);
        return present(tx, await findUser(tx, accountId, id), query);
      },
    }),
    defineRoute({
      ...ofOne,
      name: 'claim_user',
      method: 'POST',
      path: '/v1/users/:id/actions/claim',
      summary: 'Make a placeholder of an import the user of a person, who can then sign in',
      since: '1.3.harbor',
      permission: 'users:create',
      body: ClaimUserBody,
      refuses: ['resource_exists'],
      change: async (tx, { principal, params, body, query }) =>
        present(tx, await claimUser(tx, principal, params.id!, body), query),
    }),
    defineRoute({
      ...ofOne,
      since: EXTERNAL_SINCE,
      name: 'put_user',
      method: 'PUT',
      path: '/v1/users/:id',
      summary: 'Create the user with an external id, or change it',
      permission: 'users:create',
      own: { permission: 'users:update', of: 'a user that is there' },
      upserts: true,
      body: PutUserBody,
      rules: ({ params }) => void putIdOf(params),
      status: 201,
      mayExist: true,
      async change(tx, { principal, version, params, body, query }) {
        const { found, isNew } = await putUser(tx, principal, version, putIdOf(params), body);
        return new Answer(isNew ? 201 : 200, await present(tx, found, query));
      },
    }),
    ...(['deactivate', 'activate'] as const).map((move) =>
      defineRoute({
        ...ofOne,
        name: `${move}_user`,
        method: 'POST',
        path: `/v1/users/:id/actions/${move}`,
        summary:
          move === 'deactivate'
            ? 'Deactivate a user: credentials and sockets end, what the user wrote stays'
            : 'Activate a deactivated user again',
        permission: 'users:update',
        change: async (tx, { principal, params, query }) =>
          present(tx, await changeActivation(tx, principal, params.id!, move === 'activate'), query),
      }),
    ),
  ];
}

const LIST = defineList('users', ['time', 'text']);

async function present(
  db: Db,
  row: UserProfile,
  query: { readonly 'include[]'?: readonly (typeof USER_INCLUDES)[number][] },
): Promise<User> {
  const roles = await readRolesOf(db, [row], query['include[]']);
  return presentUser(row, roles.get(row.role_id ?? '') ?? null);
}
