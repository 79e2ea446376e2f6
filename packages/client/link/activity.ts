/**
 * Whether a person has the application before it: the visibility of a page, the state of an app.
 * The caller is `away` in the background.
 */
export interface Activity {
  /** Returns false in the background. */
  isActive(): boolean;
  /**
   * Calls the listener when that changes, and when the network is back: the client then tries at
   * once. Returns the function that ends this.
   */
  onChange(listener: () => void): () => void;
  /** The longest wait between two tries at present, in place of the option `mostWaitMs`. */
  readonly mostWaitMs?: number | undefined;
}

/** The events of a page: the network is back, or it was hidden or shown. */
export interface PageEvents {
  /** Called for `online`. */
  addEventListener(type: string, listener: () => void): void;
  /** Called when the client is closed. */
  removeEventListener(type: string, listener: () => void): void;
  /** Where `visibilitychange` is emitted. */
  readonly document?: Pick<PageEvents, 'addEventListener' | 'removeEventListener'> & {
    readonly visibilityState: string;
  };
}

/** Returns undefined if this is not a page, as in Node and React Native. */
export function platformPage(): PageEvents | undefined {
  return 'addEventListener' in globalThis ? (globalThis as object as PageEvents) : undefined;
}

export function activityOf(page: PageEvents): Activity {
  const { document } = page;
  return {
    isActive: () => document?.visibilityState !== 'hidden',
    onChange(listener) {
      page.addEventListener('online', listener);
      document?.addEventListener('visibilitychange', listener);
      return () => {
        page.removeEventListener('online', listener);
        document?.removeEventListener('visibilitychange', listener);
      };
    },
  };
}
