import { lockConversation } from '../../conversations/conversation-store.ts';
import type { Tx } from '../../db/handle.ts';
import { openDraft } from '../../messages/drafts.ts';
import { requireActive } from '../../messages/external-message.ts';
import { conclude } from '../../messages/message-outcome.ts';
import { MESSAGE_COLUMNS, type MessageRow } from '../../resources/message.ts';
import { claimReply } from './claim.ts';
import { LiveReply } from './live-reply.ts';

/**
 * The reply on a customer's case: a draft that the team sees grow, in the name that the team writes in. After a pause
 * the run continues the draft that it composed before, unless a person has decided about it: the customer gets one
 * reply.
 */
export class DraftReply extends LiveReply {
  protected readonly endEvent = 'draft.updated';

  protected async insert(id: string): Promise<number> {
    const { run, facts, host } = this;
    await host.database.transaction(async (tx) => {
      const conversation = await lockConversation(tx, facts.id);
      const known = await tx.kysely
        .selectFrom('messages')
        .select('id')
        .where('id', '=', id)
        .where('conversation_id', '=', facts.id)
        .executeTakeFirst();
      if (known !== undefined) return;
      requireActive(conversation);
      // Checked inside this lock, under which people cannot approve, reject or edit the draft: what was sent must not
      // be sent again.
      const earlier = await this.#lockEarlier(tx);
      this.beginWith(earlier?.body ?? '');
      if (earlier !== undefined) await conclude(tx, earlier, 'supersede');
      const sender_id = facts.persona?.id ?? null;
      const message = { ...this.newMessage(id), visibility: 'external' as const, sender_id };
      await openDraft(tx, { message, sourceThreadMessageId: run.trigger_message_id }, run.actor_id);
      if (earlier?.edited_at) await this.#markEdited(tx, id, earlier.edited_at);
      // This is the last statement because the renewal of this node's leases waits for this row.
      await claimReply(tx, run, id);
    });
    return 0;
  }

  /** Locks and returns the draft that an earlier claim of the run has composed, if it is still open. */
  #lockEarlier(tx: Tx): Promise<MessageRow | undefined> {
    return tx.kysely
      .selectFrom('messages')
      .select(MESSAGE_COLUMNS)
      .where('conversation_id', '=', this.facts.id)
      .where('agent_run_id', '=', this.run.id)
      .where('status', '=', 'draft')
      .where('streaming_state', '=', 'complete')
      .orderBy('id', 'desc')
      .limit(1)
      .forUpdate()
      .executeTakeFirst();
  }

  /** The draft contains a person's words, so it is not sent without review (delivery.ts). */
  async #markEdited(tx: Tx, id: string, edited_at: string): Promise<void> {
    await tx.kysely
      .updateTable('messages')
      .set({ edited_at })
      .where('id', '=', id)
      .where('conversation_id', '=', this.facts.id)
      .execute();
  }
}
