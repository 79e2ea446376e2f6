import type { Db } from '../db/handle.ts';
import { statement } from '../db/statement.ts';
import type { NotificationSummary } from '../protocol/resources/notification.ts';

/** Counted on request and never stored, so it cannot differ from the feed. */
export async function readSummary(db: Db, recipientId: string): Promise<NotificationSummary> {
  const [counts] = await db.query(COUNT, recipientId);
  return { object: 'notification_summary', ...counts! };
}

type Counts = Pick<NotificationSummary, 'unseen' | 'unread' | 'total'>;

// An index-only scan of the feed's index, which contains the status.
const COUNT = statement<[recipientId: string], Counts>({
  name: 'count-feed',
  text: `
    SELECT count(*) FILTER (WHERE status = 'unseen') AS unseen,
      count(*) FILTER (WHERE status IN ('unseen', 'seen')) AS unread,
      count(*) AS total
    FROM notifications WHERE recipient_id = $1 AND status <> 'dismissed'`,
});
