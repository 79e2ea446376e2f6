import type { ViewFilters } from '@parley/protocol/resources/conversation-view.ts';
import type { ColumnType, Generated } from 'kysely';
import type { Times } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends InboxTables {}
}

interface InboxTables {
  /** The activity of a conversation as of `written_at` (src/core/inbox/README.md). */
  conversation_activity: {
    conversation_id: string;
    account_id: string;
    activity_at: string;
    /** The newest message that counts as unread, and its author; 0 if there is none. */
    last_sequence: number;
    last_author_id: string | null;
    /** The newest such message by an author other than `last_author_id`. */
    other_sequence: number;
    /** The same four columns for what customers see. */
    customer_activity_at: string;
    customer_last_sequence: number;
    customer_last_author_id: string | null;
    customer_other_sequence: number;
    /** All numbers up to this one are settled and were scanned. */
    scanned_through: number;
    is_large: boolean;
    written_at: string;
  };

  /** A member's place in its own list. */
  inbox_rows: {
    actor_id: string;
    conversation_id: string;
    account_id: string;
    /** Null in a large conversation, whose place is that of its activity. */
    activity_at: string | null;
    is_unread: boolean;
  };

  /** A list of conversations that a person has saved. */
  conversation_views: Times & {
    id: string;
    account_id: string;
    actor_id: string;
    name: string;
    filters: ColumnType<ViewFilters, string, string>;
  };

  /** A mark: rows of the conversation may be out of date. */
  inbox_due: {
    id: Generated<number>;
    conversation_id: string;
    /** The member whose row is meant, or null for all members. */
    actor_id: string | null;
    /** Whether a message that was counted may be gone. */
    is_rescan: Generated<boolean>;
  };
}
