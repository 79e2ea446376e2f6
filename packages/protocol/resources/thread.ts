import { type Static, Type } from 'typebox';
import { Body, describe, Nullable, Timestamp } from '../schema/schema.ts';

/** The last reply to a message, as far as a list of threads needs it. */
const LastReply = Type.Object(
  {
    id: Type.String(),
    sequence: Type.Integer({ minimum: 1 }),
    sender_id: Nullable(Type.String()),
    author_id: Nullable(Type.String()),
    at: Timestamp,
  },
  { title: 'last_reply' },
);

describe(LastReply, {
  id: 'Id of the reply.',
  sequence: 'Its position in the timeline of the conversation.',
  sender_id:
    'Id of the actor as displayed: the persona where the reply was sent under one. Null for messages of the service.',
  author_id: 'Id of the actor behind the reply. Null for messages of the service, and to customers.',
  at: 'When the reply was sent.',
});

/** The replies to one message, as the caller sees them (docs/contract.md#threads). */
export const Thread = Type.Object({
  object: Type.Literal('thread'),
  message_id: Type.String(),
  reply_count: Type.Integer({ minimum: 0 }),
  last_reply: Nullable(LastReply),
  unread: Type.Integer({ minimum: 0 }),
});
export type Thread = Static<typeof Thread>;

describe(Thread, {
  message_id: 'Id of the message that was replied to.',
  reply_count: 'Number of the replies that the caller can see. Deleted ones do not count.',
  last_reply: 'The newest of them. Null where there is none.',
  unread:
    "Number of replies of others behind both the caller's position in the conversation and its position in the thread. 0 for callers that are not participants.",
});

/** Body of Mark Thread Read. */
export const MarkThreadReadBody = Body({
  sequence: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
});

describe(MarkThreadReadBody, {
  sequence: 'The `sequence` of the last reply that was read. The position never moves back.',
});
