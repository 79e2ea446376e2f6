import type { PresenceStatus } from '@parley/protocol/resources/activity.ts';
import type { Loading } from '../live/loaded-object.ts';

/** The presence of some users at a moment. */
export interface PresenceSnapshot extends Loading {
  /** By id of the actor; without ids that name no user of the account. */
  readonly presence: ReadonlyMap<string, PresenceStatus>;
}
