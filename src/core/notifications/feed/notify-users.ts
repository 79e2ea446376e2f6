import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { enqueueChanged } from '../../events/changes.ts';
import type { EntityRef } from '../../resources/entity.ts';
import { NOTIFIED_IN_TIME_MS, type NotificationRow } from '../../resources/notification.ts';

/**
 * A notification that is not made from a message (core/messages/timeline/planned-notifications.ts),
 * before Postgres makes its ids and times.
 */
export interface NewNotification
  extends Pick<NotificationRow, 'account_id' | 'category' | 'title' | 'body' | 'sender_id'>,
    // Default: normal and unseen, without a message or a run.
    Partial<Pick<NotificationRow, 'priority' | 'message_id' | 'agent_run_id'>> {
  /** Listed for its recipients, and neither counted nor announced. */
  readonly status?: 'read';
  readonly sender_type: 'user' | 'group' | 'system';
  /** The subject, or null if that has no id. A conversation is an entity. */
  readonly resource: EntityRef | null;
  /** The same cause makes the same notification again. */
  readonly cause: {
    /** Identifies the cause for a recipient: the message's id if it is about one. */
    readonly key: string;
    /** When it became true: a time that Postgres has stored with the cause. */
    readonly at: string;
  };
}

export type NotificationKey = Pick<NotificationRow, 'id' | 'recipient_id'>;

// A late row carries its transaction, because readers that resume may have passed its id already
// (DECISIONS.md#new-notifications-are-found-by-their-ids). Rows are in the order of the
// primary key. The conditions on actors stand outside, since otherwise the planner scans the index
// of the directory, which has them too.
const INSERT = statement<[notification: string, recipientIds: readonly string[]], NotificationKey>(
  'insert-notifications',
)`
    INSERT INTO notifications (id, account_id, recipient_id, category, title, body, priority, sender_id, sender_type,
      resource_type, resource_id, message_id, agent_run_id, subject, status, seen_at, read_at, created_at, updated_at,
      changed_in)
    SELECT notification_id(n.at, n.key, a.id), n.account_id, a.id, n.category, n.title, n.body, n.priority, n.sender_id,
      n.sender_type, n.resource_type, n.resource_id, n.message_id, n.agent_run_id, n.subject, n.status, n.read_at, n.read_at,
      n.at, n.at,
      CASE WHEN n.at < statement_timestamp() - interval '${NOTIFIED_IN_TIME_MS} ms' THEN pg_current_xact_id() END
    FROM json_to_record($1::json) AS n(account_id text, category text, title text, body text, priority text,
        sender_id text, sender_type text, resource_type text, resource_id text, message_id text, agent_run_id text,
        subject text, status text, read_at timestamptz, key text, at timestamptz),
      unnest($2::text[]) AS r(id), LATERAL (SELECT * FROM actors WHERE id = r.id OFFSET 0) AS a
    WHERE a.account_id = n.account_id AND a.type = 'user' AND NOT a.customer AND a.deactivated_at IS NULL
    ORDER BY a.id
    ON CONFLICT DO NOTHING
    RETURNING id, recipient_id`;

/** Publishes the event after the commit, to every socket of the recipients. */
export function enqueueNotified(
  tx: Tx,
  event: 'notification.created' | 'notification.updated',
  keys: readonly NotificationKey[],
): Promise<void> {
  const changes = keys.map(({ id, recipient_id: stream }) => ({ event, id, stream }));
  return enqueueChanged(tx, changes);
}

/**
 * Notifies users of one cause, except a message in the timeline, which is notified with its insert
 * (core/messages/timeline/planned-notifications.ts). Recipients that are not active users of the
 * account are left out. Each is notified once per cause, however often this is called.
 * `notification.created` follows the commit. Returns the keys of the new notifications.
 */
export async function notifyUsers(
  tx: Tx,
  recipientIds: readonly string[],
  notification: NewNotification,
): Promise<NotificationKey[]> {
  const { resource, cause, priority = 'normal', status = 'unseen', ...columns } = notification;
  const read_at = status === 'read' ? cause.at : null;
  const [resource_type, resource_id] = [resource?.type ?? null, resource?.id ?? null];
  const subject = columns.message_id ?? columns.agent_run_id ?? resource_id;
  const row = JSON.stringify({
    ...columns,
    priority,
    status,
    read_at,
    resource_type,
    resource_id,
    subject,
    ...cause,
  });
  const made: NotificationKey[] = [];
  // The order is fixed, so that two transactions with the same recipients cannot deadlock.
  const recipients = [...new Set(recipientIds)].sort();
  for (let start = 0; start < recipients.length; start += RECIPIENTS_AT_ONCE) {
    const some = recipients.slice(start, start + RECIPIENTS_AT_ONCE);
    const rows = await tx.query(INSERT, row, some);
    await enqueueNotified(tx, 'notification.created', rows);
    made.push(...rows);
  }
  return made;
}

const RECIPIENTS_AT_ONCE = 500;
