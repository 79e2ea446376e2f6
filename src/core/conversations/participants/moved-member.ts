import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import { enqueueRightsChanged } from '../../accounts/rights/rights-changed.ts';
import { type Change, enqueueChanged } from '../../events/changes.ts';
import type { PersonMove } from '../../resources/holdings.ts';
import { isMember } from '../../resources/membership.ts';
import type { ParticipantRow } from '../../resources/participant.ts';
import { writeParticipant } from '../rows/participant-store.ts';

/**
 * Gives the memberships and the block of a customer to another customer. Where both take part, the
 * other customer's participant stays, with the higher read position, and the first leaves.
 */
export async function moveMember(tx: Tx, { from, to, conversationIds, events }: PersonMove): Promise<void> {
  const added: Change[] = [];
  for (const { id, conversation_id: stream } of await tx.query(MOVE_ALONE, from, to)) {
    events.push({ event: 'participant.updated', id, stream });
    added.push({ event: 'conversation.added', id: stream, stream: to });
  }
  for (const both of await tx.query(READ_BOTH, from, to)) {
    const { id, other_id, conversation_id: stream, read_sequence } = both;
    const joins = isMember(both) && !isMember({ membership: both.other_membership });
    await writeParticipant(tx, other_id, {
      read_sequence: Math.max(read_sequence, both.other_read_sequence),
      ...(joins && { membership: both.membership }),
    });
    if (isMember(both)) await writeParticipant(tx, id, { membership: 'removed' });
    events.push({ event: 'participant.removed', id, stream });
    events.push({ event: 'participant.updated', id: other_id, stream });
    if (joins) added.push({ event: 'conversation.added', id: stream, stream: to });
  }
  await tx.query(MOVE_BLOCK, from, to);
  await tx.query(MOVE_TOPICS, from, to, conversationIds);
  await tx.query(RAISE_ROSTER_VERSIONS, conversationIds);
  await enqueueChanged(tx, added);
  await enqueueRightsChanged(tx, [...conversationIds, to]);
}

type Both = Pick<ParticipantRow, 'id' | 'conversation_id' | 'membership' | 'read_sequence'> & {
  readonly other_id: string;
  readonly other_membership: ParticipantRow['membership'];
  readonly other_read_sequence: number;
};

const MOVE_ALONE = statement<[from: string, to: string], { id: string; conversation_id: string }>(
  'move-participants',
)`
    UPDATE participants p SET actor_id = $2, ${setTouched('later_than(p.updated_at)')}
    WHERE p.actor_id = $1 AND NOT EXISTS (
      SELECT FROM participants o WHERE o.conversation_id = p.conversation_id AND o.actor_id = $2)
    RETURNING p.id, p.conversation_id`;

const READ_BOTH = statement<[from: string, to: string], Both>('read-participants-of-both')`
    SELECT p.id, p.conversation_id, p.membership, p.read_sequence, o.id AS other_id,
      o.membership AS other_membership, o.read_sequence AS other_read_sequence
    FROM participants p JOIN participants o ON o.conversation_id = p.conversation_id AND o.actor_id = $2
    WHERE p.actor_id = $1 AND p.membership <> 'removed' ORDER BY p.id`;

const MOVE_BLOCK = statement<[from: string, to: string]>('move-block')`
    WITH moved AS (DELETE FROM blocks WHERE actor_id = $1 RETURNING id, account_id, created_by, created_at)
    INSERT INTO blocks (id, account_id, actor_id, blocker_id, created_by, created_at)
    SELECT id, account_id, $2, NULL, created_by, created_at FROM moved
    ON CONFLICT DO NOTHING`;

const MOVE_TOPICS = statement<[from: string, to: string, conversationIds: readonly string[]]>('move-topics')`
    UPDATE conversations SET topic_id = $2, ${setTouched()}
    WHERE id = ANY($3) AND topic_type = 'actor' AND topic_id = $1`;

const RAISE_ROSTER_VERSIONS = statement<[conversationIds: readonly string[]]>('raise-versions-of-moved')`
    UPDATE conversations SET roster_version = roster_version + 1 WHERE id = ANY($1)`;
