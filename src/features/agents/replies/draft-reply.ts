import { replyChannel } from '../../../core/conversations/directory/bridge.ts';
import { lockConversation } from '../../../core/conversations/rows/conversation-store.ts';
import { openDraft } from '../../../core/messages/drafts/drafts.ts';
import { conclude } from '../../../core/messages/rows/message-outcome.ts';
import { requireActive } from '../../../core/messages/timeline/external-message.ts';
import { readMessage } from '../../../core/resources/message.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { LiveReply } from './live-reply.ts';
import { claimReply, lockEarlierDraft } from './store.ts';

/**
 * The reply on a customer's case: a draft that the team sees grow, in the name that the team writes
 * in. After a pause the run continues the draft that it composed before, unless a person has
 * decided about it: the customer gets one reply.
 */
export class DraftReply extends LiveReply {
  protected readonly endEvent = 'draft.updated';

  protected async insert(id: string): Promise<number> {
    const { run, facts, host } = this;
    await host.database.transaction(async (tx) => {
      const conversation = await lockConversation(tx, facts.id);
      if ((await readMessage(tx, id)) !== undefined) return;
      requireActive(conversation);
      // Checked under this lock, which keeps people from approving, rejecting or editing the draft:
      // a sent text must not be sent again.
      const earlier = await lockEarlierDraft(tx, run.id, facts.id);
      this.beginWith(earlier?.body ?? '');
      if (earlier !== undefined) await conclude(tx, earlier, 'supersede');
      const sender = { sender_id: facts.persona?.id ?? null, channel: replyChannel(facts) };
      const message = { ...this.newMessage(id), visibility: 'external', ...sender } as const;
      await openDraft(tx, message, run.trigger_message_id, run.actor_id);
      // The draft contains a person's words, so it is not sent without review (delivery.ts). Its
      // time stays, because no event shows the mark.
      if (earlier?.edited_at) await tx.query(MARK_EDITED, facts.id, id, earlier.edited_at);
      // This is the last statement because the renewal of this node's leases waits for this row.
      await claimReply(tx, run, id);
    });
    return 0;
  }
}

const MARK_EDITED = statement<[conversationId: string, id: string, editedAt: string]>('mark-draft-edited')`
    UPDATE messages SET edited_at = $3 WHERE conversation_id = $1 AND id = $2`;
