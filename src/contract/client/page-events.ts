/**
 * The events of a page after which another try is worthwhile: the network is back, or the page is
 * visible.
 */
export interface PageEvents {
  addEventListener(type: string, listener: () => void): void;
  removeEventListener(type: string, listener: () => void): void;
  readonly document?: Pick<PageEvents, 'addEventListener' | 'removeEventListener'> & {
    readonly visibilityState: string;
  };
}

/** Returns undefined if this is not a page, as in Node. */
export function platformPage(): PageEvents | undefined {
  const platform: Partial<PageEvents> = globalThis as object;
  return platform.addEventListener === undefined ? undefined : (platform as PageEvents);
}

/** Returns the function that stops watching. */
export function watchPage(page: PageEvents, wake: () => void): () => void {
  const { document } = page;
  const shown = () => {
    if (document?.visibilityState === 'visible') wake();
  };
  page.addEventListener('online', wake);
  document?.addEventListener('visibilitychange', shown);
  return () => {
    page.removeEventListener('online', wake);
    document?.removeEventListener('visibilitychange', shown);
  };
}
