import { ParleyError } from '../errors/parley-error.ts';
import type { Timing } from '../timing/timing.ts';

/** A function of the application that returns the URL or the token. */
export type Source = () => string | Promise<string>;

/** Returns the source's result if `check` does not throw. Rejects with ParleyError of this code. */
export function askSource(
  code: 'token_source' | 'url_source',
  source: Source,
  check: (answer: unknown) => string,
  timing: Pick<Timing, 'after'>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) => {
      const message = cause instanceof Error ? cause.message : String(cause);
      reject(new ParleyError(code, message, { isTransient: true, cause }));
    };
    const cancel = timing.after(PATIENCE_MS, () => {
      fail(new Error('It did not answer within 10 s.'));
    });
    Promise.resolve().then(source).then(check).then(resolve, fail).finally(cancel);
  });
}

const PATIENCE_MS = 10_000;

/** The events of a page that make another try worthwhile: the network is back, or it is visible. */
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

/** Returns undefined if this is not a page, as in Node. */
export function platformPage(): PageEvents | undefined {
  const platform: Partial<PageEvents> = globalThis as object;
  return platform.addEventListener === undefined ? undefined : (platform as PageEvents);
}

/** Returns whether the page has a document that is hidden. */
export function isHidden(page: PageEvents | undefined): boolean {
  return page?.document?.visibilityState === 'hidden';
}

/**
 * Calls `wake` when another try is worthwhile, and `changed` when the page was hidden or shown.
 * Returns the function that stops watching.
 */
export function watchPage(page: PageEvents, wake: () => void, changed: () => void): () => void {
  const { document } = page;
  const shown = () => {
    if (!isHidden(page)) wake();
    changed();
  };
  page.addEventListener('online', wake);
  document?.addEventListener('visibilitychange', shown);
  return () => {
    page.removeEventListener('online', wake);
    document?.removeEventListener('visibilitychange', shown);
  };
}
