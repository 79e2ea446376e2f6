import { ListOf } from '@parley/protocol/lists.ts';
import {
  AgentRun,
  ContinueRunBody,
  IncludeInRun,
  RUN_TRIGGERS,
  type RunInclude,
  TriggerRunBody,
} from '@parley/protocol/resources/agent-run.ts';
import { RUN_STATUSES } from '@parley/protocol/resources/run-status.ts';
import { IdOf } from '@parley/protocol/schema/external-ids.ts';
import { Body, OneOf } from '@parley/protocol/schema/schema.ts';
import { Type } from 'typebox';
import type { Principal } from '../../../../api/access/principal.ts';
import {
  defineList,
  type PageParameters,
  PageQuery,
  readPage,
  toList,
} from '../../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../../api/pipeline/route.ts';
import { keyOf } from '../../../../core/accounts/collections/account-list.ts';
import { findAgent } from '../../../../core/resources/agent.ts';
import { expandRuns, type RunRow } from '../../../../core/resources/run.ts';
import type { Db } from '../../../../platform/db/connection/handle.ts';
import { type RunFilters, readRunPage } from '../state/store.ts';
import { type RunRoutesOptions, readableRun, requireFilters } from './access.ts';
import { cancelRun } from './cancel.ts';
import { checkDecisions, continueRun } from './continue.ts';
import { checkInput, triggerRun } from './trigger.ts';

/** Returns the routes of agent runs: trigger, read, continue and cancel (docs/contract.md#runs). */
export function runRoutes(options: RunRoutesOptions): Route[] {
  const { database } = options;
  const show = async (db: Db, reader: Principal, row: RunRow, include: readonly RunInclude[] = []) =>
    (await expandRuns(db, reader, [row], include)).get(row)!;
  const list = async (principal: Principal, filters: RunFilters, query: ListQuery, url: string) => {
    const page = readPage(RUNS, query, { account: principal.accountId, ...filters });
    const rows = await readRunPage(database, principal, filters, page);
    const shown = await expandRuns(database, principal, rows, query['include[]'] ?? []);
    return toList(rows, page, url, keyOf, (row) => shown.get(row)!);
  };
  const ofOne = {
    since: '1.1.harbor',
    permission: 'agents:run',
    query: Includes,
    response: AgentRun,
  } as const;
  return [
    defineRoute({
      ...ofOne,
      name: 'trigger_agent_run',
      method: 'POST',
      path: '/v1/ai/agents/:id/runs',
      summary: 'Start a run of an agent',
      body: TriggerRunBody,
      status: 201,
      rules: ({ body }) => checkInput(body.input),
      async change(tx, call) {
        const row = await triggerRun(tx, call, call.params.id!, call.body.input);
        return show(tx, call.principal, row, call.query['include[]']);
      },
    }),
    defineRoute({
      name: 'list_agent_runs',
      method: 'GET',
      path: '/v1/ai/agents/:id/runs',
      summary: 'List the runs of an agent, newest first',
      since: '1.1.harbor',
      permission: 'agents:run',
      query: PageQuery({
        status: Type.Optional(OneOf(RUN_STATUSES)),
        trigger_type: Type.Optional(OneOf(RUN_TRIGGERS)),
        'include[]': IncludeInRun,
      }),
      response: ListOf(AgentRun),
      async handle({ principal, params, query, url }) {
        const { status, trigger_type: triggerType } = query;
        const { id: agentId } = await findAgent(database, principal.accountId, params.id!);
        const filters = { agentId, triggerType, statuses: status && [status] };
        return list(principal, filters, query, url);
      },
    }),
    defineRoute({
      name: 'list_runs',
      method: 'GET',
      path: '/v1/ai/runs',
      summary: 'List the runs of all agents, newest first',
      since: '1.2.harbor',
      permission: 'agents:run',
      query: PageQuery({
        'status[]': Type.Optional(
          Type.Array(OneOf(RUN_STATUSES), { minItems: 1, maxItems: RUN_STATUSES.length }),
        ),
        trigger_type: Type.Optional(OneOf(RUN_TRIGGERS)),
        agent_id: Type.Optional(IdOf('agent')),
        conversation_id: Type.Optional(IdOf('conversation')),
        'include[]': IncludeInRun,
      }),
      response: ListOf(AgentRun),
      async handle({ principal, query, url }) {
        const { agent_id: agentId, conversation_id: conversationId, trigger_type: triggerType } = query;
        const filters = { agentId, conversationId, triggerType, statuses: query['status[]']?.toSorted() };
        await requireFilters(options, principal, filters);
        return list(principal, filters, query, url);
      },
    }),
    defineRoute({
      ...ofOne,
      name: 'get_agent_run',
      method: 'GET',
      path: '/v1/ai/runs/:id',
      summary: 'Get a run',
      async handle({ principal, params, query }) {
        const row = await readableRun(options, principal, params.id!);
        return show(database, principal, row, query['include[]']);
      },
    }),
    defineRoute({
      ...ofOne,
      name: 'continue_agent_run',
      method: 'POST',
      path: '/v1/ai/runs/:id/actions/continue',
      summary: 'Approve or reject the calls that a run waits for',
      agents: false,
      body: ContinueRunBody,
      rules: ({ body }) => checkDecisions(body),
      async change(tx, call) {
        const row = await continueRun(tx, options, call.principal, call.params.id!, call.body);
        return show(tx, call.principal, row, call.query['include[]']);
      },
    }),
    defineRoute({
      ...ofOne,
      name: 'cancel_agent_run',
      method: 'POST',
      path: '/v1/ai/runs/:id/actions/cancel',
      summary: 'Cancel a run; one that has completed or failed is a conflict',
      commits:
        'The request to cancel is committed first, and then waited for until the node of the run has ended it.',
      async handle({ principal, params, query, answer }) {
        const row = await cancelRun(options, principal, params.id!);
        return answer(await show(database, principal, row, query['include[]']), undefined);
      },
    }),
  ];
}

interface ListQuery extends PageParameters {
  readonly 'include[]'?: readonly RunInclude[] | undefined;
}

const RUNS = defineList('agent_runs', ['time', 'text']);
const Includes = Body({ 'include[]': IncludeInRun });
