import type { ReadPositionRecord } from '@parley/archives/record.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { ImportRow } from '../imports/import-store.ts';
import type { Numbered } from './people.ts';
import type { Refs } from './refs.ts';
import type { Tally } from './tally.ts';

/**
 * Sets the read positions of members in conversations that this import has created, where new
 * members start at the head. In other conversations, readers stay where they are.
 */
export async function importReadPositions(
  tx: Tx,
  { row, refs, tally }: { readonly row: ImportRow; readonly refs: Refs; readonly tally: Tally },
  positions: readonly Numbered<ReadPositionRecord>[],
): Promise<void> {
  const conversations = await refs.find(
    tx,
    'conversation',
    positions.map(({ record }) => record.conversation),
  );
  const people = await refs.find(
    tx,
    'person',
    positions.map(({ record }) => record.person),
  );
  for (const { record, number } of positions) {
    const conversation = conversations.get(record.conversation);
    const actorId = people.get(record.person)?.id;
    const place = record.conversation;
    if (conversation === undefined || actorId === undefined) {
      const detail = 'The conversation or the person was not imported.';
      tally.skip('read_positions', number, { reason: 'conversation_skipped', detail, place });
      continue;
    }
    if (!conversation.isMade || conversation.importId !== row.id) {
      tally.add('read_positions', 'existed');
      continue;
    }
    const { through } = record;
    const [moved] =
      'message' in through
        ? await tx.query(SET_THROUGH, conversation.id, actorId, through.message)
        : await tx.query(SET_UNTIL, conversation.id, actorId, through.at);
    if (moved !== undefined) tally.add('read_positions', 'imported');
    else {
      const detail = 'The person is no member of the conversation.';
      tally.skip('read_positions', number, { reason: 'not_a_member', detail, place });
    }
  }
}

// A missing message leaves its reader at the head.
const SET_THROUGH = statement<[conversationId: string, actorId: string, message: string], { id: string }>(
  'set-imported-read-position',
)`
    UPDATE participants p SET read_sequence = least(p.read_sequence, (
        SELECT m.sequence FROM messages m
        WHERE m.conversation_id = $1 AND m.client_message_id = $3 AND m.imported IS NOT NULL
      ))
    WHERE p.conversation_id = $1 AND p.actor_id = $2 RETURNING p.id`;

// Imported messages are in the order of their times, and most readers are near the last one.
const SET_UNTIL = statement<[conversationId: string, actorId: string, at: string], { id: string }>(
  'set-imported-read-position-by-time',
)`
    UPDATE participants p SET read_sequence = least(p.read_sequence, coalesce((
        SELECT m.sequence FROM messages m
        WHERE m.conversation_id = $1 AND m.imported IS NOT NULL AND m.created_at <= $3::timestamptz
        ORDER BY m.sequence DESC LIMIT 1
      ), 0))
    WHERE p.conversation_id = $1 AND p.actor_id = $2 RETURNING p.id`;
