import { ListOf } from '@parley/protocol/lists.ts';
import { API_KEY_INCLUDES, ApiKey, CreateApiKeyBody, NewApiKey } from '@parley/protocol/resources/api-key.ts';
import { Body, Include } from '@parley/protocol/schema/schema.ts';
import { defineList, readPage, SearchQuery, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { type ApiKeyProfile, presentApiKey } from '../../resources/api-key.ts';
import { readRolesOf } from '../../resources/role.ts';
import { keyOf } from '../collections/account-list.ts';
import { requireGrant } from '../rights/grants.ts';
import { findRoleById } from '../rights/roles.ts';
import {
  API_KEYS,
  createApiKey,
  findApiKey,
  requireFutureExpiry,
  revokeApiKey,
  rotateApiKey,
} from './keys.ts';

/** Returns routes for admin roles alone, whatever others hold (docs/contract.md#permissions). */
export function apiKeyRoutes(database: Database): Route[] {
  const common = { agents: false, query: IncludeQuery } as const;
  return [
    defineRoute({
      ...common,
      name: 'create_api_key',
      method: 'POST',
      path: '/v1/api-keys',
      summary: 'Create an API key; its secret is shown this once',
      since: '1.1.harbor',
      permission: 'api_keys:create',
      secret: true,
      body: CreateApiKeyBody,
      rules: ({ body: { expires_at: at } }) =>
        at === undefined ? undefined : requireFutureExpiry(database, at),
      status: 201,
      response: NewApiKey,
      async change(tx, { principal, body, query }) {
        const { accountId } = principal;
        const { name, expires_at: expiresAt } = body;
        const role = await findRoleById(tx, accountId, body.role_id);
        requireGrant(principal, role);
        const { key, apiKey } = await createApiKey(tx, {
          accountId,
          name,
          roleId: role.id,
          ...(expiresAt !== undefined && { expiresAt }),
        });
        return { ...(await show(tx, accountId, apiKey.id, query['include[]'])), key };
      },
    }),
    defineRoute({
      name: 'list_api_keys',
      method: 'GET',
      path: '/v1/api-keys',
      summary: 'List the API keys of the account, newest first',
      since: '1.1.harbor',
      permission: 'api_keys:read',
      agents: false,
      query: SearchQuery({ 'include[]': Include(API_KEY_INCLUDES) }),
      response: ListOf(ApiKey),
      async handle({ principal, query, url }) {
        const page = readPage(LIST, query, { account: principal.accountId });
        const rows = await API_KEYS.readPage(database, [principal.accountId], page);
        const shown = await present(database, rows, query['include[]']);
        return toList(rows, page, url, keyOf, (row) => shown.get(row)!);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_api_key',
      method: 'GET',
      path: '/v1/api-keys/:id',
      summary: 'Get an API key, without its secret',
      since: '1.2.harbor',
      permission: 'api_keys:read',
      response: ApiKey,
      handle: ({ principal, params, query }) =>
        show(database, principal.accountId, params.id!, query['include[]']),
    }),
    defineRoute({
      ...common,
      name: 'revoke_api_key',
      method: 'POST',
      path: '/v1/api-keys/:id/actions/revoke',
      summary: 'Revoke an API key, at once and for good',
      since: '1.1.harbor',
      permission: 'api_keys:update',
      response: ApiKey,
      async change(tx, { principal, params, query }) {
        const { id } = await revokeApiKey(tx, params.id!, principal.accountId);
        return show(tx, principal.accountId, id, query['include[]']);
      },
    }),
    defineRoute({
      ...common,
      name: 'rotate_api_key',
      method: 'POST',
      path: '/v1/api-keys/:id/actions/rotate',
      summary:
        'Put a new API key of the same actor and expiration in the place of this one, which is revoked at once',
      since: '1.1.harbor',
      permission: 'api_keys:update',
      secret: true,
      status: 201,
      response: NewApiKey,
      async change(tx, { principal, params, query }) {
        const { key, apiKey } = await rotateApiKey(tx, principal.accountId, params.id!);
        return { ...(await show(tx, principal.accountId, apiKey.id, query['include[]'])), key };
      },
    }),
  ];
}

const LIST = defineList('api_keys', ['time', 'text']);
const IncludeQuery = Body({ 'include[]': Include(API_KEY_INCLUDES) });

type Included = readonly (typeof API_KEY_INCLUDES)[number][];

async function show(db: Db, accountId: string, id: string, include: Included | undefined): Promise<ApiKey> {
  const row = await findApiKey(db, accountId, id);
  return (await present(db, [row], include)).get(row)!;
}

async function present(
  db: Db,
  rows: readonly ApiKeyProfile[],
  include: Included | undefined,
): Promise<ReadonlyMap<ApiKeyProfile, ApiKey>> {
  const roles = await readRolesOf(db, rows, include);
  return new Map(rows.map((row) => [row, presentApiKey(row, roles.get(row.role_id ?? '') ?? null)]));
}
