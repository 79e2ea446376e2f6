import type { DomainEvent } from '../engine/publish.ts';
import type { Actor, Entity } from '../protocol/resources/actor.ts';
import type { AgentRun } from '../protocol/resources/agent-run.ts';
import type { Attachment } from '../protocol/resources/attachment.ts';
import type { ChatMessage } from '../protocol/resources/chat-message.ts';
import type { Conversation, ConversationAudience } from '../protocol/resources/conversation.ts';
import type { MessageRow, MessageWithParts } from './message-rows.ts';

/** The requested sub-objects; absent ones are shown as null. */
export interface MessageExpansions {
  readonly conversation?: Conversation | null;
  readonly sender?: Actor | null;
  readonly author?: Actor | null;
  readonly attachments?: readonly Attachment[];
  readonly reply_to?: ChatMessage | null;
  readonly resource?: Entity | null;
  readonly agent_run?: AgentRun | null;
}

/** The reader of a message, as far as it affects the representation. A Principal is one. */
export interface MessageViewer {
  readonly customer: boolean;
  readonly actor: Pick<Actor, 'id'>;
}

/** Stands for all readers of an audience: none of them is the author. */
const TEAM: MessageViewer = { customer: false, actor: { id: '' } };
const CUSTOMERS: MessageViewer = { customer: true, actor: { id: '' } };

/** Returns a row as this reader sees it (docs/contract.md#messages). */
export function presentMessage(
  row: MessageRow,
  viewer: MessageViewer,
  expansions: MessageExpansions = {},
): Required<ChatMessage> {
  const message = forTeam(row, viewer, expansions);
  return viewer.customer ? forCustomer(message) : message;
}

/**
 * Returns a message for an event to the whole team: all of them get the same frame, so it has no `client_message_id`.
 */
export function presentForTeam(row: MessageRow, expansions: MessageExpansions): Required<ChatMessage> {
  return presentMessage(row, TEAM, expansions);
}

function forTeam(
  row: MessageRow,
  viewer: MessageViewer,
  expansions: MessageExpansions,
): Required<ChatMessage> {
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
    client_message_id: row.author_id === viewer.actor.id ? row.client_message_id : null,
    edited_at: row.edited_at,
    deleted_at: row.deleted_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
    sender_id: row.sender_id,
    author_id: row.author_id,
    edited_by: editorOf(row),
    sent_at: row.status === 'sent' ? (row.outcome?.at ?? row.created_at) : null,
    cc: row.cc && [...row.cc],
  };
}

/**
 * Rows from before the column existed have no editor: a message that is not a draft can only be edited by its author.
 */
function editorOf({ edited_at, edited_by, kind, status, outcome, author_id }: MessageRow): string | null {
  if (edited_at === null) return null;
  const isOfDraft = kind !== 'scheduled' && (status !== 'sent' || outcome !== null);
  return edited_by ?? (isOfDraft ? null : author_id);
}

/** Customers see only external and system messages, and only in the timelines of their own conversations. */
export function visibleToCustomers(row: MessageRow, audience: ConversationAudience): boolean {
  return audience === 'customer' && row.status === 'sent' && row.visibility !== 'internal';
}

/**
 * Returns the message as a customer sees it: without the person or agent behind the persona, and without how and when
 * the team wrote it. A message belongs to the team if its sender is not its author.
 */
function forCustomer(message: Required<ChatMessage>): Required<ChatMessage> {
  const { kind, sender_id, author_id, scheduled_at, streaming_state, edited_at, sent_at, created_at } =
    message;
  const isOfTeam = author_id !== null && author_id !== sender_id;
  // A draft that was approved: customers never see it being written.
  const wasHeldBack = isOfTeam && sent_at !== created_at;
  return {
    ...message,
    // A resource of the app could reveal who is behind the persona.
    attachments: message.attachments?.map((attachment) => ({ ...attachment, resource: null })) ?? null,
    kind: isOfTeam ? 'chat' : kind,
    scheduled_at: isOfTeam ? null : scheduled_at,
    streaming_state: wasHeldBack ? null : streaming_state,
    author: null,
    author_id: null,
    agent_run: null,
    cc: null,
    edited_by: null,
    edited_at: edited_at !== null && sent_at !== null && edited_at > sent_at ? edited_at : null,
    created_at: sent_at ?? created_at,
  };
}

/** `message.created` or `message.updated` of a sent message, for both audiences (docs/realtime.md#events). */
export function messageEvent<Name extends 'message.created' | 'message.updated'>(
  event: Name,
  { row, sender, attachments }: MessageWithParts,
  audience: ConversationAudience,
): DomainEvent<Name> {
  const parts = { sender, attachments };
  return {
    event,
    stream: row.conversation_id,
    conversationId: row.conversation_id,
    sequence: row.sequence ?? 0,
    resource: row.id,
    at: row.updated_at,
    team: presentForTeam(row, parts),
    customer: visibleToCustomers(row, audience) ? presentMessage(row, CUSTOMERS, parts) : undefined,
    streaming: row.streaming_state === 'streaming',
  };
}
