import { channelName } from '../partitions.ts';
import { type AnnouncedChannel, type Announcement, COUNTER_MS, WINDOW } from './announcement.ts';
import { Recent, Sealer } from './envelope.ts';

/** Counts the frames that this node publishes on each channel, so that receivers notice losses. */
export class Departures {
  readonly #nodeId: string;
  readonly #counters: Recent<Counter>;
  /** The counters that moved during the last announcements. */
  readonly #moving = new Set<Counter>();
  #incarnations = 0;
  #serial = 0;

  constructor(nodeId: string, nowMs: number = performance.now()) {
    this.#nodeId = nodeId;
    this.#counters = new Recent(COUNTER_MS, nowMs);
  }

  counter(channel: string): Counter {
    let counter = this.#counters.get(channel);
    if (counter === undefined) {
      counter = new Counter(channel, this.#nodeId, ++this.#incarnations);
      this.#counters.set(channel, counter);
    }
    return counter;
  }

  /**
   * Records that the broker accepted frame `number` at this moment of its clock, in microseconds.
   * Frames that it refused or did not answer are not announced.
   */
  taken(counter: Counter, number: number, atUs: number): void {
    counter.taken(number, atUs);
    this.#moving.add(counter);
  }

  announce({ nowMs = performance.now(), isLast = false } = {}): Announcement {
    const channels: AnnouncedChannel[] = [];
    for (const counter of this.#moving) {
      channels.push(counter.announced());
      if (!counter.turn()) this.#moving.delete(counter);
    }
    this.#counters.forget(nowMs);
    this.#serial += 1;
    return { serial: this.#serial, isLast, channels };
  }
}

/** The counter of one channel, from its first frame until it is unused for `COUNTER_MS`. */
export class Counter {
  /** Name of the channel in Redis. */
  readonly name: string;
  readonly #channel: string;
  readonly #incarnation: number;
  readonly #sealer: Sealer;
  #given = 0;
  #taken = 0;
  #takenAtUs = 0;
  /** One entry for each announcement of the window, newest first. */
  readonly #window = Array.from({ length: WINDOW }, (): Slot => ({ taken: 0, nextAtUs: undefined }));

  constructor(channel: string, nodeId: string, incarnation: number) {
    this.name = channelName(channel);
    this.#channel = channel;
    this.#incarnation = incarnation;
    this.#sealer = new Sealer(nodeId, incarnation);
  }

  /** The number of the last sealed frame. */
  get given(): number {
    return this.#given;
  }

  /** Gives the frame the next number. */
  seal(frame: Buffer): Buffer {
    this.#given += 1;
    return this.#sealer.seal(this.#given, frame);
  }

  taken(number: number, atUs: number): void {
    // Unanswered frames may have been accepted at any moment since the last answered one.
    this.#window[0]!.nextAtUs ??= number === this.#taken + 1 ? atUs : this.#takenAtUs;
    this.#taken = number;
    this.#takenAtUs = atUs;
  }

  announced(): AnnouncedChannel {
    return {
      channel: this.#channel,
      incarnation: this.#incarnation,
      before: this.#window.at(-1)!.taken,
      beganAtUs: this.#window.findLast(({ nextAtUs }) => nextAtUs !== undefined)?.nextAtUs ?? 0,
      last: this.#taken,
      lastAtUs: this.#takenAtUs,
      sent: this.#given,
    };
  }

  /** Moves the window on. Returns whether it still has frames. */
  turn(): boolean {
    this.#window.pop();
    this.#window.unshift({ taken: this.#taken, nextAtUs: undefined });
    return this.#window.at(-1)!.taken < this.#taken;
  }
}

/** The time from one announcement to the next. */
interface Slot {
  /** The last number accepted before it began. */
  readonly taken: number;
  /** In microseconds of the broker's clock: the frame after `taken` was not accepted earlier. */
  nextAtUs: number | undefined;
}
