import type { Transaction } from 'kysely';
import { readEntities, refKey } from '../accounts/entities.ts';
import type { Schema } from '../db/schema.ts';
import { within } from '../db/statement.ts';
import { ApiError } from '../protocol/errors.ts';

/** Throws `resource_not_found` (param topic.id) where the account has no such resource. */
export async function requireTopic(
  tx: Transaction<Schema>,
  accountId: string,
  topic: { readonly type: 'account' | 'actor' | 'entity'; readonly id: string },
): Promise<void> {
  const found = await readEntities(within(tx), accountId, [topic]);
  if (found.has(refKey(topic))) return;
  throw new ApiError('resource_not_found', 'There is no such resource.', { param: 'topic.id' });
}
