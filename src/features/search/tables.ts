import type { Generated } from 'kysely';
import type { Time } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends SearchTables {}
}

interface SearchTables {
  /**
   * The words of a message, or of the title and members of a conversation, which has the same id.
   */
  search_entries: {
    id: string;
    conversation_id: string;
    account_id: string;
    /** When the message was sent, or the conversation was created. */
    at: string;
    terms: string;
    /** The number of the folding of its words (FOLDING of the protocol). */
    folding: Generated<number>;
  };

  /** Ids with a missing or outdated entry, written by triggers. The arrays are parallel. */
  search_notes: {
    id: Generated<number>;
    entry_ids: string[];
    conversation_ids: string[];
    created_at: Time;
  };

  /** A table of one row. */
  search_state: {
    id: Generated<boolean>;
    /** Earlier messages and conversations up to this id have entries; null if all have. */
    filled_through: string | null;
    next_part_at: Time;
  };
}
