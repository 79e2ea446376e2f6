import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { lockThread } from '../mails/thread-store.ts';

/** Mails that machines may write in a case, in both directions, before a person writes one. */
export const LOOP_LIMIT = { mails: 10, minutes: 60 } as const;

/**
 * Returns whether a machine may send another mail in the case: the last defense against two
 * machines that answer each other (docs/contract.md#mail-of-machines). Only a mail of the team
 * resets the count. An incoming mail does not, because a server may have removed the header that
 * identifies a machine. Locks the thread of the case, so that concurrent mails are counted.
 */
export async function mayAnswer(tx: Tx, conversationId: string): Promise<boolean> {
  await lockThread(tx, conversationId);
  const [counted] = await tx.query(COUNT_AUTOMATIC, conversationId);
  return counted!.mails < LOOP_LIMIT.mails;
}

const COUNT_AUTOMATIC = statement<[conversationId: string], { mails: number }>('count-automatic-mails')`
    SELECT count(*)::integer AS mails FROM mails
    WHERE conversation_id = $1 AND automatic AND reason IS DISTINCT FROM 'loop_limit'
      AND created_at > greatest(
        clock_timestamp() - interval '${LOOP_LIMIT.minutes} minutes',
        (SELECT max(p.created_at) FROM mails p
          WHERE p.conversation_id = $1 AND p.direction = 'out' AND NOT p.automatic))`;
