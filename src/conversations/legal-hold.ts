import type { Tx } from '../db/handle.ts';

/**
 * Returns whether the conversation is under legal hold, and locks that state until the transaction ends. Code that
 * deletes, edits or purges its messages calls this first (docs/contract.md#legal-hold). Throws if there is no such
 * conversation.
 */
export async function lockAgainstHold(tx: Tx, conversationId: string): Promise<boolean> {
  const { legal_hold } = await tx.kysely
    .selectFrom('conversations')
    .select('legal_hold')
    .where('id', '=', conversationId)
    .forShare()
    .executeTakeFirstOrThrow();
  return legal_hold === 'held';
}
