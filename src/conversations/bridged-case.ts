import type { Tx } from '../db/handle.ts';
import { invalid, notFound } from '../protocol/errors.ts';
import type { ConversationAudience } from '../protocol/resources/conversation.ts';
import { readActors } from '../resources/actor.ts';
import { type InboxRow, readInboxOf } from '../resources/inbox.ts';
import type { NewConversation } from './conversation-store.ts';
import { type RosterEntry, readGroupRoster } from './roster.ts';

/** What a new case has of its inbox. */
export interface Bridge {
  readonly columns: Required<Pick<NewConversation, 'inboxId' | 'assigneeId'>>;
  /** Beside those that the caller names: the assignee, who could not read the case otherwise. */
  readonly participants: readonly RosterEntry[];
}

/**
 * Returns what a case that is made with `inbox_id` has of it. `listed` are the participants of the body, in its order.
 * Throws ApiError unless the inbox exists and mail can reach every customer.
 */
export async function bridgeOf(
  tx: Tx,
  {
    accountId,
    audience,
    inboxId,
    listed,
  }: {
    readonly accountId: string;
    readonly audience: ConversationAudience;
    readonly inboxId: string;
    readonly listed: readonly RosterEntry[];
  },
): Promise<Bridge> {
  if (audience !== 'customer') {
    throw invalid('inbox_id', 'Only a conversation with the audience customer can have an inbox.');
  }
  const inbox = await readInboxOf(tx, accountId, inboxId);
  if (inbox === undefined) throw notFound('inbox', 'inbox_id');
  await requireAddresses(tx, listed);
  return bridgeOfInbox(tx, inbox);
}

/**
 * Returns what every new case of the inbox has of it: the assignee, unless that is a user who was deactivated since. With
 * `withGroup` the members of its group take part, as in a case that begins with a mail.
 */
export async function bridgeOfInbox(
  tx: Tx,
  { id, assignee_id, group_id }: InboxRow,
  { withGroup = false } = {},
): Promise<Bridge> {
  const assignee = assignee_id === null ? undefined : await readAssignee(tx, assignee_id);
  const members = withGroup && group_id !== null ? await readGroupRoster(tx, group_id) : [];
  const isListed = members.some(({ actorId }) => actorId === assignee?.id);
  return {
    columns: { inboxId: id, assigneeId: assignee?.id ?? null },
    participants:
      assignee?.type === 'user' && !isListed ? [...members, { type: 'user', actorId: assignee.id }] : members,
  };
}

async function readAssignee(tx: Tx, id: string) {
  return tx.kysely
    .selectFrom('actors')
    .select(['id', 'type'])
    .where('id', '=', id)
    .where('deactivated_at', 'is', null)
    .executeTakeFirst();
}

/** Throws `validation_failed` (param participants, or that of the first customer without an address). */
async function requireAddresses(tx: Tx, listed: readonly RosterEntry[]): Promise<void> {
  const customers = listed.filter(({ type }) => type === 'customer').map(({ actorId }) => actorId);
  if (customers.length === 0) {
    throw invalid('participants', 'A case with an inbox needs a customer, whom its mail goes to.');
  }
  const actors = await readActors(tx, customers);
  const index = listed.findIndex(({ type, actorId }) => type === 'customer' && !actors.get(actorId)?.handle);
  if (index >= 0) {
    throw invalid(`participants[${index}]`, 'The customer has no email address, so no mail can reach it.');
  }
}
