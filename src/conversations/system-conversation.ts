import { enqueueRightsChanged } from '../accounts/rights-changed.ts';
import type { Tx } from '../db/handle.ts';
import type { ConversationRow } from '../resources/conversation.ts';
import { addParticipant, createUnlessThere } from './insert-conversation.ts';
import { enqueueChanged } from './outbox-topics.ts';

/**
 * Returns the account's one `system` conversation, for automated alerts (docs/contract.md#system-messages), and
 * creates it at first use. The account's current admins are added to it; an admin that has left it is not added again.
 */
export async function systemConversation(tx: Tx, accountId: string): Promise<ConversationRow> {
  const created = await createUnlessThere(tx, {
    accountId,
    type: 'system',
    title: 'Alerts',
    directKey: KEY,
    participants: [],
  });
  const conversation = created?.conversation ?? (await lockExisting(tx, accountId));
  const { id } = conversation;
  const missing = await adminsOutside(tx, conversation);
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

/** Differs from all keys of two actors' ids: a key is unique within the account. */
const KEY = 'system';

/** Locked until the end of `tx`: two concurrent transactions would both add the same admin. */
function lockExisting(tx: Tx, accountId: string): Promise<ConversationRow> {
  return tx.kysely
    .selectFrom('conversations')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('direct_key', '=', KEY)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
}

async function adminsOutside(tx: Tx, { id, account_id }: ConversationRow): Promise<readonly string[]> {
  const rows = await tx.kysely
    .selectFrom('actors')
    .innerJoin('roles', 'roles.id', 'actors.role_id')
    .select('actors.id')
    .where('actors.account_id', '=', account_id)
    .where('actors.type', '=', 'user')
    .where('actors.deactivated_at', 'is', null)
    .where('roles.type', '=', 'admin')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('participants')
            .select('participants.id')
            .where('participants.conversation_id', '=', id)
            .whereRef('participants.actor_id', '=', 'actors.id'),
        ),
      ),
    )
    .orderBy('actors.id')
    .execute();
  return rows.map((row) => row.id);
}
