/** Callers that wait for a socket's queue to become shorter. */
export class DrainWaiters {
  #waiters: { readonly bytes: number; readonly resolve: () => void }[] = [];

  get empty(): boolean {
    return this.#waiters.length === 0;
  }

  /** Resolves at the first `settle` with less than `bytes`. */
  add(bytes: number): Promise<void> {
    return new Promise((resolve) => this.#waiters.push({ bytes, resolve }));
  }

  settle(bufferedBytes: number): void {
    const waiters = this.#waiters;
    this.#waiters = waiters.filter(({ bytes }) => bufferedBytes >= bytes);
    for (const { bytes, resolve } of waiters) if (bufferedBytes < bytes) resolve();
  }
}
