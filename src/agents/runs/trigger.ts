import type { Transaction } from 'kysely';
import type { Principal } from '../../access/principal.ts';
import type { Schema } from '../../db/schema.ts';
import { within } from '../../db/statement.ts';
import { RUN_LIMITS } from '../../protocol/agent-run.ts';
import { ApiError } from '../../protocol/errors.ts';
import { newId } from '../../protocol/ids.ts';
import { lockAgent } from '../store.ts';
import { readOrigin } from '../triggers/origin.ts';
import { startRun } from './start.ts';
import type { RunRow } from './store.ts';

/** Throws ApiError `validation_failed` (param input) where it is too large to keep. */
export function checkInput(input: unknown): void {
  const bytes = Buffer.byteLength(JSON.stringify(input ?? null));
  if (bytes <= RUN_LIMITS.inputBytes) return;
  const message = `Must have at most ${RUN_LIMITS.inputBytes} bytes as JSON.`;
  throw new ApiError('validation_failed', message, { param: 'input' });
}

/**
 * Trigger Agent Run (design.md section 8): by hand, whatever starts the agent otherwise. Throws ApiError
 * `resource_not_found` (param id) or `resource_conflict` (an inactive agent, a chain of agents that is too long).
 */
export async function triggerRun(
  tx: Transaction<Schema>,
  principal: Principal,
  agentId: string,
  input: unknown,
): Promise<RunRow> {
  const agent = await lockAgent(tx, principal.accountId, agentId);
  if (agent.status !== 'active') {
    throw new ApiError('resource_conflict', 'The agent is inactive.', { param: 'id' });
  }
  const depth = await depthOf(tx, principal);
  if (depth > RUN_LIMITS.depth) {
    throw new ApiError('resource_conflict', `Runs start at most ${RUN_LIMITS.depth} others in a row.`);
  }
  const run = await startRun(tx, agent, {
    type: 'manual',
    key: newId('agentRun'),
    input,
    by: principal.actor.id,
    conversationId: null,
    messageId: null,
    depth,
  });
  return run!;
}

/** An agent asks from within a run. Which one is not known: the deepest counts, so that no chain is endless. */
async function depthOf(tx: Transaction<Schema>, { actor }: Principal): Promise<number> {
  if (actor.type !== 'agent') return 0;
  const { depth } = await readOrigin(within(tx), { by: actor.id, runId: null, at: 'infinity' });
  return depth;
}
