import { notifyAble, withdrawWork } from '../../../../core/notifications/causes/waiting-work.ts';
import { beginning } from '../../../../core/resources/notification.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { statement } from '../../../../platform/db/connection/statement.ts';
import type { ToolCatalogue } from '../../tools/catalogue.ts';
import type { RunOfTopic } from '../state/outbox-topics.ts';

const CATEGORY = 'approval.requested';

/**
 * Notifies the users that can approve the run's waiting calls (`approval.requested`), or withdraws
 * the notifications. Handles RUN_APPROVAL in any order and repeatedly: the run's state decides.
 */
export async function followApproval(
  tx: Tx,
  { endpoints }: Pick<ToolCatalogue, 'endpoints'>,
  { run_id: runId }: RunOfTopic,
): Promise<void> {
  // Locked, so that the handler of a decision runs after this one, or this one sees the decision.
  const [run] = await tx.query(LOCK_RUN, runId);
  if (run === undefined) return;
  const [step] = run.status === 'awaiting_approval' ? await tx.query(READ_WAITING, runId) : [];
  if (step === undefined) {
    await withdrawWork(tx, runId, CATEGORY);
    return;
  }
  const agent = run.name ?? 'An agent';
  const permissions = step.tools.map((tool) => endpoints.get(tool)?.permission ?? null);
  await notifyAble(tx, {
    notification: {
      account_id: run.account_id,
      category: CATEGORY,
      priority: 'high',
      title: `${agent} asks for approval${run.title === null ? '' : ` in ${run.title}`}`,
      body: beginning(step.tools.join(', ')),
      sender_id: run.actor_id,
      sender_type: 'system',
      resource: run.conversation_id === null ? null : { type: 'entity', id: run.conversation_id },
      message_id: null,
      agent_run_id: runId,
      cause: { key: `approval ${step.step_id}`, at: step.at },
    },
    titleOutside: `${agent} asks for approval`,
    conversationId: run.conversation_id,
    permissions: [...new Set(['agents:run', ...permissions.filter((one) => one !== null)])],
    by: run.actor_id,
    beganFor: run.triggered_by,
  });
}

type WaitingRun = Pick<RunRow, 'account_id' | 'actor_id' | 'status' | 'triggered_by' | 'conversation_id'> & {
  readonly name: string | null;
  readonly title: string | null;
};

const LOCK_RUN = statement<[runId: string], WaitingRun>('lock-run-to-notify')`
    SELECT r.account_id, r.actor_id, a.name, r.status, r.triggered_by, r.conversation_id, c.title
    FROM agent_runs r JOIN actors a ON a.id = r.actor_id LEFT JOIN conversations c ON c.id = r.conversation_id
    WHERE r.id = $1 FOR SHARE OF r`;

// The turn whose calls wait. Its time stays when some of its calls are decided.
const READ_WAITING = statement<[runId: string], { step_id: string; at: string; tools: readonly string[] }>(
  'read-waiting-step',
)`
    SELECT w.step_id, (SELECT min(o.created_at) FROM agent_run_actions o WHERE o.step_id = w.step_id) AS at,
      array_agg(w.tool ORDER BY w.position) AS tools
    FROM agent_run_actions w WHERE w.run_id = $1 AND w.status = 'pending_review'
    GROUP BY w.step_id ORDER BY w.step_id DESC LIMIT 1`;
