import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import { lost } from '../../errors/parley-error.ts';
import { handled, SerialQueue } from '../../timing/serial-queue.ts';
import { untilAnswered } from '../../timing/until-answered.ts';
import { type ConversationEnd, endError, type ThreadSnapshot } from './conversation-snapshot.ts';
import type { Timeline } from './timeline.ts';
import type { ViewCore } from './view-core.ts';

export interface TimelineReaderHost {
  readonly core: Pick<ViewCore, 'host' | 'begun' | 'later'>;
  readonly timeline: Timeline;
  /** Messages of a page. */
  readonly pageSize: number;
  /** Returns the path of `limit` messages, newest first, before a number if the list has any. */
  pathOf(limit: number, before: number): string | Promise<string>;
  /** Called before a page that was read is shown. */
  read?(page: List<ChatMessage>): void;
  /** Returns the number before which the first page begins. */
  start(): number;
  /** The path of a message that is read with the newest ones. */
  readonly rootPath?: string;
  changed(what: 'status' | 'end' | 'hasOlder'): void;
  /** Called when the messages cannot be read (any more). */
  ended(why: ConversationEnd): void;
}

/** Reads a timeline over REST: backwards by pages, and again where changes are missing. */
export class TimelineReader {
  readonly opened: Promise<void>;
  status: 'loading' | 'ready' | 'ended' = 'loading';
  end: ConversationEnd | null = null;
  isClosed: boolean = false;
  readonly #host: TimelineReaderHost;
  /** Each page begins where the previous one ended. */
  readonly #queue = new SerialQueue();
  /** Null behind the oldest; undefined before the first page. */
  #next: string | null | undefined;

  constructor(host: TimelineReaderHost) {
    this.#host = host;
    this.opened = this.#open();
  }

  get hasOlder(): boolean {
    return this.#next !== null;
  }

  /** The common part of the snapshots of timelines. */
  get state(): Pick<ThreadSnapshot, 'status' | 'end' | 'hasOlder'> {
    const { status, end, hasOlder } = this;
    return { status, end, hasOlder };
  }

  /** Loads the page before the oldest message. Resolves with `hasOlder`. */
  load(): Promise<boolean> {
    return this.#queue.run(async () => {
      const { core, pageSize, start, pathOf } = this.#host;
      await core.begun;
      if (this.isClosed || this.#next === null) return false;
      await this.#page(this.#next ?? (await pathOf(pageSize, start())), this.#next === undefined);
      return this.hasOlder;
    });
  }

  /** Settles as `work` does, which runs between two pages. */
  between<T>(work: () => Promise<T>): Promise<T> {
    return this.#queue.run(work);
  }

  /** Drops all but so many of the newest messages. `load` reads them again. */
  forgetOlder(kept: number): Promise<void> {
    return this.between(async () => {
      const { timeline, pageSize, pathOf } = this.#host;
      if (this.isClosed || this.#next === undefined || timeline.size <= kept) return;
      timeline.keepNewest(kept);
      this.#setNext(await pathOf(pageSize, timeline.first?.sequence ?? 0));
    });
  }

  /** Rereads the shown messages, or a newest part of many, because changes may be missing. */
  reload(): void {
    void handled(untilAnswered(() => this.#queue.run(() => this.#reload()), this.#host.core.later));
  }

  /** Drops the messages, for good. */
  endBy(why: ConversationEnd): void {
    if (this.end !== null) return;
    this.end = why;
    this.isClosed = true;
    this.#host.timeline.clear();
    this.#setNext(null);
    this.#setStatus('ended');
    this.#host.changed('end');
    this.#host.ended(why);
  }

  async #open(): Promise<void> {
    try {
      await untilAnswered(() => this.load(), this.#host.core.later);
    } catch (cause) {
      const { error } = lost(cause);
      if (error !== null) this.endBy(error);
      throw cause;
    }
    if (this.end !== null) throw endError(this.end);
    this.#setStatus('ready');
  }

  async #reload(): Promise<void> {
    const { timeline, pathOf } = this.#host;
    const { first, last } = timeline;
    if (this.isClosed || first === undefined || last === undefined || this.#next === undefined) return;
    const to = last.sequence!;
    const ids = new Set<string>();
    let page = await this.#page(await pathOf(Math.min(timeline.size, 100), to + 1), true);
    for (;;) {
      for (const { id } of page) ids.add(id);
      const oldest = page.at(-1)?.sequence ?? 0;
      if (!this.#next || oldest <= first.sequence! || ids.size >= MOST_RELOADED) break;
      page = await this.#page(this.#next, false);
    }
    timeline.keepOnly(ids, to);
  }

  async #page(path: string, isFirst: boolean): Promise<readonly ChatMessage[]> {
    const { core, timeline, rootPath } = this.#host;
    const { fetch } = core.host;
    let messages: readonly ChatMessage[] = [];
    await timeline.load(async () => {
      const root = isFirst && rootPath !== undefined ? [await fetch<ChatMessage>(rootPath)] : [];
      const list = await fetch<List<ChatMessage>>(path);
      this.#host.read?.(list);
      this.#setNext(list.page_info.next_page_url);
      messages = [...root, ...list.data];
      return messages;
    });
    return messages;
  }

  #setNext(path: string | null): void {
    const hadOlder = this.hasOlder;
    this.#next = path;
    if (hadOlder !== this.hasOlder) this.#host.changed('hasOlder');
  }

  #setStatus(status: 'ready' | 'ended'): void {
    this.status = status;
    this.#host.changed('status');
  }
}

const MOST_RELOADED = 300;
