import { ApiError } from '@parley/protocol/errors/errors.ts';
import type {
  AgentConfigInput,
  CreateAgentBody,
  UpdateAgentBody,
} from '@parley/protocol/resources/agent-definition.ts';
import type { Principal } from '../../api/access/principal.ts';
import { requireGrant } from '../../core/accounts/rights/grants.ts';
import { findRoleById } from '../../core/accounts/rights/roles.ts';
import { removeEverywhere } from '../../core/conversations/participants/participants.ts';
import { type AgentRow, lockAgent } from '../../core/resources/agent.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { cancelRuns } from './runs/state/end-run.ts';
import {
  type AgentChanges,
  deleteAgent,
  insertAgent,
  type NewAgent,
  requireRoom,
  updateAgent,
} from './store.ts';
import type { ToolCatalogue } from './tools/catalogue.ts';
import { checkEndpointTools, readTools } from './tools/rules.ts';
import { checkTriggerConfig, readTrigger } from './triggers/rules.ts';

/**
 * Returns the agent of a Create Agent body (docs/contract.md#creating-an-agent), checked without a
 * database. Throws ApiError `missing_field`, `invalid_format` or `validation_failed`.
 */
export function readNewAgent(catalogue: ToolCatalogue, accountId: string, body: CreateAgentBody): NewAgent {
  const { trigger_config, tools = [] } = body.config;
  const trigger = readTrigger(body.trigger_type, trigger_config);
  checkEndpointTools(catalogue, body.config);
  return { account_id: accountId, ...columnsOf(body), trigger, tools: readTools(tools) };
}

/**
 * Inserts the agent. Throws ApiError `resource_not_found` (param role_id),
 * `insufficient_permissions` (a role above the caller's own rights), `resource_exists` (param slug
 * or external_id) or `limit_exceeded`.
 */
export async function createAgent(tx: Tx, principal: Principal, agent: NewAgent): Promise<AgentRow> {
  await requireRole(tx, principal, agent.role_id);
  const row = await insertAgent(tx, agent);
  await requireRoom(tx, agent.account_id);
  return row;
}

/**
 * Replaces each given field, those of `config` one at a time. A body without fields is a no-op; any
 * other body has passed checkAgentChanges. Only the status of a system definition can change: it
 * belongs to the account. Throws as `createAgent`, and `resource_not_found` (param id),
 * `resource_conflict` (a system definition), `insufficient_permissions` (the caller is the agent
 * itself).
 */
export async function changeAgent(
  tx: Tx,
  principal: Principal,
  id: string,
  body: UpdateAgentBody,
): Promise<AgentRow> {
  const row = await lockAgent(tx, principal.accountId, id);
  refuseSelf(principal, row);
  if (Object.keys(body).some((field) => field !== 'status')) requireEditable(row);
  const changes = readChanges(row, body);
  if (Object.keys(body).length === 0) return row;
  if (body.role_id !== row.role_id) await requireRole(tx, principal, body.role_id);
  return updateAgent(tx, row, changes);
}

/**
 * Deletes the agent and returns its last state. Its credentials end, its runs are cancelled, and it
 * leaves every conversation. Throws as `changeAgent`.
 */
export async function removeAgent(tx: Tx, principal: Principal, id: string): Promise<AgentRow> {
  const row = await lockAgent(tx, principal.accountId, id);
  refuseSelf(principal, row);
  requireEditable(row);
  await cancelRuns(tx, principal, row);
  await removeEverywhere(tx, principal, { id: row.actor_id, name: row.name });
  await deleteAgent(tx, row);
  return row;
}

/** Checks a body of Update Agent by the rules that need no agent. Throws as readNewAgent does. */
export function checkAgentChanges(catalogue: ToolCatalogue, { config = {} }: UpdateAgentBody): void {
  checkEndpointTools(catalogue, config);
  if (config.trigger_config !== undefined) checkTriggerConfig(config.trigger_config);
  if (config.tools !== undefined) readTools(config.tools);
}

function readChanges(
  row: AgentRow,
  { avatar_s3_key: _, external_id: externalId, ...body }: UpdateAgentBody,
): AgentChanges {
  const { trigger_config, tools } = body.config ?? {};
  return {
    fields: columnsOf(body),
    ...(trigger_config !== undefined && { trigger: readTrigger(row.trigger_type, trigger_config) }),
    ...(tools !== undefined && { tools: readTools(tools) }),
    ...(externalId !== undefined && { externalId }),
  };
}

/** Returns the columns that a body sets, as they are stored. */
function columnsOf<Body extends { readonly config?: AgentConfigInput }>({ config = {}, ...fields }: Body) {
  const { trigger_config: _, tools: __, endpoint_tool_review: review, ...plain } = config;
  return {
    ...fields,
    ...plain,
    ...(review !== undefined && { endpoint_tool_review: JSON.stringify(review) }),
  };
}

async function requireRole(tx: Tx, principal: Principal, roleId: string | null | undefined): Promise<void> {
  if (roleId === null || roleId === undefined) return;
  requireGrant(principal, await findRoleById(tx, principal.accountId, roleId));
}

/** Throws for the agent itself, which keeps its reviews (docs/contract.md#limits-of-agents). */
function refuseSelf({ actor }: Principal, row: AgentRow): void {
  if (actor.id !== row.actor_id) return;
  throw new ApiError('insufficient_permissions', 'An agent cannot change itself.');
}

/** Throws for system definitions, which cannot be edited (docs/contract.md#agents). */
function requireEditable({ definition_type }: AgentRow): void {
  if (definition_type !== 'system') return;
  throw new ApiError('resource_conflict', 'Agents of the service cannot be edited or deleted.');
}
