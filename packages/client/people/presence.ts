import { type LoadedHost, LoadedObject, type LoadedPart, UNREAD } from '../live/loaded-object.ts';
import type { PresenceSnapshot } from './presence-snapshot.ts';
import type { PresenceTracker } from './presence-tracker.ts';

/**
 * The presence of some users: read from the server at first and every 30 seconds, and updated at
 * once by events of an open conversation.
 */
export class Presence extends LoadedObject<PresenceSnapshot, LoadedPart<PresenceSnapshot>> {
  /** Use Client.presence. `tracker` loads what all of these objects of a client share. */
  constructor(host: LoadedHost, actorIds: readonly string[], tracker: () => Promise<PresenceTracker>) {
    super(NOTHING, host, async ({ set }) => (await tracker()).follow(actorIds, set));
  }
}

/** The snapshot before anything is known. */
export const NOTHING: PresenceSnapshot = { ...UNREAD, presence: new Map() };
