import type { PartOwner } from '../live/loaded-object.ts';
import type { Timing } from '../timing/timing.ts';
import { LiveTimeline, UNREAD } from './live-timeline.ts';
import type { ThreadEvents, WindowSnapshot } from './view/conversation-snapshot.ts';
import type { WindowView } from './view/window-view.ts';

/** The options of a part of a timeline. */
export interface WindowOptions {
  /** Messages of the first page and of each further one; 50 by default, 100 at most. */
  readonly pageSize?: number;
}

/**
 * A part of a conversation's timeline around one message, with older and newer messages on request.
 * New messages are added only once it reaches the newest. It stays up to date until its own
 * `close()` or that of its conversation.
 */
export class LiveWindow extends LiveTimeline<WindowSnapshot, WindowView> {
  /** Use LiveConversation.around. */
  constructor(
    timing: Pick<Timing, 'after'>,
    open: (owner: PartOwner<WindowSnapshot, ThreadEvents>) => Promise<WindowView>,
  ) {
    super(NOTHING, timing, open);
  }

  /**
   * Loads the page behind the newest message. Resolves with `hasNewer`, rejects as Client.fetch.
   */
  readonly loadNewer: () => Promise<boolean> = this.via('loadNewer');
}

/** The snapshot before anything is known. */
export const NOTHING: WindowSnapshot = { ...UNREAD, hasNewer: true };
