import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { ConversationAssigned } from '../../conversations/outbox-topics.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import { IS_MEMBER } from '../../resources/membership.ts';
import { hasMuted } from '../../resources/participant.ts';
import { enqueueUpdated } from '../feed/mark.ts';
import { notifyUsers } from '../feed/notify-users.ts';
import { withdrawOfSubject } from '../feed/withdraw-store.ts';
import { senderType } from './notify.ts';

const CATEGORY = 'conversation.assigned';

/**
 * Notifies the user to whom a conversation was assigned, or the members of the group that can read
 * it (`conversation.assigned`), except the assigning actor, and withdraws the notifications of
 * earlier assignees. Handles CONVERSATION_ASSIGNED, in any order and more than once: only the
 * present assignment has effects.
 */
export async function notifyAssigned(
  tx: Tx,
  { conversation_id: id, by, at }: ConversationAssigned,
): Promise<void> {
  // The lock makes the handler of a later assignment either run after this one or be seen here.
  const [present] = await tx.query(LOCK_ASSIGNMENT, id, by);
  if (present?.assigned_at !== at) return;
  await enqueueUpdated(tx, await withdrawOfSubject(tx, id, CATEGORY, at));
  const { assignee_id: assigneeId, assignee_name, assignee_type } = present;
  if (assigneeId === null || present.is_deleted) return;
  const isGroup = assignee_type === 'group';
  const assignees = isGroup ? await tx.query(READ_GROUP, assigneeId, id) : [{ id: assigneeId }];
  const recipients = assignees.flatMap((assignee) => (assignee.id === by ? [] : assignee.id));
  const what = present.title ?? 'a conversation';
  const to = isGroup ? (assignee_name ?? 'your group') : 'you';
  const title =
    by === null
      ? `${what} was assigned to ${to}`
      : `${present.by_name ?? 'Someone'} assigned ${what} to ${to}`;
  await notifyUsers(tx, recipients, {
    account_id: present.account_id,
    category: CATEGORY,
    body: null,
    title,
    sender_id: by,
    sender_type: senderType(present.by_type && { type: present.by_type }),
    resource: { type: 'entity', id },
    cause: { key: `assigned ${id}`, at },
  });
}

interface AssignmentRow
  extends Pick<ConversationRow, 'account_id' | 'title' | 'assigned_at' | 'assignee_id'> {
  readonly is_deleted: boolean;
  readonly assignee_type: Actor['type'] | null;
  readonly assignee_name: string | null;
  readonly by_type: Actor['type'] | null;
  readonly by_name: string | null;
}

const LOCK_ASSIGNMENT = statement<[conversationId: string, by: string | null], AssignmentRow>(
  'lock-assignment-to-notify',
)`
    SELECT c.account_id, c.title, c.deleted_at IS NOT NULL AS is_deleted, c.assigned_at, c.assignee_id,
      a.type AS assignee_type, a.name AS assignee_name, b.type AS by_type, b.name AS by_name
    FROM conversations c LEFT JOIN actors a ON a.id = c.assignee_id LEFT JOIN actors b ON b.id = $2
    WHERE c.id = $1 FOR SHARE OF c`;

// Excludes members that have muted the conversation.
const READ_GROUP = statement<[groupActorId: string, conversationId: string], { id: string }>(
  'read-group-to-notify',
)`
    SELECT a.id FROM messaging_groups g JOIN group_members m ON m.group_id = g.id JOIN actors a ON a.id = m.actor_id
      LEFT JOIN participants p ON p.conversation_id = $2 AND p.actor_id = a.id AND p.${IS_MEMBER}
      LEFT JOIN roles r ON r.id = a.role_id
    WHERE g.actor_id = $1 AND g.account_id = a.account_id AND (NOT ${hasMuted('p')} OR p.id IS NULL AND r.type = 'admin')
    ORDER BY a.id`;
