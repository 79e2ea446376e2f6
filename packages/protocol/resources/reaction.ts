import { type Static, Type } from 'typebox';
import { describe, Timestamp } from '../schema/schema.ts';
import { Actor } from './actor.ts';

export const REACTION_LIMITS = {
  /** Different emojis of one message. */
  kinds: 20,
  /** Ids in `actor_ids`. */
  shownActors: 20,
} as const;

/** One emoji of a message in an event, which is encoded once for all readers of an audience. */
export const ReactionCount = Type.Object(
  {
    emoji: Type.String(),
    count: Type.Integer({ minimum: 1 }),
    actor_ids: Type.Array(Type.String(), { maxItems: REACTION_LIMITS.shownActors }),
  },
  { title: 'reaction_count' },
);
export type ReactionCount = Static<typeof ReactionCount>;

const EMOJI_TEXT = 'The emoji in its full form: with the variation selectors that Unicode recommends.';
describe(ReactionCount, {
  emoji: EMOJI_TEXT,
  count: 'How many actors have reacted with it.',
  actor_ids:
    'Ids of the first of them, 20 at most. Customers are shown the ids of customers alone: the team is counted and not named.',
});

/** One emoji of a message, as REST shows it (docs/contract.md#reactions). */
export const MessageReaction = Type.Object(
  {
    ...ReactionCount.properties,
    mine: Type.Boolean({ description: 'Whether the caller is among them.' }),
  },
  { title: 'message_reaction' },
);
export type MessageReaction = Static<typeof MessageReaction>;

/** The reactions of one message. */
export const MessageReactions = Type.Object({
  object: Type.Literal('message_reactions'),
  message_id: Type.String(),
  reactions: Type.Array(MessageReaction, { maxItems: REACTION_LIMITS.kinds }),
});
export type MessageReactions = Static<typeof MessageReactions>;

describe(MessageReactions, {
  reactions: 'All reactions of the message, by emoji, in the order in which each emoji was first used.',
});

/** One reaction of one actor. */
export const Reaction = Type.Object({
  object: Type.Literal('reaction'),
  message_id: Type.String(),
  emoji: Type.String(),
  actor: Actor,
  created_at: Timestamp,
});
export type Reaction = Static<typeof Reaction>;

describe(Reaction, {
  emoji: EMOJI_TEXT,
  actor: 'The actor that reacted.',
  created_at: 'When it reacted.',
});
