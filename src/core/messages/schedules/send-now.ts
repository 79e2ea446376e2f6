import { ApiError } from '@parley/protocol/errors/errors.ts';
import { MESSAGE_MOVES } from '@parley/protocol/states/message-states.ts';
import { transition } from '@parley/protocol/states/transitions.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { auditMessage } from '../../audit/audit.ts';
import { enqueueRowsChanged } from '../../events/changes.ts';
import type { MessageRow } from '../../resources/message.ts';
import { lockMessage } from '../rows/message-store.ts';
import { type EditRequest, requireAuthority } from '../rules/edit-rules.ts';
import { requireSendExternal } from '../rules/send-rules.ts';
import { followExternal } from '../timeline/external-message.ts';
import type { LockedWrites } from '../timeline/locked-write.ts';
import { readAuthors } from './schedule-store.ts';
import { refusalOf } from './scheduled-author.ts';

/**
 * Sends a scheduled message before its time, ahead of due messages of its conversation. The
 * conversation's lock makes this exclusive with a delivery, a cancellation, an edit and another
 * such call. Returns the result of `follow`, from the same transaction. Throws ApiError
 * `resource_conflict` if the message does not wait any more, or would be refused when due.
 */
export function sendNow<Followed>(
  lockedWrites: LockedWrites,
  { principal, facts, row }: EditRequest,
  follow: (sent: MessageRow, tx: Tx) => Promise<Followed>,
): Promise<Followed> {
  requireAuthority(principal, facts, row);
  if (row.visibility === 'external') requireSendExternal(principal);
  return lockedWrites.enterWaiting(
    row.conversation_id,
    async (tx, conversation) => {
      const current = await lockMessage(tx, row);
      transition(MESSAGE_MOVES, 'send_now', current.status);
      const authors = await readAuthors(tx, [current.author_id], conversation.id);
      const author = authors.get(current.author_id!);
      const refusal = refusalOf(author, current, conversation);
      if (refusal?.condition === 'resource_conflict') throw refusal;
      if (refusal !== undefined) {
        // Missing rights are the author's and not the caller's, so the error is a conflict.
        throw new ApiError('resource_conflict', `The message cannot be sent. ${refusal.message}`);
      }
      const entries = [{ id: row.id, senderId: current.sender_id }];
      return { status: 'scheduled' as const, entries, isByCustomer: author!.customer };
    },
    async (tx, [written], { isByCustomer }) => {
      const { row: sent } = written!;
      await enqueueRowsChanged(tx, 'scheduled.updated', [sent]);
      const by = isByCustomer ? null : principal.actor.id;
      if (sent.visibility === 'external') await followExternal(tx, written!, by);
      await auditMessage(tx, principal.actor.id, sent, 'scheduled.sent_now');
      return follow(sent, tx);
    },
  );
}
