import { ApiError } from '../../../contract/protocol/errors.ts';

/** A conversation that the session follows, or is about to follow. */
export interface SocketSubscription {
  /**
   * The number in the reply; for a resume, the number that a reply would have, once it is known.
   */
  headSequence: number;
  /** All later messages were sent, or are being sent. */
  fromSequence: number;
  /**
   * `joining`: its right is being read. `resuming`: a resume has accepted it. `replaying`: its
   * replay is under way. `live`: it receives live events.
   */
  state: 'joining' | 'resuming' | 'replaying' | 'live';
  /** Set during a resume or replay; resolves also when it fails. */
  replay?: Promise<void>;
}

/** `used`: the subscriptions that there are, or would be. */
export function tooManySubscriptions(limit: number, used: number): ApiError {
  return new ApiError('limit_exceeded', `A socket can have at most ${limit} subscriptions.`, {
    quota: { limit, used, reset_at: null },
  });
}
