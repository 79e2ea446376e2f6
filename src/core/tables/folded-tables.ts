import type { FoldedTable } from '../../platform/db/connection/folded-table.ts';

/** The tables of which `q` finds rows by folded words (docs/contract.md#how-words-are-compared). */
export const FOLDED = {
  actors: { name: 'actors', columns: ['name', 'handle'] },
  agents: { name: 'agent_definitions', columns: ['name', 'slug', 'description'] },
  conversations: { name: 'conversations', columns: ['title'] },
  entities: { name: 'entities', columns: ['name', 'handle'] },
  groups: { name: 'messaging_groups', columns: ['name'] },
  keys: { name: 'api_keys', columns: ['name'] },
  roles: { name: 'roles', columns: ['name'] },
} as const satisfies Readonly<Record<string, FoldedTable>>;
