import type { Thread } from '@parley/protocol/resources/thread.ts';
import { sameList } from '../../lists/same-parts.ts';
import type { LoadedPart, PartOwner } from '../../live/loaded-object.ts';
import { messagePath } from '../../rest/paths.ts';
import type { ThreadEvents, ThreadSnapshot } from './conversation-snapshot.ts';
import { ReadMark } from './read-mark.ts';
import type { Timeline, TimelineMessage } from './timeline.ts';
import { TimelineReader } from './timeline-reader.ts';
import type { ViewCore } from './view-core.ts';

export interface ThreadViewOptions {
  readonly messageId: string;
  readonly pageSize: number;
  /** The root and its replies, kept up to date until the view is closed. */
  readonly timeline: Timeline;
  /** Called when the view is closed. */
  closed(view: ThreadView): void;
}

/** The replies to a message in a conversation's view. */
export class ThreadView implements LoadedPart<ThreadSnapshot> {
  readonly timeline: Timeline;
  readonly reader: TimelineReader;
  readonly opened: Promise<void>;
  readonly #core: Pick<ViewCore, 'begun' | 'host' | 'each' | 'later'>;
  readonly #options: ThreadViewOptions;
  readonly #mark = new ReadMark();
  #replies: readonly TimelineMessage[] = [];

  constructor(
    core: Pick<ViewCore, 'begun' | 'host' | 'each' | 'later'>,
    owner: PartOwner<ThreadSnapshot, ThreadEvents>,
    options: ThreadViewOptions,
  ) {
    this.#core = core;
    this.#options = options;
    const { messageId, pageSize, timeline } = options;
    const { rest } = core.host;
    this.timeline = timeline;
    this.reader = new TimelineReader({
      core,
      timeline,
      pageSize,
      start: () => 0,
      pathOf: (limit) => messagePath(messageId, `/replies?limit=${limit}&${rest.including(REPLY)}`),
      rootPath: messagePath(messageId, `?${rest.including(ROOT)}`),
      changed: (what) => owner.changed(what),
      ended: (why) => {
        this.close();
        owner.emit('end', why);
      },
    });
    this.opened = this.reader.opened;
    owner.changed('root', 'messages');
  }

  takeSnapshot(): ThreadSnapshot {
    const { messages } = this.timeline;
    const [first] = messages;
    const root = first?.id === this.#options.messageId && first.delivery === 'sent' ? first : null;
    this.#replies = sameList(this.#replies, root === null ? messages : messages.slice(1));
    const { status, end, hasOlder } = this.reader;
    return { status, end, root, messages: this.#replies, hasOlder };
  }

  loadOlder(): Promise<boolean> {
    return this.reader.load();
  }

  markRead(sequence: number = this.#lastReply): Promise<void> {
    return this.#mark.move(sequence, async () => {
      const path = messagePath(this.#options.messageId, '/actions/mark-thread-read');
      const thread = await this.#core.host.fetch<Thread>(path, { method: 'POST', body: { sequence } });
      this.#core.each((timeline) => timeline.count(thread));
    });
  }

  close(): void {
    this.reader.isClosed = true;
    this.#options.closed(this);
  }

  get #lastReply(): number {
    const { last } = this.timeline;
    return last === undefined || last.id === this.#options.messageId ? 0 : last.sequence!;
  }
}

const REPLY = ['sender', 'attachments', 'reactions'] as const;
const ROOT = [...REPLY, 'reply_to', 'thread'] as const;
