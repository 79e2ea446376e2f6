/** Outbox topics of runs (platform/db/queue/topic.ts), handled after their commit. */

import { defineTopic } from '../../../../platform/db/queue/topic.ts';

/** A run waits to be claimed (runner.ts). */
export const RUN_DUE = defineTopic<RunDue>('agent_runs.due');

export interface RunOfTopic {
  readonly run_id: string;
}

export interface RunDue extends RunOfTopic {
  readonly account_id: string;
}

/** A run has ended: notifications and triggers follow (on-run-ended.ts, triggers/triggers.ts). */
export const RUN_ENDED = defineTopic<RunOfTopic>('agent_runs.ended');

/** A run waits for approval, or no longer does (approval-notifications.ts). */
export const RUN_APPROVAL = defineTopic<RunOfTopic>('agent_runs.approval');
