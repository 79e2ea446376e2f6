import type { PgbenchOptions } from './pgbench.ts';
import type { BenchDatabase } from './postgres.ts';

/** That sends and inserts are spread over. */
export const CONVERSATIONS = 50;
export const BODY =
  'The build for the release candidate is green again; I will tag it after lunch unless you object.';

export const PGBENCH = { clients: 16, threads: 2, seed: 7 };

/** pgbench's part of a comparison with sends; number `block` of its database, from 1. */
export function insertScript({ url }: BenchDatabase, block: number, durationMs: number): PgbenchOptions {
  return { url, durationMs, script: PGBENCH_SCRIPT, variables: { n: block * NUMBERS_A_BLOCK }, ...PGBENCH };
}

/**
 * The same row into the same table under the same keys and indexes, one a transaction: ids, numbers and client
 * ids grow as ours do, over as many conversations.
 */
const PGBENCH_SCRIPT = `
\\set n :n + 1
\\set sequence :n * ${PGBENCH.clients} + :client_id + 1
\\set conversation random(10, ${9 + CONVERSATIONS})
INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, channel, body,
  sender_id, author_id, client_message_id, has_attachments, created_at, updated_at)
VALUES ('msg_' || lpad(:sequence::text, 24, '0'), 'acc_pgbench00000000000000000',
  'cnv_pgbench000000000000000' || :conversation::text, :sequence, 'chat', 'sent', 'internal', 'message',
  '${BODY}', 'act_pgbench00000000000000000', 'act_pgbench00000000000000000',
  'run-' || lpad(:sequence::text, 12, '0'), false, now(), now());
`;

/** More numbers than a client uses in a block: the next block starts after them. */
const NUMBERS_A_BLOCK = 1_000_000;
