import { type Static, Type } from 'typebox';
import { PERMISSIONS } from '../permissions.ts';
import { Body, describe, Identity, Name, Nullable, OneOf, Times } from '../schema/schema.ts';

/** The values of `include[]` on the endpoints of roles. */
export const ROLE_INCLUDES = ['permissions'] as const;

/** The permissions of a credential (docs/contract.md#roles). `owner` is null in every endpoint. */
export const Role = Type.Object({
  ...Identity('role'),
  name: Type.String(),
  type: OneOf(['admin', 'user', 'scanner', 'sales_rep', 'agent']),
  owner: Type.Null(),
  permissions: Nullable(Type.Array(Type.String())),
  ...Times,
});
export type Role = Static<typeof Role>;
export type RoleType = Role['type'];

describe(Role, {
  name: 'Name of the role, unique within the account.',
  type: '`admin` has every permission; `user` is a role of people and keys, and the type of every role made over the API; `agent` is for agents; `scanner` and `sales_rep` are for stations and representatives. Roles of the types `admin`, `scanner` and `sales_rep` belong to the service and cannot be changed.',
  owner: 'Reserved, and always null.',
  permissions: 'What the role grants, each as `{permission}:{action}`. Null unless expanded.',
});

/** Permissions of admins cannot be given to a role. */
export const CreateRoleBody = Body({
  name: Name,
  permissions: Type.Array(OneOf(PERMISSIONS), { maxItems: PERMISSIONS.length, uniqueItems: true }),
});
describe(CreateRoleBody, {
  name: 'Name of the role, unique within the account.',
  permissions:
    'What the role grants, each once, and no more than the caller has. Admins alone hold the permissions for API keys.',
});

export const UpdateRoleBody = Body({
  name: Type.Optional(Name),
  permissions: Type.Optional(CreateRoleBody.properties.permissions),
});
export type UpdateRoleBody = Static<typeof UpdateRoleBody>;
describe(UpdateRoleBody, {
  name: 'The new name of the role, unique within the account.',
  permissions: 'What the role grants from now on, in place of what it granted; no more than the caller has.',
});
