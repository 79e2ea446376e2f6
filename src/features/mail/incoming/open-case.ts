import { assigneeOfMailbox } from '../../../core/conversations/cases/mailbox-assignee.ts';
import { readTeam } from '../../../core/conversations/cases/team.ts';
import { announceCreated } from '../../../core/conversations/lifecycle/start-conversation.ts';
import {
  type RosterEntry,
  uniqueActors,
  withOwner,
} from '../../../core/conversations/participants/roster.ts';
import { createConversation } from '../../../core/conversations/rows/conversation-store.ts';
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
  const assigned: RosterEntry[] = assignee?.type === 'user' ? [{ type: 'user', actorId: assignee.id }] : [];
  const team = await readTeam(tx, accountId, groupId);
  const created = await createConversation(tx, {
    accountId,
    type: 'group',
    audience: 'customer',
    title,
    groupId,
    mailboxId,
    teamGroupId: team.groupId,
    assigneeId: assignee?.id ?? null,
    participants: [
      ...withOwner(uniqueActors([...team.entries, ...assigned])),
      { type: 'customer', actorId: customerId },
    ],
  });
  await announceCreated(tx, created, null, isQuiet);
  return created.conversation.id;
}
