import { type Static, Type } from 'typebox';
import { describe, Nullable, OneOf } from '../schema/schema.ts';
import { ChatMessage } from './chat-message.ts';
import { Conversation } from './conversation.ts';

/** The kinds of hits. */
export const SEARCH_TYPES = ['messages', 'conversations'] as const;
export type SearchType = (typeof SEARCH_TYPES)[number];

const SearchRange = Type.Object({ start: Type.Integer(), end: Type.Integer() });
describe(SearchRange, {
  start: 'Where the words begin in `text`, in UTF-16 code units, as strings of JavaScript count.',
  end: 'Where they end, in the same units: the first unit behind them.',
});

/** A part of a text that has words of the query. */
export const SearchHighlight = Type.Object({
  field: OneOf(['body', 'subject', 'title', 'member_name', 'member_handle']),
  actor_id: Nullable(Type.String()),
  text: Type.String(),
  offset: Type.Integer(),
  ranges: Type.Array(SearchRange),
});
describe(SearchHighlight, {
  field:
    'The text that has the words: `body` or `subject` of a message, `title` of a conversation, or `member_name` or `member_handle` (the address of a customer) of a member.',
  actor_id: 'Id of the member whose name or handle it is. Null for the other fields.',
  text: 'The text around the words as it was written, without markup: the whole field where it is short.',
  offset: 'Where `text` begins in the field, in UTF-16 code units.',
  ranges: 'The places of the words in `text`, in order and without overlaps.',
});
export type SearchHighlight = Static<typeof SearchHighlight>;

const EXAMPLE: readonly SearchHighlight[] = [
  {
    field: 'body',
    actor_id: null,
    text: 'The parcel arrives on Friday.',
    offset: 0,
    ranges: [{ start: 4, end: 10 }],
  },
];

/** A hit of a search (docs/contract.md#search). */
export const SearchHit = Type.Object({
  object: Type.Literal('search_hit'),
  type: OneOf(['message', 'conversation']),
  conversation_id: Type.String(),
  message: Nullable(ChatMessage),
  conversation: Nullable(Conversation),
  highlights: Type.Array(SearchHighlight, { examples: [EXAMPLE] }),
});
export type SearchHit = Static<typeof SearchHit>;

describe(SearchHit, {
  type: 'What was found: a message or a conversation.',
  conversation_id: 'Id of the conversation, or of the one that the message is in.',
  message: 'The message that was found, in its present state. Null where a conversation was found.',
  conversation:
    'The conversation that was found. Null where a message was found; `include[]` with `conversation` fills `message.conversation`.',
  highlights: 'Where the words are, at most five texts.',
});
