import { ApiError } from '../../protocol/errors.ts';

/** A conversation that the session gets, or is about to get. */
export interface SocketSubscription {
  /** What the reply said; of a resume: what it would have said, once that is known. */
  headSequence: number;
  /** Everything after it was sent, or is being sent. */
  fromSequence: number;
  /** Its right is being read · a resume has taken it up · its replay is under way · it gets what comes. */
  state: 'joining' | 'resuming' | 'replaying' | 'live';
  /** While it is resumed or replayed; resolves whatever comes of it. */
  replay?: Promise<void>;
}

/** Of the limit of realtime.md: `used` subscriptions there are, or would be. */
export function tooManySubscriptions(limit: number, used: number): ApiError {
  return new ApiError('limit_exceeded', `A socket may have ${limit} subscriptions.`, {
    quota: { limit, used, reset_at: null },
  });
}
