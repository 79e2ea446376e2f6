import type { Tx } from '../../../platform/db/connection/handle.ts';
import { enqueueRightsChanged } from '../../accounts/rights/rights-changed.ts';
import { enqueueChanged } from '../../events/changes.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import { createUnlessThere, lockByDirectKey } from '../rows/conversation-store.ts';
import { addParticipant, readAdminsOutside } from '../rows/participant-store.ts';

/**
 * Returns the account's one `system` conversation, for automated alerts
 * (docs/contract.md#system-messages), and creates it at first use. Adds the account's current
 * admins, except admins that have left it before.
 */
export async function systemConversation(tx: Tx, accountId: string): Promise<ConversationRow> {
  const created = await createUnlessThere(tx, {
    accountId,
    type: 'system',
    title: 'Alerts',
    directKey: KEY,
    participants: [],
  });
  // The lock until `tx` ends keeps two transactions from both adding the same admin.
  const conversation = created?.conversation ?? (await lockByDirectKey(tx, accountId, KEY));
  const { id } = conversation;
  const missing = await readAdminsOutside(tx, conversation);
  for (const actorId of missing) {
    const participant = await addParticipant(tx, conversation, { type: 'user', actorId });
    await enqueueChanged(tx, [
      { event: 'participant.added', id: participant.id, stream: id },
      { event: 'conversation.added', id, stream: actorId },
    ]);
  }
  if (missing.length > 0) await enqueueRightsChanged(tx, [id]);
  return conversation;
}

/** Differs from every key of two actors' ids: a key is unique within the account. */
const KEY = 'system';
