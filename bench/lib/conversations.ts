import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import type { BenchDatabase } from './postgres.ts';
import type { Product } from './product.ts';

/**
 * Inserts `count` conversations without participants, so that no notifications are made, for the
 * demo account's API key, which reads all conversations.
 */
export function seedConversations(
  { demo }: Product,
  { database }: BenchDatabase,
  count: number,
): Promise<readonly string[]> {
  return database.transaction(async (tx) => {
    const ids: string[] = [];
    for (let n = 0; n < count; n++) {
      const input = { accountId: demo.account_id, type: 'group', participants: [] } as const;
      ids.push((await createConversation(tx, input)).conversation.id);
    }
    return ids;
  });
}
