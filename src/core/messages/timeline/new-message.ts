import type { Selectable } from 'kysely';
import type { Entity } from '../../../contract/protocol/resources/actor.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import type { MessageRow } from '../../resources/message.ts';

/** A message about to enter the timeline, without the columns of numbering and Postgres. */
export interface NewMessage
  extends Omit<
    MessageRow,
    | 'sequence'
    | 'email_status'
    | 'status'
    | 'has_attachments'
    | 'scheduled_at'
    | 'edited_at'
    | 'edited_by'
    | 'deleted_at'
    | 'redaction'
    | 'created_at'
    | 'updated_at'
    | 'outcome'
  > {
  readonly attachments: readonly NewAttachment[];
}

export interface NewAttachment
  extends Omit<
    Selectable<Schema['attachments']>,
    'conversation_id' | 'message_id' | 'removed_at' | 'created_at'
  > {
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
