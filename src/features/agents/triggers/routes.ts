import { ListOf } from '@parley/protocol/lists.ts';
import { AgentOccurrence, OCCURRENCE_OUTCOMES } from '@parley/protocol/resources/agent-run.ts';
import { OneOf } from '@parley/protocol/schema/schema.ts';
import { Type } from 'typebox';
import { defineList, PageQuery, readPage, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { findAgent } from '../../../core/resources/agent.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { OCCURRENCES, type OccurrenceRow } from './occurrence-store.ts';

/** Returns the routes of schedule occurrences (schedule.ts). */
export function occurrenceRoutes(database: Database): Route[] {
  return [
    defineRoute({
      name: 'list_agent_occurrences',
      method: 'GET',
      path: '/v1/ai/agents/:id/occurrences',
      summary: 'List the times at which the schedule of an agent was due, with their outcome, newest first',
      since: '1.1.harbor',
      permission: 'agents:read',
      query: PageQuery({ outcome: Type.Optional(OneOf(OCCURRENCE_OUTCOMES)) }),
      response: ListOf(AgentOccurrence),
      async handle({ principal, params, query, url }) {
        const { outcome } = query;
        const agent = await findAgent(database, principal.accountId, params.id!);
        const page = readPage(LIST, query, { agent: agent.id, outcome });
        const rows = await OCCURRENCES.readPage(database, [agent.id, outcome ?? null], page);
        return toList(rows, page, url, ({ due_at }) => [due_at], presentOccurrence);
      },
    }),
  ];
}

const LIST = defineList('agent_occurrences', ['time']);

function presentOccurrence(row: OccurrenceRow): AgentOccurrence {
  const { agent_id, due_at, outcome, reason, run_id, created_at } = row;
  return { object: 'agent_occurrence', agent_id, due_at, outcome, reason, run_id, created_at };
}
