import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { Attachment } from '@parley/protocol/resources/attachment.ts';
import type {
  AttachmentInput,
  ChatMessage,
  SendMessageBody,
} from '@parley/protocol/resources/chat-message.ts';
import type { Metadata } from '@parley/protocol/resources/metadata.ts';

/** An attachment of a message that is being sent. */
export interface LocalAttachment extends Omit<Attachment, 'id'> {
  /** The server gives it an id with the message. */
  readonly id: null;
}

/**
 * The local echo of a message that is being sent or was refused. It has the fields that a page
 * draws, so that few pages need to tell it from a message of the server.
 */
export interface LocalMessage {
  /**
   * `pending` until the server has the message (`sent`) or has definitely refused it (`failed`).
   */
  readonly delivery: 'pending' | 'failed';
  /** The `client_message_id`. Names the message in this view, also once the server has it. */
  readonly key: string;
  /** Absent, as echoes are not edited. */
  readonly pending?: never;
  /** Absent, as echoes are not edited. */
  readonly failed?: never;
  /** Why the message was not sent; undefined unless it has failed. */
  readonly error?: Error;
  /** The server gives it an id. */
  readonly id: null;
  /** The server gives it a number. */
  readonly sequence: null;
  /** The same as `key`. */
  readonly client_message_id: string;
  /** The text; null for a message of files alone. */
  readonly body: string | null;
  /** Undefined until the client knows its own actor. */
  readonly sender: Actor | undefined;
  /** `url` of a file is a preview in browsers, else null. */
  readonly attachments: readonly LocalAttachment[];
  /** The application's own data; `{}` for none. */
  readonly metadata: Metadata;
  /** Id of the message that is replied to; null where there is none. */
  readonly reply_to_id: string | null;
  /** The message that is replied to; null where there is none, and until it was read. */
  readonly reply_to: ChatMessage | null;
  /** Null, as in a message without reactions. */
  readonly reactions: null;
  /** Null: a message that is not sent has no replies. */
  readonly thread: null;
  /** Null: only agents stream a text. */
  readonly streaming_state: null;
  /** Null: echoes are not edited. */
  readonly edited_at: null;
  /** Null: `discard` removes the whole echo. */
  readonly deleted_at: null;
  /** By the clock of this machine. */
  readonly created_at: string;
  /** The body of the request. */
  readonly request: SendMessageBody;
}

export interface EchoParts {
  readonly sender: Actor | undefined;
  readonly reply_to: ChatMessage | null;
  readonly created_at: string;
  /** Returns a preview's URL for the file of this key, or null. */
  previewOf(s3Key: string): string | null;
}

export function localMessage(
  key: string,
  request: SendMessageBody,
  { previewOf, ...parts }: EchoParts,
): LocalMessage {
  const { created_at } = parts;
  return {
    delivery: 'pending',
    key,
    id: null,
    sequence: null,
    client_message_id: key,
    body: request.body ?? null,
    ...parts,
    attachments: (request.attachments ?? []).map((input) => localAttachment(input, created_at, previewOf)),
    metadata: request.metadata ?? {},
    reply_to_id: request.reply_to_message_id ?? null,
    reactions: null,
    thread: null,
    streaming_state: null,
    edited_at: null,
    deleted_at: null,
    request,
  };
}

function localAttachment(
  { kind, filename, content_type, size_bytes, url, s3_key, metadata = {} }: AttachmentInput,
  created_at: string,
  previewOf: EchoParts['previewOf'],
): LocalAttachment {
  return {
    id: null,
    object: 'message_attachment',
    kind,
    filename: filename ?? null,
    content_type: content_type ?? null,
    size_bytes: size_bytes ?? null,
    url: url ?? (s3_key === undefined ? null : previewOf(s3_key)),
    resource: null,
    removed_at: null,
    created_at,
    metadata,
  };
}

/** Returns whether the echo stands in the timeline before it was refused. */
export function isForTimeline({ mode, scheduled_at }: SendMessageBody): boolean {
  return mode !== 'draft' && scheduled_at === undefined;
}
