import { enqueueChanged } from '../conversations/outbox-topics.ts';
import type { Database } from '../db/database.ts';
import type { Tx } from '../db/handle.ts';
import { notFound } from '../protocol/errors.ts';
import type { MarkAllStatus } from '../protocol/resources/notification.ts';
import {
  NOTIFICATION_MOVED_ALREADY,
  NOTIFICATION_MOVES,
  type NotificationMove,
} from '../protocol/states/notification-states.ts';
import { transition } from '../protocol/states/transitions.ts';
import { lockNotification, moveAll, moveOne, type NotificationRow } from './store.ts';

/**
 * One notification of a recipient, after a move of protocol/states/notification-states.ts. A move that has happened
 * already changes nothing and tells nobody. Throws ApiError `resource_not_found`, also for somebody
 * else's, or `resource_conflict`: what was dismissed is neither seen nor read any more.
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
  await enqueueUpdated(tx, recipientId, [moved]);
  return moved;
}

/**
 * Brings everything in a recipient's feed to a status that is not there yet, newest first. In transactions of
 * MARK_ALL_BATCH: what arrives meanwhile stays as it came, and a call that dies half-way is done by
 * repeating it. `finish` makes the answer within the last of them. Past MARK_ALL_MOST the rest is left for
 * another call; what it counts says so.
 */
export async function markAll<Reply>(
  database: Database,
  recipientId: string,
  to: MarkAllStatus,
  finish: (tx: Tx) => Promise<Reply>,
): Promise<Reply> {
  const { from } = NOTIFICATION_MOVES[MOVE_TO[to]];
  let upTo = 'infinity';
  for (let marked = MARK_ALL_BATCH; ; marked += MARK_ALL_BATCH) {
    const { rows, answer } = await database.transaction(async (tx) => {
      const rows = await moveAll(tx, recipientId, { from, to, upTo, limit: MARK_ALL_BATCH });
      await enqueueUpdated(tx, recipientId, rows);
      const isLast = rows.length < MARK_ALL_BATCH || marked >= MAX_MARK_ALL;
      return { rows, answer: isLast ? { reply: await finish(tx) } : undefined };
    });
    if (answer !== undefined) return answer.reply;
    // Behind what is done: the next batch does not walk over it again.
    upTo = rows.map(({ created_at }) => created_at).sort()[0]!;
  }
}

/** Their events, 600 bytes each, stay well below what a socket may have buffered. */
export const MARK_ALL_BATCH = 500;
export const MAX_MARK_ALL = 100_000;

const MOVE_TO = { seen: 'see', read: 'read', dismissed: 'dismiss' } as const satisfies Record<
  MarkAllStatus,
  NotificationMove
>;

function enqueueUpdated(
  tx: Tx,
  recipientId: string,
  rows: readonly { readonly id: string }[],
): Promise<void> {
  const event = 'notification.updated';
  return enqueueChanged(
    tx,
    rows.map(({ id }) => ({ event, id, stream: recipientId })),
  );
}
