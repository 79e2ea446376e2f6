import type { CommittedFrame, CreatedFrame } from '../../engine/frame.ts';
import type { ConversationStream } from '../stream/conversation-stream.ts';
import { bytesFor } from '../stream/forms.ts';
import type { Reader } from '../stream/reader.ts';
import type { RangeCache } from './range-cache.ts';

/** More numbers behind than this are not replayed: the client pages over REST (realtime.md section 4). */
export const MAX_REPLAY = 1_000;

/** Messages read at once; and how much may be buffered for a reader before its replay waits for it. */
const READ_ROWS = 200;
const BUFFERED_BYTES = { pauseAbove: 256 * 1024, resumeBelow: 64 * 1024 } as const;

/** Sent together: four of uWS's writes. */
const BATCH_BYTES = 64 * 1024;

/** Where a reader stands in a stream. */
export interface Position {
  /** Every message up to this number was sent to the reader. */
  sequence: number;
  /** The highest number that the reader may see, as far as it was sent or is known to have it. */
  visible: number;
  /** The journal position up to which the reader has what was delivered. */
  journal: number;
}

/** What is sent first, read ahead. */
export interface ReadAhead {
  readonly upTo: number;
  readonly frames: Promise<readonly CreatedFrame[]>;
}

/** Begins to read what `replay` from there sends first; undefined where nothing is missing. */
export function readAhead(
  stretches: RangeCache,
  stream: ConversationStream,
  after: number,
): ReadAhead | undefined {
  const upTo = Math.min(stream.delivered, after + READ_ROWS);
  if (after >= upTo) return undefined;
  const frames = stretches.read({ stream, after, upTo });
  // Whoever replays hears of it; it may be cancelled before.
  frames.catch(() => {});
  return { upTo, frames };
}

/**
 * Sends what changed beside new messages, oldest first. Changes of messages that are still to be replayed
 * are left out: those are sent as they are by then.
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
    if (bytes === undefined || (frame.kind === 'updated' && frame.sequence > upToSequence)) continue;
    if (batch.add(bytes)) await batch.send();
    if (cancelled()) return;
  }
  await batch.send();
}

/**
 * Sends everything between a reader's position and now, in order, each message once, and calls `join` with
 * the last of it, so that the live topic carries on exactly there: what is left for it to send comes first.
 * Only numbers that the stream has delivered are read, and those are settled. Without `join` it has `ended`
 * when `cancelled` says so, and is `lost` when changes came meanwhile that cannot be sent any more: the reader
 * has to load afresh.
 */
export async function replay(
  stretches: RangeCache,
  stream: ConversationStream,
  reader: Reader,
  position: Position,
  ahead: ReadAhead | undefined,
  cancelled: () => boolean,
  join: (last: readonly Buffer[]) => void,
): Promise<'joined' | 'ended' | 'lost'> {
  const batch = new Batch(reader);
  let next = ahead;
  for (;;) {
    next ??= readAhead(stretches, stream, position.sequence);
    for (; next !== undefined; next = readAhead(stretches, stream, position.sequence)) {
      const frames = await next.frames;
      if (cancelled()) return 'ended';
      for (const frame of frames) {
        if (isDue(frame, reader, position, batch)) await batch.send();
        if (cancelled()) return 'ended';
      }
      position.sequence = next.upTo;
    }
    const frames = stream.journal.since(position.journal);
    if (frames === undefined) {
      // Delivered faster than read: messages are found again by their numbers, changes are not.
      if (stream.journal.lostChange(position.journal)) return 'lost';
      position.journal = stream.journal.start;
      continue;
    }
    const isLast = bytesOf(frames, reader) <= BUFFERED_BYTES.pauseAbove;
    for (const frame of frames) {
      const isFull = isDue(frame, reader, position, batch);
      position.journal += 1;
      if (isFull && !isLast) await batch.send();
      if (cancelled()) return 'ended';
    }
    if (isLast) {
      join(batch.take());
      return 'joined';
    }
  }
}

/** Puts a frame into the batch; true when that is to be sent. A message goes out once, by its number; other changes may come again. */
function isDue(frame: CommittedFrame, reader: Reader, position: Position, batch: Batch): boolean {
  const bytes = bytesFor(frame, reader);
  if (frame.kind === 'created') {
    if (frame.sequence <= position.sequence) return false;
    position.sequence = frame.sequence;
    if (bytes !== undefined) position.visible = Math.max(position.visible, frame.sequence);
  }
  return bytes !== undefined && batch.add(bytes);
}

function bytesOf(frames: readonly CommittedFrame[], reader: Reader): number {
  return frames.reduce((sum, frame) => sum + (bytesFor(frame, reader)?.length ?? 0), 0);
}

/** Frames on their way to a reader. A system call for each would be most of what catching up costs. */
class Batch {
  readonly #reader: Reader;
  #frames: Buffer[] = [];
  #bytes = 0;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** True when there are enough to `send`. */
  add(frame: Buffer): boolean {
    this.#frames.push(frame);
    this.#bytes += frame.length;
    return this.#bytes >= BATCH_BYTES;
  }

  /** What was added and not sent; it is the caller's to send. */
  take(): readonly Buffer[] {
    const frames = this.#frames;
    this.#frames = [];
    this.#bytes = 0;
    return frames;
  }

  /** Resolves when the reader takes more. */
  async send(): Promise<void> {
    const frames = this.take();
    if (frames.length > 0) this.#reader.sendAll(frames);
    if (this.#reader.bufferedBytes > BUFFERED_BYTES.pauseAbove) {
      await this.#reader.drained(BUFFERED_BYTES.resumeBelow);
    }
  }
}
