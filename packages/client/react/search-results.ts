import type { List } from '@parley/protocol/lists.ts';
import type { SearchHit } from '@parley/protocol/resources/search-hit.ts';
import type { SearchFilter } from '../api.ts';
import type { Client } from '../client.ts';
import { lost, type ParleyError } from '../errors/parley-error.ts';
import { LiveObject } from '../live/live-object.ts';

/** The matches of a search at a moment. */
export interface SearchSnapshot {
  /** `error`: the last request failed, and `error` says why. */
  readonly status: 'loading' | 'ready' | 'error';
  /** Why the last request failed; null after a success. */
  readonly error: ParleyError | null;
  /** Best first. */
  readonly hits: readonly SearchHit[];
  /** Whether `loadMore` may find more. */
  readonly hasMore: boolean;
}

/** A search for words, which begins when they have not changed for a moment. */
export class SearchResults extends LiveObject<SearchSnapshot> {
  readonly #search: () => AsyncGenerator<List<SearchHit>, void, undefined>;
  readonly #timer: ReturnType<typeof setTimeout>;
  #pages: AsyncGenerator<List<SearchHit>, void, undefined> | undefined;
  #state: SearchSnapshot = SEARCHING;
  #isClosed = false;

  /** Use the hook useSearch. */
  constructor(client: Client, words: string, filter: SearchFilter) {
    super();
    this.#search = () => client.search(words, filter);
    this.#timer = setTimeout(() => void this.loadMore(), TYPED_AFTER_MS);
  }

  /**
   * Loads the next page, or the first page again after an error. Resolves with `hasMore`; the
   * snapshot has the error.
   */
  async loadMore(): Promise<boolean> {
    const isFirst = this.#pages === undefined;
    this.#pages ??= this.#search();
    try {
      const { value: page } = await this.#pages.next();
      const hits = [...(isFirst ? [] : this.#state.hits), ...(page?.data ?? [])];
      this.#set({ status: 'ready', error: null, hits, hasMore: page?.page_info.has_next_page ?? false });
    } catch (cause) {
      this.#pages = undefined;
      this.#set({ status: 'error', error: lost(cause) });
    }
    return this.#state.hasMore;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  protected takeSnapshot(): SearchSnapshot {
    return this.#state;
  }

  #set(values: Partial<SearchSnapshot>): void {
    if (!this.#isClosed) this.#state = this.merged(this.#state, values);
  }
}

/** The snapshot of a search that has not begun. */
export const SEARCHING: SearchSnapshot = { status: 'loading', error: null, hits: [], hasMore: false };
/** Milliseconds after the last keystroke. */
const TYPED_AFTER_MS = 200;
