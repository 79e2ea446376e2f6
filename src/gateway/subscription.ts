/** A conversation that the session gets, or is about to get. */
export interface Subscription {
  /** What the reply said. */
  headSequence: number;
  /** Everything after it was sent, or is being sent. */
  fromSequence: number;
  /** Its right is being read · its replay is under way · it gets what comes. */
  state: 'joining' | 'replaying' | 'live';
}
