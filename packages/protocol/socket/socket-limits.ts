/** Limits that clients know too. */
export const REQUESTS_PER_SECOND = 20;
export const POLLS_PER_SECOND = 10;
export const AUTHENTICATE_MS = 10_000;
export const PONG_MS = 10_000;

/** Default limits of a socket (docs/realtime.md#limits); PARLEY_SOCKET_<NAME> sets each. */
export const SOCKET_LIMITS = {
  /** Conversations that one socket may be subscribed to. */
  subscriptions: 1_000,
  /** Frames per second that one socket may send: the size of its bucket, and the rate of refill. */
  requestsPerSecond: REQUESTS_PER_SECOND,
  /** Bytes of one frame from a client. A longer frame ends the connection without a close frame. */
  frameBytes: 65_536,
  /** Open sockets of one actor on one node, streams and polls among them. */
  socketsPerActor: 50,
  /** Polls of one actor in a second on one node. */
  pollsPerSecond: POLLS_PER_SECOND,
  /** Time from the upgrade to a valid `authenticate`, if the handshake had no credential. */
  authenticateMs: AUTHENTICATE_MS,
  /** Time between two pings. */
  heartbeatMs: 25_000,
  /** Time from a ping to its pong, before the socket is closed with 4002. */
  pongMs: PONG_MS,
  /** Queued bytes above which a socket receives no ephemeral events. */
  ephemeralBytes: 65_536,
  /** Queued bytes above which a socket is closed with 4001. */
  durableBytes: 1_048_576,
  /** Time that a closing socket has to take its queued bytes before the connection is cut. */
  cutMs: 10_000,
  /**
   * Time for which actors stay present after their last socket, nodes after their announcement, and
   * a poll counts as a socket after its answer.
   */
  presenceMs: 30_000,
  /** Malformed or unknown frames in one minute after which the socket is closed with 4400. */
  badFramesPerMinute: 10,
  /** Time from the frame `auth_expiring` to a token's expiry. */
  expiryNoticeMs: 60_000,
  /** Time from the expiry of a token to the closing of its socket with 4200. */
  expiryGraceMs: 25_000,
} as const;

export type SocketLimits = { readonly [name in keyof typeof SOCKET_LIMITS]: number };
