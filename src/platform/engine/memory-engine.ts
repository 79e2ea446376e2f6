import { nanoid } from 'nanoid';
import { Channels } from './channels.ts';
import {
  type Addition,
  type Engine,
  EngineUnavailableError,
  type FrameListener,
  type NumberRequest,
  type Subscription,
  type Tally,
} from './engine.ts';

/** The engine of a single process: it has no broker, so nothing is ever away until it is closed. */
export class MemoryEngine<Frame> implements Engine<Frame> {
  readonly nodeId = nanoid(12);
  readonly #channels = new Channels<Frame>();
  readonly #counters = new Map<string, number>();
  readonly #windows = new Map<string, { total: number; endsMs: number; number: number }>();
  readonly #now: () => number;
  #lastWindow = 0;
  #closed = false;

  /** `now`: milliseconds of a clock that never goes back. */
  constructor({ now = () => performance.now() } = {}) {
    this.#now = now;
  }

  readonly shards = [this];

  shardOf(): this {
    return this;
  }

  get healthy(): boolean {
    return !this.#closed;
  }

  get inDoubt(): boolean {
    return this.#closed;
  }

  get wholeMs(): number {
    return performance.now();
  }

  async subscribe(channel: string, listener: FrameListener<Frame>): Promise<Subscription> {
    this.#mustBeOpen();
    return this.#channels.add(channel, listener);
  }

  async publish(channel: string, frame: Frame): Promise<void> {
    this.#mustBeOpen();
    this.#channels.deliver(channel, frame);
  }

  async reserve(claims: readonly NumberRequest[]): Promise<(number | null)[]> {
    this.#mustBeOpen();
    return claims.map((claim) => this.#take(claim));
  }

  async tally(additions: readonly Addition[]): Promise<readonly Tally[]> {
    this.#mustBeOpen();
    const nowMs = this.#now();
    return additions.map(({ key, by, window: expected, take, windowMs }) => {
      let open = this.#windows.get(key);
      if (open === undefined || open.endsMs <= nowMs) {
        open = { total: 0, endsMs: nowMs + windowMs, number: ++this.#lastWindow };
        this.#windows.set(key, open);
      }
      if (expected === undefined || expected === open.number) open.total += by;
      const taken = take === undefined ? 0 : Math.max(0, Math.min(take.most, take.limit - open.total));
      open.total += taken;
      return { total: open.total, taken, window: open.number, leftMs: open.endsMs - nowMs };
    });
  }

  /** Never calls the listener, because there is no link to lose. */
  onMissed(): () => void {
    return () => {};
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#channels.clear();
  }

  #take({ stream, count, floor }: NumberRequest): number | null {
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
