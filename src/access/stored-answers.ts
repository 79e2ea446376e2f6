import type { Tx } from '../db/handle.ts';
import { statement } from '../db/statement.ts';

/**
 * Rewrites the answers that are stored for Idempotency-Keys of the account and contain one of these ids: what is removed
 * from a resource must not be in a repeated answer either. Encrypted answers show a secret and no content.
 */
export async function rewriteStoredAnswers(
  tx: Tx,
  accountId: string,
  ids: readonly string[],
  rewrite: (answer: unknown) => unknown,
): Promise<void> {
  for (const { hash, response } of await tx.query(LOCK_CONTAINING, accountId, ids)) {
    const rewritten = Buffer.from(JSON.stringify(rewrite(JSON.parse(response.toString()))));
    if (!rewritten.equals(response)) await tx.query(REPLACE, hash, rewritten);
  }
}

// Answers are kept for a day, and are read in full by this: a redaction is rare, and an index would cost each request.
// Rows of nodes of an earlier version have no account.
const LOCK_CONTAINING = statement<
  [accountId: string, ids: readonly string[]],
  { hash: Buffer; response: Buffer }
>({
  name: 'lock-stored-answers-containing',
  text: `
    SELECT hash, response FROM idempotency_keys k
    WHERE (account_id = $1 OR account_id IS NULL) AND status IS NOT NULL AND NOT encrypted
      AND EXISTS (SELECT FROM unnest($2::text[]) AS id WHERE position(convert_to(id, 'UTF8') IN k.response) > 0)
    ORDER BY hash FOR UPDATE`,
});

const REPLACE = statement<[hash: Buffer, response: Buffer]>({
  name: 'replace-stored-answer',
  text: 'UPDATE idempotency_keys SET response = $2 WHERE hash = $1',
});
