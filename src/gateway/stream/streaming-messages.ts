import type { CommittedFrame, PieceFrame, SnapshotFrame } from '../../engine/frame.ts';
import type { TextPosition } from '../../engine/text-position.ts';
import { bytesFor } from './forms.ts';
import type { Reader } from './reader.ts';

export interface StreamingMessagesOptions {
  /** Asks whoever writes this message how far it is; the answer comes as a frame. */
  readonly ask: (messageId: string) => void;
  /** Puts a frame on the topic of ephemeral events. */
  readonly broadcast: (frame: PieceFrame | SnapshotFrame) => void;
}

/**
 * The messages and drafts of one conversation that are being written, as this node's readers follow them
 * (realtime.md section 3). The node does not know the texts, only whether what it passes on has no gap: a reader that
 * comes in the middle, and all of them behind a gap, get the writer's own snapshot.
 *
 * Invariant: whoever is on the topic of ephemeral events has of each text everything up to its `place`, unless its
 * writer did not answer. What a writer publishes arrives in order, so all that came before its answer is in it.
 */
export class StreamingMessages {
  readonly #options: StreamingMessagesOptions;
  readonly #texts = new Map<string, StreamingText>();
  /** Messages that wait for the one before them, and of which pieces came already. */
  readonly #early = new Set<string>();
  readonly #admissions = new Set<PendingReader>();

  constructor(options: StreamingMessagesOptions) {
    this.#options = options;
  }

  /** A message that readers have, and that was being written when this node began to listen. */
  addUnfinished(messageId: string): void {
    if (!this.#texts.has(messageId)) this.#texts.set(messageId, { position: undefined, askedAtMs: NEVER });
  }

  /** What readers were given of a durable event: it may begin a text, or end one. */
  onDurable({ resource, streaming }: CommittedFrame): void {
    const isKnown = this.#texts.has(resource);
    if (!streaming) {
      if (isKnown) this.#end(resource);
    } else if (!isKnown) {
      // Where it was read from Postgres, the next piece shows the gap.
      const text: StreamingText = { position: BEGINNING, askedAtMs: NEVER };
      this.#texts.set(resource, text);
      if (this.#early.delete(resource)) this.#miss(resource, text);
    }
  }

  /** A piece, from the engine. Of a message that readers do not have (yet, or any more) it is nothing to anybody. */
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

  /** What the writer of a message answered, to whichever node had asked. */
  onSnapshot(frame: SnapshotFrame): void {
    const { messageId, position } = frame;
    const text = this.#texts.get(messageId);
    if (text === undefined) return;
    text.askedAtMs = NEVER;
    const { position: before } = text;
    if (before !== undefined && isAhead(before, position)) {
      // A broken link has let pieces overtake it: nobody is taken back, and who waits still lacks those.
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
   * Calls `enter`, in which the reader joins the topic, once it has what the others have: at once where nothing is
   * being written. A writer that does not answer holds it up for a second.
   */
  admit(reader: Reader, isWanted: () => boolean, enter: () => void): void {
    if (this.#texts.size === 0 || reader.audience !== 'team') {
      enter();
      return;
    }
    const timer = setTimeout(() => this.#giveUp(admission), PATIENCE_MS);
    const admission: PendingReader = {
      ...{ reader, isWanted, enter, timer },
      missing: new Set(this.#texts.keys()),
      frames: [],
      askedAtMs: NEVER,
    };
    this.#admissions.add(admission);
    for (const [messageId, text] of this.#texts) this.#ask(messageId, text);
    admission.askedAtMs = performance.now();
  }

  /** The way to the writers was broken and is whole again: what is missing, no later piece may show for long. */
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

  /** Readers lack something of it: nothing of it is passed on until its writer has answered. */
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

  /** One question serves all who wait for its answer: whatever is published before it comes before it. */
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

  /** It goes in with less than the others have. Its question is asked once more, and they all get the answer. */
  #giveUp(admission: PendingReader): void {
    for (const messageId of admission.missing) {
      const text = this.#texts.get(messageId);
      if (text === undefined) continue;
      // Not by the clock alone: timers may be early. Of those that wait together the first one asks.
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
  /** What readers have; undefined: it is not known, and what comes is of no use to them. */
  position: TextPosition | undefined;
  /** When its writer was asked last and has not answered. */
  askedAtMs: number;
}

/** A reader on its way onto the topic. */
interface PendingReader {
  readonly reader: Reader;
  readonly isWanted: () => boolean;
  readonly enter: () => void;
  readonly timer: NodeJS.Timeout;
  /** The texts whose snapshot it waits for. */
  readonly missing: Set<string>;
  /** What it gets ahead of the topic: snapshots, and the pieces that came behind them. */
  readonly frames: (PieceFrame | SnapshotFrame)[];
  /** By when everything that it lacks had been asked for. */
  askedAtMs: number;
}

const PATIENCE_MS = 1_000;
/** Late pieces of texts that have ended are noted too: the oldest are forgotten. */
const MAX_EARLY = 100;
const NEVER = Number.NEGATIVE_INFINITY;
const BEGINNING: TextPosition = { attempt: 1, from: 0, to: 0 };

/** A delta at the end of what there is, or the reset that begins the next attempt within it. */
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
