import type { Downloads } from '../attachments/storage.ts';
import { messageEvent } from '../conversations/message-present.ts';
import { withParts } from '../conversations/message-rows.ts';
import type { Database } from '../db/database.ts';
import { FRAME_KINDS, type Frame } from '../engine/frame.ts';
import { toFrame } from '../engine/publish.ts';
import type { Timeline } from '../messages/timeline.ts';
import type { ConversationStream } from './conversation-stream.ts';
import type { Reader } from './reader.ts';

/** More numbers behind than this are not replayed: the client pages over REST (realtime.md section 4). */
export const MAX_REPLAY = 1_000;

/** Messages read at once; and how much may be buffered for a reader before its replay waits for it. */
const READ_ROWS = 200;
const BUFFERED_BYTES = { pauseAbove: 256 * 1024, resumeBelow: 64 * 1024 } as const;

/** What is delivered in the one step that joins the live topic; more is sent ahead of it. */
const LAST_STEP_FRAMES = 32;

export interface ReplaySource {
  readonly database: Database;
  readonly files: Downloads;
  readonly timeline: Timeline;
}

/** Where a reader stands in a stream. */
export interface Position {
  /** Every message up to this number was sent to the reader. */
  sequence: number;
  /** The highest number that the reader may see, as far as it was sent or is known to have it. */
  visible: number;
  /** The journal position up to which the reader has what was delivered. */
  journal: number;
}

/**
 * Sends everything between a reader's position and now, in order, each message once, and calls `join`
 * in the same step as the last of it, so that the live topic carries on exactly there. Only numbers
 * that the stream has delivered are read, and those are settled. Ends early, without `join`, when
 * `cancelled` says so.
 */
export async function replay(
  source: ReplaySource,
  stream: ConversationStream,
  reader: Reader,
  position: Position,
  cancelled: () => boolean,
  join: () => void,
): Promise<void> {
  for (;;) {
    await replayStretch(source, stream, reader, position, stream.delivered, cancelled);
    if (cancelled()) return;
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
  source: ReplaySource,
  stream: ConversationStream,
  reader: Reader,
  position: Position,
  upTo: number,
  cancelled: () => boolean,
): Promise<void> {
  while (position.sequence < upTo) {
    const stretch = { after: position.sequence, upTo: Math.min(upTo, position.sequence + READ_ROWS) };
    const rows = await source.timeline.read({ conversationId: stream.id, ...stretch });
    for (const message of await withParts(source.database, source.files, rows)) {
      if (cancelled()) return;
      sendFrame(toFrame(messageEvent('message.created', message, stream.audience)), reader, position);
      await waitForReader(reader);
    }
    if (cancelled()) return;
    position.sequence = stretch.upTo;
  }
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
