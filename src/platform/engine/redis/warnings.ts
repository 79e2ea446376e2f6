import type { Logger } from '../../log.ts';
import { withoutArguments } from './redis-connection.ts';

/** Logs each reason once until `clear`: what is retried mostly fails for the same reason. */
export class Warnings {
  readonly #log: Logger;
  readonly #logged = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  add(error: unknown, what: string): void {
    const err = withoutArguments(error);
    if (this.#logged.has(err.message)) return;
    this.#logged.add(err.message);
    this.#log.warn({ err }, what);
  }

  /** Forgets all reasons, so that a reason that comes back is logged again. */
  clear(): void {
    this.#logged.clear();
  }
}
