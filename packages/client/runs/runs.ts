import type { List } from '@parley/protocol/lists.ts';
import type { AgentRun, RunInclude, RunTrigger } from '@parley/protocol/resources/agent-run.ts';
import { type Fetch, pagesOf, queryOf } from '../rest/pages.ts';

/** The query of List Runs. */
export interface RunFilter {
  /** Only runs in these states. */
  readonly status?: readonly AgentRun['status'][];
  /** Only runs with this trigger. */
  readonly trigger_type?: RunTrigger;
  /** Only runs of this agent. */
  readonly agent_id?: string;
  /** Only runs in this conversation. */
  readonly conversation_id?: string;
  /** 25 by default, 100 at most. */
  readonly limit?: number;
  /** Sub-objects to expand; others are null. */
  readonly include?: readonly RunInclude[];
}

/** The runs of agents that the caller may read. All methods reject as Client.fetch does. */
export class Runs {
  readonly #fetch: Fetch;

  /** Use Client.runs. */
  constructor(fetch: Fetch) {
    this.#fetch = fetch;
  }

  /** Starts a run of an agent with any JSON value; Client.run follows it. */
  start(agentId: string, input?: unknown): Promise<AgentRun> {
    const path = `/v1/ai/agents/${encodeURIComponent(agentId)}/runs`;
    return this.#fetch<AgentRun>(path, { method: 'POST', body: input === undefined ? {} : { input } });
  }

  /** Yields pages of the runs of all agents, newest first. */
  list(filter: RunFilter = {}): AsyncGenerator<List<AgentRun>, void, undefined> {
    return pagesOf<AgentRun>(this.#fetch, '/v1/ai/runs', { ...filter });
  }

  /** Returns a run as it is now. */
  get(id: string, include: readonly RunInclude[] = []): Promise<AgentRun> {
    return this.#fetch<AgentRun>(`/v1/ai/runs/${encodeURIComponent(id)}${queryOf({ include })}`);
  }
}
