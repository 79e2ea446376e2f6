import { createConversation } from '../../src/conversations/insert-conversation.ts';
import type { BenchDatabase } from './postgres.ts';
import type { Product } from './product.ts';

/** `count` of them with nobody in them: nobody is notified. For the demo account's API key, which reads them all. */
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
