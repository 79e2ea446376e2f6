import { type Static, type TObject, type TSchema, type TUnsafe, Type } from 'typebox';
import { DECLARED_STATUSES, TypingBody } from '../resources/activity.ts';
import { IdOf, MAX_ID_CHARACTERS } from '../schema/external-ids.ts';
import { Body, describe, described, Nullable, OneOf, Timestamp } from '../schema/schema.ts';
import { Since } from '../schema/since.ts';
import type { Version } from '../versions.ts';

/** Longest `id` of a request frame, in characters (docs/realtime.md#requests). */
export const MAX_REQUEST_ID_CHARACTERS = 64;

const Id = Type.String({ minLength: 1, maxLength: 64 });

/** The version from which a reply has the own id that its request used. */
export const OWN_ID_REPLIED_SINCE = '1.4.harbor' satisfies Version;

/** A conversation in a request. */
export const ConversationId = described(IdOf('conversation'), 'Id of the conversation.');
const Token = Type.String({
  minLength: 1,
  maxLength: 8_192,
  description: 'An API key, an access token or a token of an identity provider, without `Bearer`.',
});
const Cursor = Type.String({
  minLength: 1,
  // Cursors of polls are long.
  maxLength: 8_192,
  description: 'The newest cursor that the client got, from `ready`, `resumed`, `ping` or a poll.',
});
/** A message's number; beyond 2^53 JSON numbers are no longer exact. */
const Sequence = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/**
 * The ops of a socket (docs/realtime.md#requests): for each the fields beside `type` and `id`, and
 * the `result` of its reply, which is null if another frame takes the reply's place. Validators,
 * AsyncAPI and the handlers' types are derived from it.
 */
export const COMMANDS = {
  authenticate: {
    summary: 'Authenticates the socket if the handshake did not. The server answers with `ready`.',
    fields: {
      token: Token,
      account: described(
        Type.Optional(Id),
        'As the header Service-Account. Required unless the handshake named it: in that header or in the query parameter `account`.',
      ),
      version: described(
        Type.Optional(Id),
        'As the header Service-Version. Required unless the handshake named it: in that header or in the query parameter `version`.',
      ),
    },
    result: null,
  },
  refresh: {
    summary: 'Replaces the credential by a newer one of the same actor.',
    fields: { token: Token },
    result: {
      expires_at: described(Nullable(Timestamp), 'When the new credential expires. Null if it does not.'),
    },
  },
  subscribe: {
    summary: 'Follows a conversation: its messages after `after_sequence`, then all that come.',
    fields: {
      conversation_id: ConversationId,
      after_sequence: described(
        Type.Optional(Sequence),
        'The last `sequence` that the client has. Without it, only what comes from now on is sent.',
      ),
    },
    result: {
      conversation_id: described(Type.String(), 'Id of the conversation.'),
      external_id: Since(
        OWN_ID_REPLIED_SINCE,
        Type.String({
          description: 'The id of the own application, where the request named the conversation by it.',
        }),
      ),
      head_sequence: described(Sequence, 'The highest `sequence` of the conversation at this moment.'),
    },
  },
  resume: {
    summary:
      "Sends what these conversations and the caller's own feed missed since the cursor, then what comes; each with the number that the client has.",
    fields: {
      cursor: Cursor,
      conversations: Type.Record(Type.String({ maxLength: MAX_ID_CHARACTERS }), Sequence, {
        description: 'Map from the id of each conversation to the last `sequence` that the client has of it.',
      }),
    },
    result: {},
  },
  unsubscribe: {
    summary: 'Stops following a conversation.',
    fields: { conversation_id: ConversationId },
    result: {},
  },
  typing: {
    summary:
      "Tells the conversation's team that the caller types, or no more; repeated every few seconds while it does.",
    fields: { conversation_id: ConversationId, ...TypingBody.properties },
    result: {},
  },
  mark_read: {
    summary: "Moves the caller's read position forward, never back.",
    fields: {
      conversation_id: ConversationId,
      sequence: described(Sequence, 'The `sequence` of the last message that was read.'),
    },
    result: {
      unread: Type.Integer({ minimum: 0, description: 'Number of messages that the caller has not read.' }),
    },
  },
  presence: {
    summary:
      "Sets the caller's presence in the socket's conversations. It ends a while after its last socket.",
    fields: { status: OneOf(DECLARED_STATUSES, { description: 'What to show the caller as.' }) },
    result: {},
  },
  ping: {
    summary: 'Checks the connection. The server answers with `pong`.',
    fields: {},
    result: null,
  },
} as const satisfies Record<string, Command>;

interface Command {
  readonly summary: string;
  readonly fields: Readonly<Record<string, TSchema>>;
  readonly result: Readonly<Record<string, TSchema>> | null;
}

export type Op = keyof typeof COMMANDS;

/** The frame that a handler receives, after validation. */
export type CommandFrame<O extends Op> = { readonly type: O; readonly id: string } & CommandFields<O>;

/** The fields of an op beside `type` and `id`. */
export type CommandFields<O extends Op> = Static<TObject<(typeof COMMANDS)[O]['fields']>>;

/** The result in a reply; null if the handler sends another frame itself. */
export type CommandResult<O extends Op> = (typeof COMMANDS)[O]['result'] extends null
  ? null
  : Static<TObject<NonNullable<(typeof COMMANDS)[O]['result']>>>;

export function isOp(type: string): type is Op {
  return Object.hasOwn(COMMANDS, type);
}

/** Returns the schema of an op's whole frame; unknown fields are refused. */
export function commandSchema<O extends Op>(op: O): TUnsafe<CommandFrame<O>> {
  return Type.Unsafe<CommandFrame<O>>(
    Body({
      type: Type.Literal(op, { description: `Kind of request: always \`${op}\`.` }),
      id: Type.String({
        maxLength: MAX_REQUEST_ID_CHARACTERS,
        description: "The client's name for the request; its reply carries it again.",
      }),
      ...COMMANDS[op].fields,
    }),
  );
}

/** The answer to a heartbeat, and the only client frame without `id`. */
export const PongFrame = Body({ type: Type.Literal('pong'), t: Type.Number() });
describe(PongFrame, { t: 'The `t` of the `ping` that is answered.' });
