import { derivedId } from '@parley/protocol/ids.ts';
import type { RunStatus } from '@parley/protocol/resources/run-status.ts';
import { systemConversation } from '../../../../core/conversations/lifecycle/system-conversation.ts';
import type { Core, NodeParts } from '../../../../core/features/feature.ts';
import { TEXT_ALONE } from '../../../../core/messages/rows/new-message.ts';
import { type NewNotification, notifyUsers } from '../../../../core/notifications/feed/notify-users.ts';
import { readActors } from '../../../../core/resources/actor.ts';
import { readMessage } from '../../../../core/resources/message.ts';
import { beginning, preview } from '../../../../core/resources/notification.ts';
import type { EndedRun } from '../state/store.ts';

type EndedOptions = Pick<NodeParts, 'database'> & Pick<Core, 'writePath'>;

/**
 * Handles RUN_ENDED: notifies the user who triggered the run (`agent.run_completed`) and raises an
 * alert in the account for a failure (docs/contract.md#system-messages). May be called again for
 * the same run; each notification and alert is inserted once. Rejects if something is left to do.
 */
export async function onRunEnded(options: EndedOptions, run: EndedRun): Promise<void> {
  if (run.notified_id !== null) await notify(options, run, run.notified_id);
  if (run.status === 'failed') await raiseAlert(options, run);
}

async function notify({ database }: EndedOptions, run: EndedRun, recipientId: string): Promise<void> {
  const notification: NewNotification = {
    account_id: run.account_id,
    category: 'agent.run_completed',
    title: `${run.name ?? 'An agent'} ${ENDINGS[run.status] ?? run.status}`,
    body: run.status === 'failed' ? beginning(run.error_message ?? '') || null : preview({ body: run.text }),
    sender_id: run.actor_id,
    sender_type: 'system',
    resource: run.conversation_id === null ? null : { type: 'entity', id: run.conversation_id },
    message_id: null,
    agent_run_id: run.id,
    cause: { key: endedKey(run.id), at: run.completed_at },
  };
  await database.transaction((tx) => notifyUsers(tx, [recipientId], notification));
}

/** Returns the cause of the notification of a run's end. */
export function endedKey(runId: string): string {
  return `run ended ${runId}`;
}

const ENDINGS: Readonly<Partial<Record<RunStatus, string>>> = {
  completed: 'has finished',
  failed: 'could not finish',
  cancelled: 'was cancelled',
};

/**
 * Raises one alert for each agent and minute of the clock, with the first failure in it: an agent
 * that fails at every message is one problem, not hundreds.
 */
async function raiseAlert({ database, writePath }: EndedOptions, run: EndedRun): Promise<void> {
  const minute = run.completed_at.slice(0, 'YYYY-MM-DDTHH:MM'.length);
  const id = derivedId('message', `alert ${run.agent_id} ${minute}`);
  if ((await readMessage(database, id)) !== undefined) return;
  const { id: conversation_id } = await database.transaction((tx) => systemConversation(tx, run.account_id));
  await writePath.append({
    message: {
      id,
      account_id: run.account_id,
      conversation_id,
      kind: 'alert',
      visibility: 'internal',
      ...TEXT_ALONE,
      body: `${run.name ?? 'An agent'} could not finish: ${run.error_message ?? 'it failed.'}`,
      sender_id: run.actor_id,
      author_id: run.actor_id,
      agent_run_id: run.id,
    },
    sender: (await readActors(database, [run.actor_id])).get(run.actor_id) ?? null,
    audience: 'internal',
  });
}
