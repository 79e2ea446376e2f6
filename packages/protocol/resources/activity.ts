import { type Static, Type } from 'typebox';
import { ActorsOwnId, OWN_ID_TEXTS } from '../schema/external-ids.ts';
import { Body, describe, OneOf } from '../schema/schema.ts';

/** The current activity of an actor (docs/realtime.md#events), which is in no table. */

/** The statuses that a socket may declare for its actor. */
export const DECLARED_STATUSES = ['online', 'away'] as const;
/** A presence that a client may declare for its actor. */
export type DeclaredStatus = (typeof DECLARED_STATUSES)[number];

export const PRESENCE_STATUSES = [...DECLARED_STATUSES, 'offline'] as const;
/** The presence of an actor: `offline` after its last connection. */
export type PresenceStatus = (typeof PRESENCE_STATUSES)[number];

const TYPING_STATES = ['start', 'stop'] as const;

/** Readers end it 8 s after the last `start`, so clients repeat it every few seconds. */
export const Typing = Type.Object({
  actor_id: Type.String(),
  state: OneOf(TYPING_STATES),
  external_id: ActorsOwnId,
});
export type Typing = Static<typeof Typing>;

const TYPING = {
  actor_id: 'Id of the actor that types.',
  state:
    '`start` while the actor types, repeated every few seconds; `stop` when it has ended. A reader takes a `start` back itself after 8 seconds.',
  external_id: OWN_ID_TEXTS.ofActor,
};
describe(Typing, TYPING);

export const TypingBody = Body({
  state: OneOf(TYPING_STATES, {
    description: '`start` while the caller types, `stop` when it has ended.',
  }),
});

/** The answer to a typing declaration over REST. */
export const TypingState = Type.Object({
  object: Type.Literal('typing'),
  conversation_id: Type.String(),
  ...Typing.properties,
});
export type TypingState = Static<typeof TypingState>;

describe(TypingState, { ...TYPING, conversation_id: 'Id of the conversation in which the actor types.' });

export const Presence = Type.Object({
  actor_id: Type.String(),
  status: OneOf(PRESENCE_STATUSES),
  external_id: ActorsOwnId,
});
export type Presence = Static<typeof Presence>;

describe(Presence, {
  actor_id: 'Id of the actor.',
  status: '`online` or `away` as the actor says, `offline` after its last socket.',
  external_id: OWN_ID_TEXTS.ofActor,
});

export const Read = Type.Object({
  actor_id: Type.String(),
  sequence: Type.Integer({ minimum: 0 }),
  external_id: ActorsOwnId,
});
export type Read = Static<typeof Read>;

describe(Read, {
  actor_id: 'Id of the actor that has read.',
  sequence: 'The `sequence` of the last message that was read.',
  external_id: OWN_ID_TEXTS.ofActor,
});
