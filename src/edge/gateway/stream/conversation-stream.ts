import type { ConversationAudience } from '@parley/protocol/resources/conversation.ts';
import type {
  CommittedFrame,
  CreatedFrame,
  FilledFrame,
  UpdatedFrame,
  VoidFrame,
} from '../../../core/frames/frame.ts';
import { toFrame } from '../../../core/frames/publish.ts';
import { SETTLING } from '../../../core/messages/timeline/timeline.ts';
import type { TimelineHead } from '../../../core/messages/timeline/timeline-store.ts';
import { messageEvent, withParts } from '../../../core/resources/message.ts';
import type { NodeOptions } from '../options.ts';
import type { Broadcast, Reader } from './reader.ts';

export interface StreamContext extends Pick<NodeOptions, 'database' | 'files' | 'timeline' | 'log'> {
  readonly broadcast: Broadcast;
}

/** Frames held beyond this are dropped and read later from Postgres: bounds a gap's memory. */
const MAX_HELD = 2_000;

/** Messages read from Postgres at once while filling. */
const FILL_NUMBERS = 500;

/** More imported messages at once are not sent to readers, who load the list again instead. */
export const MAX_IMPORTED = 1_000;

export interface Moved {
  readonly head: number;
  readonly atMs: number;
}

const NOT_MOVED: Moved = { head: 0, atMs: Number.NEGATIVE_INFINITY };

/**
 * One conversation on this node: takes frames from the engine in any order and publishes them to
 * the node's topics in the order of their numbers (docs/architecture.md#delivery).
 *
 * Invariants: every number up to `delivered` is a void or a message that was published to the
 * topics, and remains so. A frame is published in the step in which `delivered` reaches its number.
 * Frames with higher numbers wait in `held`. Missing numbers are read through Timeline, which
 * settles them.
 */
export class ConversationStream {
  readonly id: string;
  readonly audience: ConversationAudience;
  readonly journal = new Journal();
  readonly #context: StreamContext;
  readonly #onDelivered: (frame: CommittedFrame) => void;
  readonly #onOverrun: () => Promise<void>;
  readonly #held = new Map<number, CreatedFrame | VoidFrame>();
  /** Changes of messages not delivered yet, by the message's number. */
  readonly #heldUpdates = new Map<number, UpdatedFrame[]>();
  /** `updatedAtUs` of the last change delivered, by resource. */
  readonly #versions = new Map<string, number>();
  #delivered: number;
  /** Each audience's last visible message and its delivery; before opening, the team's only. */
  readonly #moved: Record<Reader['audience'], Moved>;
  #changes = 0;
  #known: number;
  #filling: Promise<void> | undefined;
  #holeTimer: NodeJS.Timeout | undefined;
  #closed = false;

  /**
   * Everything up to `settled` is settled; numbers from there to the head are filled in. `visible`
   * is the last message up to there. `onDelivered` is called after each frame that was published,
   * `onOverrun` where more than MAX_IMPORTED messages were imported: it ends all subscriptions.
   */
  constructor(
    id: string,
    audience: ConversationAudience,
    { settled, visible }: Pick<TimelineHead, 'settled' | 'visible'>,
    context: StreamContext,
    onDelivered: (frame: CommittedFrame) => void = () => {},
    onOverrun: () => Promise<void> = async () => {},
  ) {
    this.id = id;
    this.audience = audience;
    this.#delivered = settled;
    this.#known = settled;
    this.#moved = { team: { ...NOT_MOVED, head: visible }, customer: NOT_MOVED };
    this.#context = context;
    this.#onDelivered = onDelivered;
    this.#onOverrun = onOverrun;
  }

  /** The number up to which this node has delivered. */
  get delivered(): number {
    return this.#delivered;
  }

  /** Counts events other than new messages; while equal, reads of delivered numbers stay valid. */
  get changes(): number {
    return this.#changes;
  }

  /** Returns the head that an audience saw last, and when (`performance.now()`). */
  moved(audience: Reader['audience']): Moved {
    return this.#moved[audience];
  }

  /** Takes committed frames from the engine. Never throws, never waits. */
  receive(frame: CommittedFrame | VoidFrame | FilledFrame): void {
    if (this.#closed) return;
    switch (frame.kind) {
      case 'filled':
        this.#known = Math.max(this.#known, frame.sequence);
        this.#watchHole();
        break;
      case 'created':
      case 'void':
        this.#receiveNumbered(frame);
        break;
      case 'updated':
        this.#receiveUpdate(frame);
        break;
      case 'durable':
        if (this.#isNews(frame)) this.#deliver(frame);
    }
  }

  /**
   * Reads the numbers between `delivered` and `upTo` from Postgres and delivers them in order.
   * Joins a fill under way. Rejects if Postgres is unavailable.
   */
  fill(upTo: number, seenAtMs: number = performance.now()): Promise<void> {
    this.#known = Math.max(this.#known, upTo);
    this.#filling ??= this.#fill(seenAtMs).finally(() => {
      this.#filling = undefined;
      // Frames may have arrived behind a new gap meanwhile.
      this.#watchHole();
    });
    return this.#filling;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#holeTimer);
    this.#held.clear();
    this.#heldUpdates.clear();
  }

  #receiveNumbered(frame: CreatedFrame | VoidFrame): void {
    const { sequence } = frame;
    if (sequence <= this.#delivered) return;
    this.#known = Math.max(this.#known, sequence);
    if (sequence === this.#delivered + 1) {
      this.#advance(frame);
      this.#advanceHeld();
    } else if (this.#held.size < MAX_HELD) {
      this.#held.set(sequence, frame);
    }
    this.#watchHole();
  }

  /** Holds a change until its message is delivered; ignores one older than a delivered change. */
  #receiveUpdate(frame: UpdatedFrame): void {
    if (frame.sequence <= this.#delivered) {
      if (this.#isNews(frame)) this.#deliver(frame);
      return;
    }
    this.#known = Math.max(this.#known, frame.sequence);
    // The message is then read from Postgres, without its content.
    if (frame.erases) this.#held.delete(frame.sequence);
    const waiting = this.#heldUpdates.get(frame.sequence);
    if (waiting === undefined) this.#heldUpdates.set(frame.sequence, [frame]);
    else waiting.push(frame);
    this.#watchHole();
  }

  /** Delivers the frame of number `delivered + 1`. */
  #advance(frame: CreatedFrame | VoidFrame): void {
    this.#delivered = frame.sequence;
    this.#held.delete(frame.sequence);
    const updates = this.#heldUpdates.get(frame.sequence);
    if (updates !== undefined) this.#heldUpdates.delete(frame.sequence);
    // A void has no changes.
    if (frame.kind === 'void') return;
    this.#moved.team = { head: frame.sequence, atMs: performance.now() };
    // The head of customers passes no number hidden from them.
    if (frame.customer !== undefined) this.#moved.customer = this.#moved.team;
    this.#deliver(frame);
    for (const update of updates ?? []) {
      // A message read from Postgres may include the change, but not what only belongs to it.
      const isIncluded = update.resource === frame.resource && update.updatedAtUs <= frame.updatedAtUs;
      if (!isIncluded && this.#isNews(update)) this.#deliver(update);
    }
  }

  #advanceHeld(): void {
    for (let next = this.#held.get(this.#delivered + 1); next !== undefined; ) {
      this.#advance(next);
      next = this.#held.get(this.#delivered + 1);
    }
  }

  #deliver(frame: CommittedFrame): void {
    if (frame.kind !== 'created') this.#changes += 1;
    if (frame.erases) this.journal.erase(frame.resource);
    this.journal.append(frame);
    this.#context.broadcast('durable', frame);
    this.#onDelivered(frame);
  }

  #isNews(frame: CommittedFrame): boolean {
    const last = this.#versions.get(frame.resource);
    if (last !== undefined && frame.updatedAtUs < last) return false;
    this.#versions.delete(frame.resource);
    this.#versions.set(frame.resource, frame.updatedAtUs);
    // Late changes arrive within seconds, so the oldest entries are not needed.
    if (this.#versions.size > MAX_HELD) this.#versions.delete(this.#versions.keys().next().value!);
    return true;
  }

  /** Gives a gap a moment to close by itself, then reads from Postgres. */
  #watchHole(): void {
    if (this.#closed || this.#known === this.#delivered) {
      clearTimeout(this.#holeTimer);
      this.#holeTimer = undefined;
      return;
    }
    if (this.#filling !== undefined || this.#holeTimer !== undefined) return;
    const seenAtMs = performance.now();
    this.#holeTimer = setTimeout(() => {
      this.#holeTimer = undefined;
      this.fill(this.#known, seenAtMs).catch((error: unknown) => {
        this.#context.log.warn(
          { conversation_id: this.id, err: error },
          'could not fill a gap, trying again',
        );
      });
    }, SETTLING.lookAgainMs);
  }

  async #fill(seenAtMs: number): Promise<void> {
    while (!this.#closed && this.#delivered < this.#known) {
      const after = this.#delivered;
      if (await this.#isOverrun(after)) {
        await this.#onOverrun();
        return;
      }
      const upTo = Math.min(this.#known, after + FILL_NUMBERS);
      const rows = await this.#context.timeline.read({ conversationId: this.id, after, upTo }, seenAtMs);
      const messages = await withParts(this.#context.database, this.#context.files, rows);
      if (this.#closed) return;
      for (const message of messages) {
        const sequence = message.row.sequence!;
        if (sequence <= this.#delivered) continue;
        const read = toFrame(messageEvent('message.created', message, this.audience));
        this.#advance(this.#held.get(sequence) ?? read);
      }
      // Numbers in the range without a message are settled as voids.
      this.#skipTo(upTo);
      this.#advanceHeld();
    }
  }

  async #isOverrun(after: number): Promise<boolean> {
    const stretch = { conversationId: this.id, after, upTo: this.#known };
    if (stretch.upTo - after <= MAX_IMPORTED) return false;
    return this.#context.timeline.hasImported(stretch, MAX_IMPORTED);
  }

  #skipTo(sequence: number): void {
    if (sequence <= this.#delivered) return;
    for (const held of [...this.#held.keys()]) if (held <= sequence) this.#held.delete(held);
    for (const held of [...this.#heldUpdates.keys()]) if (held <= sequence) this.#heldUpdates.delete(held);
    this.#delivered = sequence;
  }
}

/** The frames that a stream remembers: more than arrive in the milliseconds of a replay's read. */
const CAPACITY = 256;

/** The most bytes of remembered frames, so fewer large frames are remembered. */
const MAX_BYTES = 1024 * 1024;

/**
 * The durable frames that a stream delivered last, each under a position that only grows. A reader
 * that catches up follows from a position that it takes before it reads Postgres. Afterwards it
 * takes the frames delivered meanwhile from here, in one step with joining the live topic, so that
 * none is missed.
 *
 * Frames are kept only while a reader follows. When every stream kept them, they outlived several
 * young collections: the bytes of 25,000 messages then caused a full collection, during which
 * answers took up to 50 ms instead of 2.
 */
class Journal {
  readonly #frames: (CommittedFrame | undefined)[] = [];
  #followers = 0;
  #bytes = 0;
  #start = 0;
  /** The position of the last forgotten change, which no number can find again. */
  #forgottenChange = -1;

  /** The first remembered position. */
  get start(): number {
    return this.#start;
  }

  /** Returns whether anything but new messages was forgotten from `position` on. */
  lostChange(position: number): boolean {
    return this.#forgottenChange >= position;
  }

  /** The position of the next frame. */
  get end(): number {
    return this.#start + this.#frames.length;
  }

  /** Keeps the frames from `end` on until the returned, idempotent function is called. */
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
    // Drops half at a time, because a shift for each frame would move the whole array.
    if (this.#frames.length > 2 * CAPACITY) this.#forget(CAPACITY);
    while (this.#bytes > MAX_BYTES) this.#forget(Math.ceil(this.#frames.length / 2));
  }

  /** Forgets the frames of a deleted resource; the event that says so is appended later. */
  erase(resource: string): void {
    for (const [index, frame] of this.#frames.entries()) {
      if (frame?.resource !== resource) continue;
      this.#frames[index] = undefined;
      this.#bytes -= bytesOf(frame);
    }
  }

  /** Forgets all frames, because they may show a former name of an actor. */
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
   * Returns the frames from `position` on, or undefined if they are forgotten. An erased frame is
   * undefined too: if it was a message, the reader finds it again by its number.
   */
  since(position: number): readonly (CommittedFrame | undefined)[] | undefined {
    return position < this.#start ? undefined : this.#frames.slice(position - this.#start);
  }
}

function bytesOf(frame: CommittedFrame | undefined): number {
  return (frame?.team?.length ?? 0) + (frame?.customer?.length ?? 0);
}
