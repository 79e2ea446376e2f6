export interface LanesOptions<One extends object> {
  /** Returns the lane of a try, named after the receiver that must not hold up others. */
  readonly laneOf: (one: One) => string;
  /** Most tries under way in one lane. */
  readonly sideBySide: number;
  /** Most tries in one lane, including those under way. */
  readonly room: number;
  /**
   * With this many tries under way on the node, a lane may have only one, so that many slow
   * receivers do not use up the sockets of the process. Unlimited by default.
   */
  readonly crowd?: number;
  /** Most lanes; unlimited by default. */
  readonly maxLanes?: number;
  /** Never rejects. */
  readonly run: (one: One) => Promise<void>;
  /** Called when a lane that was full has room again. */
  readonly onDrained: () => void;
}

/**
 * The deliveries that this node tries, in a lane for each receiver: a bounded number side by side
 * and a bounded number behind them. A slow receiver neither holds up another nor fills memory.
 */
export class Lanes<One extends object> {
  readonly #options: LanesOptions<One>;
  readonly #lanes = new Map<string, Lane<One>>();
  /** Tries under way in all lanes. */
  #count = 0;
  #onIdle: (() => void) | undefined;

  constructor(options: LanesOptions<One>) {
    this.#options = options;
  }

  /** Begins a try at once if it can. Returns false if its lane has no room. */
  add(one: One, room = this.#options.room): boolean {
    const { laneOf, maxLanes = Number.POSITIVE_INFINITY } = this.#options;
    const name = laneOf(one);
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      if (this.#lanes.size >= maxLanes) return false;
      lane = { underWay: new Set(), queued: [], wasFull: false };
      this.#lanes.set(name, lane);
    }
    if (sizeOf(lane) >= room) return false;
    lane.queued.push(one);
    lane.wasFull ||= sizeOf(lane) >= this.#options.room;
    this.#begin(name, lane);
    return true;
  }

  /** Whether a lane has no room left. */
  get isFull(): boolean {
    return [...this.#lanes.values()].some((lane) => sizeOf(lane) >= this.#options.room);
  }

  /** Returns the room that is left in each lane that is not empty. */
  rooms(): ReadonlyMap<string, number> {
    const { room } = this.#options;
    return new Map([...this.#lanes].map(([name, lane]) => [name, Math.max(0, room - sizeOf(lane))]));
  }

  get underWay(): readonly One[] {
    return [...this.#lanes.values()].flatMap((lane) => [...lane.underWay]);
  }

  /** Removes a try that has not begun. Returns false if it has. */
  withdraw(one: One): boolean {
    const queued = this.#lanes.get(this.#options.laneOf(one))?.queued;
    const at = queued?.indexOf(one) ?? -1;
    if (at === -1) return false;
    queued!.splice(at, 1);
    return true;
  }

  /** Removes and returns the tries that have not begun. */
  abandonQueued(): readonly One[] {
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

  #begin(name: string, lane: Lane<One>): void {
    const { sideBySide, crowd = Number.POSITIVE_INFINITY, run } = this.#options;
    while (lane.underWay.size < (this.#count < crowd ? sideBySide : 1)) {
      const one = lane.queued.shift();
      if (one === undefined) break;
      lane.underWay.add(one);
      this.#count += 1;
      void run(one).then(() => {
        lane.underWay.delete(one);
        this.#count -= 1;
        this.#ended(name, lane);
      });
    }
  }

  #ended(name: string, lane: Lane<One>): void {
    const { sideBySide, onDrained } = this.#options;
    this.#begin(name, lane);
    if (lane.wasFull && sizeOf(lane) <= sideBySide) {
      lane.wasFull = false;
      onDrained();
    }
    if (sizeOf(lane) > 0) return;
    this.#lanes.delete(name);
    if (this.#lanes.size === 0) this.#onIdle?.();
  }
}

interface Lane<One> {
  readonly underWay: Set<One>;
  readonly queued: One[];
  wasFull: boolean;
}

function sizeOf({ underWay, queued }: Lane<object>): number {
  return underWay.size + queued.length;
}
