import { withdrawUploads } from '../../../../core/attachments/uploads.ts';
import { enqueueUpdated } from '../../../../core/notifications/feed/mark.ts';
import { clearBodies } from '../../../../core/notifications/feed/store.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { endedKey } from '../effects/on-run-ended.ts';
import { enqueueRunUpdated } from '../state/start.ts';
import type { RunEnding } from './purge-store.ts';
import { type BlankableRun, blankRuns, deleteHiddenArtifacts } from './withdraw-store.ts';

/**
 * Removes repetitions of the texts from these runs, and everything from `whole` runs: steps, calls,
 * inputs, outputs, previews in the notifications of their ends, and files that no message shows.
 * Returns the ids of the changed runs and notifications.
 */
export async function withdrawRunTexts(
  tx: Tx,
  runs: readonly BlankableRun[],
  texts: readonly string[],
): Promise<{ readonly runIds: string[]; readonly notificationIds: string[] }> {
  const blanked = await blankRuns(tx, runs, texts);
  const runIds = blanked.map(({ id }) => id);
  await withdrawUploads(tx, await deleteHiddenArtifacts(tx, runIds));
  for (const run of blanked) await enqueueRunUpdated(tx, run);
  return { runIds, notificationIds: await clearEndings(tx, blanked) };
}

/** Clears the previews in the notifications of these runs' ends; returns the notifications' ids. */
export async function clearEndings(tx: Tx, runs: readonly RunEnding[]): Promise<string[]> {
  const cleared = await clearBodies(
    tx,
    runs.flatMap(({ id, triggered_by, completed_at }) =>
      triggered_by === null || completed_at === null
        ? []
        : { key: endedKey(id), at: completed_at, recipient_id: triggered_by },
    ),
  );
  await enqueueUpdated(tx, cleared);
  return cleared.map(({ id }) => id);
}
