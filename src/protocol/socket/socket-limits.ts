/**
 * What a socket may cost and how long it may take (docs/realtime.md#limits), by default; each can be set
 * as PARLEY_SOCKET_<NAME>. Times in milliseconds.
 */
export const SOCKET_LIMITS = {
  /** Conversations that one socket is subscribed to. */
  subscriptions: 1_000,
  /** Frames that one socket may send, as a bucket: a burst of so many, refilled at that rate. */
  requestsPerSecond: 20,
  /** Bytes of one frame from a client; past it the connection is cut without a close frame. */
  frameBytes: 65_536,
  /** Open sockets of one actor on one node. */
  socketsPerActor: 50,
  /** From the upgrade to a valid `authenticate`, where the handshake brought no credential. */
  authenticateMs: 10_000,
  /** Between two pings. */
  heartbeatMs: 25_000,
  /** From a ping to its pong; later: 4002. */
  pongMs: 10_000,
  /** Bytes queued for a socket over which ephemeral events are withheld from it. */
  ephemeralBytes: 65_536,
  /** Bytes queued for a socket over which it is closed: 4001. */
  durableBytes: 1_048_576,
  /** How long a closing socket may take what is queued for it before the connection is cut. */
  cutMs: 10_000,
  /** How long an actor counts as present behind its last socket, and a node's word on that without another. */
  presenceMs: 30_000,
  /** Malformed or unknown frames in one minute after which the socket is closed: 4400. */
  badFramesPerMinute: 10,
  /** How long before a token expires its socket is told. */
  expiryNoticeMs: 60_000,
  /** How long a socket outlives its token without a refresh: 4200. */
  expiryGraceMs: 25_000,
} as const;

export type SocketLimits = { readonly [name in keyof typeof SOCKET_LIMITS]: number };
