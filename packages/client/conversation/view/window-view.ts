import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { PartOwner } from '../../live/loaded-object.ts';
import { messagePath } from '../../rest/paths.ts';
import type { ThreadEvents, WindowSnapshot } from './conversation-snapshot.ts';
import { TimelineView, type TimelineViewOptions } from './timeline-view.ts';
import type { ViewCore } from './view-core.ts';

export interface WindowViewOptions extends TimelineViewOptions {
  /** The id of the message in the middle, or its number. */
  readonly at: string | number;
  /** The query for the shown parts of each message. */
  readonly shown: string;
}

type WindowCore = Pick<ViewCore, 'path' | 'begun' | 'host' | 'later' | 'timeline'>;

/** The messages around one message in a conversation's view. */
export class WindowView extends TimelineView<WindowSnapshot> {
  override readonly opened: Promise<void>;
  readonly #core: WindowCore;
  readonly #owner: PartOwner<WindowSnapshot, ThreadEvents>;
  readonly #options: WindowViewOptions;

  constructor(core: WindowCore, owner: PartOwner<WindowSnapshot, ThreadEvents>, options: WindowViewOptions) {
    options.timeline.takesThrough = 0;
    super(owner, options, {
      core,
      start: () => FIRST,
      pathOf: (limit, before) =>
        before === FIRST ? this.#middle(limit) : this.#list('before', before, limit),
      read: (page) => this.#received(page),
    });
    this.#core = core;
    this.#owner = owner;
    this.#options = options;
    this.opened = this.reader.opened.then(() => this.#joinIfNear());
  }

  takeSnapshot(): WindowSnapshot {
    return { ...this.reader.state, hasNewer: this.#hasNewer, messages: this.timeline.messages };
  }

  loadNewer(): Promise<boolean> {
    return this.reader.between(async () => {
      const { timeline, reader } = this;
      if (reader.isClosed || !this.#hasNewer) return false;
      await timeline.load(async () => {
        const after = timeline.last?.sequence ?? 0;
        const path = this.#list('after', after, this.#options.pageSize);
        const { data, page_info } = await this.#core.host.fetch<List<ChatMessage>>(path);
        timeline.takesThrough = Math.max(after, data.at(-1)?.sequence ?? 0);
        if (page_info.next_page_url === null) this.#join();
        return data;
      });
      this.#joinIfNear();
      return this.#hasNewer;
    });
  }

  get #hasNewer(): boolean {
    return this.timeline.takesThrough < Infinity;
  }

  async #middle(limit: number): Promise<string> {
    const { at } = this.#options;
    const known = typeof at === 'number' ? at : this.#core.timeline.find(at)?.sequence;
    const number = known ?? (await this.#core.host.fetch<ChatMessage>(messagePath(String(at)))).sequence ?? 0;
    return this.#list('around', number, limit);
  }

  #list(side: 'around' | 'before' | 'after', number: number, limit: number): string {
    const { path } = this.#core;
    return `${path}/messages?${side}_sequence=${number}&limit=${limit}&${this.#options.shown}`;
  }

  /** Notes a page in descending order before it is shown. */
  #received({ data, page_info }: List<ChatMessage>): void {
    if (!this.#hasNewer) return;
    const { timeline } = this;
    const isFirst = timeline.takesThrough === 0;
    timeline.takesThrough = Math.max(timeline.takesThrough, data[0]?.sequence ?? 0);
    if (isFirst && page_info.previous_page_url === null) this.#join();
  }

  /** Joins the conversation's own timeline if it continues this one. */
  #joinIfNear(): void {
    const [{ first }, { last }] = [this.#core.timeline, this.timeline];
    if (!this.#hasNewer || first === undefined || last === undefined) return;
    if (first.sequence! <= last.sequence! + 1) this.#join();
  }

  /** Takes the newest messages, now and as they arrive. */
  #join(): void {
    this.timeline.takesThrough = Infinity;
    this.timeline.copy(this.#core.timeline);
    this.#owner.changed('hasNewer');
  }
}

/** Stands for the page around the message. No page begins before the first number. */
const FIRST = 0;
