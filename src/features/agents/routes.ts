import { ListOf } from '@parley/protocol/lists.ts';
import {
  AGENT_INCLUDES,
  AGENT_LIMITS,
  AGENT_STATUSES,
  AgentDefinition,
  type AgentInclude,
  CreateAgentBody,
  TRIGGER_TYPES,
  UpdateAgentBody,
} from '@parley/protocol/resources/agent-definition.ts';
import { OwnIdFilter } from '@parley/protocol/schema/external-ids.ts';
import { Body, Include, OneOf } from '@parley/protocol/schema/schema.ts';
import { Type } from 'typebox';
import { defineList, readPage, SearchQuery, toList } from '../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import { keyOf } from '../../core/accounts/collections/account-list.ts';
import { IMAGE_REFUSALS } from '../../core/attachments/images.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { type AgentRow, expandAgents, findAgent } from '../../core/resources/agent.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { changeAgent, checkAgentChanges, createAgent, readNewAgent, removeAgent } from './definitions.ts';
import { AGENTS } from './store.ts';
import type { ToolCatalogue } from './tools/catalogue.ts';

/** Returns the routes of agent definitions (docs/contract.md#agents). */
export function agentRoutes(
  { database, avatars }: Pick<NodeParts, 'database' | 'avatars'>,
  catalogue: ToolCatalogue,
): Route[] {
  const show = async (db: Db, row: AgentRow, include: readonly AgentInclude[] = []) =>
    (await expandAgents(db, [row], include, catalogue)).get(row)!;
  const ofOne = { since: '1.1.harbor', query: Includes, response: AgentDefinition } as const;
  return [
    defineRoute({
      name: 'create_agent',
      method: 'POST',
      path: '/v1/ai/agents',
      summary: 'Create an agent',
      since: '1.0.harbor',
      permission: 'agents:create',
      query: Includes,
      body: CreateAgentBody,
      status: 201,
      response: AgentDefinition,
      prepare: ({ principal, body }) => readNewAgent(catalogue, principal.accountId, body),
      async change(tx, { principal, query }, agent) {
        const row = await createAgent(tx, principal, agent);
        return (await expandAgents(tx, [row], query['include[]'] ?? [], null)).get(row)!;
      },
    }),
    defineRoute({
      name: 'list_agents',
      method: 'GET',
      path: '/v1/ai/agents',
      summary: 'List the agents of the account, newest first',
      since: '1.1.harbor',
      permission: 'agents:read',
      query: SearchQuery({
        trigger_type: Type.Optional(OneOf(TRIGGER_TYPES)),
        status: Type.Optional(OneOf(AGENT_STATUSES)),
        category_code: Type.Optional(
          Type.String({ minLength: 1, maxLength: AGENT_LIMITS.categoryCharacters }),
        ),
        external_id: OwnIdFilter,
        'include[]': IncludeList,
      }),
      response: ListOf(AgentDefinition),
      async handle({ principal, query, url }) {
        const { trigger_type, status, category_code, external_id } = query;
        const { accountId: account } = principal;
        const page = readPage(LIST, query, { account, trigger_type, status, category_code, external_id });
        const filters = [trigger_type ?? null, status ?? null, category_code ?? null] as const;
        const rows = await AGENTS.readPage(database, [account, ...filters, external_id ?? null], page);
        const shown = await expandAgents(database, rows, query['include[]'] ?? [], catalogue);
        return toList(rows, page, url, keyOf, (row) => shown.get(row)!);
      },
    }),
    defineRoute({
      ...ofOne,
      name: 'get_agent',
      method: 'GET',
      path: '/v1/ai/agents/:id',
      summary: 'Get an agent',
      permission: 'agents:read',
      async handle({ principal, params, query }) {
        const row = await findAgent(database, principal.accountId, params.id!);
        return show(database, row, query['include[]']);
      },
    }),
    defineRoute({
      ...ofOne,
      name: 'update_agent',
      method: 'PATCH',
      path: '/v1/ai/agents/:id',
      summary: 'Change an agent; its trigger type stays',
      permission: 'agents:update',
      body: UpdateAgentBody,
      refuses: ['resource_exists', ...IMAGE_REFUSALS],
      rules: ({ body }) => checkAgentChanges(catalogue, body),
      prepare: ({ principal, body }) => avatars.find(principal.accountId, body.avatar_s3_key),
      async change(tx, call, image) {
        const { principal } = call;
        const row = await changeAgent(tx, principal, call.params.id!, call.body);
        await avatars.set(tx, { accountId: principal.accountId, actorId: row.actor_id }, image);
        return show(tx, row, call.query['include[]']);
      },
    }),
    defineRoute({
      ...ofOne,
      name: 'delete_agent',
      method: 'DELETE',
      path: '/v1/ai/agents/:id',
      summary: 'Delete an agent; its messages stay',
      permission: 'agents:update',
      async change(tx, call) {
        const row = await removeAgent(tx, call.principal, call.params.id!);
        return show(tx, row, call.query['include[]']);
      },
    }),
  ];
}

const LIST = defineList('agents', ['time', 'text']);
const IncludeList = Include(AGENT_INCLUDES);
const Includes = Body({ 'include[]': IncludeList });
