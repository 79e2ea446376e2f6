import type { Tx } from '../../platform/db/connection/handle.ts';
import { enqueue } from '../../platform/db/queue/outbox.ts';
import { defineTopic } from '../../platform/db/queue/topic.ts';

/** Every node drops what it has cached of these rights (platform/access/rights.ts). */
export const RIGHTS_CHANGED = defineTopic<RightsChanged>('rights.changed');

export interface RightsChanged {
  /** Ids of keys, actors, roles or accounts. */
  readonly subjects: readonly string[];
}

/**
 * Part of the transaction of the change, so that nodes receive it even if none of them made it (the
 * admin command).
 */
export async function enqueueRightsChanged(tx: Tx, subjects: readonly string[]): Promise<void> {
  await enqueue(tx, RIGHTS_CHANGED, { subjects });
}
