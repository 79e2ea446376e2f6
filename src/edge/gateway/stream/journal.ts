import type { CommittedFrame } from '../../../platform/engine/frame.ts';

/**
 * How many frames a stream remembers: those that arrive in the milliseconds of a replay's read,
 * with room to spare.
 */
const CAPACITY = 256;

/** How many bytes they have, at most: of larger frames it remembers fewer. */
const MAX_BYTES = 1024 * 1024;

/**
 * The durable frames that a stream delivered last, each under a position that only grows. A reader
 * that catches up follows from a position that it takes before it reads Postgres. Afterwards it
 * takes the frames that were delivered meanwhile from here, in one step with joining the live
 * topic, so that none is missed.
 *
 * Frames are kept only while a reader follows. Kept for every stream, they outlived several young
 * collections: the bytes of 25,000 messages then brought a full collection, during which answers
 * took up to 50 ms instead of 2.
 */
export class Journal {
  readonly #frames: (CommittedFrame | undefined)[] = [];
  #followers = 0;
  #bytes = 0;
  #start = 0;
  /**
   * The position of the last change that was forgotten: it has no number by which it could be found
   * again.
   */
  #forgottenChange = -1;

  /** The first position that is remembered. */
  get start(): number {
    return this.#start;
  }

  /** Whether anything but new messages was forgotten from `position` on. */
  lostChange(position: number): boolean {
    return this.#forgottenChange >= position;
  }

  /** The position of the next frame. */
  get end(): number {
    return this.#start + this.#frames.length;
  }

  /**
   * Keeps the frames from `end` on until the returned function is called; calling it again does
   * nothing.
   */
  follow(): () => void {
    this.#followers += 1;
    let isFollowing = true;
    return () => {
      if (!isFollowing) return;
      isFollowing = false;
      this.#followers -= 1;
      if (this.#followers === 0) this.eraseAll();
    };
  }

  append(frame: CommittedFrame): void {
    if (this.#followers === 0) {
      if (frame.kind !== 'created') this.#forgottenChange = this.#start;
      this.#start += 1;
      return;
    }
    this.#frames.push(frame);
    this.#bytes += bytesOf(frame);
    // Drops half at a time: a shift for each frame would move the whole array each time.
    if (this.#frames.length > 2 * CAPACITY) this.#forget(CAPACITY);
    while (this.#bytes > MAX_BYTES) this.#forget(Math.ceil(this.#frames.length / 2));
  }

  /**
   * Forgets the frames of a resource whose content is gone; the event that says so is appended
   * afterwards.
   */
  erase(resource: string): void {
    for (const [index, frame] of this.#frames.entries()) {
      if (frame?.resource !== resource) continue;
      this.#frames[index] = undefined;
      this.#bytes -= bytesOf(frame);
    }
  }

  /** Forgets all frames: they may show what an actor is not called any more. */
  eraseAll(): void {
    this.#forget(this.#frames.length);
  }

  #forget(count: number): void {
    const forgotten = this.#frames.splice(0, count);
    for (const frame of forgotten) this.#bytes -= bytesOf(frame);
    const change = forgotten.findLastIndex((frame) => frame?.kind !== 'created');
    if (change >= 0) this.#forgottenChange = this.#start + change;
    this.#start += count;
  }

  /**
   * Returns the frames from `position` on; undefined where they are not remembered any more. An
   * erased frame is undefined too: if it was a message, the reader finds it again by its number.
   */
  since(position: number): readonly (CommittedFrame | undefined)[] | undefined {
    return position < this.#start ? undefined : this.#frames.slice(position - this.#start);
  }
}

function bytesOf(frame: CommittedFrame | undefined): number {
  return (frame?.team?.length ?? 0) + (frame?.customer?.length ?? 0);
}
