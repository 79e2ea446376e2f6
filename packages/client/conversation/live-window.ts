import { type LoadedHost, LoadedObject, type PartOwner } from '../live/loaded-object.ts';
import { handled } from '../timing/serial-queue.ts';
import type { ThreadEvents, WindowSnapshot } from './view/conversation-snapshot.ts';
import type { WindowView } from './view/window-view.ts';

/** The options of a part of a timeline. */
export interface WindowOptions {
  /** Messages of the first page and of each further one; 50 by default, 100 at most. */
  readonly pageSize?: number;
}

/** The requests of a window to its conversation. */
export interface WindowHost extends Pick<LoadedHost, 'timing'> {
  open(owner: PartOwner<WindowSnapshot, ThreadEvents>): Promise<WindowView>;
}

/**
 * A part of a conversation's timeline around one message, with older and newer messages on request.
 * New messages are added only once it reaches the newest. It stays up to date until its own
 * `close()` or that of its conversation.
 */
export class LiveWindow extends LoadedObject<WindowSnapshot, WindowView, ThreadEvents> {
  /** Resolves once the messages around it are loaded. Rejects if they cannot be read. */
  readonly opened: Promise<void>;

  /** Use LiveConversation.around. */
  constructor({ timing, open }: WindowHost) {
    super(NOTHING, { timing }, open);
    this.opened = this.loaded.then((view) => view.opened);
    void handled(this.opened);
  }

  /**
   * Loads the page before the oldest message. Resolves with `hasOlder`, rejects as Client.fetch.
   */
  readonly loadOlder: () => Promise<boolean> = this.via('loadOlder');

  /**
   * Loads the page behind the newest message. Resolves with `hasNewer`, rejects as Client.fetch.
   */
  readonly loadNewer: () => Promise<boolean> = this.via('loadNewer');
}

/** The snapshot before anything is known. */
export const NOTHING: WindowSnapshot = {
  status: 'loading',
  end: null,
  messages: [],
  hasOlder: true,
  hasNewer: true,
};
