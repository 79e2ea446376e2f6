import { PREVIEW_CHARACTERS } from '@parley/protocol/resources/notification.ts';
import type { Querier } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { MessageRow } from '../../resources/message.ts';
import { NOTIFIED_IN_TIME_MS, type NotificationRow, notificationsOf } from '../../resources/notification.ts';
import { asNotifications, type NotificationPlan, planRows, sizeOf } from './planned-notifications.ts';

/** A message in the timeline, and its due notifications. */
export interface DueNotifications {
  readonly row: MessageRow;
  readonly plan: NotificationPlan;
}

/** The notifications written for a message, with its moment and the start of its present text. */
interface WrittenRow {
  readonly message_id: string;
  readonly notified_at: string;
  readonly preview: string | null;
  readonly priority: NotificationRow['priority'];
  readonly recipient_ids: string[];
  readonly notification_ids: string[];
}

/** Maximum number of notifications in one statement, unless one message has more. */
const MAX_NOTIFICATIONS = 500;

/**
 * Inserts the missing notifications of committed messages, and returns the current rows of all
 * their notifications in the order of feeds. May be called again. Deleted messages have none.
 */
export async function insertDue(db: Querier, due: readonly DueNotifications[]): Promise<NotificationRow[]> {
  const rows: NotificationRow[] = [];
  for (const some of inStatements(due)) rows.push(...(await insertTogether(db, some)));
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Returns the notifications of these messages, of present and former participants. */
export async function readNotificationsOf(
  db: Querier,
  messageIds: readonly string[],
): Promise<NotificationRow[]> {
  return messageIds.length === 0 ? [] : db.query(READ_OF_MESSAGES, messageIds);
}

async function insertTogether(db: Querier, due: readonly DueNotifications[]): Promise<NotificationRow[]> {
  const plans = JSON.stringify(
    due.flatMap(({ row, plan }) =>
      planRows(row.id, plan).map((planned) => ({ ...planned, edited_at: row.edited_at })),
    ),
  );
  const written = new Map((await db.query(INSERT_DUE, plans)).map((one) => [one.message_id, one]));
  const rows: NotificationRow[] = [];
  const again: string[] = [];
  for (const { row, plan } of due) {
    const of = written.get(row.id);
    if (of?.recipient_ids.length !== sizeOf(plan)) {
      again.push(row.id);
      continue;
    }
    const ids = { recipientIds: of.recipient_ids, notificationIds: of.notification_ids };
    const shown = { ...plan, preview: of.preview };
    rows.push(...asNotifications(row, shown, ids, of.notified_at, of.priority));
  }
  return [...rows, ...(await readNotificationsOf(db, again))];
}

function* inStatements(due: readonly DueNotifications[]): Iterable<DueNotifications[]> {
  let some: DueNotifications[] = [];
  let size = 0;
  for (const one of due) {
    const more = sizeOf(one.plan);
    if (more === 0) continue;
    if (some.length > 0 && size + more > MAX_NOTIFICATIONS) {
      yield some;
      some = [];
      size = 0;
    }
    some.push(one);
    size += more;
  }
  if (some.length > 0) yield some;
}

/** SQL: the rows of a plan (planRows), as `p`. */
export function plannedRows(parameter: string): string {
  return `json_to_recordset(${parameter}::json) AS p(id text, roster_version bigint, sender_type text, preview text,
        category text, title text, recipients json, edited_at timestamptz)`;
}

/**
 * SQL: a WITH part `notified` that inserts planned notifications. `source` has the rows of plans as
 * `p`, and as `e` the id, account_id, conversation_id, sender_id, at and changed_in of their
 * messages. `preview` is the text that they show, `more` are further columns of notifications, with
 * values. Rows are in the order of the primary key, so that two statements cannot deadlock.
 */
export function insertPlanned(
  source: string,
  preview: string,
  more: Readonly<Record<string, string>> = {},
): string {
  const columns = Object.keys(more).map((column) => `, ${column}`);
  const values = Object.values(more).map((value) => `, ${value}`);
  return `notified AS (
      INSERT INTO notifications (id, account_id, recipient_id, category, title, body, sender_id, sender_type,
        resource_type, resource_id, message_id, created_at, updated_at, changed_in${columns.join('')})
      SELECT notification_id(e.at, e.id, r.recipient_id) AS notification_id, e.account_id, r.recipient_id, p.category,
        p.title, ${preview}, e.sender_id, p.sender_type, 'entity', e.conversation_id, e.id,
        e.at, e.at, e.changed_in${values.join('')}
      FROM ${source}, json_array_elements_text(p.recipients) AS r(recipient_id)
      ORDER BY r.recipient_id, notification_id
      ON CONFLICT DO NOTHING
      RETURNING id, recipient_id, message_id, created_at, body${columns.join('')}
    )`;
}

// A text that was edited after it was read shows its words as they are written: the handler of the
// edit may have run before, and would not come back to a preview that is older.
// A late row carries its transaction, because readers that resume may have passed its id already
// (src/core/notifications/DECISIONS.md#new-notifications-are-found-by-their-ids).
const INSERT_DUE = statement<[plans: string], WrittenRow>('insert-due-notifications')`
    WITH ${insertPlanned(
      `${plannedRows('$1')}, LATERAL (
          SELECT m.id, m.account_id, m.conversation_id, m.sender_id, m.priority, moment.at,
            CASE WHEN m.edited_at IS NOT DISTINCT FROM p.edited_at THEN p.preview
              ELSE nullif(left(m.body, ${PREVIEW_CHARACTERS}), '') END AS preview,
            CASE WHEN moment.at < statement_timestamp() - interval '${NOTIFIED_IN_TIME_MS} ms'
              THEN pg_current_xact_id() END AS changed_in
          FROM messages m, LATERAL (SELECT moment_of(m) AS at) moment
          WHERE m.id = p.id AND m.deleted_at IS NULL OFFSET 0
        ) e`,
      'e.preview',
      { priority: "coalesce(e.priority, 'normal')" },
    )}
    SELECT message_id, min(created_at) AS notified_at, min(body) AS preview, min(priority) AS priority,
      array_agg(recipient_id) AS recipient_ids, array_agg(id) AS notification_ids
    FROM notified GROUP BY message_id`;

const READ_OF_MESSAGES = statement<[messageIds: readonly string[]], NotificationRow>(
  'read-notifications-of-messages',
)`
    SELECT n.* FROM ${notificationsOf('$1::text[]')} ORDER BY n.id`;
