import type { BroadcastFrame } from '../../engine/frame.ts';
import { NEWEST_VERSION, type Version } from '../../protocol/versions.ts';

/**
 * What streams know of a socket: enough to replay to it and to put it on a topic. Session implements
 * it; nothing behind it knows uWebSockets.js.
 */
export interface Reader {
  /** Which serialization it gets, in the form of which version. */
  readonly audience: ReaderAudience;
  readonly version: Version;
  /** True once the socket is gone; every other method then does nothing. */
  readonly closed: boolean;
  /** Queues one text frame behind everything sent or published to this socket before. */
  send(bytes: Buffer): void;
  /** The same for several, in as few system calls as they fit into. */
  sendAll(frames: readonly Buffer[]): void;
  /** Bytes that the socket has not taken yet. */
  readonly bufferedBytes: number;
  /** Resolves when less than `bytes` are buffered, or the socket has closed. */
  drained(bytes: number): Promise<void>;
  /** From the next published frame on, what is published to the topic. */
  join(topic: string): void;
  leave(topic: string): void;
  isOn(topic: string): boolean;
}

export type ReaderAudience = 'team' | 'customer';

/** Puts a frame on the topics of its stream, for each reader in its form: uWS's publish, as the streams see it. */
export type Broadcast = (kind: keyof typeof topics, frame: BroadcastFrame) => void;

/** Which of a stream's topics: readers of one audience and version share one. */
export type Form = Pick<Reader, 'audience' | 'version'>;

/** uWS topics: durable and ephemeral events of a stream apart, so that the latter can be withheld. */
export const topics = {
  durable: (stream: string, form: Form) => `${prefixOf(form)}:${stream}`,
  ephemeral: (stream: string, form: Form) => `${prefixOf(form)}~${stream}`,
} as const;

function prefixOf({ audience, version }: Form): string {
  return version === NEWEST_VERSION ? audience : `${audience} ${version}`;
}
