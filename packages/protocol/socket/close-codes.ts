/** The causes of a closed socket, and its client's reactions (docs/realtime.md#close-codes). */
export const CLOSE_CODES = {
  going_away: { code: 4000, next: 'reconnect' },
  slow_consumer: { code: 4001, next: 'reconnect' },
  heartbeat_timeout: { code: 4002, next: 'reconnect' },
  account_moved: { code: 4003, next: 'reconnect' },
  rate_limited: { code: 4100, next: 'wait' },
  overloaded: { code: 4101, next: 'wait' },
  token_expired: { code: 4200, next: 'authenticate' },
  authentication_timeout: { code: 4201, next: 'authenticate' },
  credentials_revoked: { code: 4202, next: 'authenticate' },
  subject_changed: { code: 4203, next: 'authenticate' },
  cursor_invalid: { code: 4300, next: 'start_afresh' },
  protocol_error: { code: 4400, next: 'stop' },
  version_unsupported: { code: 4401, next: 'stop' },
  forbidden: { code: 4403, next: 'stop' },
} as const;

export type CloseReason = keyof typeof CLOSE_CODES;

export type NextStep = (typeof CLOSE_CODES)[CloseReason]['next'];

/** A client's reaction by the first two digits of a code, which it need not know. */
export const CLOSE_BANDS: Readonly<Record<number, NextStep>> = {
  40: 'reconnect',
  41: 'wait',
  42: 'authenticate',
  43: 'start_afresh',
  44: 'stop',
};
