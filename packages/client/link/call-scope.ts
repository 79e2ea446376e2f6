import { onAbort } from '../timing/on-abort.ts';
import type { Timing } from '../timing/timing.ts';

/** The limits of a call. */
export interface CallOptions {
  /** Rejects the call with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Rejects the call with a DOMException `TimeoutError` after this many milliseconds. */
  readonly timeoutMs?: number;
}

/**
 * Settles as `work` does, whose signal aborts on the caller's signal, after its time, or with the
 * parent.
 */
export async function within<T>(
  timing: Pick<Timing, 'after'>,
  { signal, timeoutMs }: CallOptions,
  parent: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const scope = new AbortController();
  const releases = [signal, parent].map((source) => onAbort(source, () => scope.abort(source?.reason)));
  if (timeoutMs !== undefined) {
    const overdue = () => scope.abort(new DOMException(`No answer within ${timeoutMs} ms.`, 'TimeoutError'));
    releases.push(timing.after(timeoutMs, overdue));
  }
  try {
    return await work(scope.signal);
  } finally {
    for (const release of releases) release();
  }
}
