import { type Static, type TObject, type TSchema, type TUnsafe, Type } from 'typebox';
import { DECLARED_STATUSES, TYPING_STATES } from './activity.ts';
import { Body, Nullable, OneOf, Timestamp } from './schema.ts';

/** Longest `id` of a request frame, in characters (realtime.md section 2). */
export const MAX_REQUEST_ID_CHARACTERS = 64;

const Id = Type.String({ minLength: 1, maxLength: 64 });
const Token = Type.String({ minLength: 1, maxLength: 4_096 });
const Cursor = Type.String({ minLength: 1, maxLength: 512 });
/** A message's number; beyond 2^53 JSON numbers are no longer exact. */
const Sequence = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/**
 * What a client may ask over a socket (realtime.md section 2): for each op the fields beside `type`
 * and `id`, and the `result` of its reply; null where another frame takes the reply's place.
 * Validators, AsyncAPI and the handlers' types are derived from it.
 */
export const COMMANDS = {
  authenticate: {
    summary: 'Says who is calling, where the handshake did not; answered by `ready`.',
    fields: { token: Token, account: Type.Optional(Id), version: Type.Optional(Id) },
    result: null,
  },
  refresh: {
    summary: 'Replaces the credential by a newer one of the same actor.',
    fields: { token: Token },
    result: { expires_at: Nullable(Timestamp) },
  },
  subscribe: {
    summary: 'Sends what the conversation has after `after_sequence`, then what comes.',
    fields: { conversation_id: Id, after_sequence: Type.Optional(Sequence) },
    result: { conversation_id: Type.String(), head_sequence: Sequence },
  },
  resume: {
    summary:
      "Sends what these conversations and the caller's own feed missed since the cursor, then what comes; each with the number that the client has.",
    fields: { cursor: Cursor, conversations: Type.Record(Type.String({ maxLength: 64 }), Sequence) },
    result: {},
  },
  unsubscribe: {
    summary: 'Sends nothing more of the conversation.',
    fields: { conversation_id: Id },
    result: {},
  },
  typing: {
    summary:
      "Tells the conversation's team that the caller types, or no more; repeated every few seconds while it does.",
    fields: { conversation_id: Id, state: OneOf(TYPING_STATES) },
    result: {},
  },
  mark_read: {
    summary: "Moves the caller's read position forward, never back.",
    fields: { conversation_id: Id, sequence: Sequence },
    result: { unread: Type.Integer({ minimum: 0 }) },
  },
  presence: {
    summary: "Shows the caller as there in the socket's conversations, until a while after its last socket.",
    fields: { status: OneOf(DECLARED_STATUSES) },
    result: {},
  },
  ping: {
    summary: 'Asks whether the server is there; answered by `pong`.',
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

/** What a handler gets: the frame past its validator. */
export type CommandFrame<O extends Op> = { readonly type: O; readonly id: string } & Static<
  TObject<(typeof COMMANDS)[O]['fields']>
>;

/** What a reply says; null where the handler sends another frame itself. */
export type CommandResult<O extends Op> = (typeof COMMANDS)[O]['result'] extends infer R
  ? R extends Record<string, TSchema>
    ? Static<TObject<R>>
    : null
  : never;

export function isOp(type: string): type is Op {
  return Object.hasOwn(COMMANDS, type);
}

/** The whole frame of an op; unknown fields are refused. */
export function commandSchema<O extends Op>(op: O): TUnsafe<CommandFrame<O>> {
  return Type.Unsafe<CommandFrame<O>>(
    Body({
      type: Type.Literal(op),
      id: Type.String({ maxLength: MAX_REQUEST_ID_CHARACTERS }),
      ...COMMANDS[op].fields,
    }),
  );
}

/** The answer to a heartbeat: the one client frame without `id`. */
export const PongFrame = Body({ type: Type.Literal('pong'), t: Type.Number() });
