import { notFound } from '@parley/protocol/errors/errors.ts';
import type { MarkAllStatus } from '@parley/protocol/resources/notification.ts';
import {
  NOTIFICATION_MOVED_ALREADY,
  NOTIFICATION_MOVES,
  type NotificationMove,
} from '@parley/protocol/states/notification-states.ts';
import { transition } from '@parley/protocol/states/transitions.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import type { NotificationRow } from '../../resources/notification.ts';
import { lockNotification, moveAll, moveOne } from './mark-store.ts';
import { enqueueNotified, type NotificationKey } from './notify-users.ts';

/**
 * Applies a move of packages/protocol/states/notification-states.ts to a recipient's notification
 * and returns it. A repeated move is a no-op and publishes nothing. Throws ApiError
 * `resource_not_found`, also for another recipient's notification, or `resource_conflict`: a
 * dismissed notification can no longer become seen or read.
 */
export async function mark(
  tx: Tx,
  recipientId: string,
  id: string,
  move: NotificationMove,
): Promise<NotificationRow> {
  const row = await lockNotification(tx, recipientId, id);
  if (row === undefined) throw notFound('notification', 'id');
  if ((NOTIFICATION_MOVED_ALREADY[move] as readonly string[]).includes(row.status)) return row;
  const moved = await moveOne(tx, row, transition(NOTIFICATION_MOVES, move, row.status));
  await enqueueUpdated(tx, [moved]);
  return moved;
}

/**
 * Moves all of a recipient's notifications to a status, except those that have it or are past it,
 * newest first. It works in transactions of MARK_ALL_BATCH: notifications that arrive meanwhile
 * stay as they are, and a repeated call completes one that failed half-way. `finish` makes the
 * answer within the last transaction. Notifications beyond MAX_MARK_ALL are left for another call,
 * as the answer's count shows.
 */
export async function markAll<Reply>(
  database: Database,
  recipientId: string,
  to: MarkAllStatus,
  finish: (tx: Tx) => Promise<Reply>,
): Promise<Reply> {
  const { from } = NOTIFICATION_MOVES[MOVE_TO[to]];
  let before: string | null = null;
  for (let marked = MARK_ALL_BATCH; ; marked += MARK_ALL_BATCH) {
    const { rows, answer } = await database.transaction(async (tx) => {
      const rows = await moveAll(tx, recipientId, { from, to, before, limit: MARK_ALL_BATCH });
      await enqueueUpdated(tx, rows);
      const isLast = rows.length < MARK_ALL_BATCH || marked >= MAX_MARK_ALL;
      return { rows, answer: isLast ? { reply: await finish(tx) } : undefined };
    });
    if (answer !== undefined) return answer.reply;
    // The next batch starts after the rows that are done, so that it does not scan them again.
    before = rows.map(({ id }) => id).sort()[0]!;
  }
}

/** Keeps the events of a batch, 600 bytes each, well below the limit of a socket's buffer. */
export const MARK_ALL_BATCH = 500;
const MAX_MARK_ALL = 100_000;

const MOVE_TO = { seen: 'see', read: 'read', dismissed: 'dismiss' } as const satisfies Record<
  MarkAllStatus,
  NotificationMove
>;

/** Publishes `notification.updated` after the commit, to every socket of the recipients. */
export function enqueueUpdated(tx: Tx, keys: readonly NotificationKey[]): Promise<void> {
  return enqueueNotified(tx, 'notification.updated', keys);
}
