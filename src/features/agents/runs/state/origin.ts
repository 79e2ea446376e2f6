import { RUN_LIMITS } from '@parley/protocol/resources/agent-run.ts';
import { parseTraceparent, type TraceContext } from '@parley/protocol/traceparent.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Db } from '../../../../platform/db/connection/handle.ts';
import { statement } from '../../../../platform/db/connection/statement.ts';

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

interface Origin {
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
 * sent by a tool, for instance) names no run. The deepest of the runs that the agent had at that
 * time then counts, so that chains of agents end.
 */
export async function readOrigin(db: Db, { by, runId, at, trace }: Cause): Promise<Origin> {
  const [row] = by === null ? [] : await db.query(READ_ORIGIN, by, runId, at);
  if (row === undefined) return { ...UNKNOWN, trace };
  const { traceparent, started, ...origin } = row;
  const depth = origin.byAgent ? (origin.depth ?? 0) + 1 : 0;
  const isExhausted = depth > RUN_LIMITS.depth || started >= RUN_LIMITS.chain;
  return { ...origin, depth, isExhausted, trace: trace ?? parseTraceparent(traceparent) };
}

/**
 * Returns whether a mail started the run or the first run of its chain: a chat about a message that
 * came by mail, or an event about a case with an inbox. Its model then reads strangers' words, so
 * calls that reach outside the account need review (docs/contract.md#tools).
 */
export async function isStartedByMail(
  db: Db,
  { id, root_id }: Pick<RunRow, 'id' | 'root_id'>,
): Promise<boolean> {
  return (await db.query(FIND_MAILED, [id, ...(root_id === null ? [] : [root_id])])).length > 0;
}

const UNKNOWN = { byAgent: false, byCustomer: false, depth: 0, rootId: null, isExhausted: false } as const;

interface OriginRow extends Pick<Origin, 'byAgent' | 'byCustomer' | 'rootId'> {
  readonly depth: number | null;
  readonly traceparent: string | null;
  /** The number of runs with the same root, counted up to the limit. */
  readonly started: number;
}

const READ_ORIGIN = statement<[by: string, runId: string | null, at: string], OriginRow>(
  'read-trigger-origin',
)`
    SELECT a.type = 'agent' AS "byAgent", a.customer AS "byCustomer", r.depth, r.root_id AS "rootId", r.traceparent, (
      SELECT count(*) FROM (
        SELECT FROM agent_runs s WHERE s.root_id = r.root_id LIMIT ${RUN_LIMITS.chain}
      ) AS started
    ) AS started
    FROM actors a LEFT JOIN LATERAL (
      SELECT coalesce(c.root_id, c.id) AS root_id, c.depth, c.traceparent FROM (
        SELECT r.id, r.root_id, r.depth, r.traceparent, 1 AS choice FROM agent_runs r WHERE r.id = $2
        UNION ALL
        SELECT r.id, r.root_id, r.depth, r.traceparent, 2 FROM agent_runs r
          WHERE r.actor_id = $1 AND r.completed_at IS NULL AND r.created_at <= $3::timestamptz
        UNION ALL
        SELECT r.id, r.root_id, r.depth, r.traceparent, 2 FROM agent_runs r
          WHERE r.actor_id = $1 AND r.completed_at >= $3::timestamptz AND r.created_at <= $3::timestamptz
      ) c ORDER BY c.choice, c.depth DESC LIMIT 1
    ) r ON a.type = 'agent'
    WHERE a.id = $1`;

const FIND_MAILED = statement<[runIds: readonly string[]]>('find-run-started-by-mail')`
    SELECT FROM agent_runs r
      LEFT JOIN messages m ON m.id = r.trigger_message_id
      LEFT JOIN conversations c ON r.trigger_type = 'event' AND c.id = r.input->>'conversation_id'
    WHERE r.id = ANY($1) AND (m.kind = 'email' OR c.inbox_id IS NOT NULL)`;
