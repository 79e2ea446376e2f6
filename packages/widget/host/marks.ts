/**
 * Marks in the storage of the page, if the browser can keep them: that the panel is open, for the
 * next page of the tab, and that this browser knows a visitor, for all pages. They hold nothing of
 * the visitor.
 */
export type MarkStorage = 'localStorage' | 'sessionStorage';

export function wasMarked(storage: MarkStorage, key: string): boolean {
  try {
    return window[storage].getItem(key) !== null;
  } catch {
    return false;
  }
}

export function keepMark(storage: MarkStorage, key: string, isMarked: boolean): void {
  try {
    if (isMarked) window[storage].setItem(key, '');
    else window[storage].removeItem(key);
  } catch {
    // The next page begins without it.
  }
}
