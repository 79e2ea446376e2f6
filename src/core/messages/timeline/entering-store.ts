import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import { type MessageRow, messageColumns } from '../../resources/message.ts';
import { MESSAGES_SENT } from '../outbox-topics.ts';
import { reachedAt } from '../rows/message-store.ts';
import { isOpenNumber, type SequenceNumber } from './timeline-store.ts';

/** Existing rows outside a timeline that enter it; there may be none. */
export interface WaitingPlan {
  readonly status: 'draft' | 'scheduled';
  /** The person that approved the draft, and needs no notification of it. */
  readonly approvedBy?: string;
  /** In the order in which they enter. `senderId` is the sender that the message then shows. */
  readonly entries: readonly { readonly id: string; readonly senderId: string | null }[];
}

/**
 * Moves messages from outside the timeline (a draft, due schedules) into it, with this number and
 * the next ones, and with the outbox row of their effects. The result lacks messages that do not
 * wait any more, and all of them if the numbers are too far below the head.
 */
export function enterTimeline(
  tx: Tx,
  { conversationId, sequence }: SequenceNumber,
  { status, approvedBy, entries }: WaitingPlan,
): Promise<(MessageRow & { outbox_id: number })[]> {
  const ids = entries.map(({ id }) => id);
  const senderIds = entries.map(({ senderId }) => senderId);
  return tx.query(ENTER_TIMELINE, conversationId, sequence, status, ids, senderIds, approvedBy ?? null);
}

// The times are in the order of the numbers, like those of a flush of the write path.
const ENTER_TIMELINE = statement<
  [
    conversationId: string,
    firstSequence: number,
    status: string,
    ids: readonly string[],
    senderIds: readonly (string | null)[],
    approvedBy: string | null,
  ],
  MessageRow & { outbox_id: number }
>('enter-timeline')`
    WITH entering AS (
      SELECT m.id, e.sender_id, $2::bigint + e.place - 1 AS sequence,
        greatest(m.updated_at, statement_timestamp()) + e.place * interval '1 microsecond' AS at
      FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS e(id, sender_id, place)
      JOIN messages m ON m.id = e.id AND m.conversation_id = $1
    ), entered AS (
      UPDATE messages m SET sequence = e.sequence, status = 'sent', sender_id = e.sender_id,
        outcome = '{"result": "sent", "reason": null}'::jsonb || ${reachedAt('e.at')}
          || jsonb_strip_nulls(jsonb_build_object('approved_by', $6::text)),
        notified_at = e.at, ${setTouched('e.at')}
      FROM entering e
      WHERE m.id = e.id AND m.conversation_id = $1 AND m.status = $3 AND ${isOpenNumber('$1', '$2::bigint')}
      RETURNING m.*
    ), event AS (
      INSERT INTO outbox (topic, payload)
      SELECT '${MESSAGES_SENT.name}', jsonb_build_object('messages',
        jsonb_agg(jsonb_strip_nulls(jsonb_build_object('conversation_id', conversation_id, 'id', id, 'by', $6::text))
          ORDER BY sequence))
      FROM entered HAVING count(*) > 0
      RETURNING id
    )
    SELECT ${messageColumns('m')}, event.id AS outbox_id FROM entered m, event ORDER BY m.sequence`;
