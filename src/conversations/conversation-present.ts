import type { Actor, Entity, MessagingGroup } from '../protocol/resources/actor.ts';
import type { ChatMessage } from '../protocol/resources/chat-message.ts';
import type { Conversation } from '../protocol/resources/conversation.ts';
import type { Participant } from '../protocol/resources/participant.ts';
import type { ConversationRow } from './insert-conversation.ts';

/** The fields of a conversation that differ by reader. */
export interface OwnView {
  /** Null if the reader is not a participant. */
  readonly membership: 'active' | 'hidden' | null;
  readonly unread: number;
  readonly lastMessageAt: string | null;
}

/** The requested sub-objects; absent ones are shown as null. */
export interface ConversationExpansions {
  readonly assignee?: Actor | null;
  readonly group?: MessagingGroup | null;
  readonly participants?: readonly Participant[];
  readonly topic?: Entity | null;
  readonly lastMessage?: ChatMessage | null;
}

/** Returns a row as the team sees it (docs/contract.md#conversations). */
export function presentConversation(
  row: ConversationRow,
  own: OwnView,
  expansions: ConversationExpansions = {},
): Conversation {
  const { participants } = expansions;
  return {
    id: row.id,
    object: 'conversation',
    type: row.type,
    audience: row.audience,
    title: row.title,
    workflow_status: row.workflow_status,
    group: expansions.group ?? null,
    status: own.membership === 'hidden' ? 'hidden' : row.status,
    legal_hold: row.legal_hold,
    assignee: expansions.assignee ?? null,
    participants: participants === undefined ? null : [...participants],
    topic: expansions.topic ?? null,
    unread: own.unread,
    last_message_at: own.lastMessageAt,
    last_message: expansions.lastMessage ?? null,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** Returns the conversation as a customer sees it (docs/contract.md#customers): the team's workflow is hidden. */
export function conversationForCustomer(conversation: Conversation): Conversation {
  return {
    ...conversation,
    workflow_status: null,
    legal_hold: 'released',
    assignee: null,
    group: null,
    topic: null,
  };
}
