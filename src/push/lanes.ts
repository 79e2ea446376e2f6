import { type Delivery, LEASE_MS } from './delivery-store.ts';

/** Tries to one push service at the same time: a handful of them serves all browsers, in 100 ms or so each. */
export const MAX_BUSY = 64;
/** Deliveries to one push service that wait in memory; the others stay in the table. */
export const MAX_WAITING = 2_000;
/** Push services with a queue on a node at the same time. */
const MAX_LANES = 100;

/** A try that begins later than this may not end within its lease, in milliseconds. */
const BEGUN_WITHIN_MS = LEASE_MS / 2;

/**
 * The deliveries that this node has taken, in one queue a push service, so that a slow one holds up no other. A delivery that
 * waits for too long is dropped here: its lease ends, and the next look at the table finds it again.
 */
export class Lanes {
  readonly #run: (delivery: Delivery) => Promise<void>;
  readonly #lanes = new Map<string, Lane>();

  /** `run` must not reject. */
  constructor(run: (delivery: Delivery) => Promise<void>) {
    this.#run = run;
  }

  /** Returns the deliveries that have no place. */
  add(deliveries: readonly Delivery[]): Delivery[] {
    const takenAtMs = performance.now();
    const left: Delivery[] = [];
    for (const delivery of deliveries) {
      const lane = this.#laneOf(delivery.origin);
      if (lane === undefined || lane.waiting.length >= MAX_WAITING) left.push(delivery);
      else lane.waiting.push({ delivery, takenAtMs });
    }
    for (const [origin, lane] of this.#lanes) this.#advance(origin, lane);
    return left;
  }

  /** The push services whose queue is at least half full. */
  get busyOrigins(): string[] {
    return [...this.#lanes].flatMap(([origin, { waiting }]) =>
      waiting.length >= MAX_WAITING / 2 ? origin : [],
    );
  }

  /** Begins no more tries. Returns the deliveries that were waiting. */
  stop(): Delivery[] {
    const left = [...this.#lanes.values()].flatMap(({ waiting }) => waiting.splice(0));
    return left.map(({ delivery }) => delivery);
  }

  /** Resolves when the tries that are under way have ended. */
  async idle(): Promise<void> {
    await Promise.all([...this.#lanes.values()].flatMap(({ busy }) => [...busy]));
  }

  #laneOf(origin: string): Lane | undefined {
    let lane = this.#lanes.get(origin);
    if (lane === undefined && this.#lanes.size < MAX_LANES) {
      lane = { waiting: [], busy: new Set() };
      this.#lanes.set(origin, lane);
    }
    return lane;
  }

  #advance(origin: string, lane: Lane): void {
    const { waiting, busy } = lane;
    while (busy.size < MAX_BUSY && waiting.length > 0) {
      const { delivery, takenAtMs } = waiting.shift()!;
      if (performance.now() - takenAtMs > BEGUN_WITHIN_MS) continue;
      const done = this.#run(delivery).finally(() => {
        busy.delete(done);
        this.#advance(origin, lane);
      });
      busy.add(done);
    }
    if (busy.size === 0 && waiting.length === 0) this.#lanes.delete(origin);
  }
}

interface Lane {
  readonly waiting: { readonly delivery: Delivery; readonly takenAtMs: number }[];
  readonly busy: Set<Promise<void>>;
}
