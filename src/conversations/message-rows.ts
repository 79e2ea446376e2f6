import type { Downloads } from '../attachments/storage.ts';
import type { Db } from '../db/handle.ts';
import { statement } from '../db/statement.ts';
import type { Actor } from '../protocol/resources/actor.ts';
import type { Attachment, AttachmentKind } from '../protocol/resources/attachment.ts';
import type {
  Channel,
  ChatMessage,
  MessageKind,
  MessageStatus,
  Visibility,
} from '../protocol/resources/chat-message.ts';
import type { MessageOutcome } from '../protocol/resources/message-outcome.ts';
import { readActors } from '../resources/actor.ts';
import { type EntityRow, presentEntity } from '../resources/entity.ts';

/** A message as a row of Postgres; voids have the status 'void' and are never shown. */
export interface MessageRow {
  readonly id: string;
  readonly account_id: string;
  readonly conversation_id: string;
  readonly sequence: number | null;
  readonly kind: MessageKind | 'void';
  readonly status: MessageStatus | 'void';
  readonly visibility: Visibility;
  readonly channel: Channel;
  readonly body: string | null;
  readonly subject: string | null;
  readonly cc: readonly string[] | null;
  readonly mentions: readonly string[] | null;
  readonly sender_id: string | null;
  readonly author_id: string | null;
  readonly reply_to_id: string | null;
  readonly resource_type: 'account' | 'actor' | 'entity' | null;
  readonly resource_id: string | null;
  readonly agent_run_id: string | null;
  readonly streaming_state: ChatMessage['streaming_state'];
  readonly client_message_id: string | null;
  readonly has_attachments: boolean;
  readonly scheduled_at: string | null;
  readonly edited_at: string | null;
  /** Actor id. */
  readonly edited_by: string | null;
  readonly deleted_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  /** Null while the message waits, and for messages that were sent at once. */
  readonly outcome: Outcome;
}

/** The stored outcome of a draft or a scheduled message; null while it is open. */
export type Outcome = Pick<MessageOutcome, 'result' | 'reason' | 'at'> | null;

/** A message with the parts that every event about it contains. */
export interface MessageWithParts {
  readonly row: MessageRow;
  readonly sender: Actor | null;
  readonly attachments: readonly Attachment[];
}

export const MESSAGE_COLUMNS = [
  'id',
  'account_id',
  'conversation_id',
  'sequence',
  'kind',
  'status',
  'visibility',
  'channel',
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
  'created_at',
  'updated_at',
  'outcome',
] as const satisfies readonly (keyof MessageRow)[];

/** Returns `m.id, m.account_id, …` for a table or alias. */
export function messageColumns(alias: string): string {
  return MESSAGE_COLUMNS.map((column) => `${alias}.${column}`).join(', ');
}

/** Adds senders and attachments to rows, in their order: at most two queries, whatever the number of rows. */
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

/** Returns attachments by message, in their order; files have a signed URL. */
export async function readAttachments(
  db: Db,
  files: Downloads,
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, Attachment[]>> {
  const attachments = new Map<string, Attachment[]>();
  if (messageIds.length === 0) return attachments;
  const rows = await db.query(READ_ATTACHMENTS, messageIds);
  const urls = await Promise.all(rows.map((row) => downloadUrl(files, row)));
  for (const [index, row] of rows.entries()) {
    const ofMessage = attachments.get(row.message_id) ?? [];
    ofMessage.push(presentAttachment({ ...row, url: urls[index] ?? row.url }));
    attachments.set(row.message_id, ofMessage);
  }
  return attachments;
}

export interface AttachmentRow {
  readonly id: string;
  readonly message_id: string;
  readonly kind: AttachmentKind;
  readonly filename: string | null;
  readonly content_type: string | null;
  readonly size_bytes: number | null;
  /** The target of a link, or the signed URL of a file, which expires. */
  readonly url: string | null;
  /** The resource of an attachment of kind resource; null if it was deleted. */
  readonly resource: EntityRow | null;
  readonly created_at: string;
}

type StoredAttachmentRow = AttachmentRow & { readonly s3_key: string | null };

async function downloadUrl(
  files: Downloads,
  { s3_key: key, filename, content_type: contentType }: StoredAttachmentRow,
): Promise<string | null> {
  return key === null ? null : files.presignDownload({ key, filename, contentType });
}

export function presentAttachment(row: AttachmentRow): Attachment {
  return {
    id: row.id,
    object: 'message_attachment',
    kind: row.kind,
    filename: row.filename,
    content_type: row.content_type,
    size_bytes: row.size_bytes,
    url: row.url,
    resource: row.resource && presentEntity(row.resource),
    created_at: row.created_at,
  };
}

const READ_ATTACHMENTS = statement<[messageIds: readonly string[]], StoredAttachmentRow>({
  name: 'read-attachments',
  text: `
    SELECT t.id, t.message_id, t.kind, t.s3_key, t.filename, t.content_type, t.size_bytes, t.url, t.created_at,
      CASE WHEN t.resource_id IS NOT NULL THEN (
        SELECT jsonb_build_object('type', t.resource_type, 'id', r.id, 'name', r.name, 'handle', r.handle) FROM (
          SELECT id, name, NULL AS handle FROM accounts WHERE t.resource_type = 'account' AND id = t.resource_id
          UNION ALL
          SELECT id, name, handle FROM actors WHERE t.resource_type = 'actor' AND id = t.resource_id
          UNION ALL
          SELECT id, name, handle FROM entities WHERE t.resource_type = 'entity' AND id = t.resource_id
        ) r
      ) END AS resource
    FROM attachments t WHERE t.message_id = ANY($1) ORDER BY t.message_id, t.position`,
});
