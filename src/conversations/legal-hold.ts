import type { Tx } from '../db/handle.ts';

/**
 * Whether the conversation is under legal hold, which stays so until the transaction ends: what deletes,
 * edits or purges its messages asks here first (docs/contract.md#legal-hold). Throws where there is no such
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
