import assert from 'node:assert/strict';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { SocketLimits } from '@parley/protocol/socket/socket-limits.ts';
import type { Credential } from '../../../api/access/principal.ts';

/**
 * The life of a socket:
 * - `opening`: the caller is not known yet.
 * - `ready`: commands are taken and events are sent.
 * - `dropped`: uWebSockets.js reported from inside its list of subscribers that it lost a published
 *   frame for this socket. Nothing is sent any more, and the socket is not touched before the
 *   library is out of that list.
 * - `closing`: bytes that are queued still leave, then the close frame.
 * - `closed`: the socket is gone.
 */
export type SessionState = 'opening' | 'ready' | 'dropped' | 'closing' | 'closed';

/** The states that may follow each; all lead to `closed`, because the client may always leave. */
const NEXT: { readonly [state in SessionState]: readonly SessionState[] } = {
  opening: ['ready', 'dropped', 'closing', 'closed'],
  ready: ['dropped', 'closing', 'closed'],
  dropped: ['closing', 'closed'],
  closing: ['closed'],
  closed: [],
};

/** Returns `to`. Throws an AssertionError, for a defect, if the table has no such step. */
export function transition(from: SessionState, to: SessionState): SessionState {
  assert(NEXT[from].includes(to), `A session cannot go from ${from} to ${to}.`);
  return to;
}

type Limits = Pick<SocketLimits, 'expiryNoticeMs' | 'expiryGraceMs'>;

/** Returns when (Unix, ms) a socket whose credential ends at `expiresAtMs` gets `auth_expiring`. */
export function noticeAt(kind: Credential['kind'], expiresAtMs: number, limits: Limits): number {
  return isRefreshable(kind) ? expiresAtMs - limits.expiryNoticeMs : Number.POSITIVE_INFINITY;
}

/** Returns when the socket is closed, unless its credential is replaced. */
export function endAt(kind: Credential['kind'], expiresAtMs: number, limits: Limits): number {
  return isRefreshable(kind) ? expiresAtMs + limits.expiryGraceMs : expiresAtMs;
}

/** Returns false for a key: `ready` reported no expiry, so it cannot be replaced in-band. */
function isRefreshable(kind: Credential['kind']): boolean {
  return kind === 'access_token';
}

/** Callers that wait until a socket's queue is shorter. */
export class DrainWaiters {
  #waiters: { readonly bytes: number; readonly resolve: () => void }[] = [];

  get empty(): boolean {
    return this.#waiters.length === 0;
  }

  /** Resolves at the first `settle` with fewer than `bytes`. */
  add(bytes: number): Promise<void> {
    return new Promise((resolve) => this.#waiters.push({ bytes, resolve }));
  }

  settle(bufferedBytes: number): void {
    const waiters = this.#waiters;
    this.#waiters = waiters.filter(({ bytes }) => bufferedBytes >= bytes);
    for (const { bytes, resolve } of waiters) if (bufferedBytes < bytes) resolve();
  }
}

/** A conversation that the session follows, or is about to follow. */
export interface SocketSubscription {
  /** The head in the reply; for a resume, the head once it is known. */
  headSequence: number;
  /** All later messages were or are being sent. */
  fromSequence: number;
  /**
   * `joining`: its right is being read. `resuming`: a resume has accepted it. `replaying`: its
   * replay is under way. `live`: it receives live events.
   */
  state: 'joining' | 'resuming' | 'replaying' | 'live';
  /** Set during a resume or replay; also resolves if it fails. */
  replay?: Promise<void>;
}

/** Returns the refusal; `used` counts the subscriptions that exist or would exist. */
export function tooManySubscriptions(limit: number, used: number): ApiError {
  return new ApiError(
    'limit_exceeded',
    `A socket can have at most ${limit} subscriptions. Unsubscribe from one first.`,
    {
      quota: { limit, used, reset_at: null },
    },
  );
}

/**
 * What carries a session: uWebSockets.js's own object of a socket, or the body of an answer
 * (answers/answer-wire.ts).
 */
export interface Wire {
  /** True if the client cannot send frames, so that no heartbeat is answered. */
  readonly isOneWay?: boolean;
  /** Bytes that the client was too slow for, on wires that also queue bytes until a turn ends. */
  readonly heldBytes?: number;
  /** Returns 1 if sent, 0 if queued, 2 if dropped. */
  send(bytes: Buffer, isBinary: boolean): number;
  /** Sends all frames of `work` together. */
  cork(work: () => void): unknown;
  /** Sends a close frame; calls the close handler before it returns. */
  end(code: number, reason: string): void;
  /** Closes without a close frame and discards queued bytes. */
  close(): void;
  getBufferedAmount(): number;
  subscribe(topic: string): boolean;
  unsubscribe(topic: string): boolean;
  isSubscribed(topic: string): boolean;
  getTopics(): string[];
}
