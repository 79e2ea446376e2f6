import { notFound, repeated } from '@parley/protocol/errors/errors.ts';
import type { Permission } from '@parley/protocol/permissions.ts';
import type { ContinueRunBody } from '@parley/protocol/resources/agent-run.ts';
import { ACTION_MOVES, RUN_MOVES } from '@parley/protocol/states/agent-run-states.ts';
import { claim } from '@parley/protocol/states/claim.ts';
import { requirePermission } from '../../../../api/access/authorize.ts';
import type { Principal } from '../../../../api/access/principal.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { decideAction, readWaitingActions } from '../state/action-store.ts';
import { continueIfDecided } from '../state/approvals.ts';
import { lockChangeableRun, type RunRoutesOptions, requirePlaceOf } from './access.ts';

type Decision = ContinueRunBody['decisions'][number];

/**
 * Continue Agent Run (docs/contract.md#tools): decides waiting calls, all or none, each once and
 * for the arguments that it shows. The run continues when no call waits any more. A person cannot
 * approve a call that their role or the conversation does not allow them. Throws ApiError
 * `resource_not_found` (param id or `decisions[i].action_id`), `resource_conflict` (the run or a
 * call waits for no decision) or `insufficient_permissions`.
 */
export async function continueRun(
  tx: Tx,
  { directory, catalogue }: Pick<RunRoutesOptions, 'directory' | 'catalogue'>,
  principal: Principal,
  id: string,
  { decisions }: ContinueRunBody,
): Promise<RunRow> {
  const run = await lockChangeableRun(tx, { directory }, principal, id);
  claim(RUN_MOVES, 'continue', run);
  const actions = new Map((await readWaitingActions(tx, run.id)).map((action) => [action.id, action]));
  for (const [index, decision] of decisions.entries()) {
    const param = `decisions[${index}].action_id`;
    const action = actions.get(decision.action_id);
    if (action === undefined) throw notFound('call', param);
    // Past its deadline it is expired, even before `expireApprovals`.
    const { status, is_overdue: isOverdue } = action;
    claim(ACTION_MOVES, moveOf(decision), { status, isOverdue }, { param });
    const endpoint = catalogue.endpoints.get(action.tool);
    if (!decision.approve || endpoint === undefined) continue;
    if (endpoint.permission !== null) requirePermission(principal, endpoint.permission as Permission);
    await requirePlaceOf(tx, { directory }, principal, endpoint, action.arguments);
  }
  for (const decision of decisions) {
    await decideAction(tx, decision.action_id, {
      status: ACTION_MOVES[moveOf(decision)].to,
      reviewed_by: principal.actor.id,
      reason: decision.reason ?? null,
    });
  }
  return continueIfDecided(tx, run);
}

/** Throws ApiError `validation_failed` (param `decisions[i].action_id`) for a duplicate call. */
export function checkDecisions({ decisions }: ContinueRunBody): void {
  for (const [index, { action_id }] of decisions.entries()) {
    const first = decisions.findIndex((other) => other.action_id === action_id);
    if (first < index) throw repeated(`decisions[${index}].action_id`);
  }
}

function moveOf({ approve }: Decision): 'approve' | 'reject' {
  return approve ? 'approve' : 'reject';
}
