import type { Database } from '../../platform/db/connection/database.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { readCheckpoints, readHead, readLinks } from './chain-store.ts';

/**
 * Passes the chain of an account to `write`, one JSON object for each line of the file that
 * `verifyExport` reads: what it is, the checkpoints and links in the order of the chain, the head.
 * Rows that are not sealed yet are not in it.
 */
export function exportAudit(
  database: Database,
  accountId: string,
  write: (line: object) => Promise<void>,
): Promise<void> {
  return database.transaction(async (tx) => {
    // One snapshot: rows that are purged meanwhile are either links or in a checkpoint.
    await tx.query(READ_AS_OF_NOW);
    const { head, now } = await readHead(tx, accountId);
    await write({ object: 'audit_export', account_id: accountId, exported_at: now });
    const checkpoints = [...(await readCheckpoints(tx, accountId))];
    for (let number = 0; ; ) {
      const links = await readLinks(tx, accountId, number, PAGE);
      for (const link of links) {
        while (checkpoints[0] !== undefined && checkpoints[0].last < link.number) {
          await write(checkpoints.shift()!);
        }
        await write(link);
        number = link.number;
      }
      if (links.length < PAGE) break;
    }
    for (const checkpoint of checkpoints) await write(checkpoint);
    if (head !== null) await write(head);
  });
}

const PAGE = 1_000;

const READ_AS_OF_NOW = statement({
  name: 'audit-read-as-of-now',
  text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
});
