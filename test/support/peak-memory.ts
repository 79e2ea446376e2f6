import { readFileSync } from 'node:fs';
import type { TestNode } from './node.ts';
import type { Teardown } from './teardown.ts';

/** Resident memory of a node at its most, since it was asked last. */
export class PeakMemory {
  #peakMb: number | undefined;
  readonly #node: TestNode;

  constructor(t: Teardown, node: TestNode) {
    this.#node = node;
    const timer = setInterval(() => this.#look(), 20);
    t.teardown(() => clearInterval(timer));
  }

  /** In megabytes. */
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
      // No /proc here.
    }
  }
}
