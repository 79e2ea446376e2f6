import { ApiError, invalid } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { RUN_LIMITS } from '@parley/protocol/resources/agent-run.ts';
import type { TraceContext } from '@parley/protocol/traceparent.ts';
import type { Principal } from '../../../../api/access/principal.ts';
import { holdAgent } from '../../../../core/resources/agent.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { jsonbBytes } from '../../../../platform/db/tables/touched.ts';
import { readOrigin } from '../state/origin.ts';
import { startRun } from '../state/start.ts';

/** Throws ApiError `validation_failed` (param input) if the input exceeds the size limit. */
export function checkInput(input: unknown): void {
  if (jsonbBytes(input) <= RUN_LIMITS.inputBytes) return;
  throw invalid(
    'input',
    `Must have at most ${RUN_LIMITS.inputBytes} bytes as JSON, with numbers written out.`,
  );
}

/**
 * Trigger Agent Run (docs/contract.md#triggers): starts a run by hand, whatever the agent's trigger
 * type is. Throws ApiError `resource_not_found` (param id) or `resource_conflict` (an inactive
 * agent, a chain of agents that is too long).
 */
export async function triggerRun(
  tx: Tx,
  { principal, trace }: { readonly principal: Principal; readonly trace: TraceContext | undefined },
  agentId: string,
  input: unknown,
): Promise<RunRow> {
  const agent = await holdAgent(tx, principal.accountId, agentId);
  if (agent.status !== 'active')
    throw new ApiError('resource_conflict', 'The agent is inactive. Activate it first.');
  // An agent calls from an unknown run: the deepest one counts, so that chains of agents end.
  const { actor } = principal;
  const origin = await readOrigin(tx, { by: actor.id, runId: null, at: 'infinity', trace });
  if (origin.isExhausted) {
    const { depth: inARow, chain } = RUN_LIMITS;
    throw new ApiError(
      'resource_conflict',
      `This chain of runs is at its limit: ${inARow} runs in a row, and about ${chain} in all.`,
    );
  }
  const run = await startRun(tx, agent, {
    type: 'manual',
    key: newId('agentRun'),
    input,
    by: actor.id,
    ...origin,
  });
  return run!;
}
