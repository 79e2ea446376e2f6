import { assigneeOfMailbox } from '../../../core/conversations/cases/mailbox-assignee.ts';
import { announceCreated } from '../../../core/conversations/lifecycle/start-conversation.ts';
import { readGroupRoster } from '../../../core/conversations/participants/roster.ts';
import { createConversation } from '../../../core/conversations/rows/conversation-store.ts';
import type { NewParticipant } from '../../../core/conversations/rows/participant-store.ts';
import { readAdmins } from '../../../core/notifications/causes/waiting-work.ts';
import type { MailboxRow } from '../../../core/resources/mailbox.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';

export interface CaseOfMail {
  readonly customerId: string;
  readonly title: string | null;
  /**
   * Whether the mail is automatic: the case then starts no agent, and its assignee is not notified.
   */
  readonly isQuiet: boolean;
}

/**
 * Opens a case of the inbox for a customer, with the team that answers there
 * (DECISIONS.md#who-is-in-a-case-that-a-mail-opens). Returns the id of the conversation.
 */
export async function openCase(
  tx: Tx,
  inbox: MailboxRow,
  { customerId, title, isQuiet }: CaseOfMail,
): Promise<string> {
  const { account_id: accountId, id: mailboxId, group_id: groupId } = inbox;
  const assignee = await assigneeOfMailbox(tx, inbox);
  const created = await createConversation(tx, {
    accountId,
    type: 'group',
    audience: 'customer',
    title,
    groupId,
    mailboxId,
    assigneeId: assignee?.id ?? null,
    participants: [
      ...(await teamOf(tx, inbox, assignee?.type === 'user' ? assignee.id : null)),
      { type: 'customer', actorId: customerId },
    ],
  });
  await announceCreated(tx, created, null, isQuiet);
  return created.conversation.id;
}

/**
 * Returns the members of the inbox's group, or the admins if it has none, and the assignee. The
 * first user owns the case.
 */
async function teamOf(tx: Tx, inbox: MailboxRow, assigneeId: string | null): Promise<NewParticipant[]> {
  const grouped: readonly NewParticipant[] =
    inbox.group_id === null ? [] : await readGroupRoster(tx, inbox.group_id);
  const found = grouped.some(({ type }) => type === 'user')
    ? grouped
    : [...grouped, ...(await readAdmins(tx, inbox.account_id, null)).map(asUser)];
  const isIn = assigneeId === null || found.some(({ actorId }) => actorId === assigneeId);
  const team = isIn ? found : [...found, asUser(assigneeId)];
  const owner = team.find(({ type }) => type === 'user');
  return team.map((one) => (one === owner ? { ...one, role: 'owner' } : one));
}

function asUser(actorId: string): NewParticipant {
  return { type: 'user', actorId };
}
