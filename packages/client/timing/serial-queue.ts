/** Runs work one after another, in the order of the calls. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Settles as `work` does. The next work runs in any case, and a rejection may be ignored. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = handled(done);
    return done;
  }
}

/** Resolves in any case, and handles the rejection. */
export function handled(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch(() => {});
}
