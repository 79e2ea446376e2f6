import type { LoadedPart, PartOwner } from '../../live/loaded-object.ts';
import type { ThreadEvents, ThreadSnapshot } from './conversation-snapshot.ts';
import type { Timeline } from './timeline.ts';
import { TimelineReader, type TimelineReaderHost } from './timeline-reader.ts';

/** The loaded part of a LiveTimeline. */
export interface TimelinePart<Snapshot extends object> extends LoadedPart<Snapshot> {
  readonly opened: Promise<void>;
  readonly reader: TimelineReader;
}

type Common = Pick<ThreadSnapshot, 'status' | 'end' | 'hasOlder'>;

export interface TimelineViewOptions {
  /** Kept up to date until the view is closed. */
  readonly timeline: Timeline;
  readonly pageSize: number;
  /** Called when the view is closed. */
  closed(view: TimelineView): void;
}

/** A timeline beside that of a conversation's view: a thread, or a window. */
export abstract class TimelineView<Snapshot extends Common = Common> implements TimelinePart<Snapshot> {
  readonly timeline: Timeline;
  readonly reader: TimelineReader;
  readonly opened: Promise<void>;
  readonly #closed: TimelineViewOptions['closed'];

  constructor(
    owner: PartOwner<Snapshot, ThreadEvents>,
    { timeline, pageSize, closed }: TimelineViewOptions,
    host: Omit<TimelineReaderHost, 'timeline' | 'pageSize' | 'changed' | 'ended'>,
  ) {
    this.timeline = timeline;
    this.#closed = closed;
    this.reader = new TimelineReader({
      ...host,
      timeline,
      pageSize,
      changed: (what) => owner.changed(what),
      ended: (why) => {
        this.close();
        owner.emit('end', why);
      },
    });
    this.opened = this.reader.opened;
  }

  abstract takeSnapshot(): Snapshot;

  close(): void {
    this.reader.isClosed = true;
    this.#closed(this);
  }
}
