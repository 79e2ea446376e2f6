import type { MessageRow } from '../../resources/message.ts';
import type { NewAttachment } from '../rows/new-message.ts';

/**
 * A message of another system, in the order of its conversation. Times are RFC 3339 in UTC with up
 * to six decimals and are passed on as text, so that microseconds stay exact.
 */
export interface ImportedMessage
  extends Pick<MessageRow, 'body' | 'author_id'>,
    Partial<Pick<MessageRow, 'incomplete'>> {
  /** Unique in its conversation: the same import may write it again. */
  readonly client_message_id: string;
  /** `chat` of an agent is stored as `agent`. */
  readonly kind: 'chat' | 'agent' | 'system_event';
  /** `internal` of a customer is stored as `external`. */
  readonly visibility: MessageRow['visibility'];
  readonly created_at: string;
  readonly edited_at: string | null;
  /** Set on a tombstone, whose body is null and which has no attachments, reactions or pin. */
  readonly deleted_at: string | null;
  /**
   * The `client_message_id` of the message that it answers: an earlier one of the batch, or one
   * that was imported before.
   */
  readonly reply_to: string | null;
  /** The id of the message of the same conversation that it answers, instead of `reply_to`. */
  readonly reply_to_id: string | null;
  /** Actor ids. */
  readonly mentions: readonly string[];
  /** Stored files, links and resources. */
  readonly attachments: readonly NewAttachment[];
  readonly reactions: readonly ImportedReaction[];
  readonly pin: ImportedPin | null;
}

/** An emoji in its canonical form (`toEmoji`). `created_at` null: the time of the message. */
interface ImportedReaction {
  readonly emoji: string;
  readonly actor_id: string;
  readonly created_at: string | null;
}

interface ImportedPin {
  readonly by: string;
  readonly at: string;
}

/** Messages of one conversation, in the order in which they are to be numbered. */
export interface ImportBatch {
  readonly accountId: string;
  readonly conversationId: string;
  readonly importId: string;
  /** The importing actor; null for the operator. */
  readonly by: string | null;
  /**
   * A `reply_to` that names nothing: `tombstone` (the default) writes a tombstone with that id
   * before it.
   */
  readonly missingRoots?: 'tombstone' | 'refused';
  readonly messages: readonly ImportedMessage[];
}

/** The result for one message of a batch. */
export interface WrittenImport {
  readonly id: string;
  readonly sequence: number;
  /** Whether an earlier batch had written it; it then stayed unchanged. */
  readonly existed: boolean;
}
