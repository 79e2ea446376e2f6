import { newId } from '@parley/protocol/ids.ts';
import type { AgentDefinition } from '@parley/protocol/resources/agent-definition.ts';
import type { AgentRun } from '@parley/protocol/resources/agent-run.ts';
import type { Insertable } from 'kysely';
import { findRole } from '../../src/core/accounts/rights/roles.ts';
import type { Schema } from '../../src/platform/db/tables/schema.ts';
import type { CallOptions, TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { AGENTS, accepted, createdAgent } from './bodies.ts';

export const RUNS = '/v1/ai/runs';

/**
 * Requests about runs of the demo account, and rows of runs that no endpoint makes. Grace is the
 * caller by default.
 */
export class Runs {
  readonly #app: TestApp;

  constructor(app: TestApp) {
    this.#app = app;
  }

  get grace(): string {
    return this.#app.demo.users.grace.access_token;
  }

  /** With the account's ordinary role for agents. */
  async agent(fields: object = {}, options: CallOptions = {}): Promise<AgentDefinition> {
    const role = await findRole(this.#app.database, this.#app.demo.account_id, 'agent');
    return createdAgent(this.#app, { role_id: role.id, ...fields }, options);
  }

  async trigger(agentId: string, body: object = {}, options: CallOptions = {}): Promise<AgentRun> {
    const path = `${AGENTS}/${agentId}/runs`;
    return accepted(await this.#app.call('POST', path, { token: this.grace, body, ...options }), 201);
  }

  async get(id: string, query = '', options: CallOptions = {}): Promise<AgentRun> {
    return accepted(await this.#app.call('GET', `${RUNS}/${id}?${query}`, { token: this.grace, ...options }));
  }

  act(id: string, action: 'continue' | 'cancel', options: CallOptions & { readonly query?: string } = {}) {
    const { query = '', ...rest } = options;
    const path = `${RUNS}/${id}/actions/${action}?${query}`;
    return this.#app.call<AgentRun>('POST', path, { token: this.grace, ...rest });
  }

  refused(id: string, action: 'continue' | 'cancel', options: CallOptions = {}) {
    return this.#app.call('POST', `${RUNS}/${id}/actions/${action}`, { token: this.grace, ...options });
  }

  /** The run as soon as it stands so. */
  reached(id: string, status: AgentRun['status'], query = ''): Promise<AgentRun> {
    return until(
      async () => {
        const run = await this.get(id, query);
        return run.status === status ? run : undefined;
      },
      { what: `the run is ${status}` },
    );
  }

  /** Inserts a run that no node claims; completed unless `fields` state otherwise. */
  async insert(agentId: string, fields: Partial<Insertable<Schema['agent_runs']>> = {}): Promise<string> {
    const { kysely } = this.#app.database;
    const { account_id, actor_id } = await kysely
      .selectFrom('agent_definitions')
      .select(['account_id', 'actor_id'])
      .where('id', '=', agentId)
      .executeTakeFirstOrThrow();
    const id = newId('agentRun');
    await kysely
      .insertInto('agent_runs')
      .values({
        id,
        account_id,
        agent_id: agentId,
        actor_id,
        trigger_key: id,
        trigger_type: 'manual',
        status: 'completed',
        ...fields,
      })
      .execute();
    return id;
  }

  /**
   * Inserts a run that waits for people, with a call for each of `calls`; returns its id and
   * theirs.
   */
  async waiting(
    agentId: string,
    calls: readonly Partial<Insertable<Schema['agent_run_actions']>>[],
    fields: Partial<Insertable<Schema['agent_runs']>> = {},
  ): Promise<readonly [id: string, ...actionIds: string[]]> {
    const { kysely } = this.#app.database;
    const run_id = await this.insert(agentId, { status: 'awaiting_approval', ...fields });
    const step_id = newId('agentStep');
    const actionIds = calls.map(() => newId('agentAction'));
    const asked = actionIds.map((id) => ({ id: `call_${id}`, name: 'list-agents', arguments: '{}' }));
    await kysely
      .insertInto('agent_run_steps')
      .values({ id: step_id, run_id, position: 1, status: 'completed', calls: JSON.stringify(asked) })
      .execute();
    const rows = calls.map(
      (call, position): Insertable<Schema['agent_run_actions']> => ({
        id: actionIds[position]!,
        run_id,
        step_id,
        position,
        call_id: `call_${actionIds[position]}`,
        tool: 'list-agents',
        category: 'api_endpoint',
        status: 'pending_review',
        arguments: '{}',
        ...call,
      }),
    );
    await kysely.insertInto('agent_run_actions').values(rows).execute();
    return [run_id, ...actionIds];
  }
}
