import type { Missed } from '../engine.ts';
import {
  ANNOUNCE_EVERY_MS,
  type AnnouncedChannel,
  type Announcement,
  COUNTER_MS,
  WINDOW,
} from './announcement.ts';
import { Recent } from './envelope.ts';

/**
 * Compares the frames of other nodes with their counters and with their publishers' announcements,
 * and reports frames that were lost on a link that stays up. Only frames that the broker accepted
 * after the subscription count, both by its clock, so joining or leaving a channel raises no alarm.
 */
export class Arrivals {
  readonly #onMissed: (missed: Missed) => void;
  readonly #now: () => number;
  /** The subscribed channels, each with the moment of its subscription. */
  readonly #joins = new Map<string, Join>();
  readonly #publishers = new Map<string, Publisher>();
  /** The numbers that have not arrived, each with the moment at which the gap was seen. */
  readonly #missing = new Map<Track, Map<number, number>>();
  #timer: NodeJS.Timeout | undefined;
  /** When this connection began; earlier losses are not reported here. */
  #beganMs: number;

  /** `onMissed` is called for each loss; `now`: milliseconds of a clock that never goes back. */
  constructor(onMissed: (missed: Missed) => void, now = () => performance.now()) {
    this.#onMissed = onMissed;
    this.#now = now;
    this.#beganMs = now();
  }

  /**
   * Counts frames on these channels from now on, since the broker has confirmed them. Earlier
   * frames may belong to a previous subscription, with frames missing in between.
   */
  joining(channels: readonly string[]): void {
    for (const channel of channels) {
      if (!this.#joins.has(channel)) this.#joins.set(channel, { atUs: Number.POSITIVE_INFINITY });
    }
  }

  /** Expects the frames that the broker accepts on these channels after `atUs`, by its clock. */
  joined(channels: readonly string[], atUs: number): void {
    for (const channel of channels) {
      const join = this.#joins.get(channel);
      if (join !== undefined) join.atUs = Math.min(join.atUs, atUs);
    }
  }

  left(channels: readonly string[]): void {
    for (const channel of channels) this.#joins.delete(channel);
  }

  /** Forgets the connection, which is gone. Its losses are not reported here. */
  forget(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#beganMs = this.#now();
    this.#joins.clear();
    this.#publishers.clear();
    this.#missing.clear();
  }

  /**
   * Everything that other nodes published before this moment (`performance.now()`) has arrived or
   * was reported; Infinity while no other node is known.
   */
  get wholeMs(): number {
    let wholeMs = Number.POSITIVE_INFINITY;
    for (const publisher of this.#publishers.values()) {
      if (publisher.isAwaited) wholeMs = Math.min(wholeMs, publisher.wholeMs);
    }
    return wholeMs;
  }

  frame(publisherId: string, channel: string, incarnation: number, number: number): void {
    const publisher = this.#publisher(publisherId);
    const join = this.#joins.get(channel);
    // The frame was on its way when the node left the channel.
    if (join === undefined) return;
    const track = publisher.tracks.get(channel);
    if (track?.join !== join) {
      // Earlier frames may precede the subscription, so this one may be the first.
      publisher.tracks.set(channel, {
        publisher,
        channel,
        join,
        incarnation,
        after: number - 1,
        last: number,
      });
    } else if (track.incarnation === incarnation && track.last === number - 1) {
      track.last = number;
    } else {
      const current = this.#current(track, incarnation);
      if (current === undefined) return;
      if (number > current.last) {
        this.#expect(current, current.last, number - 1);
        current.last = number;
      } else this.#arrivedLate(current, number);
    }
  }

  announcement(publisherId: string, { serial, isLast, channels }: Announcement): void {
    const publisher = this.#publisher(publisherId);
    const lastSerial = publisher.serial ?? serial - 1;
    if (serial <= lastSerial) return;
    publisher.serial = serial;
    publisher.silentRounds = 0;
    publisher.isGone = isLast;
    // This announcement does not reach back to the last one that arrived.
    if (serial - lastSerial > WINDOW) this.#missedAll(publisher);
    for (const announced of channels) this.#compare(publisher, announced);
    if (publisher.late === 0) publisher.wholeMs = Math.max(publisher.wholeMs, this.#now() - LATENCY_MS);
  }

  /**
   * Counts a round; call it every `ANNOUNCE_EVERY_MS` while the link is whole. A publisher that
   * falls silent without a last announcement may have published frames that no announcement covers.
   */
  round(): void {
    for (const [id, publisher] of this.#publishers) {
      publisher.tracks.forget(this.#now());
      publisher.silentRounds += 1;
      if (publisher.silentRounds === SILENT_ROUNDS && !publisher.isGone) this.#missedAll(publisher);
      if (publisher.silentRounds > FORGOTTEN_ROUNDS) this.#publishers.delete(id);
    }
  }

  /** Reports numbers that are missing for longer than frames may overtake them. */
  check(): void {
    const beforeMs = this.#now() - OVERTAKEN_MS;
    const channels = new Set<string>();
    let frames = 0;
    let sinceMs = Number.POSITIVE_INFINITY;
    for (const [track, missing] of this.#missing) {
      const lost = [...missing].filter(([, seenAtMs]) => seenAtMs <= beforeMs);
      // A channel without a listener needs no repair.
      if (lost.length > 0 && this.#joins.get(track.channel) === track.join) {
        frames += lost.length;
        channels.add(track.channel);
        sinceMs = Math.min(sinceMs, track.publisher.wholeMs);
      }
      for (const [number] of lost) this.#arrivedLate(track, number);
    }
    if (frames > 0) this.#onMissed({ reason: 'frames', frames, channels, sinceMs });
    this.#watch();
  }

  #publisher(id: string): Publisher {
    let publisher = this.#publishers.get(id);
    if (publisher === undefined) {
      publisher = new Publisher(this.#now(), this.#beganMs);
      this.#publishers.set(id, publisher);
    }
    return publisher;
  }

  /** Returns the track of that incarnation; undefined for an earlier one. */
  #current(track: Track, incarnation: number): Track | undefined {
    if (incarnation <= track.incarnation) return incarnation === track.incarnation ? track : undefined;
    // The counter started again while this node was subscribed, so all its frames must arrive.
    const restarted = { ...track, incarnation, after: 0, last: 0 };
    track.publisher.tracks.set(track.channel, restarted);
    return restarted;
  }

  #compare(publisher: Publisher, announced: AnnouncedChannel): void {
    const { channel, incarnation, before, beganAtUs, last, lastAtUs, sent } = announced;
    const join = this.#joins.get(channel);
    if (join === undefined) return;
    // The frames after this one were accepted after the subscription. Those after `sent` were too,
    // because they follow the announcement, which arrived through it.
    const after = join.atUs < beganAtUs ? before : join.atUs < lastAtUs ? last - 1 : sent;
    const known = publisher.tracks.get(channel);
    let track: Track | undefined;
    if (known?.join === join) {
      track = this.#current(known, incarnation);
      if (track === undefined) return;
    } else {
      track = { publisher, channel, join, incarnation, after, last: after };
      publisher.tracks.set(channel, track);
    }
    this.#expect(track, after, track.after);
    track.after = Math.min(track.after, after);
    this.#expect(track, track.last, last);
    track.last = Math.max(track.last, last);
  }

  /** Notes that the numbers after `after` up to `upTo` have not arrived. */
  #expect(track: Track, after: number, upTo: number): void {
    if (upTo <= after) return;
    let missing = this.#missing.get(track);
    if (missing === undefined) {
      missing = new Map();
      this.#missing.set(track, missing);
      track.publisher.late += 1;
    }
    const nowMs = this.#now();
    for (let number = Math.max(after, upTo - MAX_MISSING) + 1; number <= upTo; number++) {
      missing.set(number, nowMs);
    }
    this.#watch();
  }

  #arrivedLate(track: Track, number: number): void {
    const missing = this.#missing.get(track);
    if (missing?.delete(number) !== true || missing.size > 0) return;
    this.#missing.delete(track);
    track.publisher.late -= 1;
  }

  #missedAll(publisher: Publisher): void {
    for (const track of this.#missing.keys()) if (track.publisher === publisher) this.#missing.delete(track);
    publisher.late = 0;
    const sinceMs = publisher.wholeMs;
    publisher.wholeMs = this.#now() - LATENCY_MS;
    this.#onMissed({ reason: 'silence', frames: 0, channels: undefined, sinceMs });
  }

  #watch(): void {
    if (this.#missing.size === 0 || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.check();
    }, OVERTAKEN_MS + 1);
  }
}

interface Join {
  /** Infinity until the moment is known. */
  atUs: number;
}

/** The state of another node. */
class Publisher {
  readonly tracks: Recent<Track>;
  /** Everything that it published before this moment has arrived or was reported. */
  wholeMs: number;
  /** Number of its last announcement; undefined before the first. */
  serial: number | undefined;
  silentRounds = 0;
  /** Whether it announced that it stops. */
  isGone = false;
  /** Number of its tracks with missing numbers. */
  late = 0;

  constructor(nowMs: number, beganMs: number) {
    this.tracks = new Recent(COUNTER_MS, nowMs);
    // Its first announcement covers a time before it was known.
    this.wholeMs = Math.max(beganMs, nowMs - LATENCY_MS - WINDOW * ANNOUNCE_EVERY_MS);
  }

  /** Whether its announcements are awaited. Losses of a publisher that is gone were reported. */
  get isAwaited(): boolean {
    return this.late > 0 || (!this.isGone && this.silentRounds < SILENT_ROUNDS);
  }
}

/**
 * The frames of one publisher on one channel: each number after `after` up to `last` arrived, is
 * missing, or was reported.
 */
interface Track {
  readonly publisher: Publisher;
  readonly channel: string;
  readonly join: Join;
  readonly incarnation: number;
  after: number;
  last: number;
}

/** One Redis keeps a publisher's order; through a cluster or proxy, frames may overtake others. */
const OVERTAKEN_MS = 250;
/** A link on which a frame takes longer is not whole (../redis/redis-link.ts). */
const LATENCY_MS = 1_000;
/** Counted in rounds, so that a pause of this process does not look like silence of other nodes. */
const SILENT_ROUNDS = 5;
const FORGOTTEN_ROUNDS = 600;
/** Numbers kept for one channel; if more are missing, the report is the same. */
const MAX_MISSING = 1_000;
