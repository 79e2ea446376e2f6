import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';

/** A page of a feed from which a person is erased. */
export interface ErasedFeed {
  readonly recipientId: string;
  readonly after: string;
  /** The person, whose notifications lose their previews. */
  readonly senderId: string;
  /** A regular expression of Postgres for the person's name in titles, or null if it is unknown. */
  readonly name: string | null;
  readonly replacement: string;
}

/**
 * Replaces a person's name in the titles of a page of a feed and clears the previews of its
 * messages, except in conversations under legal hold. Returns the last id of the page (undefined at
 * the end) and the changed ids.
 */
export async function eraseFromFeed(
  tx: Tx,
  { recipientId, after, senderId, name, replacement }: ErasedFeed,
): Promise<{ readonly last: string | null; readonly changed: string[] }> {
  const [row] = await tx.query(ERASE_FROM_FEED, recipientId, after, senderId, name, replacement);
  return { last: row!.last, changed: row!.changed ?? [] };
}

/** Deletes a recipient's notifications, except about held conversations. Returns how many. */
export async function deleteFeed(tx: Tx, recipientId: string, limit: number): Promise<number> {
  const [row] = await tx.query(DELETE_FEED, recipientId, limit);
  return row!.deleted;
}

const NOT_HELD = `NOT EXISTS (SELECT FROM conversations h WHERE h.id = n.resource_id AND h.legal_hold = 'held')`;

// No hold is set on these conversations until the transaction ends.
const NOT_HELD_NOW = `about AS MATERIALIZED (
      SELECT c.id, c.legal_hold FROM conversations c
      WHERE c.id IN (SELECT resource_id FROM due) ORDER BY c.id FOR SHARE
    )`;
const NOT_ABOUT_HELD = `NOT EXISTS (SELECT FROM about WHERE about.id = d.resource_id AND about.legal_hold = 'held')`;

const ERASE_FROM_FEED = statement<
  [recipientId: string, after: string, senderId: string, name: string | null, replacement: string],
  { last: string | null; changed: string[] | null }
>('erase-person-from-feed')`
    WITH page AS MATERIALIZED (
      SELECT id, resource_id, sender_id, title, body FROM notifications
      WHERE recipient_id = $1 AND id > $2 ORDER BY id LIMIT 500
    ), due AS MATERIALIZED (
      SELECT id, resource_id FROM page WHERE sender_id = $3 AND body IS NOT NULL OR title ~ $4
    ), ${NOT_HELD_NOW}, erased AS (
      UPDATE notifications n SET title = coalesce(regexp_replace(n.title, $4, $5), n.title),
        body = CASE WHEN n.sender_id = $3 THEN NULL ELSE n.body END, ${setTouched('later_than(n.updated_at)')}
      FROM due d WHERE n.recipient_id = $1 AND n.id = d.id AND ${NOT_ABOUT_HELD}
      RETURNING n.id
    )
    SELECT (SELECT max(id) FROM page) AS last, (SELECT array_agg(id::text) FROM erased) AS changed`;

const DELETE_FEED = statement<[recipientId: string, limit: number], { deleted: number }>('delete-feed')`
    WITH due AS MATERIALIZED (
      SELECT n.id, n.resource_id FROM notifications n WHERE n.recipient_id = $1 AND ${NOT_HELD}
      LIMIT $2
    ), ${NOT_HELD_NOW}, deleted AS (
      DELETE FROM notifications n USING due d
      WHERE n.recipient_id = $1 AND n.id = d.id AND ${NOT_ABOUT_HELD}
      RETURNING 1
    )
    SELECT count(*) AS deleted FROM deleted`;
