import type { List } from '@parley/protocol/lists.ts';
import { attached, type FollowHost } from '../live/follow-host.ts';
import type { Loading } from '../live/loaded-object.ts';
import { type Deferred, deferred } from '../timing/deferred.ts';
import type { ListWindow } from './list-window.ts';
import { ReadLoop } from './read-loop.ts';

export interface PagedReadsOptions<T extends { readonly id: string }> {
  readonly host: FollowHost;
  readonly window: ListWindow<T>;
  readonly pageSize: number;
  /** Returns the address of the first page, of this many entries. */
  readonly first: (limit: number) => string;
  /** Reads more, such as entries by their ids. Resolves with whether more is left. */
  readonly other?: () => Promise<boolean>;
  /** Called before the whole window is read: later events are needed. */
  readonly began: () => void;
  /** Called when the window may have changed. */
  readonly changed: () => void;
  /** Says in the snapshot why nothing is read. */
  readonly set: (values: Partial<Loading>) => void;
}

/**
 * The reads of a list that stays right: the whole window once events arrive and after a gap,
 * further pages on request, and the additions of its owner.
 */
export class PagedReads<T extends { readonly id: string }> {
  readonly #options: PagedReadsOptions<T>;
  readonly #loop: ReadLoop;
  readonly #unfollow: () => void;
  /** Whether the whole window has to be read. */
  #isUnknown = true;
  /** Whether the window has never been read. */
  isUnread = true;
  #more: Deferred<boolean> | undefined;

  constructor(options: PagedReadsOptions<T>) {
    this.#options = options;
    const { host, window, set } = options;
    this.#loop = new ReadLoop({
      timing: host.timing,
      restMs: REST_MS,
      read: () => this.#read(),
      failed: (error) => {
        if (!error.isTransient) this.#settleMore(Promise.reject(error));
        set(window.size > 0 ? { error } : { status: 'error', error });
      },
    });
    this.#unfollow = host.onStale(() => this.refresh());
    void attached(host).then(() => this.#loop.wake(true));
  }

  /** Reads soon, together with requests of the next moment. */
  wake(): void {
    this.#loop.wake();
  }

  /** Reads the whole window again. */
  refresh(): void {
    this.#isUnknown = true;
    this.#loop.wake();
  }

  /** Reads the next page. Resolves with whether there are more, rejects as Client.fetch does. */
  more(): Promise<boolean> {
    if (this.#more !== undefined) return this.#more.promise;
    const more = deferred<boolean>();
    this.#more = more;
    this.#loop.wake(true);
    return more.promise;
  }

  close(): void {
    this.#loop.close();
    this.#unfollow();
    this.#settleMore(Promise.resolve(this.#options.window.next !== null));
  }

  /** Reads pages until there are `wanted` entries. */
  async pages(
    first: string,
    wanted: number,
  ): Promise<{ readonly found: readonly T[]; readonly next: string | null }> {
    const found: T[] = [];
    let next: string | null = first;
    do {
      const page: List<T> = await this.#options.host.fetch<List<T>>(next);
      found.push(...page.data);
      next = page.page_info.next_page_url;
    } while (next !== null && found.length < wanted);
    return { found, next };
  }

  async #read(): Promise<boolean> {
    const { window, other, changed, pageSize } = this.#options;
    let isOther = false;
    if (this.#isUnknown) await this.#readAll();
    else if (this.#more !== undefined) await this.#readMore();
    else {
      isOther = (await other?.()) ?? false;
      changed();
    }
    // Removed entries left room, and the person may not scroll to ask for more.
    if (window.next !== null && window.size < pageSize / 2) this.more().catch(() => {});
    return isOther || this.#isUnknown || this.#more !== undefined;
  }

  async #readAll(): Promise<void> {
    const { window, pageSize, first, began, changed } = this.#options;
    const wanted = Math.max(pageSize, window.size);
    this.#isUnknown = false;
    began();
    window.beginRead();
    try {
      const { found, next } = await this.pages(first(Math.min(MOST_A_PAGE, wanted)), wanted);
      window.replace(found, next);
      this.isUnread = false;
      changed();
    } catch (error) {
      this.#isUnknown = true;
      throw error;
    }
  }

  async #readMore(): Promise<void> {
    const { window, pageSize, changed } = this.#options;
    const read = async () => {
      if (window.next !== null) {
        const { found, next } = await this.pages(window.next.replace(LIMIT, `$1${pageSize}`), 1);
        window.append(found, next);
        // The caller of `more` hears of it later.
        changed();
      }
      return window.next !== null;
    };
    const reading = read();
    this.#settleMore(reading);
    await reading.catch(() => {});
  }

  /** Settles `more`, whose caller alone gets the error: nothing has to be repeated. */
  #settleMore(read: Promise<boolean>): void {
    read.catch(() => {});
    this.#more?.resolve(read);
    this.#more = undefined;
  }
}

const MOST_A_PAGE = 100;
const LIMIT = /([?&]limit=)\d+/;
const REST_MS = 1_000;
