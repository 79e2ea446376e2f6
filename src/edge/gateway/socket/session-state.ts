import assert from 'node:assert/strict';

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

/**
 * The states that may follow each state. The client may leave at any moment, so all lead to
 * `closed`.
 */
const NEXT: { readonly [state in SessionState]: readonly SessionState[] } = {
  opening: ['ready', 'dropped', 'closing', 'closed'],
  ready: ['dropped', 'closing', 'closed'],
  dropped: ['closing', 'closed'],
  closing: ['closed'],
  closed: [],
};

/**
 * Returns `to`. Throws an AssertionError for a step that the table does not have, which is a defect
 * of the caller.
 */
export function transition(from: SessionState, to: SessionState): SessionState {
  assert(NEXT[from].includes(to), `A session cannot go from ${from} to ${to}.`);
  return to;
}
