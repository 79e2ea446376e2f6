import type { Core, NodeParts } from '../../../core/features/feature.ts';
import { sendDraft } from '../../../core/messages/drafts/drafts.ts';
import type { MessageRow } from '../../../core/resources/message.ts';
import type { RunRow } from '../../../core/resources/run.ts';
import { hasPermission } from '../../../platform/access/authorize.ts';
import type { Principal } from '../../../platform/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { readAnswers, readDraftOf } from './store.ts';

/**
 * Sends the draft of a completed run, in the agent's name behind the persona. It stays a draft if
 * the agent may not send by itself, a person has changed it, or a person has answered the customer.
 * The conversation's lock orders this check and an answer sent at the same moment.
 */
export async function deliverReply(
  { database, lockedWrites }: Pick<NodeParts, 'database'> & Pick<Core, 'lockedWrites'>,
  { id: runId }: Pick<RunRow, 'id'>,
  principal: Principal,
): Promise<void> {
  if (!hasPermission(principal, 'messaging:send_external')) return;
  const draft = await readDraftOf(database, runId);
  if (draft?.status !== 'draft') return;
  try {
    await sendDraft(lockedWrites, draft, {
      move: 'reply',
      by: principal.actor.id,
      audited: 'draft.sent_by_agent',
      require: (tx, current) => requireUnanswered(tx, current, runId),
      follow: async () => {},
    });
  } catch (error) {
    if (!(error instanceof DraftKept)) throw error;
  }
}

/** The draft is left for people to decide about. */
class DraftKept extends Error {}

async function requireUnanswered(tx: Tx, draft: MessageRow, runId: string): Promise<void> {
  const found = await readAnswers(tx, runId, draft);
  if (found?.may_send !== true || found.is_answered || draft.edited_at !== null) throw new DraftKept();
}
