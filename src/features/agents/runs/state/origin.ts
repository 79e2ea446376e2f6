import { RUN_LIMITS } from '../../../../contract/protocol/resources/agent-run.ts';
import { parseTraceparent, type TraceContext } from '../../../../contract/protocol/traceparent.ts';
import type { Db } from '../../../../platform/db/connection/handle.ts';
import { readOriginRow } from './origin-store.ts';

/** An action that may start agents. */
export interface Cause {
  /** The id of the actor; null if there is no particular one. */
  readonly by: string | null;
  /** The run that the action belongs to, if known. */
  readonly runId: string | null;
  /** The time of the action. */
  readonly at: string;
  /** The request's trace. Without one, an action of an agent belongs to the trace of its run. */
  readonly trace?: TraceContext | undefined;
}

export interface Origin {
  readonly byAgent: boolean;
  readonly byCustomer: boolean;
  /** The number of runs that led to the run that it starts. */
  readonly depth: number;
  /** The first run of the chain; null if the new run would be the first. */
  readonly rootId: string | null;
  readonly trace: TraceContext | undefined;
  /** Whether too many runs in a row, or with the same root, forbid another one. */
  readonly isExhausted: boolean;
}

/**
 * Returns the origin of an action. An action of an agent outside the reply of its run (a message
 * sent by a tool, for instance) names no run: the deepest of the runs that the agent had at that
 * time counts, so that chains of agents end.
 */
export async function readOrigin(db: Db, { by, runId, at, trace }: Cause): Promise<Origin> {
  if (by === null) return { ...UNKNOWN, trace };
  const row = await readOriginRow(db, { by, runId, at });
  if (row === undefined) return { ...UNKNOWN, trace };
  const { by_agent: byAgent, by_customer: byCustomer, root_id: rootId, started } = row;
  const depth = byAgent ? (row.depth ?? 0) + 1 : 0;
  const isExhausted = depth > RUN_LIMITS.depth || started >= RUN_LIMITS.chain;
  return {
    byAgent,
    byCustomer,
    depth,
    rootId,
    isExhausted,
    trace: trace ?? parseTraceparent(row.traceparent),
  };
}

const UNKNOWN = { byAgent: false, byCustomer: false, depth: 0, rootId: null, isExhausted: false } as const;
