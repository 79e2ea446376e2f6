import type { Entity } from '@parley/protocol/resources/actor.ts';
import type { Attachment } from '@parley/protocol/resources/attachment.ts';
import type { StatedEvent } from '@parley/protocol/resources/chat-message.ts';
import type { Metadata } from '@parley/protocol/resources/metadata.ts';
import type { Question } from '@parley/protocol/resources/question.ts';
import type { Selectable } from 'kysely';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import type { MessageRow } from '../../resources/message.ts';

/** The columns of a message about to enter the timeline that Postgres does not set, by type. */
export const NEW_COLUMNS = {
  id: 'text',
  account_id: 'text',
  conversation_id: 'text',
  kind: 'text',
  visibility: 'text',
  channel: 'text',
  body: 'text',
  subject: 'text',
  cc: 'text[]',
  mentions: 'text[]',
  sender_id: 'text',
  author_id: 'text',
  reply_to_id: 'text',
  resource_type: 'text',
  resource_id: 'text',
  agent_run_id: 'text',
  streaming_state: 'text',
  client_message_id: 'text',
} as const satisfies Partial<Record<keyof MessageRow, string>>;

export const ATTACHMENT_COLUMNS = {
  id: 'text',
  position: 'integer',
  kind: 'text',
  s3_key: 'text',
  filename: 'text',
  content_type: 'text',
  size_bytes: 'bigint',
  url: 'text',
  resource_type: 'text',
  resource_id: 'text',
  metadata: 'jsonb',
  picture_metadata: 'text',
} as const satisfies Partial<Record<keyof Schema['attachments'], string>>;

/** A message about to enter the timeline, without its number. */
export interface NewMessage extends Pick<MessageRow, keyof typeof NEW_COLUMNS> {
  readonly attachments: readonly NewAttachment[];
  /** Absent if there is none, so that it costs nothing. */
  readonly metadata?: Metadata | undefined;
  /** Absent if there is none, likewise. */
  readonly event?: StatedEvent | undefined;
  /** Absent if there is none, likewise. */
  readonly question?: Question | undefined;
}

export interface NewAttachment
  extends Pick<
    Selectable<Schema['attachments']>,
    Exclude<keyof typeof ATTACHMENT_COLUMNS, 'metadata' | 'picture_metadata'>
  > {
  readonly metadata?: Metadata | null | undefined;
  readonly picture_metadata?: Attachment['picture_metadata'];
  /** The file's signed URL for the message's own event; not a column. */
  readonly download_url?: string;
  /** The linked resource for the message's own event; not a column. */
  readonly resource?: Entity;
}

/** The columns of a message that is only a text of the service or of an agent. */
export const TEXT_ALONE = {
  channel: 'message',
  subject: null,
  cc: null,
  mentions: null,
  agent_run_id: null,
  reply_to_id: null,
  resource_type: null,
  resource_id: null,
  streaming_state: null,
  client_message_id: null,
  attachments: [],
} as const satisfies Partial<NewMessage>;
