import { type FormReader, formAt } from '@parley/protocol/forms/forms.ts';
import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { Attachment } from '@parley/protocol/resources/attachment.ts';
import { ChatMessage, type MessageInclude } from '@parley/protocol/resources/chat-message.ts';
import type { ConversationAudience } from '@parley/protocol/resources/conversation.ts';
import type { SentEmailStatus } from '@parley/protocol/resources/email.ts';
import type { Version } from '@parley/protocol/versions.ts';
import type { Selectable } from 'kysely';
import type { Db, Querier } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import type { DomainEvent } from '../frames/publish.ts';
import { readActors } from './actor.ts';
import { type Downloads, readAttachments } from './attachment.ts';
import { type EncodedRows, type LargeText, type RowKey, type RowKind, withFields } from './encoded-rows.ts';
import { metadataFor, NO_METADATA } from './metadata.ts';
import { presentQuestion, questionForCustomer } from './question.ts';

export const MESSAGE_COLUMNS = [
  'id',
  'account_id',
  'conversation_id',
  'sequence',
  'kind',
  'status',
  'visibility',
  'channel',
  'email_status',
  'body',
  'subject',
  'cc',
  'mentions',
  'sender_id',
  'author_id',
  'reply_to_id',
  'resource_type',
  'resource_id',
  'agent_run_id',
  'streaming_state',
  'client_message_id',
  'has_attachments',
  'scheduled_at',
  'edited_at',
  'edited_by',
  'deleted_at',
  'redaction',
  'created_at',
  'updated_at',
  'outcome',
  'metadata',
  'imported',
  'incomplete',
  'event',
  'question',
] as const satisfies readonly (keyof Schema['messages'])[];

/** A message as a row of Postgres; voids have the status 'void' and are never shown. */
export type MessageRow = Readonly<Pick<Selectable<Schema['messages']>, (typeof MESSAGE_COLUMNS)[number]>>;

/** Finds a message in the partition of its conversation. */
export type MessageKey = Pick<MessageRow, 'id' | 'conversation_id'>;

/** Returns `m.id, m.account_id, …` for a table or alias. */
export function messageColumns(alias: string): string {
  return MESSAGE_COLUMNS.map((column) => `${alias}.${column}`).join(', ');
}

/**
 * A row without its body if that is large: `large_bytes` is its length in UTF-8, otherwise null.
 */
export interface BriefRow extends MessageRow {
  readonly large_bytes: number | null;
}

/**
 * Returns `messageColumns` for many rows: a body of more than LARGE_BYTES is left out, and
 * `withLargeBodies` (large-bodies.ts) reads it where it is shown. Postgres knows the length without
 * reading the text.
 */
export function briefColumns(alias: string): string {
  const length = `octet_length(${alias}.body)`;
  const columns = MESSAGE_COLUMNS.map((column) =>
    column === 'body'
      ? `CASE WHEN ${length} > ${LARGE_BYTES} THEN NULL ELSE ${alias}.body END AS body`
      : `${alias}.${column}`,
  );
  return `${columns.join(', ')}, CASE WHEN ${length} > ${LARGE_BYTES} THEN ${length} END AS large_bytes`;
}

/** Returns a message of any account, in any state, or undefined. */
export async function readMessage(db: Db, id: string): Promise<MessageRow | undefined> {
  const [row] = await readMessagesById(db, [id]);
  return row?.status === 'void' ? undefined : row;
}

/** Returns messages of any account in any state, voids included, in no particular order. */
export function readMessagesById(db: Querier, ids: readonly string[]): Promise<MessageRow[]> {
  return db.query(READ_BY_ID, ids);
}

/** A message with the parts that every event about it contains. */
export interface MessageWithParts {
  readonly row: MessageRow;
  readonly sender: Actor | null;
  readonly attachments: readonly Attachment[];
}

/** Adds senders and attachments to rows, in their order, in at most two queries. */
export async function withParts(
  db: Db,
  files: Downloads,
  rows: readonly MessageRow[],
): Promise<MessageWithParts[]> {
  const senderIds = new Set(rows.flatMap((row) => row.sender_id ?? []));
  const withFiles = rows.filter((row) => row.has_attachments).map((row) => row.id);
  const [senders, attachments] = await Promise.all([
    readActors(db, [...senderIds]),
    readAttachments(db, files, withFiles),
  ]);
  return rows.map((row) => ({
    row,
    sender: row.sender_id === null ? null : (senders.get(row.sender_id) ?? null),
    attachments: attachments.get(row.id) ?? [],
  }));
}

export type MessageExpansions = { readonly [Name in MessageInclude]?: Readonly<ChatMessage[Name]> };

/** A reader, as far as the representation depends on it. A Principal is one. */
export interface Viewer {
  readonly customer: boolean;
  readonly actor: Pick<Actor, 'id'>;
}

/** Represents all readers of an audience: none of them is the author. */
const TEAM: Viewer = { customer: false, actor: { id: '' } };

const CUSTOMERS: Viewer = { customer: true, actor: { id: '' } };

/** Returns a row as this reader sees it (docs/contract.md#messages). */
export function presentMessage(
  row: MessageRow,
  viewer: Viewer,
  expansions: MessageExpansions = {},
): Required<ChatMessage> {
  const message = forTeam(row, viewer, expansions);
  return viewer.customer ? forCustomer(message) : message;
}

/**
 * Returns a message for an event to the whole team: one frame for all, so no `client_message_id`.
 */
export function presentForTeam(row: MessageRow, expansions: MessageExpansions): Required<ChatMessage> {
  return presentMessage(row, TEAM, expansions);
}

function forTeam(row: MessageRow, viewer: Viewer, expansions: MessageExpansions): Required<ChatMessage> {
  if (row.kind === 'void' || row.status === 'void') throw new TypeError('a void has no presentation');
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
    attachments: expansions.attachments ? [...expansions.attachments] : null,
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
    redaction: row.redaction,
    email_status: emailStatusOf(row),
    reply_to_id: row.reply_to_id,
    reactions: expansions.reactions ? [...expansions.reactions] : null,
    thread: expansions.thread ?? null,
    mentions: row.mentions === null ? [] : [...row.mentions],
    conversation_id: row.conversation_id,
    resource_type: row.resource_type,
    resource_id: row.resource_id,
    agent_run_id: row.agent_run_id,
    metadata: row.metadata ?? NO_METADATA,
    imported: row.imported && { ...row.imported },
    incomplete: row.deleted_at === null ? row.incomplete : null,
    event: row.event && { ...row.event },
    approved_by: row.outcome?.approved_by ?? null,
    question: row.question && presentQuestion(row.question),
  };
}

/**
 * Returns the status of a reply by mail: queued until its mail has an outcome. Null for an answer
 * in the chat, unless it was mailed because it was not read.
 */
function emailStatusOf({ channel, kind, status, email_status }: MessageRow): SentEmailStatus | null {
  if (kind === 'email' || status !== 'sent') return null;
  return email_status ?? (channel === 'email' ? 'queued' : null);
}

/**
 * Returns the editor. Rows from before the column have none: only the author can edit a message
 * that is not a draft.
 */
function editorOf({ edited_at, edited_by, kind, status, outcome, author_id }: MessageRow): string | null {
  if (edited_at === null) return null;
  const isOfDraft = kind !== 'scheduled' && (status !== 'sent' || outcome !== null);
  return edited_by ?? (isOfDraft ? null : author_id);
}

/** Returns whether customers see it: external and system messages in their timelines. */
export function visibleToCustomers(
  { status, visibility }: Pick<MessageRow, 'status' | 'visibility'>,
  audience: ConversationAudience,
): boolean {
  return audience === 'customer' && status === 'sent' && visibility !== 'internal';
}

/**
 * Returns the message as a customer sees it: without the person or agent behind the persona, and
 * without how and when the team wrote it. It is the team's if its sender is not its author.
 */
function forCustomer(message: Required<ChatMessage>): Required<ChatMessage> {
  const {
    kind,
    sender_id,
    author_id,
    scheduled_at,
    streaming_state,
    edited_at,
    sent_at,
    created_at,
    redaction,
    reply_to_id,
    imported,
    event,
    question,
  } = message;
  const isOfTeam = author_id !== null && author_id !== sender_id;
  // An approved draft: customers never see it being written.
  const wasHeldBack = isOfTeam && sent_at !== created_at;
  return {
    ...message,
    attachments: message.attachments && attachmentsFor(CUSTOMERS, message.attachments),
    kind: isOfTeam ? 'chat' : kind,
    scheduled_at: isOfTeam ? null : scheduled_at,
    streaming_state: wasHeldBack ? null : streaming_state,
    author: null,
    author_id: null,
    agent_run: null,
    agent_run_id: null,
    cc: null,
    mentions: null,
    email_status: null,
    edited_by: null,
    // The message to which the team replies may be one of its own notes.
    reply_to_id: isOfTeam ? null : reply_to_id,
    redaction: redaction && { by: null, reason: null, at: redaction.at },
    imported: imported && { ...imported, by: null },
    incomplete: null,
    event: event && { ...event, by: null },
    approved_by: null,
    question: question && questionForCustomer(question),
    edited_at: edited_at !== null && sent_at !== null && edited_at > sent_at ? edited_at : null,
    created_at: sent_at ?? created_at,
    metadata: metadataFor(CUSTOMERS, message.metadata),
  };
}

function attachmentsFor(viewer: Viewer, attachments: readonly Attachment[]): Attachment[] {
  if (!viewer.customer) return [...attachments];
  return attachments.map((attachment) => ({
    ...attachment,
    // A resource of the app could reveal the person behind the persona.
    resource: null,
    metadata: metadataFor(viewer, attachment.metadata),
  }));
}

export type TimelineRow = MessageRow & RowKey & LargeText;

function linksOf(row: MessageRow) {
  return {
    id: row.id,
    account_id: row.account_id,
    conversation_id: row.conversation_id,
    sender_id: row.sender_id,
    author_id: row.author_id,
    reply_to_id: row.reply_to_id,
    resource_type: row.resource_type,
    resource_id: row.resource_id,
    agent_run_id: row.agent_run_id,
    has_attachments: row.has_attachments,
  };
}

/** The columns that name the sub-objects of a message. */
export type MessageLinks = ReturnType<typeof linksOf>;

export const MESSAGES: RowKind<TimelineRow, MessageLinks> = {
  name: 'messages',
  encode: (row, { version, customer }) =>
    JSON.stringify(formAt(version, ChatMessage, presentMessage(row, customer ? CUSTOMERS : TEAM))),
  linksOf,
  isVersioned: ({ status, streaming_state }) => status === 'sent' && streaming_state !== 'streaming',
  subjectOf: ({ id }) => id,
};

export type EncodedMessages = EncodedRows<TimelineRow, MessageLinks>;

/** The fields of a message's JSON that depend on the request. */
export interface RequestedFields extends MessageExpansions {
  /** Null unless the viewer is the author. */
  readonly client_message_id: string | null;
}

/** Returns the JSON that `presentMessage` gives with these fields, from JSON without them. */
export function completeMessage(
  json: string,
  version: Version,
  viewer: Viewer & FormReader,
  { attachments, ...fields }: RequestedFields,
): string {
  return withFields(json, version, viewer, ChatMessage, [
    ['conversation', fields.conversation],
    ['sender', fields.sender],
    ['author', viewer.customer ? null : fields.author],
    ['attachments', attachments && attachmentsFor(viewer, attachments)],
    ['reply_to', fields.reply_to],
    ['resource', fields.resource],
    ['agent_run', viewer.customer ? null : fields.agent_run],
    ['client_message_id', fields.client_message_id],
    ['reactions', fields.reactions],
    ['thread', fields.thread],
  ]);
}

/** Returns the event of a sent message, for both audiences (docs/realtime.md#events). */
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
    erases: row.deleted_at !== null,
  };
}

/**
 * Most texts are shorter. A separate statement reads longer texts and costs as much as ten short
 * rows.
 */
const LARGE_BYTES = 4 * 1024;

const READ_BY_ID = statement<[ids: readonly string[]], MessageRow>('read-messages-by-id')`
    SELECT ${messageColumns('m')} FROM messages m WHERE m.id = ANY($1)`;
