import { type Static, type TSchema, Type } from 'typebox';
import { Actor } from '../resources/actor.ts';
import { described, Nullable, OneOf, Timestamp } from '../schema/schema.ts';
import { Since } from '../schema/since.ts';

/** The reasons for a failed or ended subscription (docs/realtime.md#catching-up). */
const RESYNC_REASONS = ['too_many', 'too_old', 'revoked'] as const;
export type ResyncReason = (typeof RESYNC_REASONS)[number];

const Id = Type.String();
const Sequence = Type.Integer({ minimum: 0 });
const ConversationId = described(Id, 'Id of the conversation.');
const Cursor = Type.String({ description: 'Where to `resume` from. Keep the newest one.' });
const Time = Type.Number({ description: 'The clock of the server, in milliseconds since 1970.' });

/** Every frame that a server sends besides `event` (events.ts), by `type` (docs/realtime.md). */
export const SERVER_FRAMES = {
  /** The first frame on every socket. */
  hello: frame('hello', {
    connection_id: described(Id, 'Names the connection in logs.'),
    server_time: described(Timestamp, 'The clock of the server.'),
    heartbeat_ms: Type.Integer({ description: 'Milliseconds between two pings.' }),
    max_frame_bytes: Type.Integer({ description: 'Largest frame that the server takes, in bytes.' }),
  }),
  /** Sent once the caller is known; `expires_at` is null for keys. */
  ready: frame('ready', {
    actor: described(Actor, 'The actor as which the socket acts.'),
    account_id: described(Id, 'Id of the account that the socket is for.'),
    cursor: Cursor,
    expires_at: described(
      Nullable(Timestamp),
      'When the credential expires. Null for keys that do not expire.',
    ),
  }),
  /** Everything up to `sequence` has been sent. */
  caught_up: frame('caught_up', {
    conversation_id: ConversationId,
    sequence: described(Sequence, 'Everything up to this number has been sent.'),
  }),
  /**
   * About a conversation, which is then not subscribed: the client loads it over REST and
   * subscribes (`head_sequence` is set unless the reason is revoked). About the actor's own feed
   * (`feed`): the feed goes on after the gap.
   */
  resync: frame('resync', {
    conversation_id: Type.Optional(ConversationId),
    feed: Type.Optional(
      Type.Literal(true, {
        description: "The actor's own feed has a gap: load notifications and conversations again over REST.",
      }),
    ),
    reason: OneOf(RESYNC_REASONS, {
      description:
        'Why: more is missing than a socket replays, the cursor is too old, or the right to read it is gone.',
    }),
    head_sequence: described(
      Type.Optional(Sequence),
      'The highest `sequence` of the conversation. Absent when `reason` is `revoked`.',
    ),
  }),
  resumed: frame('resumed', { cursor: Cursor }),
  /** The heartbeat. `heads`: the conversations whose head moved since the last one. */
  ping: frame('ping', {
    t: Time,
    cursor: Cursor,
    heads: Type.Record(Type.String(), Sequence, {
      description:
        'Map from the id of each conversation that moved since the last ping to its highest `sequence`.',
    }),
  }),
  /** Replaces the reply to the op `ping`. `t`: the server's clock, in milliseconds since 1970. */
  pong: frame('pong', { id: described(Id, 'The `id` of the request.'), t: Time }),
  goaway: frame('goaway', {
    reconnect_in_ms: Type.Integer({ description: 'Milliseconds after which to connect again.' }),
    deadline_ms: Type.Integer({ description: 'Milliseconds after which this socket is closed.' }),
    reason: Type.String({ description: 'Why, for logs.' }),
  }),
  auth_expiring: frame('auth_expiring', {
    expires_at: described(Timestamp, 'When the credential expires.'),
  }),
} as const;

export type ServerFrameType = keyof typeof SERVER_FRAMES;
export type ServerFrame = { [T in ServerFrameType]: Static<(typeof SERVER_FRAMES)[T]> }[ServerFrameType];

/** The version since which a transient refusal has the milliseconds until a retry. */
export const RETRY_AFTER_SINCE = '1.2.harbor';

/** The answer to a request; `error` as in REST. `id` is null if the request had no readable one. */
export const ReplyFrame = Type.Union([
  frame('reply', { id: Type.String(), ok: Type.Literal(true), result: Type.Object({}) }),
  frame('reply', {
    id: Nullable(Type.String()),
    ok: Type.Literal(false),
    retry_after_ms: Since(RETRY_AFTER_SINCE, Type.Integer()),
    error: Type.Unsafe<object>({ type: 'object', title: 'error' }),
  }),
]);
export type ReplyFrame = Static<typeof ReplyFrame>;

/** `type` comes first in the schema and on the wire. */
function frame<const T extends string, P extends Record<string, TSchema>>(type: T, properties: P) {
  const description = `Kind of frame: always \`${type}\`.`;
  return Type.Object({ type: Type.Literal(type, { description }), ...properties });
}
