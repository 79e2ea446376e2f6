import { type CommittedFrame, type CreatedFrame, isOfPart } from '../../engine/frame.ts';
import type { ConversationStream } from '../stream/conversation-stream.ts';
import { bytesFor } from '../stream/forms.ts';
import type { Reader } from '../stream/reader.ts';
import type { RangeCache } from './range-cache.ts';

/** A reader that is further behind is not replayed: the client pages over REST (docs/realtime.md#catching-up). */
export const MAX_REPLAY = 1_000;

/** Messages read at once, and the bytes buffered for a reader over which its replay waits for it. */
const READ_ROWS = 200;
const BUFFERED_BYTES = { pauseAbove: 256 * 1024, resumeBelow: 64 * 1024 } as const;

/** Bytes sent together: four of uWS's writes. */
const BATCH_BYTES = 64 * 1024;

/** The position of a reader in a stream. */
export interface Position {
  /** Every message up to this number was sent to the reader. */
  sequence: number;
  /** The highest number that the reader may see and was sent, or is known to have. */
  visible: number;
  /** The position in the journal up to which the reader has the frames. */
  journal: number;
}

/** The first range of a replay, read ahead. */
export interface ReadAhead {
  readonly upTo: number;
  readonly frames: Promise<readonly CreatedFrame[]>;
}

/** What a replay begins with. */
export interface Replayed {
  /** Moves with the replay. */
  readonly position: Position;
  readonly ahead: ReadAhead | undefined;
  readonly following: Following;
}

/** Begins to read the range that a `replay` from there sends first; undefined where nothing is missing. */
export function readAhead(
  ranges: RangeCache,
  stream: ConversationStream,
  after: number,
): ReadAhead | undefined {
  const upTo = Math.min(stream.delivered, after + READ_ROWS);
  if (after >= upTo) return undefined;
  const frames = ranges.read({ stream, after, upTo });
  // The replay that awaits it gets the rejection, but it may be cancelled before.
  frames.catch(() => {});
  return { upTo, frames };
}

/** What belongs to messages that are still to be replayed and is no part of them, by the number of the message. */
export type Following = ReadonlyMap<number, readonly CommittedFrame[]>;

/** Returns what a replay from this number on must send behind its messages: reactions to them. */
export function followingOf(changes: readonly CommittedFrame[], after: number): Following {
  const following = changes.filter((frame) => isReplayed(frame, after) && isOfPart(frame));
  return Map.groupBy(following, ({ sequence }) => sequence);
}

function isReplayed({ kind, sequence }: CommittedFrame, after: number): boolean {
  return kind === 'updated' && sequence > after;
}

/**
 * Sends changes other than new messages, oldest first. Leaves out changes of messages that are still to be replayed:
 * the replay sends those messages as they are by then, and what follows them.
 */
export async function sendChanges(
  frames: readonly CommittedFrame[],
  reader: Reader,
  upToSequence: number,
  cancelled: () => boolean,
): Promise<void> {
  const batch = new Batch(reader);
  for (const frame of frames) {
    const bytes = bytesFor(frame, reader);
    if (bytes === undefined || isReplayed(frame, upToSequence)) continue;
    if (batch.add(bytes)) await batch.send();
    if (cancelled()) return;
  }
  await batch.send();
}

/**
 * Sends everything between a reader's position and now, in order, each message once, and calls `join` with the last
 * frames, so that the live topic continues exactly after them. Reads only numbers that the stream has delivered,
 * which are settled. Returns `joined`; `ended` where `cancelled` returned true; or `lost` where changes came
 * meanwhile that cannot be sent any more, so that the reader must load afresh.
 */
export async function replay(
  ranges: RangeCache,
  stream: ConversationStream,
  reader: Reader,
  { position, ahead, following }: Replayed,
  cancelled: () => boolean,
  join: (last: readonly Buffer[]) => void,
): Promise<'joined' | 'ended' | 'lost'> {
  const batch = new Batch(reader);
  let next = ahead;
  for (;;) {
    next ??= readAhead(ranges, stream, position.sequence);
    for (; next !== undefined; next = readAhead(ranges, stream, position.sequence)) {
      const frames = await next.frames;
      if (cancelled()) return 'ended';
      for (const frame of frames) {
        if (isDue(frame, reader, position, following, batch)) await batch.send();
        if (cancelled()) return 'ended';
      }
      position.sequence = next.upTo;
    }
    const frames = stream.journal.since(position.journal);
    if (frames === undefined) {
      // The stream delivered faster than this reads: messages are found again by their numbers, changes are not.
      if (stream.journal.lostChange(position.journal)) return 'lost';
      position.journal = stream.journal.start;
      continue;
    }
    const erased = frames.indexOf(undefined);
    const isLast = erased === -1 && bytesOf(frames, reader) <= BUFFERED_BYTES.pauseAbove;
    for (const frame of frames) {
      position.journal += 1;
      // It may have been a message: what the stream has delivered by now is read by number before the next frame.
      if (frame === undefined) break;
      if (isDue(frame, reader, position, following, batch) && !isLast) await batch.send();
      if (cancelled()) return 'ended';
    }
    if (isLast) {
      join(batch.take());
      return 'joined';
    }
  }
}

/**
 * Adds a frame to the batch, and what follows it; returns true when the batch must be sent. A message is sent once, by its
 * number; changes may be sent again.
 */
function isDue(
  frame: CommittedFrame,
  reader: Reader,
  position: Position,
  following: Following,
  batch: Batch,
): boolean {
  const bytes = bytesFor(frame, reader);
  if (frame.kind !== 'created') return bytes !== undefined && batch.add(bytes);
  if (frame.sequence <= position.sequence) return false;
  position.sequence = frame.sequence;
  if (bytes === undefined) return false;
  position.visible = Math.max(position.visible, frame.sequence);
  let isFull = batch.add(bytes);
  for (const behind of following.get(frame.sequence) ?? []) {
    const more = bytesFor(behind, reader);
    if (more !== undefined) isFull = batch.add(more);
  }
  return isFull;
}

function bytesOf(frames: readonly (CommittedFrame | undefined)[], reader: Reader): number {
  return frames.reduce((sum, frame) => sum + ((frame && bytesFor(frame, reader)?.length) ?? 0), 0);
}

/** Frames on their way to a reader. A system call for each would be most of the cost of catching up. */
class Batch {
  readonly #reader: Reader;
  #frames: Buffer[] = [];
  #bytes = 0;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** Returns true when there are enough bytes to `send`. */
  add(frame: Buffer): boolean {
    this.#frames.push(frame);
    this.#bytes += frame.length;
    return this.#bytes >= BATCH_BYTES;
  }

  /** Returns the frames that were added and not sent, and forgets them. */
  take(): readonly Buffer[] {
    const frames = this.#frames;
    this.#frames = [];
    this.#bytes = 0;
    return frames;
  }

  /** Sends them; resolves when the reader takes more. */
  async send(): Promise<void> {
    const frames = this.take();
    if (frames.length > 0) this.#reader.sendAll(frames);
    if (this.#reader.bufferedBytes > BUFFERED_BYTES.pauseAbove) {
      await this.#reader.drained(BUFFERED_BYTES.resumeBelow);
    }
  }
}
