import type {
  ForwardMessageBody,
  MessageInclude,
  MessageStatus,
} from '@parley/protocol/resources/chat-message.ts';
import type { MEMBERSHIPS } from '@parley/protocol/resources/participant.ts';

/** The query of a list. */
export interface PageSize {
  /** Items of a page: 25 by default, 100 at most. */
  readonly limit?: number;
}

/** The query of List Participants. */
export interface MemberFilter extends PageSize {
  /** Current members by default. */
  readonly membership?: readonly (typeof MEMBERSHIPS)[number][];
}

/** The query of List Messages; one of the three numbers at most. */
export interface HistoryFilter extends PageSize {
  /** `sent` by default. */
  readonly status?: MessageStatus;
  /** Oldest first, behind this number. */
  readonly after_sequence?: number;
  /** Newest first, before this number. */
  readonly before_sequence?: number;
  /** The messages around this number. Requires version 1.2.harbor. */
  readonly around_sequence?: number;
  /** Sub-objects to expand; others are null. */
  readonly include?: readonly MessageInclude[];
}

/** The body of Forward Message, whose `client_message_id` is made if it is absent. */
export type ForwardInput = Omit<ForwardMessageBody, 'client_message_id'> &
  Partial<Pick<ForwardMessageBody, 'client_message_id'>>;
