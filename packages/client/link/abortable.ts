import { onAbort } from '../timing/on-abort.ts';

/**
 * Settles as `begin` says, or rejects with the reason of the signal. Calls the function that
 * `begin` returns when it has settled.
 */
export async function abortable<T = void>(
  signal: AbortSignal,
  begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void,
): Promise<T> {
  signal.throwIfAborted();
  const releases: (() => void)[] = [];
  try {
    return await new Promise<T>((resolve, reject) => {
      releases.push(onAbort(signal, () => reject(signal.reason)));
      releases.push(begin(resolve, reject));
    });
  } finally {
    for (const release of releases) release();
  }
}
