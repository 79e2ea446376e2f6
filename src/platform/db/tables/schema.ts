import type { ColumnType, Generated, JSONColumnType } from 'kysely';
import type {
  AgentStatus,
  DefinitionType,
  ReviewRequirement,
  Tier,
  TriggerType,
} from '../../../contract/protocol/resources/agent-definition.ts';
import type { IncompleteReason } from '../../../contract/protocol/resources/agent-run.ts';
import type { AttachmentKind } from '../../../contract/protocol/resources/attachment.ts';
import type { BuiltInTool } from '../../../contract/protocol/resources/available-tool.ts';
import type {
  Channel,
  MessageKind,
  MessageStatus,
  Visibility,
} from '../../../contract/protocol/resources/chat-message.ts';
import type {
  Conversation,
  ConversationAudience,
  ConversationType,
} from '../../../contract/protocol/resources/conversation.ts';
import type { SentEmailStatus } from '../../../contract/protocol/resources/email.ts';
import type { Notification } from '../../../contract/protocol/resources/notification.ts';
import type { Participant } from '../../../contract/protocol/resources/participant.ts';
import type { AccountTables } from './account-tables.ts';
import type { AgentRunTables } from './agent-run-tables.ts';
import type { CellTables } from './cell-tables.ts';
import type { IdentityTables } from './identity-tables.ts';
import type { ImportTables } from './import-tables.ts';
import type { InboxTables } from './inbox-tables.ts';
import type { MailTables } from './mail-tables.ts';
import type { MetadataColumn } from './metadata-column.ts';
import type { NotificationTables } from './notification-tables.ts';
import type { SearchTables } from './search-tables.ts';
import type { SignInTables } from './sign-in-tables.ts';
import type { Streamed, Time, Times } from './touched.ts';
import type { WebhookTables } from './webhook-tables.ts';
import type { WidgetTables } from './widget-tables.ts';

/**
 * The tables, as migrations/ make them. Timestamps are read as ISO 8601 in UTC with microseconds,
 * bigints as numbers, xid8 as decimal text (platform/db/connection/connection-options.ts).
 */
export interface Schema
  extends AccountTables,
    AgentRunTables,
    CellTables,
    IdentityTables,
    ImportTables,
    InboxTables,
    MailTables,
    NotificationTables,
    SearchTables,
    SignInTables,
    WebhookTables,
    WidgetTables {
  settings: {
    name: string;
    value: string;
    created_at: Time;
  };

  conversations: Streamed & {
    created_at: Time;
    id: string;
    account_id: string;
    type: ConversationType;
    audience: Generated<ConversationAudience>;
    /** The id that the account's own application has for it; unique in the account. */
    external_id: string | null;
    metadata: MetadataColumn;
    title: string | null;
    workflow_status: Conversation['workflow_status'];
    group_id: string | null;
    status: Generated<'active' | 'archived'>;
    legal_hold: Generated<Conversation['legal_hold']>;
    /** Set if the case is bridged: replies leave as mail from this inbox. */
    inbox_id: string | null;
    /** The widget through which its customer opened the case, which may be gone. */
    widget_id: string | null;
    assignee_id: string | null;
    /** When the present assignee was set or removed. */
    assigned_at: string | null;
    topic_type: 'account' | 'actor' | 'entity' | null;
    topic_id: string | null;
    lane_behind: Conversation['workflow_status'];
    direct_key: string | null;
    /** Set on a tombstone, which can be restored until it is purged. */
    deleted_at: string | null;
    deleted_by: string | null;
    /** The direct key while the conversation is deleted. */
    deleted_direct_key: string | null;
    /**
     * Raised by Postgres when who is notified or what starts an agent changes (migrations/0011).
     */
    roster_version: Generated<number>;
    /** The messages up to this number were purged. */
    purged_through: Generated<number>;
    /** The time of the last purge, and its transaction. */
    purged_at: string | null;
    purged_in: string | null;
    /** The files of the messages up to this number were purged. */
    files_purged_through: Generated<number>;
    /** Whether one of the two users of this direct message has blocked the other (`blocks`). */
    is_blocked: Generated<boolean>;
  };

  participants: Streamed & {
    created_at: Time;
    id: string;
    account_id: string;
    conversation_id: string;
    actor_id: string | null;
    type: Participant['type'];
    role: Generated<Participant['role']>;
    membership: Generated<Participant['membership']>;
    notifications: Generated<Participant['notifications']>;
    agent_trigger_policy: Participant['agent_trigger_policy'];
    agent_trigger_keywords: Generated<string[]>;
    read_sequence: Generated<number>;
    hidden_after: number | null;
    /** `infinity` if only a message ends the snooze. A past time counts as null (isSnoozed). */
    snoozed_until: string | null;
    /** The number of the newest message when the conversation was snoozed. */
    snoozed_after: number | null;
    /** When a mute ends by itself. */
    muted_until: string | null;
    metadata: MetadataColumn;
  };

  /** Customers that the team has blocked, and users that a user has blocked. */
  blocks: {
    id: string;
    account_id: string;
    actor_id: string;
    /** Null for the team. */
    blocker_id: string | null;
    created_by: string;
    created_at: Time;
  };

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
    /** The time of its notifications (entry into the timeline, or end); null for `created_at`. */
    notified_at: string | null;
    /** Null for a message that was sent here. */
    imported: ColumnType<ImportMark | null, string | null | undefined, never>;
    incomplete: IncompleteReason | null;
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
    created_at: Time;
  };

  outbox: {
    id: Generated<number>;
    topic: string;
    payload: JSONColumnType<object>;
    attempts: Generated<number>;
    created_at: Time;
    due_at: Time;
  };

  idempotency_keys: {
    hash: Buffer;
    fingerprint: Buffer;
    claim: string;
    claimed_until: string;
    status: number | null;
    response: Buffer | null;
    /** The response is readable only with the Idempotency-Key itself. */
    encrypted: Generated<boolean>;
    /** Null in rows of an earlier version. */
    account_id: string | null;
    /** The id of the resource that the response shows. */
    about: string | null;
    created_at: Time;
  };

  agent_definitions: Times & {
    id: string;
    account_id: string;
    actor_id: string;
    definition_type: Generated<DefinitionType>;
    category_code: string;
    trigger_type: TriggerType;
    name: string;
    slug: string;
    description: string | null;
    status: Generated<AgentStatus>;
    role_id: string | null;
    system_prompt: string | null;
    tier: Tier | null;
    temperature: number | null;
    trigger_config: ColumnType<AgentTriggerConfig | null, string | null | undefined, string | null>;
    endpoint_tool_slugs: Generated<string[]>;
    endpoint_tool_review: ColumnType<Readonly<Record<string, boolean>>, string | undefined, string>;
    tools: ColumnType<readonly AttachedTool[], string | undefined, string>;
    next_due_at: string | null;
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

  audit_chains: {
    account_id: string;
    /** Null until the first row is sealed. */
    head: ColumnType<object | null, string | null, string>;
  };

  audit_checkpoints: {
    account_id: string;
    /** The highest number that was purged. */
    last: number;
    checkpoint: ColumnType<object, string, never>;
  };

  audit_events: {
    id: string;
    account_id: string;
    conversation_id: string | null;
    actor_id: string | null;
    action: string;
    details: ColumnType<Readonly<Record<string, unknown>>, string | undefined, string>;
    created_at: Time;
    /** Grows in the order of the inserts; null for rows from before the chain. */
    position: ColumnType<number | null, never, never>;
    /** The place in the chain; this and the columns below are null until the row is sealed. */
    number: number | null;
    sealed_at: string | null;
    /** Null also once the details are erased. */
    salt: Buffer | null;
    details_hash: Buffer | null;
    hash: Buffer | null;
    /** Signed; present if the details of a sealed row were erased. */
    erasure: ColumnType<object | null, never, string>;
  };

  uploads: {
    s3_key: string;
    account_id: string;
    actor_id: string;
    filename: string;
    content_type: string;
    size_bytes: number;
    attached_at: string | null;
    withdrawn_at: string | null;
    created_at: Time;
  };

  retention_policies: Times & {
    account_id: string;
    messages_days: number | null;
    files_days: number | null;
    notifications_days: number | null;
    runs_days: number | null;
    audit_days: number | null;
    /** When a sweep last had no more to purge. */
    swept_at: string | null;
  };

  /** Maintained by triggers of `uploads`. */
  stored_bytes: {
    account_id: string;
    bytes: number;
  };

  compliance_jobs: Times & {
    id: string;
    account_id: string;
    kind: 'conversation_export' | 'user_export' | 'user_erasure';
    /** The conversation or actor that the job is about, which may be gone. */
    subject_id: string;
    requested_by: string;
    options: ColumnType<Readonly<Record<string, unknown>>, string | undefined, never>;
    status: Generated<'queued' | 'running' | 'complete' | 'failed' | 'expired'>;
    done: Generated<number>;
    total: Generated<number>;
    result: ColumnType<Readonly<Record<string, unknown>> | null, string | null | undefined, string | null>;
    error: string | null;
    /** The file of the attempt under way, or of the result. */
    s3_key: string | null;
    size_bytes: number | null;
    attempts: Generated<number>;
    /** Grows whenever a node takes the job. */
    fence: Generated<number>;
    lease_until: string | null;
    completed_at: string | null;
    expires_at: string | null;
  };

  /** Events of producers, kept for 30 days. */
  platform_events: {
    id: string;
    account_id: string;
    type: string;
    event_id: string | null;
    data: ColumnType<Readonly<Record<string, unknown>>, string, string>;
    resource_type: string | null;
    resource_id: string | null;
    created_by: string;
    created_at: Time;
  };

  // Parts of messages, which change without them (migrations/0028_reactions.ts).
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

/** By whom, why and when a message was redacted. */
export interface MessageRedaction {
  /** Actor id. */
  readonly by: string;
  readonly reason: string;
  readonly at: string;
}

/** The import that wrote a message. */
export interface ImportMark {
  readonly import_id: string;
  /** ISO 8601 in UTC with microseconds. */
  readonly at: string;
  /** Actor id, or null for the operator. */
  readonly by: string | null;
}

/** How a draft or a scheduled message ended. */
export interface MessageOutcome {
  readonly result: 'sent' | 'canceled' | 'failed' | 'rejected' | 'superseded';
  readonly reason: string | null;
  readonly at: string;
}

/** `cron_schedule` and `timezone` are for schedules, `event_filters` for starts by events. */
interface AgentTriggerConfig {
  readonly cron_schedule?: string;
  readonly timezone?: string;
  readonly event_filters?: readonly string[];
}

/** A built-in tool of an agent. `config`: JSON that fits the tool's schema, or null. */
export interface AttachedTool {
  readonly id: string;
  readonly tool: BuiltInTool;
  readonly review_requirement: ReviewRequirement;
  readonly config: unknown;
  readonly sort_order: number;
  readonly created_at: string;
  readonly updated_at: string;
}
