import { invalid, notFound } from '@parley/protocol/errors/errors.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { readActors } from '../../resources/actor.ts';
import { type MailboxRow, readMailboxOf } from '../../resources/mailbox.ts';
import type { RosterEntry } from '../participants/roster.ts';

/**
 * Returns the inbox of a case created with `inbox_id`. `listed` are the participants of the body,
 * in its order. Throws ApiError unless the inbox exists and mail can reach every customer.
 */
export async function readBridge(
  tx: Tx,
  accountId: string,
  mailboxId: string,
  listed: readonly RosterEntry[],
): Promise<MailboxRow> {
  const inbox = await readMailboxOf(tx, accountId, mailboxId);
  if (inbox === undefined) throw notFound('inbox', 'inbox_id');
  const customers = listed.filter(({ type }) => type === 'customer').map(({ actorId }) => actorId);
  const actors = await readActors(tx, customers);
  const index = listed.findIndex(({ type, actorId }) => type === 'customer' && !actors.get(actorId)?.handle);
  if (index >= 0) {
    throw invalid(`participants[${index}]`, 'The customer has no email address, so no mail can reach it.');
  }
  return inbox;
}

type MailboxAssignee = { readonly id: string; readonly type: 'user' | 'group' };

/** Returns the assignee of the inbox's new cases, or undefined if none is set or it cannot act. */
export async function assigneeOfMailbox(
  tx: Tx,
  { assignee_id: id }: Pick<MailboxRow, 'assignee_id'>,
): Promise<MailboxAssignee | undefined> {
  if (id === null) return undefined;
  const [row] = await tx.query(READ_ASSIGNEE, id);
  return row;
}

const READ_ASSIGNEE = statement<[id: string], MailboxAssignee>('read-assignee-of-inbox')`
    SELECT id, type FROM actors
    WHERE id = $1 AND deactivated_at IS NULL AND (type = 'group' OR (type = 'user' AND NOT customer))`;
