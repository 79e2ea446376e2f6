import { LoadedObject, type PartOwner } from '../live/loaded-object.ts';
import { handled } from '../timing/serial-queue.ts';
import type { Timing } from '../timing/timing.ts';
import type { ThreadEvents, ThreadSnapshot } from './view/conversation-snapshot.ts';
import type { TimelinePart } from './view/timeline-view.ts';

/** Messages in their order: the newest or the middle ones, and older ones on request. */
export abstract class LiveTimeline<
  Snapshot extends object,
  P extends TimelinePart<Snapshot>,
  Events extends ThreadEvents = ThreadEvents,
> extends LoadedObject<Snapshot, P, Events> {
  /** Resolves once the first page is loaded. Rejects if it cannot be read. */
  readonly opened: Promise<void> = this.loaded.then(({ opened }) => opened);

  constructor(
    initial: Snapshot,
    timing: Pick<Timing, 'after'>,
    load: (owner: PartOwner<Snapshot, Events>) => Promise<P>,
  ) {
    super(initial, { timing }, load);
    void handled(this.opened);
  }

  /**
   * Loads the page before the oldest message. Resolves with `hasOlder`, rejects as Client.fetch.
   */
  readonly loadOlder: () => Promise<boolean> = this.via('load', ({ reader }: P) => reader);
}

/** The common part of the snapshots before anything is known. */
export const UNREAD: Omit<ThreadSnapshot, 'root'> = {
  status: 'loading',
  end: null,
  messages: [],
  hasOlder: true,
};
