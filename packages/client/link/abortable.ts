/**
 * Settles as `begin` says, or rejects with the reason of the signal. Calls the function that
 * `begin` returns when it has settled.
 */
export async function abortable<T = void>(
  signal: AbortSignal,
  begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void,
): Promise<T> {
  signal.throwIfAborted();
  let abort = () => {};
  let release = abort;
  try {
    return await new Promise<T>((resolve, reject) => {
      abort = () => reject(signal.reason);
      signal.addEventListener('abort', abort);
      release = begin(resolve, reject);
    });
  } finally {
    signal.removeEventListener('abort', abort);
    release();
  }
}
