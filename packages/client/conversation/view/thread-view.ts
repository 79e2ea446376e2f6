import type { Thread } from '@parley/protocol/resources/thread.ts';
import { sameList } from '../../lists/same-parts.ts';
import type { PartOwner } from '../../live/loaded-object.ts';
import { messagePath } from '../../rest/paths.ts';
import type { ThreadEvents, ThreadSnapshot } from './conversation-snapshot.ts';
import { ReadMark } from './read-mark.ts';
import type { TimelineMessage } from './timeline.ts';
import { TimelineView, type TimelineViewOptions } from './timeline-view.ts';
import type { ViewCore } from './view-core.ts';

export interface ThreadViewOptions extends TimelineViewOptions {
  /** The root, which `timeline` has with its replies. */
  readonly messageId: string;
}

type ThreadCore = Pick<ViewCore, 'begun' | 'host' | 'each' | 'later'>;

/** The replies to a message in a conversation's view. */
export class ThreadView extends TimelineView<ThreadSnapshot> {
  readonly #core: ThreadCore;
  readonly #messageId: string;
  readonly #mark = new ReadMark();
  #replies: readonly TimelineMessage[] = [];

  constructor(core: ThreadCore, owner: PartOwner<ThreadSnapshot, ThreadEvents>, options: ThreadViewOptions) {
    const { messageId } = options;
    const { rest } = core.host;
    super(owner, options, {
      core,
      start: () => 0,
      pathOf: (limit) => messagePath(messageId, `/replies?limit=${limit}&${rest.including(REPLY)}`),
      rootPath: messagePath(messageId, `?${rest.including(ROOT)}`),
    });
    this.#core = core;
    this.#messageId = messageId;
    owner.changed('root', 'messages');
  }

  takeSnapshot(): ThreadSnapshot {
    const { messages } = this.timeline;
    const [first] = messages;
    const root = first?.id === this.#messageId && first.delivery === 'sent' ? first : null;
    this.#replies = sameList(this.#replies, root === null ? messages : messages.slice(1));
    return { ...this.reader.state, root, messages: this.#replies };
  }

  markRead(sequence: number = this.#lastReply): Promise<void> {
    return this.#mark.move(sequence, async () => {
      const path = messagePath(this.#messageId, '/actions/mark-thread-read');
      const thread = await this.#core.host.fetch<Thread>(path, { method: 'POST', body: { sequence } });
      this.#core.each((timeline) => timeline.count(thread));
    });
  }

  get #lastReply(): number {
    const { last } = this.timeline;
    return last === undefined || last.id === this.#messageId ? 0 : last.sequence!;
  }
}

const REPLY = ['sender', 'attachments', 'reactions'] as const;
const ROOT = [...REPLY, 'reply_to', 'thread'] as const;
