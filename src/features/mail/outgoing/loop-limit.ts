import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';

/** Automatic mails between an inbox and an address, in both directions, before a person writes. */
export const LOOP_LIMIT = { mails: 10, minutes: 60 } as const;

/**
 * Returns whether a machine may send another mail from the inbox to these addresses, in lower case:
 * the last defense against two machines that answer each other, in one case or in many
 * (docs/contract.md#mail-of-machines). Only a mail of the team resets the count. An incoming mail
 * does not, because a server may have removed the header that identifies a machine. Locks each pair
 * of inbox and address, so that concurrent mails are counted.
 */
export async function mayAnswer(
  tx: Tx,
  inbox: { readonly account_id: string; readonly inbox_id: string },
  addresses: readonly string[],
): Promise<boolean> {
  const { account_id, inbox_id } = inbox;
  await tx.query(LOCK_PAIRS, inbox_id, addresses);
  const [counted] = await tx.query(COUNT_AUTOMATIC, account_id, inbox_id, addresses);
  return (counted?.mails ?? 0) < LOOP_LIMIT.mails;
}

/** Returns how many mails of machines were not sent within a day because of the limit. */
export async function countLoops(db: Db): Promise<number> {
  const [counted] = await db.query(COUNT_LOOPS);
  return counted!.mails;
}

// In one order, so that two mails to the same addresses cannot deadlock.
const LOCK_PAIRS = statement<[inboxId: string, addresses: readonly string[]]>('lock-pairs-of-mail')`
    SELECT count(pg_advisory_xact_lock(hashtextextended($1 || ' ' || address, 0)))
    FROM (SELECT DISTINCT address FROM unnest($2::text[]) AS address ORDER BY address) pairs`;

const COUNT_AUTOMATIC = statement<
  [accountId: string, inboxId: string, addresses: readonly string[]],
  { mails: number }
>('count-automatic-mails')`
    WITH recent AS MATERIALIZED (
      SELECT m.created_at, m.direction, m.automatic,
        CASE m.direction WHEN 'in' THEN ARRAY[lower(m.from_address), lower(m.reply_to)]
          ELSE ARRAY(SELECT lower(r ->> 'address') FROM jsonb_array_elements(m.recipients) AS r) END AS addresses
      FROM mails m
      WHERE m.account_id = $1 AND m.inbox_id = $2 AND m.reason IS DISTINCT FROM 'loop_limit'
        AND m.created_at > clock_timestamp() - interval '${LOOP_LIMIT.minutes} minutes'
        AND (m.automatic OR m.direction = 'out')
    )
    SELECT count(*)::integer AS mails FROM unnest($3::text[]) AS a(address) JOIN recent m ON a.address = ANY(m.addresses)
    WHERE m.automatic AND NOT EXISTS (
      SELECT FROM recent p WHERE p.direction = 'out' AND NOT p.automatic AND p.created_at >= m.created_at
        AND a.address = ANY(p.addresses))
    GROUP BY a.address ORDER BY mails DESC LIMIT 1`;

const COUNT_LOOPS = statement<[], { mails: number }>('count-loops-of-mail')`
    SELECT count(*)::integer AS mails FROM mails
    WHERE automatic AND status = 'failed' AND reason = 'loop_limit' AND created_at > clock_timestamp() - interval '1 day'`;
