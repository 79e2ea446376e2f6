import { ApiError } from '@parley/protocol/errors/errors.ts';
import { ListOf } from '@parley/protocol/lists.ts';
import type { AuditAction } from '@parley/protocol/resources/audit-event.ts';
import {
  CreateIdentityProviderBody,
  IdentityProvider,
  UpdateIdentityProviderBody,
} from '@parley/protocol/resources/identity-provider.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { defineList, readPage, SearchQuery, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { keyOf } from '../../../core/accounts/collections/account-list.ts';
import { BY_KEYS_OF_OPERATORS } from '../../../core/accounts/installation/operated-account-routes.ts';
import { findOperated } from '../../../core/accounts/installation/operated-accounts.ts';
import { requireGrant } from '../../../core/accounts/rights/grants.ts';
import { findRoleById } from '../../../core/accounts/rights/roles.ts';
import { auditAccount } from '../../../core/audit/audit.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import {
  checkNewProvider,
  checkProvider,
  checkProviderChange,
  defaultAlgorithms,
  hasKeys,
  keyColumns,
  listOf,
  presentProvider,
} from './provider.ts';
import {
  deleteProvider,
  findProvider,
  insertProvider,
  lockProvider,
  PROVIDERS,
  type ProviderRow,
  updateProvider,
} from './provider-store.ts';

/** Returns the routes of identity providers (docs/contract.md#identity-providers), for admins. */
export function providerRoutes({ database, guard }: Pick<NodeParts, 'database' | 'guard'>): Route[] {
  const common = { since: '1.3.harbor', agents: false } as const;
  return [
    defineRoute({
      ...common,
      name: 'create_identity_provider',
      method: 'POST',
      path: '/v1/identity-providers',
      summary: 'Accept the tokens of an issuer as credentials of its people',
      permission: 'identity_providers:create',
      refuses: ['resource_exists', 'limit_exceeded'],
      body: CreateIdentityProviderBody,
      status: 201,
      response: IdentityProvider,
      rules: ({ body }) => checkNewProvider(body, guard),
      async change(tx, { principal, body }) {
        const { accountId, actor } = principal;
        const { name, issuer, audience, algorithms, claims = {}, role_id: roleId } = body;
        if (roleId !== undefined) await requireRole(tx, principal, roleId);
        const row = await insertProvider(tx, {
          account_id: accountId,
          name,
          issuer,
          audience: listOf(audience),
          ...keyColumns(body),
          algorithms: [...(algorithms ?? defaultAlgorithms(body.secret !== undefined))],
          ...claimColumns(claims),
          subject: body.subject ?? 'own',
          person: body.person ?? 'team',
          provision: body.provision ?? 'off',
          role_id: roleId ?? null,
          client_id: body.client_id ?? null,
          client_secret: body.client_secret ?? null,
          created_by: actor.id,
        });
        await record(tx, principal, 'identity_provider.created', row, { issuer });
        return presentProvider(row);
      },
    }),
    defineRoute({
      ...common,
      name: 'list_identity_providers',
      method: 'GET',
      path: '/v1/identity-providers',
      summary: 'List the identity providers of the account, newest first',
      permission: 'identity_providers:read',
      query: SearchQuery({}),
      response: ListOf(IdentityProvider),
      async handle({ principal, query, url }) {
        const page = readPage(LIST, query, { account: principal.accountId });
        const rows = await PROVIDERS.readPage(database, [principal.accountId], page);
        return toList(rows, page, url, keyOf, presentProvider);
      },
    }),
    defineRoute({
      ...BY_KEYS_OF_OPERATORS,
      name: 'list_installation_identity_providers',
      method: 'GET',
      path: '/v1/installation/accounts/:id/identity-providers',
      summary: 'List the identity providers of an account of the installation, newest first',
      query: SearchQuery({}),
      response: ListOf(IdentityProvider),
      async handle({ params, query, url }) {
        const { id } = await findOperated(database, params.id!);
        const page = readPage(LIST, query, { account: id });
        const rows = await PROVIDERS.readPage(database, [id], page);
        return toList(rows, page, url, keyOf, presentProvider);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_identity_provider',
      method: 'GET',
      path: '/v1/identity-providers/:id',
      summary: 'Get an identity provider',
      permission: 'identity_providers:read',
      response: IdentityProvider,
      handle: async ({ principal, params }) =>
        presentProvider(await findProvider(database, principal.accountId, params.id!)),
    }),
    defineRoute({
      ...common,
      name: 'update_identity_provider',
      method: 'PATCH',
      path: '/v1/identity-providers/:id',
      summary: 'Change an identity provider; what proved credentials ends with it',
      permission: 'identity_providers:update',
      body: UpdateIdentityProviderBody,
      response: IdentityProvider,
      rules: ({ body }) => checkProviderChange(body, guard),
      async change(tx, { principal, params, body }) {
        const before = await lockProvider(tx, principal.accountId, params.id!);
        if (typeof body.role_id === 'string') await requireRole(tx, principal, body.role_id);
        const changes = changesOf(before, body);
        checkProvider({ ...before, ...changes });
        const fields = Object.keys(body);
        // New claims or keys may make the same tokens name other persons.
        const endsCredentials = fields.some((field) => ENDING.has(field));
        const row = await updateProvider(tx, before, changes, { endsCredentials });
        await record(tx, principal, 'identity_provider.updated', row, { fields });
        return presentProvider(row);
      },
    }),
    defineRoute({
      ...common,
      name: 'delete_identity_provider',
      method: 'DELETE',
      path: '/v1/identity-providers/:id',
      summary: 'Delete an identity provider: its tokens, and the sockets that came by them, end',
      permission: 'identity_providers:update',
      response: IdentityProvider,
      async change(tx, { principal, params }) {
        const row = await lockProvider(tx, principal.accountId, params.id!);
        await deleteProvider(tx, row);
        await record(tx, principal, 'identity_provider.deleted', row, { issuer: row.issuer });
        return presentProvider(row);
      },
    }),
  ];
}

const LIST = defineList('identity providers', ['time', 'text']);

/** Fields that affect the meaning of a token. */
const ENDING: ReadonlySet<string> = new Set([
  'audience',
  'jwks_url',
  'jwks',
  'secret',
  'algorithms',
  'claims',
]);

function changesOf(before: ProviderRow, body: UpdateIdentityProviderBody) {
  const { name, audience, algorithms, claims = {}, provision, role_id } = body;
  const hasSecret = hasKeys(body) ? body.secret !== undefined : before.secret !== null;
  // Algorithms for the other kind of keys would verify nothing.
  const others = hasSecret === (before.secret !== null) ? undefined : defaultAlgorithms(hasSecret);
  const next = algorithms ?? others;
  return {
    ...(name !== undefined && { name }),
    ...(audience !== undefined && { audience: listOf(audience) }),
    ...keyColumns(body),
    ...(next !== undefined && { algorithms: [...next] }),
    ...claimColumns(claims),
    ...(provision !== undefined && { provision }),
    ...(role_id !== undefined && { role_id }),
    ...clientColumns(body),
  };
}

/** Returns the client's columns; without a client its secret is removed too. */
function clientColumns({ client_id, client_secret }: UpdateIdentityProviderBody) {
  return {
    ...(client_id === null && { client_secret: null }),
    ...(client_id !== undefined && { client_id }),
    ...(client_secret !== undefined && { client_secret }),
  };
}

function claimColumns({
  subject,
  name,
  email,
}: {
  readonly subject?: string | undefined;
  readonly name?: string | undefined;
  readonly email?: string | undefined;
}) {
  return {
    ...(subject !== undefined && { subject_claim: subject }),
    ...(name !== undefined && { name_claim: name }),
    ...(email !== undefined && { email_claim: email }),
  };
}

/** Refuses admin roles to API keys, which could otherwise make admins unknown to their maker. */
async function requireRole(tx: Tx, principal: Principal, roleId: string): Promise<void> {
  const role = await findRoleById(tx, principal.accountId, roleId);
  requireGrant(principal, role);
  if (role.type !== 'admin' || principal.actor.type === 'user') return;
  throw new ApiError(
    'insufficient_permissions',
    'Only an admin user, and not an API key, can let an identity provider give an admin role.',
  );
}

function record(
  tx: Tx,
  principal: Principal,
  action: AuditAction,
  { id }: ProviderRow,
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  return auditAccount(tx, principal, action, { identity_provider_id: id, ...details });
}
