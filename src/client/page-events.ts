/** The events of a page that say that it is worth trying again: the network is back, or the page is in front. */
export interface PageEvents {
  addEventListener(type: string, listener: () => void): void;
  removeEventListener(type: string, listener: () => void): void;
  readonly document?: Pick<PageEvents, 'addEventListener' | 'removeEventListener'> & {
    readonly visibilityState: string;
  };
}

/** Undefined where this is not a page, as in Node. */
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
