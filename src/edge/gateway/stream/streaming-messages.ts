import type { CommittedFrame, PieceFrame, SnapshotFrame } from '../../../core/frames/frame.ts';
import type { TextPosition } from '../../../core/frames/text-position.ts';
import { bytesFor } from './forms.ts';
import type { Reader } from './reader.ts';

export interface StreamingMessagesOptions {
  /** Asks the writer of this message for a snapshot, which arrives as a frame. */
  readonly ask: (messageId: string) => void;
  /** Publishes a frame to the topic of ephemeral events. */
  readonly broadcast: (frame: PieceFrame | SnapshotFrame) => void;
}

/**
 * The messages and drafts of one conversation that are being streamed to this node's readers
 * (docs/realtime.md#streamed-replies). The node does not know the texts, only whether the pieces
 * that it passes on have gaps. A reader that joins in the middle, and all readers after a gap, get
 * a snapshot from the writer.
 *
 * Invariant: a reader on the topic of ephemeral events has each text up to its `position`, unless
 * its writer did not answer. A writer's frames arrive in order, so its answer contains everything
 * that came before it.
 */
export class StreamingMessages {
  readonly #options: StreamingMessagesOptions;
  readonly #texts = new Map<string, StreamingText>();
  /** Messages whose pieces arrived before the message. */
  readonly #early = new Set<string>();
  readonly #admissions = new Set<PendingReader>();

  constructor(options: StreamingMessagesOptions) {
    this.#options = options;
  }

  /** Adds a message that was being streamed when this node began to listen. */
  addUnfinished(messageId: string): void {
    if (!this.#texts.has(messageId)) this.#texts.set(messageId, { position: undefined, askedAtMs: NEVER });
  }

  /** Takes a durable event that readers were sent, which may begin or end a text. */
  onDurable({ resource, streaming }: CommittedFrame): void {
    const isKnown = this.#texts.has(resource);
    if (!streaming) {
      if (isKnown) this.#end(resource);
    } else if (!isKnown) {
      // If the message came from Postgres, the next piece shows the gap.
      const text: StreamingText = { position: BEGINNING, askedAtMs: NEVER };
      this.#texts.set(resource, text);
      if (this.#early.delete(resource)) this.#miss(resource, text);
    }
  }

  /** Takes a piece from the engine. Drops it if readers lack its message or its text ended. */
  onPiece(frame: PieceFrame): void {
    const { messageId, position } = frame;
    const text = this.#texts.get(messageId);
    if (text === undefined) this.#rememberEarly(messageId);
    else if (text.position === undefined) this.#ask(messageId, text);
    else if (follows(position, text.position)) {
      text.position = position;
      this.#pass(frame);
    } else if (isAhead(position, text.position)) this.#miss(messageId, text);
  }

  /** Takes a writer's snapshot, whichever node requested it. */
  onSnapshot(frame: SnapshotFrame): void {
    const { messageId, position } = frame;
    const text = this.#texts.get(messageId);
    if (text === undefined) return;
    text.askedAtMs = NEVER;
    const { position: before } = text;
    if (before !== undefined && isAhead(before, position)) {
      // Pieces overtook the snapshot on a broken link. Readers that are further stay there; waiting
      // readers still lack the pieces.
      if (this.#isAwaited(messageId)) this.#ask(messageId, text);
      return;
    }
    text.position = position;
    const isMissed = before?.attempt !== position.attempt || before.to !== position.to;
    if (isMissed) this.#options.broadcast(frame);
    for (const admission of [...this.#admissions]) {
      if (admission.missing.delete(messageId) || isMissed) admission.frames.push(frame);
      this.#admitWhole(admission);
    }
  }

  /**
   * Calls `enter`, which joins the topic, when the reader has as much as the other readers. That is
   * at once if no text is being streamed, and a second late for a writer that does not answer.
   */
  admit(reader: Reader, isWanted: () => boolean, enter: () => void): void {
    if (this.#texts.size === 0 || reader.audience !== 'team') {
      enter();
      return;
    }
    const timer = setTimeout(() => this.#giveUp(admission), PATIENCE_MS);
    const admission: PendingReader = {
      reader,
      isWanted,
      enter,
      timer,
      missing: new Set(this.#texts.keys()),
      frames: [],
      askedAtMs: NEVER,
    };
    this.#admissions.add(admission);
    for (const [messageId, text] of this.#texts) this.#ask(messageId, text);
    admission.askedAtMs = performance.now();
  }

  /** Must be called when the link to the writers is whole again; later pieces may come too late. */
  askAll(): void {
    for (const [messageId, text] of this.#texts) {
      text.askedAtMs = NEVER;
      this.#ask(messageId, text);
    }
  }

  close(): void {
    for (const { timer } of this.#admissions) clearTimeout(timer);
    this.#admissions.clear();
    this.#texts.clear();
  }

  #pass(frame: PieceFrame): void {
    this.#options.broadcast(frame);
    for (const { missing, frames } of this.#admissions) {
      if (!missing.has(frame.messageId)) frames.push(frame);
    }
  }

  /** Marks a gap: no further piece of the text is passed on before its writer answers. */
  #miss(messageId: string, text: StreamingText): void {
    text.position = undefined;
    this.#ask(messageId, text);
  }

  #rememberEarly(messageId: string): void {
    this.#early.add(messageId);
    if (this.#early.size > MAX_EARLY) this.#early.delete(this.#early.values().next().value!);
  }

  #isAwaited(messageId: string): boolean {
    return [...this.#admissions].some(({ missing }) => missing.has(messageId));
  }

  /** Asks once for all waiting readers: the answer has everything published before it. */
  #ask(messageId: string, text: StreamingText): void {
    const nowMs = performance.now();
    if (nowMs - text.askedAtMs < PATIENCE_MS) return;
    text.askedAtMs = nowMs;
    this.#options.ask(messageId);
  }

  #end(messageId: string): void {
    this.#texts.delete(messageId);
    for (const admission of [...this.#admissions]) {
      admission.missing.delete(messageId);
      this.#admitWhole(admission);
    }
  }

  /** Adds a reader that lacks text. The writer is asked again, and answers to all readers. */
  #giveUp(admission: PendingReader): void {
    for (const messageId of admission.missing) {
      const text = this.#texts.get(messageId);
      if (text === undefined) continue;
      // Compared, because timers may be early. Of readers that wait together, the first asks.
      if (text.askedAtMs <= admission.askedAtMs) text.askedAtMs = NEVER;
      this.#miss(messageId, text);
    }
    this.#admit(admission);
  }

  #admitWhole(admission: PendingReader): void {
    if (admission.missing.size === 0) this.#admit(admission);
  }

  #admit(admission: PendingReader): void {
    const { reader, isWanted, enter, timer, frames } = admission;
    clearTimeout(timer);
    this.#admissions.delete(admission);
    if (!isWanted()) return;
    for (const frame of frames) {
      const bytes = bytesFor(frame, reader);
      if (bytes !== undefined) reader.send(bytes);
    }
    enter();
  }
}

interface StreamingText {
  /** The position that readers have; undefined if unknown, so that pieces are of no use to them. */
  position: TextPosition | undefined;
  /** When its unanswered writer was asked last. */
  askedAtMs: number;
}

/** A reader that is about to join the topic. */
interface PendingReader {
  readonly reader: Reader;
  readonly isWanted: () => boolean;
  readonly enter: () => void;
  readonly timer: NodeJS.Timeout;
  readonly missing: Set<string>;
  /** Frames sent before it joins: snapshots, and the pieces after them. */
  readonly frames: (PieceFrame | SnapshotFrame)[];
  /** When the writers of all missing texts had been asked. */
  askedAtMs: number;
}

const PATIENCE_MS = 1_000;
/** Late pieces of ended texts are noted too, so the oldest are forgotten. */
const MAX_EARLY = 100;
const NEVER = Number.NEGATIVE_INFINITY;
const BEGINNING: TextPosition = { attempt: 1, from: 0, to: 0 };

/** Returns whether the piece continues the text, or resets it for the next attempt. */
function follows(piece: TextPosition, { attempt, to }: TextPosition): boolean {
  if (piece.attempt === attempt) return piece.from === to;
  const isReset = piece.from === piece.to;
  return (
    piece.attempt > attempt &&
    isReset &&
    (piece.from === 0 || piece.attempt === attempt + 1) &&
    piece.from <= to
  );
}

function isAhead(piece: TextPosition, { attempt, to }: TextPosition): boolean {
  return piece.attempt > attempt || (piece.attempt === attempt && piece.to > to);
}
