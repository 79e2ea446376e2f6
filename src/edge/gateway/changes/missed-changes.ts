import { hash } from 'node:crypto';
import { type CommittedFrame, isOfPart } from '../../../core/frames/frame.ts';

export type ReadChanges = () => Promise<readonly CommittedFrame[] | 'too_many'>;

/** The changes of a stream that a reader missed. None is kept while the reader is waited for. */
export class MissedChanges {
  readonly #read: ReadChanges;
  /** Undefined if they must be read again. */
  #frames: readonly CommittedFrame[] | 'too_many' | undefined;
  #next = 0;
  /** The contents that were taken before the frames were forgotten. */
  readonly #taken = new Set<string>();

  /** `frames` were read already. */
  constructor(frames: readonly CommittedFrame[] | 'too_many', read: ReadChanges = async () => []) {
    this.#frames = frames;
    this.#read = read;
  }

  get areTooMany(): boolean {
    return this.#frames === 'too_many';
  }

  async load(): Promise<void> {
    this.#frames ??= await this.#read();
  }

  /** Returns the next frame, or undefined after the last. The frames must be loaded. */
  take(): CommittedFrame | undefined {
    for (let frame = this.#at(this.#next); frame !== undefined; frame = this.#at(this.#next)) {
      this.#next += 1;
      if (this.#taken.size === 0 || !this.#taken.has(contentOf(frame))) return frame;
    }
    this.#frames = [];
    this.#next = 0;
    return undefined;
  }

  /** Releases the frames until they are loaded again. */
  forget(): void {
    if (this.#frames === undefined || this.#frames === 'too_many') return;
    for (let index = 0; index < this.#next; index++) this.#taken.add(contentOf(this.#at(index)!));
    this.#frames = undefined;
    this.#next = 0;
  }

  /** Returns the frames (reactions) that a replay from `after` on sends behind each message. */
  following(after: number): Following {
    const frames = this.#frames === 'too_many' ? [] : (this.#frames ?? []);
    const following = frames.filter((frame) => isReplayed(frame, after) && isOfPart(frame));
    return Map.groupBy(following, ({ sequence }) => sequence);
  }

  #at(index: number): CommittedFrame | undefined {
    return this.#frames === 'too_many' ? undefined : this.#frames?.[index];
  }
}

/** Frames that belong to messages still to be replayed but are no part of them, by number. */
export type Following = ReadonlyMap<number, readonly CommittedFrame[]>;

/** Returns whether a change reaches the reader with a message still to be replayed. */
export function isReplayed({ kind, sequence }: CommittedFrame, after: number): boolean {
  return kind === 'updated' && sequence > after;
}

function contentOf({ team, customer }: CommittedFrame): string {
  return hash('sha1', team ?? customer ?? '');
}
