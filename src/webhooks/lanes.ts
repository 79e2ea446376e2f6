import type { Delivery } from './delivery.ts';

/** A delivery that this node is to try, or is trying. */
export interface Try {
  readonly delivery: Delivery;
  /** The payload; without it the resource is read. */
  readonly data?: string;
  /** For a delivery that has no row yet: settled by writing it. */
  record?: PromiseWithResolvers<void> | undefined;
  /** By performance.now(): later the try could outlast its lease. */
  tryBeforeMs: number;
}

export interface LanesOptions {
  /** Never rejects. */
  readonly run: (one: Try) => Promise<void>;
  /** Called when a lane that was full has room again. */
  readonly onDrained: () => void;
}

/**
 * The tries of this node, in a lane for each webhook: a bounded number side by side and a bounded number behind them, so
 * that a slow webhook neither holds up another one nor fills memory.
 */
export class Lanes {
  /** Most deliveries of one webhook in memory that a sweep has taken. */
  static readonly ROOM = 64;
  /** The same with first tries, which come in bursts and do not stay long (`withdraw`). */
  static readonly ROOM_OF_FIRST = 512;

  readonly #options: LanesOptions;
  readonly #lanes = new Map<string, Lane>();
  #onIdle: (() => void) | undefined;

  constructor(options: LanesOptions) {
    this.#options = options;
  }

  /** Returns whether there was room. A try begins at once if it can. */
  add(one: Try, room = Lanes.ROOM): boolean {
    const id = one.delivery.webhook_id;
    let lane = this.#lanes.get(id);
    if (lane === undefined) {
      lane = { underWay: new Set(), queued: [], wasFull: false };
      this.#lanes.set(id, lane);
    }
    if (sizeOf(lane) >= room) return false;
    lane.queued.push(one);
    lane.wasFull ||= sizeOf(lane) >= Lanes.ROOM;
    this.#begin(id, lane);
    return true;
  }

  /** Returns the room that is left, of those webhooks that have less than all of it. */
  rooms(): ReadonlyMap<string, number> {
    return new Map([...this.#lanes].map(([id, lane]) => [id, Math.max(0, Lanes.ROOM - sizeOf(lane))]));
  }

  get underWay(): readonly Try[] {
    return [...this.#lanes.values()].flatMap((lane) => [...lane.underWay]);
  }

  /** Removes a try that has not begun. Returns whether it had not. */
  withdraw(one: Try): boolean {
    const queued = this.#lanes.get(one.delivery.webhook_id)?.queued;
    const at = queued?.indexOf(one) ?? -1;
    if (at === -1) return false;
    queued!.splice(at, 1);
    return true;
  }

  /** Removes and returns what has not begun. */
  abandonQueued(): readonly Try[] {
    return [...this.#lanes.values()].flatMap((lane) => lane.queued.splice(0));
  }

  /** Resolves when nothing is under way, or after `ms`. */
  async idle(ms: number): Promise<void> {
    if (this.#lanes.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #begin(id: string, lane: Lane): void {
    while (lane.underWay.size < SIDE_BY_SIDE) {
      const one = lane.queued.shift();
      if (one === undefined) break;
      lane.underWay.add(one);
      void this.#options.run(one).then(() => {
        lane.underWay.delete(one);
        this.#ended(id, lane);
      });
    }
  }

  #ended(id: string, lane: Lane): void {
    this.#begin(id, lane);
    if (lane.wasFull && sizeOf(lane) <= SIDE_BY_SIDE) {
      lane.wasFull = false;
      this.#options.onDrained();
    }
    if (sizeOf(lane) > 0) return;
    this.#lanes.delete(id);
    if (this.#lanes.size === 0) this.#onIdle?.();
  }
}

interface Lane {
  readonly underWay: Set<Try>;
  readonly queued: Try[];
  wasFull: boolean;
}

/** Most tries of one webhook under way on this node. */
const SIDE_BY_SIDE = 16;

function sizeOf({ underWay, queued }: Lane): number {
  return underWay.size + queued.length;
}
