import type { Transaction } from 'kysely';
import { enqueue } from '../db/outbox.ts';
import type { Schema } from '../db/schema.ts';

/** Topic of the outbox; its payload is `{ subjects: string[] }`. */
export const RIGHTS_CHANGED = 'rights.changed';

/**
 * Has every node forget what it knows of these rights: ids of keys, actors, roles or accounts. In the
 * transaction of the change, so that it is told even where no node made it (the admin command).
 */
export async function enqueueRightsChanged(
  tx: Transaction<Schema>,
  subjects: readonly string[],
): Promise<void> {
  await enqueue(tx, RIGHTS_CHANGED, { subjects });
}
