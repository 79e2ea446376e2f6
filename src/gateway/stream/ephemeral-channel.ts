import type { BroadcastFrame } from '../../engine/frame.ts';
import { type Broadcast, type Reader, topics } from './reader.ts';

export interface EphemeralChannelOptions {
  readonly conversationId: string;
  /** Those that follow the conversation here, each with what stands for its subscription. */
  readonly readers: ReadonlyMap<Reader, unknown>;
  readonly broadcast: Broadcast;
  /** Called for each reader that is taken off the ephemeral events. */
  readonly onWithheld: () => void;
  /** Bytes queued for a reader over which it gets no ephemeral events. */
  readonly ephemeralBytes: number;
  /** The reader may have them again: it is to be put on their topic, with what it needs of those that it missed. */
  readonly restore: (reader: Reader) => void;
}

/**
 * The ephemeral events of one conversation on this node, shed first (realtime.md section 5, guarantee 4):
 * a reader with too much queued is off their topic until it has drained. Made with the first such event.
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

  /** Not before every event: a thousand readers are asked in the time in which some hundred are sent to. */
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
    // Off it already, or still behind its replay.
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
/** It must have taken most of what was queued, or it would be put on and off with every event. */
const RESUME_AT = 4;
