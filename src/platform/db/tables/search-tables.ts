import type { Generated } from 'kysely';
import type { Time } from './touched.ts';

export interface SearchTables {
  /** The words of consecutive messages; `first_sequence` 0 has those of the title and members. */
  search_blocks: {
    conversation_id: string;
    first_sequence: number;
    last_sequence: number;
    account_id: string;
    /** The number of messages with words in `terms`. */
    messages: number;
    from_at: string;
    to_at: string;
    /** The numbers of the range whose words are not in `terms`. */
    missing: Generated<number[]>;
    terms: string;
  };

  /** Changes that no block has yet, written by triggers. Arrays of the same name are parallel. */
  search_changes: {
    id: Generated<number>;
    /** An empty id stands for all messages of the conversation that are in no block. */
    sent_ids: Generated<string[]>;
    sent_of: Generated<string[]>;
    changed_ids: Generated<string[]>;
    changed_of: Generated<string[]>;
    conversation_ids: Generated<string[]>;
    actor_ids: Generated<string[]>;
    created_at: Time;
  };

  /** A table of one row. */
  search_progress: {
    id: Generated<boolean>;
    /** Conversations up to this id were indexed when search was added, or null if all were. */
    filled_through: string | null;
    next_round_at: Time;
  };
}
