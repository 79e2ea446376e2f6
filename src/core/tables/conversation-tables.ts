import type {
  Conversation,
  ConversationAudience,
  ConversationType,
} from '@parley/protocol/resources/conversation.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { Generated } from 'kysely';
import type { FoldedColumn } from '../../platform/db/tables/folded-column.ts';
import type { MetadataColumn } from '../../platform/db/tables/metadata-column.ts';
import type { Streamed, Time } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends ConversationTables {}
}

interface ConversationTables {
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
    folded: FoldedColumn;
    workflow_status: Conversation['workflow_status'];
    group_id: string | null;
    status: Generated<'active' | 'archived'>;
    legal_hold: Generated<Conversation['legal_hold']>;
    /** Set if the case is bridged: replies leave as mail from this inbox. */
    inbox_id: string | null;
    /** The widget through which its customer opened the case, which may be gone. */
    widget_id: string | null;
    /** The group whose members take part in the case (core/conversations/cases/team.ts). */
    team_group_id: string | null;
    assignee_id: string | null;
    /** When the present assignee was set or removed. */
    assigned_at: string | null;
    topic_type: 'account' | 'actor' | 'entity' | null;
    topic_id: string | null;
    lane_behind: Conversation['workflow_status'];
    /**
     * Since when the customer waits for an answer; triggers write it (migrations/0057_waiting.ts).
     */
    waiting_since: string | null;
    direct_key: string | null;
    /** Set on a tombstone, which can be restored until it is purged. */
    deleted_at: string | null;
    deleted_by: string | null;
    /** The direct key while the conversation is deleted. */
    deleted_direct_key: string | null;
    /**
     * Raised by Postgres when who is notified or what starts an agent changes
     * (migrations/baseline/conversations.sql).
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
    /** The group by which it takes part, or did; null if it was added by name. */
    via_group_id: string | null;
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
}
