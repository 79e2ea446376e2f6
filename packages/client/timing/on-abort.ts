/**
 * Runs `work` when the signal aborts, at once if it has. Returns the function that prevents it; it
 * does nothing without a signal.
 */
export function onAbort(signal: AbortSignal | undefined, work: () => void): () => void {
  signal?.addEventListener('abort', work);
  if (signal?.aborted) work();
  return () => signal?.removeEventListener('abort', work);
}
