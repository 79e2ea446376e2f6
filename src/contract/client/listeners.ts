/**
 * The listeners of each event. An error that one of them throws surfaces as an uncaught error and
 * affects nothing else.
 */
export class Listeners<Events extends Readonly<Record<string, readonly unknown[]>>> {
  readonly #byEvent: { [E in keyof Events]?: Set<(...args: Events[E]) => void> } = {};

  /** Returns the function that removes the listener. */
  add<E extends keyof Events>(event: E, listener: (...args: Events[E]) => void): () => void {
    const listeners: Set<(...args: Events[E]) => void> = this.#byEvent[event] ?? new Set();
    this.#byEvent[event] = listeners;
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  emit<E extends keyof Events>(event: E, ...args: Events[E]): void {
    for (const listener of [...(this.#byEvent[event] ?? [])]) isolate(() => listener(...args));
  }
}

/** Runs a handler of the application; its error is thrown later, outside of the client. */
export function isolate(run: () => void): void {
  try {
    run();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
