import { FRAME_KINDS, type Frame } from '../engine/frame.ts';
import type { ConversationStream } from './conversation-stream.ts';
import type { Reader } from './reader.ts';
import type { Stretches } from './stretches.ts';

/** More numbers behind than this are not replayed: the client pages over REST (realtime.md section 4). */
export const MAX_REPLAY = 1_000;

/** Messages read at once; and how much may be buffered for a reader before its replay waits for it. */
const READ_ROWS = 200;
const BUFFERED_BYTES = { pauseAbove: 256 * 1024, resumeBelow: 64 * 1024 } as const;

/** What is delivered in the one step that joins the live topic; more is sent ahead of it. */
const LAST_STEP_FRAMES = 32;

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
  readonly frames: Promise<readonly Frame[]>;
}

/** Begins to read what `replay` from there sends first; undefined where nothing is missing. */
export function readAhead(
  stretches: Stretches,
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
  frames: readonly Frame[],
  reader: Reader,
  upToSequence: number,
  cancelled: () => boolean,
): Promise<void> {
  for (const frame of frames) {
    if (cancelled()) return;
    const bytes = frame[reader.audience];
    if (bytes === undefined || (frame.kind === FRAME_KINDS.updated && frame.sequence > upToSequence))
      continue;
    reader.send(bytes);
    await waitForReader(reader);
  }
}

/**
 * Sends everything between a reader's position and now, in order, each message once, and calls `join`
 * in the same step as the last of it, so that the live topic carries on exactly there. Only numbers
 * that the stream has delivered are read, and those are settled. Ends early, without `join`, when
 * `cancelled` says so.
 */
export async function replay(
  stretches: Stretches,
  stream: ConversationStream,
  reader: Reader,
  position: Position,
  ahead: ReadAhead | undefined,
  cancelled: () => boolean,
  join: () => void,
): Promise<void> {
  let next = ahead;
  for (;;) {
    next ??= readAhead(stretches, stream, position.sequence);
    for (; next !== undefined; next = readAhead(stretches, stream, position.sequence)) {
      await replayStretch(next, reader, position, cancelled);
      if (cancelled()) return;
    }
    const frames = stream.journal.since(position.journal);
    if (frames === undefined) {
      // Delivered faster than read: what the journal forgot is in Postgres.
      position.journal = stream.journal.end;
      continue;
    }
    for (const frame of frames) sendFrame(frame, reader, position);
    position.journal += frames.length;
    if (frames.length <= LAST_STEP_FRAMES) return join();
    await waitForReader(reader);
    if (cancelled()) return;
  }
}

async function replayStretch(
  { upTo, frames }: ReadAhead,
  reader: Reader,
  position: Position,
  cancelled: () => boolean,
): Promise<void> {
  for (const frame of await frames) {
    if (cancelled()) return;
    sendFrame(frame, reader, position);
    await waitForReader(reader);
  }
  position.sequence = upTo;
}

/** A message goes out once, by its number; other changes may come again. */
function sendFrame(frame: Frame, reader: Reader, position: Position): void {
  const bytes = frame[reader.audience];
  if (frame.kind === FRAME_KINDS.created) {
    if (frame.sequence <= position.sequence) return;
    position.sequence = frame.sequence;
    if (bytes !== undefined) position.visible = Math.max(position.visible, frame.sequence);
  }
  if (bytes !== undefined) reader.send(bytes);
}

async function waitForReader(reader: Reader): Promise<void> {
  if (reader.bufferedBytes > BUFFERED_BYTES.pauseAbove) await reader.drained(BUFFERED_BYTES.resumeBelow);
}
