import type { EventOf } from '@parley/protocol/socket/event-data.ts';
import type { ServerFrameType } from '@parley/protocol/socket/server-frames.ts';
import type { CloseFrame } from '@parley/protocol/socket/streams.ts';
import type { AnswerWire, Framing } from './answer-wire.ts';
import { type PollCursor, writePollCursor } from './poll-cursor.ts';

export interface PollOptions {
  readonly cursor: PollCursor;
  /**
   * The cursor of an answer that the server ends before it has sent everything, or whose resume was
   * refused.
   */
  readonly firstCursor: string;
  /** Returns the cursor of a complete answer, whose resume has sent this one. */
  readonly lastCursor: (resumed: string | undefined) => string;
  /** Conversations that begin with this poll, because they are new to the client. */
  readonly begun: ReadonlySet<string>;
  readonly waitMs: number;
}

/**
 * One poll: writes the frames of its session as a list, and ends it when everything that was missed
 * has been sent and there is something to act on, or the time is up.
 */
export class Poll implements Framing {
  readonly start = Buffer.from('{"frames":[');
  readonly filler = Buffer.from(' ');
  readonly #options: PollOptions;
  #wire: AnswerWire | undefined;
  #isEmpty = true;
  #resumed: string | undefined;
  /** There is a frame to act on. */
  #hasNews = false;
  #hasCaughtUp = false;
  #isTimeUp = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PollOptions) {
    this.#options = options;
  }

  /** Must be called when the session opens. */
  begin(wire: AnswerWire): void {
    this.#wire = wire;
    this.#timer = setTimeout(() => {
      this.#isTimeUp = true;
      this.look();
    }, this.#options.waitMs);
  }

  /** Must be called when everything that was missed has been sent. */
  caughtUp(): void {
    this.#hasCaughtUp = true;
    this.look();
  }

  /** Ends the answer if it is complete and has left. Must be called when frames have left. */
  look(): void {
    const isDue = this.#hasCaughtUp && (this.#hasNews || this.#isTimeUp);
    if (isDue && this.#wire?.getBufferedAmount() === 0) this.#wire.complete();
  }

  over(): void {
    clearTimeout(this.#timer);
  }

  frame(bytes: Buffer): readonly Buffer[] | undefined {
    const frame: EventOf | OtherFrame = JSON.parse(bytes.toString());
    if (OMITTED.has(frame.type)) return undefined;
    if (frame.type === 'event' && this.#hasDelivered(frame)) return undefined;
    if (frame.type === 'resumed') this.#resumed = frame.cursor;
    const isQuiet = QUIET.has(frame.type) || (frame.type === 'reply' && frame.ok);
    if (!isQuiet) this.#hasNews = true;
    const parts = this.#isEmpty ? [bytes] : [COMMA, bytes];
    this.#isEmpty = false;
    return parts;
  }

  end(close?: CloseFrame): Buffer {
    const { cursor, firstCursor, lastCursor } = this.#options;
    const isWhole = close === undefined && (this.#resumed !== undefined || cursor.base === undefined);
    const next = writePollCursor(isWhole ? lastCursor(this.#resumed) : firstCursor, cursor, isWhole);
    const last = close === undefined ? '' : `${this.#isEmpty ? '' : ','}${JSON.stringify(close)}`;
    return Buffer.from(`${last}],"cursor":${JSON.stringify(next)}}`);
  }

  #hasDelivered(event: EventOf): boolean {
    const { cursor, begun } = this.#options;
    return cursor.delivered.has(event, begun.has(event.conversation_id ?? ''));
  }
}

type OtherFrame =
  | { readonly type: Exclude<ServerFrameType, 'event' | 'reply' | 'resumed'> }
  | { readonly type: 'reply'; readonly ok: boolean }
  | { readonly type: 'resumed'; readonly cursor: string };
type FrameType = (EventOf | OtherFrame)['type'];

const COMMA = Buffer.from(',');
/** Frames without meaning for a client whose connection ends with the answer. */
const OMITTED: ReadonlySet<FrameType> = new Set(['hello', 'ping']);
/** Frames that come with every poll and need no action. */
const QUIET: ReadonlySet<FrameType> = new Set(['ready', 'caught_up', 'resumed', 'auth_expiring']);
