import type { Db } from '../db/handle.ts';
import type {
  AgentDefinition,
  AgentDefinitionConfig,
  AgentInclude,
} from '../protocol/resources/agent-definition.ts';
import { readRoles } from '../resources/role.ts';
import { presentAgent, presentConfig, presentTool, presentTrigger } from './present.ts';
import type { AgentRow } from './rows.ts';
import type { ToolCatalogue } from './tools/catalogue.ts';

/**
 * Returns each row's resource with the requested expansions. Roles take one query, and none if they were not
 * requested. `tools` are part of `config`, so requesting them includes it. Without a catalogue the resources look as
 * in the answer of Create Agent (docs/contract.md#creating-an-agent): `trigger_config` and each entry's `tool` are
 * null.
 */
export async function expandAgents(
  db: Db,
  rows: readonly AgentRow[],
  include: readonly AgentInclude[],
  catalogue: ToolCatalogue | null,
): Promise<ReadonlyMap<AgentRow, AgentDefinition>> {
  const roleIds = include.includes('role') ? [...new Set(rows.flatMap(({ role_id }) => role_id ?? []))] : [];
  const roles = await readRoles(db, roleIds);
  const configOf = (row: AgentRow): AgentDefinitionConfig | null => {
    if (!include.includes('config') && !include.includes('tools')) return null;
    return presentConfig(row, {
      trigger_config: catalogue && presentTrigger(row),
      tools: include.includes('tools')
        ? row.tools.map((attached) => presentTool(attached, catalogue?.builtIn(attached.tool) ?? null))
        : null,
    });
  };
  return new Map(
    rows.map((row) => [
      row,
      presentAgent(row, { role: roles.get(row.role_id ?? '') ?? null, config: configOf(row) }),
    ]),
  );
}
