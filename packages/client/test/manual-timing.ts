import type { Timing } from '../index.ts';

/**
 * A clock that stands still: due work runs when the test advances it. Random numbers are always one
 * half.
 */
export class ManualTiming implements Timing {
  readonly #due: Due[] = [];

  after(ms: number, work: () => void): () => void {
    const due = { ms, work };
    this.#due.push(due);
    return () => this.#remove(due);
  }

  random(): number {
    return 0.5;
  }

  /** Milliseconds of everything that is waited for, oldest first. */
  get waits(): number[] {
    return this.#due.map(({ ms }) => ms);
  }

  /** Ends the oldest wait of so many milliseconds; throws where there is none. */
  end(ms: number): void {
    const due = this.#due.find((one) => one.ms === ms);
    if (due === undefined) throw new Error(`nothing waits ${ms} ms, only ${this.waits.join(', ')}`);
    this.#remove(due);
    due.work();
  }

  #remove(due: Due): void {
    const index = this.#due.indexOf(due);
    if (index !== -1) this.#due.splice(index, 1);
  }
}

interface Due {
  readonly ms: number;
  readonly work: () => void;
}
