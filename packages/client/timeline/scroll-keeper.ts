/** The timeline's listener for scrolling. */
export interface ScrollListener {
  /** Called with whether the reader is at the newest message, and is kept there. */
  atEnd(isAtEnd: boolean): void;
  /** Called when the reader comes near an edge of the shown messages. */
  near(edge: 'top' | 'bottom'): void;
}

/**
 * Keeps the reading position of a list in a scrolled box, whatever is added, removed or changes its
 * height. At the end the position is the end, a state that only scrolling up ends; elsewhere it is
 * the first visible message. The box has no anchoring of its own (`overflow-anchor`), which Safari
 * lacks, and which would round in another way.
 */
export class ScrollKeeper {
  /** Whether newer messages are not in the list, so that its end is not the newest. */
  hasMoreBelow = false;
  readonly #box: HTMLElement;
  readonly #list: HTMLElement;
  readonly #listener: ScrollListener;
  readonly #observer: ResizeObserver;
  #isAtEnd = true;
  #top = 0;
  #anchor: { readonly row: Element; top: number } | undefined;

  constructor(box: HTMLElement, list: HTMLElement, listener: ScrollListener) {
    this.#box = box;
    this.#list = list;
    this.#listener = listener;
    this.#observer = new ResizeObserver(() => this.keep());
    this.#observer.observe(box);
    this.#observer.observe(list);
    box.addEventListener('scroll', this.#scrolled, { passive: true });
  }

  get isAtEnd(): boolean {
    return this.#isAtEnd;
  }

  close(): void {
    this.#observer.disconnect();
    this.#box.removeEventListener('scroll', this.#scrolled);
  }

  /** Restores the position. Must be called after each change of the list, before it is painted. */
  keep(): void {
    // A box that is not shown has no place, and has its own again once it is shown.
    if (this.#box.clientHeight === 0) return;
    this.#catchUp();
    if (this.#isAtEnd) {
      this.#moveTo(this.#box.scrollHeight);
      return;
    }
    const { row, top } = this.#anchor ?? {};
    if (row?.isConnected && top !== undefined) {
      // The intended place of the row stays as it is, so that roundings do not add up.
      const moved = this.#topOf(row) - top;
      if (Math.abs(moved) > ROUNDED_PX) this.#moveTo(this.#box.scrollTop + moved);
      this.#tellNear();
    } else this.#settle();
  }

  /** Moves to the newest message, and stays there. Always tells the listener. */
  toEnd(): void {
    this.#isAtEnd = !this.hasMoreBelow;
    this.#listener.atEnd(this.#isAtEnd);
    this.#moveTo(this.#box.scrollHeight);
    this.#settle();
  }

  /** Moves to a row, which then keeps its place. */
  show(row: Element, block: 'center' | 'start'): void {
    this.#setAtEnd(false);
    row.scrollIntoView({ block, behavior: 'instant' });
    this.#top = this.#box.scrollTop;
    this.#anchor = { row, top: this.#topOf(row) };
    // A list that fits, or was at its end, does not scroll.
    this.#noticeEnd();
    this.#tellNear();
  }

  /** Returns whether a row is below the upper edge of the box. */
  isBelowTop(row: Element): boolean {
    return this.#topOf(row) >= 0;
  }

  readonly #scrolled = (): void => {
    if (this.#box.clientHeight === 0) return;
    this.#noticeEnd();
    if (this.#box.scrollTop === this.#top) return;
    this.#top = this.#box.scrollTop;
    this.#settle();
  };

  /** Applies the reader's scrolling since its last event, which comes once a frame. */
  #catchUp(): void {
    const scrolled = this.#box.scrollTop - this.#top;
    if (scrolled === 0) return;
    this.#noticeEnd();
    this.#top += scrolled;
    if (this.#anchor !== undefined) this.#anchor.top -= scrolled;
  }

  #noticeEnd(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.#box;
    if (!this.hasMoreBelow && scrollHeight - scrollTop - clientHeight <= AT_END_PX) this.#setAtEnd(true);
    // The box or the list may have grown since it was moved, which is no scrolling.
    else if (scrollTop < this.#top - 1) this.#setAtEnd(false);
  }

  #settle(): void {
    this.#anchor = this.#isAtEnd ? undefined : this.#firstSeen();
    this.#tellNear();
  }

  #tellNear(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.#box;
    if (scrollTop < NEAR_PX) this.#listener.near('top');
    if (scrollHeight - scrollTop - clientHeight < NEAR_PX) this.#listener.near('bottom');
  }

  /** Returns the first message with a visible top; messages above it may change their height. */
  #firstSeen(): { readonly row: Element; readonly top: number } | undefined {
    const rows = this.#list.children;
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#topOf(rows[middle]!) < 0) low = middle + 1;
      else high = middle;
    }
    for (let index = low; index < rows.length; index++) {
      const row = rows[index]!;
      if (row.hasAttribute('data-message')) return { row, top: this.#topOf(row) };
    }
    const row = rows[rows.length - 1];
    return row && { row, top: this.#topOf(row) };
  }

  #topOf(row: Element): number {
    return row.getBoundingClientRect().top - this.#box.getBoundingClientRect().top;
  }

  #moveTo(top: number): void {
    this.#box.scrollTop = top;
    this.#top = this.#box.scrollTop;
  }

  #setAtEnd(isAtEnd: boolean): void {
    if (isAtEnd === this.#isAtEnd) return;
    this.#isAtEnd = isAtEnd;
    this.#listener.atEnd(isAtEnd);
  }
}

const AT_END_PX = 8;
/** Boxes scroll by whole pixels of the screen. */
const ROUNDED_PX = 0.5;
const NEAR_PX = 800;
