import type { IncompleteReason } from '@parley/protocol/resources/agent-run.ts';
import type { AttachmentKind } from '@parley/protocol/resources/attachment.ts';
import type {
  Channel,
  MessageKind,
  MessageStatus,
  StatedEvent,
  Visibility,
} from '@parley/protocol/resources/chat-message.ts';
import type { SentEmailStatus } from '@parley/protocol/resources/email.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import type { Question } from '@parley/protocol/resources/question.ts';
import type { ColumnType, Generated } from 'kysely';
import type { MetadataColumn } from '../../platform/db/tables/metadata-column.ts';
import type { Streamed, Time } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends MessageTables {}
}

interface MessageTables {
  messages: Streamed & {
    created_at: Time;
    id: string;
    account_id: string;
    conversation_id: string;
    sequence: number | null;
    kind: MessageKind | 'void';
    status: MessageStatus | 'void';
    visibility: Visibility;
    channel: Generated<Channel>;
    /**
     * The outcome of the message's mail. Null on a sent message of channel `email` means queued.
     */
    email_status: SentEmailStatus | null;
    body: string | null;
    subject: string | null;
    cc: string[] | null;
    mentions: string[] | null;
    sender_id: string | null;
    author_id: string | null;
    reply_to_id: string | null;
    resource_type: 'account' | 'actor' | 'entity' | null;
    resource_id: string | null;
    source_thread_message_id: string | null;
    agent_run_id: string | null;
    streaming_state: 'streaming' | 'complete' | null;
    client_message_id: string | null;
    has_attachments: Generated<boolean>;
    scheduled_at: string | null;
    edited_at: string | null;
    edited_by: string | null;
    deleted_at: string | null;
    /** The priority of an alert's notifications, or null for normal. */
    priority: Notification['priority'] | null;
    redaction: ColumnType<MessageRedaction | null, string | null | undefined, string | null>;
    outcome: ColumnType<MessageOutcome | null, string | null | undefined, string | null>;
    metadata: MetadataColumn;
    attempts: Generated<number>;
    /** Until when a scheduled message that was refused waits for its next attempt. */
    retry_at: string | null;
    /** The time of its notifications (entry into the timeline, or end); null for `created_at`. */
    notified_at: string | null;
    /** Null for a message that was sent here. */
    imported: ColumnType<ImportMark | null, string | null | undefined, never>;
    incomplete: IncompleteReason | null;
    /** Null unless the message states an event that has a type. */
    event: ColumnType<StatedEvent | null, StatedEvent | null | undefined, never>;
    /** What it asks, with its state and its answer (features/questions/). */
    question: ColumnType<Question | null, Question | null | undefined, string | null>;
  };

  attachments: {
    id: string;
    conversation_id: string;
    message_id: string;
    position: number;
    kind: AttachmentKind;
    s3_key: string | null;
    filename: string | null;
    content_type: string | null;
    size_bytes: number | null;
    url: string | null;
    resource_type: 'account' | 'actor' | 'entity' | null;
    resource_id: string | null;
    /** When its bytes were purged; `s3_key` is null since then. */
    removed_at: string | null;
    metadata: MetadataColumn;
    picture_metadata: 'removed' | 'kept' | null;
    created_at: Time;
  };

  message_revisions: {
    message_id: string;
    conversation_id: string;
    revision: number;
    body: string | null;
    subject: string | null;
    cc: string[] | null;
    /** Null in rows of an earlier version. */
    mentions: string[] | null;
    attachment_ids: string[] | null;
    replaced_by: string;
    replaced_at: Time;
  };

  // Parts of messages, which change without them (migrations/baseline/messages.sql).
  reactions: {
    message_id: string;
    emoji: string;
    actor_id: string;
    conversation_id: string;
    customer: boolean;
    created_at: Time;
  };

  reacted_messages: Streamed & {
    message_id: string;
    conversation_id: string;
  };

  pins: Streamed & {
    message_id: string;
    conversation_id: string;
    /** Actor id; null, like `pinned_at`, once the message is no longer pinned. */
    pinned_by: string | null;
    pinned_at: string | null;
  };

  thread_reads: {
    message_id: string;
    actor_id: string;
    conversation_id: string;
    read_sequence: number;
  };
}

/** The actor, the reason and the time of a redaction. */
interface MessageRedaction {
  /** Actor id. */
  readonly by: string;
  readonly reason: string;
  readonly at: string;
}

/** The import that wrote a message. */
interface ImportMark {
  readonly import_id: string;
  /** ISO 8601 in UTC with microseconds. */
  readonly at: string;
  /** Actor id, or null for the operator. */
  readonly by: string | null;
}

/** How a draft or a scheduled message ended. */
interface MessageOutcome {
  /** The actor that approved a draft. */
  readonly approved_by?: string;
  readonly result: 'sent' | 'canceled' | 'failed' | 'rejected' | 'superseded';
  readonly reason: string | null;
  readonly at: string;
}
