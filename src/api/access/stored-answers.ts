import { parseExact } from '@parley/protocol/json/exact-json.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { markedLike } from '../marked-json.ts';

export interface AnswerSearch {
  /** Ids of resources that no answer about another resource shows; an index finds them. */
  readonly about?: readonly string[];
  /** ISO 8601; answers of requests that had ended by then do not contain the ids. */
  readonly since?: string;
}

/**
 * Rewrites the account's stored answers that contain one of these ids, because a repeated answer
 * must not show what was removed from a resource. Encrypted answers show a secret and no content.
 */
export async function rewriteStoredAnswers(
  tx: Tx,
  accountId: string,
  ids: readonly string[],
  rewrite: (answer: unknown) => unknown,
  { about = [], since = '-infinity' }: AnswerSearch = {},
): Promise<void> {
  const found = [
    ...(await tx.query(LOCK_CONTAINING, accountId, ids, since)),
    ...(about.length === 0 ? [] : await tx.query(LOCK_ABOUT, about)),
  ];
  await rewriteAll(tx, found, rewrite);
}

/** Rewrites the stored answers that show one of these resources itself; an index finds them. */
export async function rewriteAnswersAbout(
  tx: Tx,
  ids: readonly string[],
  rewrite: (answer: unknown) => unknown,
): Promise<void> {
  await rewriteAll(tx, await tx.query(LOCK_ABOUT, ids), rewrite);
}

async function rewriteAll(
  tx: Tx,
  answers: readonly StoredAnswer[],
  rewrite: (answer: unknown) => unknown,
): Promise<void> {
  for (const { hash, response } of answers) {
    const rewritten = Buffer.from(markedLike(response, rewrite(parseExact(response.toString()))));
    if (!rewritten.equals(response)) await tx.query(REPLACE, hash, rewritten);
  }
}

interface StoredAnswer {
  readonly hash: Buffer;
  readonly response: Buffer;
}

// Answers are kept for a day, and this reads them all: a redaction is rare, and an index would cost
// each request. Rows from nodes of an earlier version have no account. A row is older than its
// answer by the time of the request, less than the 30 seconds of its claim.
const LOCK_CONTAINING = statement<[accountId: string, ids: readonly string[], since: string], StoredAnswer>(
  'lock-stored-answers-containing',
)`
    SELECT hash, response FROM idempotency_keys k
    WHERE (account_id = $1 OR account_id IS NULL) AND status IS NOT NULL AND NOT encrypted
      AND created_at >= $3::timestamptz - interval '1 minute'
      AND EXISTS (SELECT FROM unnest($2::text[]) AS id WHERE position(convert_to(id, 'UTF8') IN k.response) > 0)
    ORDER BY hash FOR UPDATE`;

const LOCK_ABOUT = statement<[about: readonly string[]], StoredAnswer>('lock-stored-answers-about')`
    SELECT hash, response FROM idempotency_keys
    WHERE about = ANY($1) AND response IS NOT NULL AND NOT encrypted ORDER BY hash FOR UPDATE`;

const REPLACE = statement<[hash: Buffer, response: Buffer]>('replace-stored-answer')`
    UPDATE idempotency_keys SET response = $2 WHERE hash = $1`;
