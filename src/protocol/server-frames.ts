import { type Static, type TSchema, Type } from 'typebox';
import { Actor } from './actor.ts';
import { Nullable, OneOf, Timestamp } from './schema.ts';

/** Why a subscription was not, or is no longer, live (realtime.md section 4). */
export const RESYNC_REASONS = ['too_many', 'too_old', 'revoked'] as const;
export type ResyncReason = (typeof RESYNC_REASONS)[number];

const Id = Type.String();
const Sequence = Type.Integer({ minimum: 0 });

/** Every frame a server sends besides `event` (events.ts), by its `type`; realtime.md says when. */
export const SERVER_FRAMES = {
  /** First on every socket. */
  hello: frame('hello', {
    connection_id: Id,
    server_time: Timestamp,
    heartbeat_ms: Type.Integer(),
    max_frame_bytes: Type.Integer(),
  }),
  /** The caller is known; `expires_at` is null for keys. */
  ready: frame('ready', {
    actor: Actor,
    account_id: Id,
    cursor: Type.String(),
    expires_at: Nullable(Timestamp),
  }),
  /** Everything up to `sequence` has been sent. */
  caught_up: frame('caught_up', { conversation_id: Id, sequence: Sequence }),
  /** Not subscribed: load it over REST, then subscribe (`head_sequence` unless revoked). */
  resync: frame('resync', {
    conversation_id: Id,
    reason: OneOf(RESYNC_REASONS),
    head_sequence: Type.Optional(Sequence),
  }),
  resumed: frame('resumed', { cursor: Type.String() }),
  /** The heartbeat; `t` is milliseconds since 1970, `heads` the conversations' that moved since the last one. */
  ping: frame('ping', {
    t: Type.Number(),
    cursor: Type.String(),
    heads: Type.Record(Type.String(), Sequence),
  }),
  /** In place of a reply to the op `ping`; `t` is the server's clock, milliseconds since 1970. */
  pong: frame('pong', { id: Type.String(), t: Type.Number() }),
  goaway: frame('goaway', {
    reconnect_in_ms: Type.Integer(),
    deadline_ms: Type.Integer(),
    reason: Type.String(),
  }),
  auth_expiring: frame('auth_expiring', { expires_at: Timestamp }),
} as const;

export type ServerFrameType = keyof typeof SERVER_FRAMES;
export type ServerFrame = { [T in ServerFrameType]: Static<(typeof SERVER_FRAMES)[T]> }[ServerFrameType];

/** The answer to a request frame; `error` is the very object of REST, `id` null where the request had none that could be read. */
export const ReplyFrame = Type.Union([
  frame('reply', { id: Type.String(), ok: Type.Literal(true), result: Type.Object({}) }),
  frame('reply', {
    id: Nullable(Type.String()),
    ok: Type.Literal(false),
    error: Type.Unsafe<object>({ type: 'object', title: 'error' }),
  }),
]);
export type ReplyFrame = Static<typeof ReplyFrame>;

/** `type` comes first, in the schema as on the wire. */
function frame<const T extends string, P extends Record<string, TSchema>>(type: T, properties: P) {
  return Type.Object({ type: Type.Literal(type), ...properties });
}
