import { nanoid } from 'nanoid';
import { Channels } from './channels.ts';
import {
  type Addition,
  type Claim,
  type Engine,
  EngineUnavailableError,
  type FrameListener,
  type Subscription,
  type Tally,
} from './engine.ts';
import type { Frame } from './frame.ts';

/** The engine of a single process: no broker, so nothing is ever away until it is closed. */
export class MemoryEngine implements Engine {
  readonly nodeId = nanoid(12);
  readonly #channels = new Channels();
  readonly #counters = new Map<string, number>();
  readonly #windows = new Map<string, { total: number; endsMs: number }>();
  #closed = false;

  get healthy(): boolean {
    return !this.#closed;
  }

  get wholeMs(): number {
    return performance.now();
  }

  async subscribe(channel: string, listener: FrameListener): Promise<Subscription> {
    this.#mustBeOpen();
    return this.#channels.add(channel, listener);
  }

  async publish(channel: string, frame: Frame): Promise<void> {
    this.#mustBeOpen();
    this.#channels.deliver(channel, frame);
  }

  async reserve(claims: readonly Claim[]): Promise<(number | null)[]> {
    this.#mustBeOpen();
    return claims.map((claim) => this.#take(claim));
  }

  async tally(additions: readonly Addition[]): Promise<readonly Tally[]> {
    this.#mustBeOpen();
    const nowMs = performance.now();
    return additions.map(({ key, by, windowMs }) => {
      const open = this.#windows.get(key);
      const window =
        open !== undefined && open.endsMs > nowMs ? open : { total: 0, endsMs: nowMs + windowMs };
      window.total += by;
      this.#windows.set(key, window);
      return { total: window.total, leftMs: window.endsMs - nowMs };
    });
  }

  /** Never calls: there is no link to lose. */
  onMissed(): () => void {
    return () => {};
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#channels.clear();
  }

  #take({ stream, count, floor }: Claim): number | null {
    const current = this.#counters.get(stream) ?? floor;
    if (current === undefined) return null;
    const taken = Math.max(current, floor ?? 0);
    this.#counters.set(stream, taken + count);
    return taken + 1;
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new EngineUnavailableError('closed');
  }
}
