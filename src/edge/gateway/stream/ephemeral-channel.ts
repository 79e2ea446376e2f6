import type { BroadcastFrame } from '../../../platform/engine/frame.ts';
import { type Broadcast, type Reader, topics } from './reader.ts';

export interface EphemeralChannelOptions {
  readonly conversationId: string;
  /**
   * The readers of the conversation on this node, each with a value that identifies its
   * subscription.
   */
  readonly readers: ReadonlyMap<Reader, unknown>;
  readonly broadcast: Broadcast;
  /** Called for each reader that is taken off the ephemeral events. */
  readonly onWithheld: () => void;
  /** Bytes queued for a reader over which it gets no ephemeral events. */
  readonly ephemeralBytes: number;
  /** Puts the reader back on the topic, with what it needs of the events that it missed. */
  readonly restore: (reader: Reader) => void;
}

/**
 * The ephemeral events of one conversation on this node, which slow readers lose first
 * (docs/realtime.md#guarantees, 4): a reader with too many bytes queued is off their topic until it
 * has drained. Made for the first such event.
 */
export class EphemeralChannel {
  readonly #options: EphemeralChannelOptions;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #bytesSince = 0;

  constructor(options: EphemeralChannelOptions) {
    this.#options = options;
  }

  deliver(frame: BroadcastFrame): void {
    this.#look((frame.team?.length ?? 0) + (frame.customer?.length ?? 0));
    this.#options.broadcast('ephemeral', frame);
  }

  /**
   * Not before every event: looking at a thousand readers takes as long as sending to some hundred.
   */
  #look(bytes: number): void {
    const nowMs = performance.now();
    this.#bytesSince += bytes;
    if (nowMs - this.#lookedAtMs < LOOK_EVERY_MS && this.#bytesSince < LOOK_EVERY_BYTES) return;
    this.#lookedAtMs = nowMs;
    this.#bytesSince = 0;
    const { readers, ephemeralBytes } = this.#options;
    for (const [reader, subscription] of readers) {
      if (reader.bufferedBytes > ephemeralBytes) this.#withhold(reader, subscription);
    }
  }

  #withhold(reader: Reader, subscription: unknown): void {
    const { conversationId, readers, ephemeralBytes, restore } = this.#options;
    const topic = topics.ephemeral(conversationId, reader);
    // It is off the topic already, or its replay is not over.
    if (!reader.isOn(topic)) return;
    reader.leave(topic);
    this.#options.onWithheld();
    void reader.drained(ephemeralBytes / RESUME_AT).then(() => {
      if (!reader.closed && readers.get(reader) === subscription) restore(reader);
    });
  }
}

const LOOK_EVERY_MS = 20;
const LOOK_EVERY_BYTES = 16 * 1_024;
/**
 * A reader comes back when it has taken most of its queue; otherwise it would leave and join with
 * every event.
 */
const RESUME_AT = 4;
