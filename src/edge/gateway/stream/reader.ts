import { NEWEST_VERSION, type Version } from '../../../contract/protocol/versions.ts';
import type { BroadcastFrame } from '../../../platform/engine/frame.ts';

/**
 * What streams know of a socket: enough to replay to it and to put it on a topic. Session
 * implements it; only the socket folder knows uWebSockets.js.
 */
export interface Reader {
  /** The audience and version whose form it is sent. */
  readonly audience: ReaderAudience;
  readonly version: Version;
  /** True once the socket is gone; every other method then does nothing. */
  readonly closed: boolean;
  /** Queues one text frame after everything sent or published to this socket before. */
  send(bytes: Buffer): void;
  /** Queues several, in as few system calls as they fit into. */
  sendAll(frames: readonly Buffer[]): void;
  /** Bytes that the socket has not taken yet. */
  readonly bufferedBytes: number;
  /** The same, also while it is closing: they are in memory until the connection is over. */
  readonly heldBytes: number;
  /** Resolves when less than `bytes` are buffered, or the socket has closed. */
  drained(bytes: number): Promise<void>;
  /** Receives every frame that is published to the topic from now on. */
  join(topic: string): void;
  leave(topic: string): void;
  isOn(topic: string): boolean;
  /** Ends it as too slow (docs/realtime.md#guarantees, 4). */
  giveUp(): void;
}

export type ReaderAudience = 'team' | 'customer';

/** Publishes a frame to the topics of its stream, in the form of each. */
export type Broadcast = (kind: keyof typeof topics, frame: BroadcastFrame) => void;

/** Selects one of a stream's topics: readers of one audience and version share one. */
export type Form = Pick<Reader, 'audience' | 'version'>;

/**
 * The names of uWS topics. Durable and ephemeral events of a stream have topics of their own, so
 * that the latter can be withheld.
 */
export const topics = {
  durable: (stream: string, form: Form) => `${prefixOf(form)}:${stream}`,
  ephemeral: (stream: string, form: Form) => `${prefixOf(form)}~${stream}`,
} as const;

function prefixOf({ audience, version }: Form): string {
  return version === NEWEST_VERSION ? audience : `${audience} ${version}`;
}
