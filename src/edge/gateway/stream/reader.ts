import { NEWEST_VERSION, type Version } from '@parley/protocol/versions.ts';
import type { Hidden } from '../../../api/marked-json.ts';
import type { BroadcastFrame } from '../../../core/frames/frame.ts';

/**
 * A socket as streams see it: enough to replay to it and to put it on a topic. Session implements
 * it; only the socket folder knows uWebSockets.js.
 */
export interface Reader {
  readonly audience: ReaderAudience;
  readonly version: Version;
  /** In place of which events have null for it (forms.ts). */
  readonly hidden: readonly Hidden[];
  /** True once the socket is gone; every other method then does nothing. */
  readonly closed: boolean;
  /** Queues a text frame after everything sent or published to this socket before. */
  send(bytes: Buffer): void;
  /** Queues several frames in as few system calls as possible. */
  sendAll(frames: readonly Buffer[]): void;
  /** Bytes that the socket has not taken yet. */
  readonly bufferedBytes: number;
  /** Untaken bytes, including a closing socket's, which stay in memory until it is gone. */
  readonly heldBytes: number;
  /** Resolves when fewer than `bytes` are buffered, or the socket has closed. */
  drained(bytes: number): Promise<void>;
  /** Begins to receive every frame published to the topic. */
  join(topic: string): void;
  leave(topic: string): void;
  isOn(topic: string): boolean;
  /** Forgets the subscription of a conversation, which its stream has ended. */
  forget(conversationId: string): void;
  /** Ends the socket as too slow (docs/realtime.md#guarantees, 4). */
  giveUp(): void;
}

export type ReaderAudience = 'team' | 'customer';

/** Publishes a frame to the topics of its stream, in the form of each. */
export type Broadcast = (kind: keyof typeof topics, frame: BroadcastFrame) => void;

/** Selects one of a stream's topics: readers of one form share one. */
export type Form = Pick<Reader, 'audience' | 'version' | 'hidden'>;

/** The names of uWS topics: durable and ephemeral apart, so that the latter can be withheld. */
export const topics = {
  durable: (stream: string, form: Form) => `${prefixOf(form)}:${stream}`,
  ephemeral: (stream: string, form: Form) => `${prefixOf(form)}~${stream}`,
} as const;

function prefixOf({ audience, version, hidden }: Form): string {
  const name = version === NEWEST_VERSION ? audience : `${audience} ${version}`;
  return hidden.length === 0 ? name : `${name} without ${hidden.join(' and ')}`;
}
