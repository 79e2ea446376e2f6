import { type Static, Type } from 'typebox';
import { describe, Nullable, OneOf, Timestamp } from '../schema/schema.ts';
import { MESSAGE_STATUSES } from './chat-message.ts';

/** How a draft or a scheduled message can end. */
export const MESSAGE_RESULTS = ['sent', 'canceled', 'failed', 'rejected', 'superseded'] as const;

/**
 * The outcome of a message (docs/contract.md#outcomes); `result`, `reason` and `at` are null until
 * there is one.
 */
export const MessageOutcome = Type.Object({
  object: Type.Literal('message_outcome'),
  message_id: Type.String(),
  status: OneOf(MESSAGE_STATUSES),
  result: Nullable(OneOf(MESSAGE_RESULTS)),
  /** A reason that adds to the result, such as `too_late`. */
  reason: Nullable(Type.String()),
  at: Nullable(Timestamp),
});
export type MessageOutcome = Static<typeof MessageOutcome>;

describe(MessageOutcome, {
  message_id: 'Id of the message.',
  status: 'The status of the message now.',
  result: 'How the draft or scheduled message ended. Null while that is open.',
  reason: 'Why, where there is more to say than the result does. Null otherwise.',
  at: 'When it ended. Null while that is open.',
});
