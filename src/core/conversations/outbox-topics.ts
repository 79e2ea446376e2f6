/** Outbox topics of this slice. Each is handled after its transaction has committed. */

import { newId } from '@parley/protocol/ids.ts';
import type { StatedEvent } from '@parley/protocol/resources/chat-message.ts';
import type { Principal } from '../../api/access/principal.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { enqueue } from '../../platform/db/queue/outbox.ts';
import { defineTopic } from '../../platform/db/queue/topic.ts';
import { enqueueRightsChanged } from '../accounts/rights/rights-changed.ts';
import { enqueueChanged } from '../events/changes.ts';
import type { ConversationRow } from '../resources/conversation.ts';
import type { ParticipantRow } from '../resources/participant.ts';

/**
 * Enqueues that the oldest messages of a conversation were purged: subscribers drop them, and every
 * node reads the conversation's first number again.
 */
export async function enqueuePurged(tx: Tx, conversationId: string): Promise<void> {
  await enqueueChanged(tx, [{ event: 'messages.purged', id: conversationId, stream: conversationId }]);
  await enqueueRightsChanged(tx, [conversationId]);
}

/** A conversation was created: agents that wait for new conversations start (agents/triggers/). */
export const CONVERSATION_CREATED = defineTopic<ConversationCreated>('conversations.created');

export interface ConversationCreated {
  readonly conversation_id: string;
  readonly account_id: string;
  /** The actor that created it, or null if no actor did. */
  readonly by: string | null;
  readonly at: string;
  /** Whether it starts no agent, as a case that an automatic mail opens. */
  readonly quiet?: true;
}

export async function enqueueCreated(
  tx: Tx,
  { id, account_id, created_at, assigned_at }: ConversationRow,
  by: string | null,
  isQuiet: boolean,
): Promise<void> {
  const created: ConversationCreated = { conversation_id: id, account_id, by, at: created_at };
  await enqueue(tx, CONVERSATION_CREATED, isQuiet ? { ...created, quiet: true } : created);
  if (assigned_at === null || isQuiet) return;
  await enqueue(tx, CONVERSATION_ASSIGNED, { conversation_id: id, by, at: assigned_at });
}

/**
 * A conversation was deleted: its open runs are cancelled, and the notifications of its
 * participants are withdrawn (features/compliance/conversation-removal.ts).
 */
export const CONVERSATION_DELETED = defineTopic<ConversationDeleted>('conversations.deleted');

export interface ConversationDeleted {
  readonly conversation_id: string;
  readonly account_id: string;
  /** Actor id. */
  readonly by: string;
}

/** A participant was added or came back, and is notified (core/notifications/causes/added.ts). */
export const PARTICIPANT_ADDED = defineTopic<ParticipantAdded>('participants.added');

export interface ParticipantAdded {
  readonly participant_id: string;
  /** The time of the row when the participant was added: another addition is another cause. */
  readonly at: string;
  /** The actor that added the participant, or null if no actor did. */
  readonly by: string | null;
}

/** Enqueues the addition of any participant; only users that another actor added are notified. */
export async function enqueueAdded(
  tx: Tx,
  { id, updated_at: at }: Pick<ParticipantRow, 'id' | 'updated_at'>,
  by: string | null,
): Promise<void> {
  await enqueue(tx, PARTICIPANT_ADDED, { participant_id: id, at, by });
}

/** The assignee was set or removed (core/notifications/causes/assigned.ts). */
export const CONVERSATION_ASSIGNED = defineTopic<ConversationAssigned>('conversations.assigned');

export interface ConversationAssigned {
  readonly conversation_id: string;
  /** Actor id, or null if no actor did, such as for a case that begins with a mail. */
  readonly by: string | null;
  /** `assigned_at` of the conversation. */
  readonly at: string;
}

/**
 * A user has read a conversation: its notifications of these messages are marked as read
 * (core/notifications/feed/mark-conversation.ts).
 */
export const CONVERSATION_READ = defineTopic<ConversationRead>('conversations.read');

/** Many `conversations.read` at once: one row for each would be the longest transaction of all. */
export const CONVERSATIONS_READ = defineTopic<{ readonly read: readonly ConversationRead[] }>(
  'conversations.all_read',
);

/** The read position moved from `after` to `through`, the numbers of messages. */
export interface ConversationRead {
  readonly conversation_id: string;
  readonly actor_id: string;
  readonly after: number;
  readonly through: number;
}

/** The timeline gets a message about a change (core/messages/sending/system-messages.ts). */
export const SYSTEM_EVENT = defineTopic<SystemEvent>('messages.system');

export interface SystemEvent {
  /** The message's id, created with the change, so that retries write the message once. */
  readonly id: string;
  readonly account_id: string;
  readonly conversation_id: string;
  /** `system`: the customer sees it too. */
  readonly visibility: 'internal' | 'system';
  readonly body: string;
  /** Absent for a message that is its text alone. */
  readonly event?: StatedEvent;
  /** The actor of the change; absent where `event` has it, or no actor made it. */
  readonly by?: string;
}

export async function enqueueSystemEvent(tx: Tx, event: Omit<SystemEvent, 'id'>): Promise<void> {
  await enqueue(tx, SYSTEM_EVENT, { id: newId('message'), ...event });
}

/** Enqueues a message to the team about an act: "Ada renamed the conversation …". */
export function enqueueAct(
  tx: Tx,
  { actor, accountId: account_id }: Principal,
  conversation_id: string,
  act: string,
): Promise<void> {
  const body = `${actor.name ?? 'Someone'} ${act}.`;
  return enqueueSystemEvent(tx, { account_id, conversation_id, visibility: 'internal', body, by: actor.id });
}
