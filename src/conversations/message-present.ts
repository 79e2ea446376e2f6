import type { DomainEvent } from '../engine/publish.ts';
import type { Actor, Entity } from '../protocol/actor.ts';
import type { AgentRun } from '../protocol/agent-run.ts';
import type { Attachment } from '../protocol/attachment.ts';
import type { ChatMessage } from '../protocol/chat-message.ts';
import type { Audience, Conversation } from '../protocol/conversation.ts';
import type { MessageRow, MessageWithParts } from './message-rows.ts';

/** The sub-objects that a caller asked for; what is absent is shown as null. */
export interface MessageExpansions {
  readonly conversation?: Conversation | null;
  readonly sender?: Actor | null;
  readonly author?: Actor | null;
  readonly attachments?: readonly Attachment[];
  readonly reply_to?: ChatMessage | null;
  readonly resource?: Entity | null;
  readonly agent_run?: AgentRun | null;
}

/** A row as the team sees it (specification, chat_message). */
export function presentMessage(row: MessageRow, expansions: MessageExpansions = {}): ChatMessage {
  if (row.kind === 'void' || row.status === 'void') throw new TypeError('a void is shown to nobody');
  return {
    id: row.id,
    object: 'chat_message',
    kind: row.kind,
    status: row.status,
    visibility: row.visibility,
    conversation: expansions.conversation ?? null,
    sequence: row.sequence,
    body: row.deleted_at === null ? row.body : null,
    subject: row.subject,
    sender: expansions.sender ?? null,
    author: expansions.author ?? null,
    attachments: expansions.attachments === undefined ? null : [...expansions.attachments],
    reply_to: expansions.reply_to ?? null,
    resource: expansions.resource ?? null,
    channel: row.channel,
    scheduled_at: row.scheduled_at,
    agent_run: expansions.agent_run ?? null,
    streaming_state: row.streaming_state,
    client_message_id: row.client_message_id,
    edited_at: row.edited_at,
    deleted_at: row.deleted_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** Customers get external and system messages only, and only of their own conversations' timeline. */
export function visibleToCustomers(row: MessageRow, audience: Audience): boolean {
  return audience === 'customer' && row.status === 'sent' && row.visibility !== 'internal';
}

/** The same message as a customer sees it: without the author behind the persona, and without resources of the app. */
export function forCustomer(message: ChatMessage): ChatMessage {
  const attachments = message.attachments?.map((attachment) => ({ ...attachment, resource: null })) ?? null;
  return { ...message, author: null, agent_run: null, attachments };
}

/** `message.created` or `message.updated` of a sent message, for both audiences (realtime.md section 3). */
export function messageEvent(
  event: 'message.created' | 'message.updated',
  { row, sender, attachments }: MessageWithParts,
  audience: Audience,
): DomainEvent {
  const team = presentMessage(row, { sender, attachments });
  return {
    event,
    stream: row.conversation_id,
    conversationId: row.conversation_id,
    sequence: row.sequence ?? 0,
    resource: row.id,
    at: row.updated_at,
    team,
    customer: visibleToCustomers(row, audience) ? forCustomer(team) : undefined,
    streaming: row.streaming_state === 'streaming',
  };
}
