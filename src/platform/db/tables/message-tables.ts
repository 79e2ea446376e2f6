import type { Streamed, Time } from './touched.ts';

/** Parts of messages, which change without them (migrations/0028_reactions.ts). */
export interface MessageTables {
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
