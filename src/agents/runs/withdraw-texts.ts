import { withdrawUploads } from '../../attachments/uploads.ts';
import { enqueueChanged } from '../../conversations/outbox-topics.ts';
import type { Tx } from '../../db/handle.ts';
import { clearBodies } from '../../notifications/store.ts';
import { endedKey } from './on-run-ended.ts';
import { enqueueRunUpdated } from './start.ts';
import { blankRuns, deleteHiddenArtifacts, type ReadingRun } from './withdraw-store.ts';

/**
 * Removes from these runs what repeats one of the texts, and everything from the runs that are `whole`: steps, calls, inputs,
 * outputs, the previews in the notifications of their ends, and files that no message shows. Returns the ids of the runs and
 * notifications that it changed.
 */
export async function withdrawRunTexts(
  tx: Tx,
  runs: readonly Pick<ReadingRun, 'id' | 'whole'>[],
  texts: readonly string[],
): Promise<{ readonly runIds: string[]; readonly notificationIds: string[] }> {
  const blanked = await blankRuns(tx, runs, texts);
  const runIds = blanked.map(({ id }) => id);
  await withdrawUploads(tx, await deleteHiddenArtifacts(tx, runIds));
  const cleared = await clearBodies(
    tx,
    blanked.flatMap(({ id, triggered_by, completed_at }) =>
      triggered_by === null || completed_at === null
        ? []
        : { key: endedKey(id), at: completed_at, recipient_id: triggered_by },
    ),
  );
  for (const run of blanked) await enqueueRunUpdated(tx, run);
  await enqueueChanged(
    tx,
    cleared.map(({ id, recipient_id: stream }) => ({ event: 'notification.updated', id, stream })),
  );
  return { runIds, notificationIds: cleared.map(({ id }) => id) };
}
