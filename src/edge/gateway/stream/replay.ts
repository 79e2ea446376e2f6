import type { CommittedFrame } from '../../../core/frames/frame.ts';
import { type Following, isReplayed, type MissedChanges } from '../changes/missed-changes.ts';
import type { ConversationStream } from './conversation-stream.ts';
import { bytesFor } from './forms.ts';
import type { RangeCache, RangePart } from './range-cache.ts';
import type { Reader } from './reader.ts';
import type { ReplayRoom } from './replay-room.ts';

/** Readers further behind are not replayed: they page over REST (docs/realtime.md#catching-up). */
export const MAX_REPLAY = 1_000;

/** Numbers asked for at once; the least applies where messages are large. */
export const READ_ROWS = { most: 200, least: 4 } as const;

/** Frames up to this size are sent in the step that joins the live topic. */
const LAST_BYTES = 128 * 1024;

/** Bytes sent together: four of uWS's writes. */
const BATCH_BYTES = 64 * 1024;

/** The position of a reader in a stream. */
export interface Position {
  /** Every message up to this number was sent to the reader. */
  sequence: number;
  /** The highest number that the reader may see and has. */
  visible: number;
  /** Numbers to ask for next. */
  rows: number;
  /** The position in the journal up to which the reader has the frames. */
  journal: number;
}

/** The state that readers that catch up share. */
export interface ReplayHost {
  readonly ranges: RangeCache;
  readonly room: ReplayRoom;
}

/** The first part of a replay, read ahead and kept until it is taken or forgotten. */
export class ReadAhead {
  #part: Promise<RangePart> | undefined;

  /** Begins to read what a `replay` from `after` sends first. */
  begin(ranges: RangeCache, stream: ConversationStream, after: number): void {
    this.#part = nextPart(ranges, stream, { sequence: after, rows: READ_ROWS.most });
    // The replay that awaits it gets the rejection, unless it is cancelled before.
    this.#part?.catch(() => {});
  }

  take(): Promise<RangePart> | undefined {
    const part = this.#part;
    this.#part = undefined;
    return part;
  }

  forget(): void {
    this.#part = undefined;
  }
}

/** Returns undefined if nothing is missing. */
function nextPart(
  ranges: RangeCache,
  stream: ConversationStream,
  { sequence: after, rows }: Pick<Position, 'sequence' | 'rows'>,
): Promise<RangePart> | undefined {
  const upTo = Math.min(stream.delivered, after + rows);
  return after >= upTo ? undefined : ranges.read({ stream, after, upTo });
}

/** A reader that catches up with one stream. */
export interface Replayed {
  readonly stream: ConversationStream;
  readonly reader: Reader;
  /** Moves with the replay. */
  readonly position: Position;
  readonly ahead: ReadAhead;
  readonly cancelled: () => boolean;
  /** Called when the reader is waited for, to forget changes that were read ahead. */
  readonly onPause: () => void;
}

/**
 * Sends changes other than new messages, oldest first, except those of messages that are still to
 * be replayed: the replay sends these in their state of that moment, and what follows them. Returns
 * false if there are too many by now.
 */
export async function sendChanges(
  room: ReplayRoom,
  changes: MissedChanges,
  {
    reader,
    position,
    cancelled,
    onPause,
  }: Pick<Replayed, 'reader' | 'cancelled' | 'onPause'> & {
    readonly position: Pick<Position, 'sequence'>;
  },
): Promise<boolean> {
  for (;;) {
    await changes.load();
    if (changes.areTooMany) return false;
    if (cancelled() || sendSome(room, changes, reader, position.sequence)) return true;
    changes.forget();
    onPause();
    await room.admit(reader);
  }
}

/** Returns true when all were sent. */
function sendSome(room: ReplayRoom, changes: MissedChanges, reader: Reader, after: number): boolean {
  const batch = new Batch(room, reader);
  for (;;) {
    if (batch.isEmpty && !room.admits(reader)) return false;
    const frame = changes.take();
    if (frame === undefined) break;
    const bytes = bytesFor(frame, reader);
    if (bytes !== undefined && !isReplayed(frame, after) && batch.add(bytes)) batch.send();
  }
  batch.send();
  return true;
}

/**
 * Sends everything between a reader's position and now, in order, each message once. Calls `join`
 * with the last frames, so that the live topic continues exactly after them. Reads only numbers
 * that the stream has delivered, which are settled. Returns `joined`; `ended` if `cancelled`
 * returned true; or `lost` if changes came meanwhile that cannot be sent any more, so that the
 * reader must reload.
 */
export async function replay(
  { ranges, room }: ReplayHost,
  replayed: Replayed,
  following: Following,
  join: (last: readonly Buffer[]) => void,
): Promise<'joined' | 'ended' | 'lost'> {
  const { stream, reader, position, ahead, cancelled, onPause } = replayed;
  // Frames that a part leaves in the batch go with the last frames, or before the next wait.
  const batch = new Batch(room, reader);
  for (;;) {
    if (!room.admits(reader)) {
      batch.send();
      ahead.forget();
      onPause();
      await room.admit(reader);
    }
    if (cancelled()) return 'ended';
    const reading = ahead.take() ?? nextPart(ranges, stream, position);
    if (reading !== undefined) {
      batch.send();
      // This function keeps no reference to the part, because it may wait for the reader next.
      await reading.then((part) => sendPart(room, replayed, following, batch, part));
      continue;
    }
    const outcome = sendJournal(room, replayed, following, batch, join);
    if (outcome !== undefined) return outcome;
  }
}

/**
 * Sends a part except for what remains in the batch. If the reader may not be sent more by now, the
 * part is read again.
 */
function sendPart(
  room: ReplayRoom,
  { reader, position, cancelled }: Replayed,
  following: Following,
  batch: Batch,
  { frames, upTo }: RangePart,
): void {
  if (cancelled() || !room.admits(reader)) return;
  // Few large messages are sent at once, so few are asked for.
  const passed = upTo - position.sequence;
  if (passed > 0) position.rows = Math.min(READ_ROWS.most, Math.max(READ_ROWS.least, 2 * passed));
  for (const frame of frames) {
    if (isDue(frame, reader, position, following, batch)) batch.send();
    if (cancelled()) return;
  }
  position.sequence = Math.max(position.sequence, upTo);
}

/** Sends frames that the stream delivered meanwhile. Returns undefined if the replay goes on. */
function sendJournal(
  room: ReplayRoom,
  { stream, reader, position, cancelled }: Replayed,
  following: Following,
  batch: Batch,
  join: (last: readonly Buffer[]) => void,
): 'joined' | 'ended' | 'lost' | undefined {
  const frames = stream.journal.since(position.journal);
  if (frames === undefined) {
    // The stream delivered faster than this reads. Only messages are found again, by number.
    if (stream.journal.lostChange(position.journal)) return 'lost';
    position.journal = stream.journal.start;
    return undefined;
  }
  const isLast = !frames.includes(undefined) && bytesOf(frames, reader) <= LAST_BYTES;
  for (const frame of frames) {
    position.journal += 1;
    // An erased frame may have been a message: delivered numbers are read before the next frame.
    if (frame === undefined) break;
    if (isDue(frame, reader, position, following, batch) && !isLast) {
      batch.send();
      if (!room.admits(reader)) break;
    }
    if (cancelled()) return 'ended';
  }
  if (isLast) {
    join(batch.take());
    room.sent(reader);
    return 'joined';
  }
  batch.send();
  return undefined;
}

/**
 * Adds a frame and what follows it to the batch; returns true when the batch must be sent. A
 * message is sent once, by its number; changes may be sent again.
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

/** Frames sent together: a system call for each would be most of the cost of catching up. */
class Batch {
  readonly #room: ReplayRoom;
  readonly #reader: Reader;
  #frames: Buffer[] = [];
  #bytes = 0;

  constructor(room: ReplayRoom, reader: Reader) {
    this.#room = room;
    this.#reader = reader;
  }

  get isEmpty(): boolean {
    return this.#frames.length === 0;
  }

  /** Returns true when the batch is large enough to `send`. */
  add(frame: Buffer): boolean {
    this.#frames.push(frame);
    this.#bytes += frame.length;
    return this.#bytes >= BATCH_BYTES;
  }

  /** Returns the unsent frames and forgets them. */
  take(): readonly Buffer[] {
    const frames = this.#frames;
    this.#frames = [];
    this.#bytes = 0;
    return frames;
  }

  send(): void {
    const frames = this.take();
    if (frames.length === 0) return;
    this.#reader.sendAll(frames);
    this.#room.sent(this.#reader);
  }
}
