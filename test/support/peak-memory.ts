import { readFileSync } from 'node:fs';
import type { TestNode } from './node.ts';
import type { Teardown } from './teardown.ts';

/** Measures the maximum resident memory of a node since the last question. */
export class PeakMemory {
  #peakMb: number | undefined;
  readonly #node: TestNode;

  constructor(t: Teardown, node: TestNode) {
    this.#node = node;
    const timer = setInterval(() => this.#look(), 20);
    t.teardown(() => clearInterval(timer));
  }

  /** Returns megabytes. */
  take(): number | undefined {
    this.#look();
    const peakMb = this.#peakMb;
    this.#peakMb = undefined;
    return peakMb;
  }

  #look(): void {
    const { child } = this.#node.running;
    try {
      const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1];
      if (kilobytes !== undefined) {
        this.#peakMb = Math.max(this.#peakMb ?? 0, Math.round(Number(kilobytes) / 1_000));
      }
    } catch {
      // There is no /proc here.
    }
  }
}
