import { ListOf } from '@parley/protocol/lists.ts';
import { permissionsAt } from '@parley/protocol/permissions.ts';
import { CreateRoleBody, ROLE_INCLUDES, Role, UpdateRoleBody } from '@parley/protocol/resources/role.ts';
import { Body, Include } from '@parley/protocol/schema/schema.ts';
import type { Version } from '@parley/protocol/versions.ts';
import { defineList, readPage, SearchQuery, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { presentRole, type RoleRow } from '../../resources/role.ts';
import { keyOf } from '../collections/account-list.ts';
import { requireGrant } from './grants.ts';
import { changeRole, createRole, ROLES, readRole, removeRole } from './roles.ts';

export function roleRoutes(database: Database): Route[] {
  const ofOne = {
    path: '/v1/roles/:id',
    since: '1.2.harbor',
    agents: false,
    query: Body({ 'include[]': Include(ROLE_INCLUDES) }),
    response: Role,
  } as const;
  return [
    defineRoute({
      name: 'create_role',
      method: 'POST',
      path: '/v1/roles',
      summary: 'Create a role, with no more permissions than the caller has',
      since: '1.1.harbor',
      permission: 'roles:create',
      agents: false,
      query: Body({ 'include[]': Include(ROLE_INCLUDES) }),
      body: CreateRoleBody,
      status: 201,
      response: Role,
      prepare({ principal, body }) {
        requireGrant(principal, { type: 'user', permissions: body.permissions });
      },
      change: async (tx, { principal, body, query, version }) =>
        present(await createRole(tx, { accountId: principal.accountId, ...body }), query, version),
    }),
    defineRoute({
      name: 'list_roles',
      method: 'GET',
      path: '/v1/roles',
      summary: 'List the roles of the account, newest first',
      since: '1.1.harbor',
      permission: 'roles:read',
      agents: false,
      query: SearchQuery({ 'include[]': Include(ROLE_INCLUDES) }),
      response: ListOf(Role),
      async handle({ principal, query, url, version }) {
        const page = readPage(LIST, query, { account: principal.accountId });
        const rows = await ROLES.readPage(database, [principal.accountId], page);
        return toList(rows, page, url, keyOf, (row) => present(row, query, version));
      },
    }),
    defineRoute({
      ...ofOne,
      name: 'get_role',
      method: 'GET',
      summary: 'Get a role',
      permission: 'roles:read',
      handle: async ({ principal, params, query, version }) =>
        present(await readRole(database, principal.accountId, params.id!), query, version),
    }),
    defineRoute({
      ...ofOne,
      name: 'update_role',
      method: 'PATCH',
      summary: 'Rename a role, or change what it permits',
      permission: 'roles:update',
      body: UpdateRoleBody,
      refuses: ['resource_exists'],
      change: async (tx, { principal, params, body, query, version }) =>
        present(await changeRole(tx, principal, params.id!, body), query, version),
    }),
    defineRoute({
      ...ofOne,
      name: 'delete_role',
      method: 'DELETE',
      summary: 'Delete a role that no user, key or agent has',
      permission: 'roles:update',
      change: async (tx, { principal, params, query, version }) =>
        present(await removeRole(tx, principal, params.id!), query, version),
    }),
  ];
}

const LIST = defineList('roles', ['time', 'text']);

function present(
  role: RoleRow,
  query: { readonly 'include[]'?: (typeof ROLE_INCLUDES)[number][] },
  version: Version,
): Role {
  const shown = presentRole(role, { permissions: query['include[]']?.includes('permissions') === true });
  return shown.permissions === null
    ? shown
    : { ...shown, permissions: permissionsAt(version, shown.permissions) };
}
