import { within } from '../../db/statement.ts';
import { openDraft } from '../../messages/drafts.ts';
import { lockConversation, requireActive } from '../../messages/external.ts';
import { claimReply } from './claim.ts';
import { LiveReply } from './live-reply.ts';

/** On a customer's case: a draft, which the team sees filling, in the name that the team writes in. */
export class DraftReply extends LiveReply {
  protected readonly endEvent = 'draft.updated';

  protected async insert(id: string): Promise<number> {
    const { run, facts, host } = this;
    await host.database.transaction(async (tx) => {
      const conversation = await lockConversation(tx, facts.id);
      const known = await tx
        .selectFrom('messages')
        .select('id')
        .where('id', '=', id)
        .where('conversation_id', '=', facts.id)
        .executeTakeFirst();
      if (known !== undefined) return;
      requireActive(conversation);
      const sender_id = facts.persona?.id ?? null;
      const message = { ...this.newMessage(id), visibility: 'external' as const, sender_id };
      await openDraft(tx, { message, sourceThreadMessageId: run.trigger_message_id }, run.actor_id);
      // Last: whoever renews the leases of this node waits for this row.
      await claimReply(within(tx), run, id);
    });
    return 0;
  }
}
