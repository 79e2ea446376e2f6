/**
 * What streams know of a socket: enough to replay to it and to put it on a topic. Session implements
 * it; nothing behind it knows uWebSockets.js.
 */
export interface Reader {
  /** Which serialization it gets. */
  readonly audience: Audience;
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

export type Audience = 'team' | 'customer';

/** Puts bytes on the sockets of a topic: uWS's publish, as the streams see it. */
export type Broadcast = (topic: string, bytes: Buffer) => void;

/** uWS topics: durable and ephemeral events of a stream apart, so that the latter can be withheld. */
export const topics = {
  durable: (stream: string, audience: Audience) => `${audience}:${stream}`,
  ephemeral: (stream: string, audience: Audience) => `${audience}~${stream}`,
} as const;
