import { type Static, Type } from 'typebox';
import { DECLARED_STATUSES } from '../resources/activity.ts';
import { Body, describe, described, OneOf } from '../schema/schema.ts';
import type { Version } from '../versions.ts';
import { CLOSE_CODES } from './close-codes.ts';
import { COMMANDS, ConversationId } from './commands.ts';

/** The version since which a stream or poll declares no presence by itself. */
export const PRESENCE_DECLARED_SINCE = '1.4.harbor' satisfies Version;

/** Most elements of `subscribe`. */
const MAX_SUBSCRIBE = 1_000;

/** Longest time that a poll waits, in milliseconds. */
export const MAX_WAIT_MS = 25_000;

const { after_sequence } = COMMANDS.subscribe.fields;
const { cursor, conversations } = COMMANDS.resume.fields;

/** The requests of a client after `ready`, in one body. */
const FIELDS = {
  subscribe: Type.Optional(
    Type.Array(Body({ conversation_id: ConversationId, after_sequence }), {
      maxItems: MAX_SUBSCRIBE,
      description: 'Conversations to follow, each as with the op `subscribe`.',
    }),
  ),
  cursor: described(
    Type.Optional(cursor),
    'Sends what was missed since then, as the op `resume`: the newest cursor from `ready`, `resumed`, `ping` or a poll.',
  ),
  conversations: described(
    Type.Optional(conversations),
    'Map from the id of each conversation to the last `sequence` that the client has of it. Without `cursor` each is one of `subscribe`.',
  ),
  presence: Type.Optional(
    OneOf(DECLARED_STATUSES, {
      description: `The caller's presence meanwhile, as with the op \`presence\`. Without it: none since ${PRESENCE_DECLARED_SINCE}, \`online\` before.`,
    }),
  ),
};

export const StreamBody = Body(FIELDS);
export type StreamBody = Static<typeof StreamBody>;

export const PollBody = Body({
  ...FIELDS,
  wait_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_WAIT_MS,
      description: `Milliseconds to wait for an event before an answer without one: ${MAX_WAIT_MS} without it.`,
    }),
  ),
});
export type PollBody = Static<typeof PollBody>;

/** The last frame of a stream or poll that the server ends, in place of a socket's close frame. */
export const CloseFrame = Type.Object(
  {
    type: Type.Literal('close'),
    code: Type.Integer({ enum: Object.values(CLOSE_CODES).map(({ code }) => code) }),
    reason: Type.String(),
  },
  { title: 'close' },
);
export type CloseFrame = Static<typeof CloseFrame>;

describe(CloseFrame, {
  type: 'Kind of frame: always `close`.',
  code: 'The code with which a socket would be closed.',
  reason: 'The reason in the close frame of a socket.',
});

/** The text of a stream: server-sent events, each with one frame in `data`. */
export const StreamText = Type.String({
  description:
    'Messages `data: <frame>`, each with one frame of the socket protocol as JSON. The last one of a stream that the server ends is a `close` frame.',
  examples: ['data: {"type":"ping","t":1764115200000,"cursor":"WyI3NTc…","heads":{}}\n\n'],
});

export const PollAnswer = Type.Object({
  frames: Type.Array(Type.Unsafe<object>({ type: 'object' }), {
    examples: [[{ type: 'caught_up', conversation_id: 'cnv_5hGk2Qd8XwPz', sequence: 42 }]],
  }),
  cursor: Type.String({ examples: ['WyI3NTc….mQ2xRw…~k3Vd8wPz'] }),
});
export type PollAnswer = Static<typeof PollAnswer>;

describe(PollAnswer, {
  frames:
    'The frames that a socket would have sent, but for `hello` and `ping`. The last one of a poll that the server ends early is a `close` frame.',
  cursor: 'The `cursor` of the next poll, stream or `resume`.',
});
