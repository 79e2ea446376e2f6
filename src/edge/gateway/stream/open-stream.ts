import type { SocketLimits } from '@parley/protocol/socket/socket-limits.ts';
import type { Engine } from '../../../core/frames/engine.ts';
import type {
  BroadcastFrame,
  CommittedFrame,
  FilledFrame,
  Frame,
  PresenceFrame,
  VoidFrame,
} from '../../../core/frames/frame.ts';
import { isCommitted } from '../../../core/frames/frame.ts';
import type { TimelineHead } from '../../../core/messages/timeline/timeline-store.ts';
import type { GatheredReads } from '../../../platform/db/connection/gathered-reads.ts';
import type { Subscription } from '../../../platform/engine/engine.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { NodeOptions } from '../options.ts';
import { ConversationStream, type StreamContext } from './conversation-stream.ts';
import type { RangeCache } from './range-cache.ts';
import { type Broadcast, type Reader, topics } from './reader.ts';
import { StreamingMessages } from './streaming-messages.ts';

/** The part of presence that streams use: it hears of their readers and reports. */
export interface StreamPresence {
  /** Called when this node begins to listen to the conversation. */
  opened(conversationId: string): void;
  closed(conversationId: string): void;
  /** Called when a reader has joined the ephemeral topic, and gets the statuses. */
  entered(conversationId: string, reader: Reader): void;
  left(conversationId: string, reader: Reader): void;
  /** Called when what the others may know of a reader changed. */
  review(conversationId: string, reader: Reader): void;
  /** Sends all statuses again to a reader whose events were withheld. */
  repeat(conversationId: string, reader: Reader): void;
  onReport(conversationId: string, frame: PresenceFrame): void;
}

/** The state that the open streams of a node share. */
export interface StreamHost extends StreamContext, Pick<NodeOptions, 'engine' | 'directory'> {
  readonly presence: StreamPresence;
  readonly heads: GatheredReads<string, TimelineHead>;
  readonly ranges: Pick<RangeCache, 'erase'>;
  readonly limits: Pick<SocketLimits, 'ephemeralBytes'>;
  readonly metrics: Pick<GatewayMetrics, 'ephemeralWithheld'>;
  /** Ends the subscriptions of a conversation into which too much was imported at once. */
  readonly onOverrun: (conversationId: string) => Promise<void>;
}

/** The frames that the ConversationStream receives. */
type Numbered = CommittedFrame | VoidFrame | FilledFrame;

/**
 * A conversation that sockets of this node read: its subscription to the engine, its readers, and
 * the receivers of its frames by kind. Durable events go to the ConversationStream, pieces of texts
 * to StreamingMessages, all other ephemeral events to the EphemeralChannel.
 */
export class OpenStream {
  /** Each reader with the function that ends its replay. */
  readonly readers = new Map<Reader, () => void>();
  /** Rejects if the engine or Postgres is unavailable. */
  readonly ready: Promise<ConversationStream>;
  /** Set once `ready` has resolved. */
  stream: ConversationStream | undefined;
  readonly #id: string;
  readonly #host: StreamHost;
  #ephemeral: EphemeralChannel | undefined;
  #texts: StreamingMessages | undefined;
  #subscription: Subscription | undefined;
  #closed = false;

  constructor(id: string, host: StreamHost) {
    this.#id = id;
    this.#host = host;
    this.ready = this.#open();
    // Every joining reader awaits it; without one a rejection must not end the process.
    this.ready.catch(() => {});
  }

  /** Returns the channel, made for the first ephemeral event. */
  get ephemeral(): EphemeralChannel {
    this.#ephemeral ??= new EphemeralChannel(this.#id, this, this.#host);
    return this.#ephemeral;
  }

  /** Asks the writers of all streamed texts for snapshots, because pieces may be missing. */
  askWriters(): void {
    this.#texts?.askAll();
  }

  /** Adds a reader that has all durable events to the ephemeral ones, then calls `entered`. */
  admit(reader: Reader, entered: () => void): void {
    const subscription = this.readers.get(reader);
    const enter = () => {
      reader.join(topics.ephemeral(this.#id, reader));
      entered();
    };
    const isWanted = () => !reader.closed && this.readers.get(reader) === subscription;
    if (this.#texts === undefined) enter();
    else this.#texts.admit(reader, isWanted, enter);
  }

  close(): void {
    this.#closed = true;
    this.#subscription?.unsubscribe();
    this.stream?.close();
    this.#texts?.close();
    this.#host.presence.closed(this.#id);
  }

  /** Returns the texts, made for the first streamed text. */
  get #streamingMessages(): StreamingMessages {
    this.#texts ??= new StreamingMessages({
      ask: (messageId) => {
        // A failed question is asked again with the next piece.
        this.#host.engine.publish(this.#id, { kind: 'ask', stream: this.#id, messageId }).catch(() => {});
      },
      broadcast: (frame) => this.ephemeral.deliver(frame),
    });
    return this.#texts;
  }

  /** Subscribes before reading, so that frames of commits in between are held, not missed. */
  async #open(): Promise<ConversationStream> {
    const { engine, presence, directory, heads } = this.#host;
    const id = this.#id;
    const early: Numbered[] = [];
    let receive = (frame: Numbered): void => {
      early.push(frame);
    };
    this.#subscription = await engine.subscribe(id, (frame) => {
      if (!this.#closed) this.#route(frame, receive);
    });
    if (this.#closed) this.#subscription.unsubscribe();
    else presence.opened(id);
    const facts = await directory.facts(id);
    const { head, settled, visible, writing } = await heads.ask(id);
    const audience = facts?.audience ?? 'internal';
    const onDelivered = (frame: CommittedFrame) => {
      if (frame.erases) this.#host.ranges.erase(stream);
      if (frame.streaming) this.#streamingMessages.onDurable(frame);
      else this.#texts?.onDurable(frame);
    };
    const onOverrun = () => this.#host.onOverrun(id);
    const ends = { settled, visible };
    const stream = new ConversationStream(id, audience, ends, this.#host, onDelivered, onOverrun);
    for (const messageId of writing) this.#streamingMessages.addUnfinished(messageId);
    if (this.#closed) stream.close();
    this.stream = stream;
    receive = (frame) => stream.receive(frame);
    for (const frame of early) stream.receive(frame);
    if (head > settled) stream.fill(head).catch(() => {});
    return stream;
  }

  #route(frame: Frame, receiveDurable: (frame: Numbered) => void): void {
    switch (frame.kind) {
      case 'created':
      case 'updated':
      case 'durable':
      case 'void':
      case 'filled':
        receiveDurable(frame);
        break;
      case 'ephemeral':
        this.ephemeral.deliver(frame);
        break;
      case 'piece':
        this.#streamingMessages.onPiece(frame);
        break;
      case 'snapshot':
        this.#texts?.onSnapshot(frame);
        break;
      case 'presence':
        this.#host.presence.onReport(this.#id, frame);
        break;
      case 'ask':
      case 'rights_changed':
      case 'inbox_changed':
        break;
    }
  }
}

/** An actor's own events here: they have no numbers and are published as they arrive. */
export class Feed {
  readonly readers = new Set<Reader>();
  readonly ready: Promise<Subscription>;
  isOpen = false;
  #closed = false;

  constructor(actorId: string, engine: Engine, broadcast: Broadcast) {
    this.ready = engine.subscribe(actorId, (frame) => {
      if (isCommitted(frame)) broadcast('durable', frame);
    });
    this.ready.then(
      (subscription) => {
        this.isOpen = true;
        if (this.#closed) subscription.unsubscribe();
      },
      () => {},
    );
  }

  close(): void {
    this.#closed = true;
    this.ready.then(
      (subscription) => subscription.unsubscribe(),
      () => {},
    );
  }
}

/**
 * The ephemeral events of one conversation here, which slow readers lose first
 * (docs/realtime.md#guarantees, 4): a reader with too many bytes queued is off their topic until it
 * has drained. Made for the first such event.
 */
class EphemeralChannel {
  readonly #id: string;
  readonly #open: Pick<OpenStream, 'readers' | 'admit'>;
  readonly #host: StreamHost;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #bytesSince = 0;

  constructor(id: string, open: Pick<OpenStream, 'readers' | 'admit'>, host: StreamHost) {
    this.#id = id;
    this.#open = open;
    this.#host = host;
  }

  deliver(frame: BroadcastFrame): void {
    this.#look((frame.team?.length ?? 0) + (frame.customer?.length ?? 0));
    this.#host.broadcast('ephemeral', frame);
  }

  /** Checks readers now and then: a thousand checks cost as much as some hundred sends. */
  #look(bytes: number): void {
    const nowMs = performance.now();
    this.#bytesSince += bytes;
    if (nowMs - this.#lookedAtMs < LOOK_EVERY_MS && this.#bytesSince < LOOK_EVERY_BYTES) return;
    this.#lookedAtMs = nowMs;
    this.#bytesSince = 0;
    const { ephemeralBytes } = this.#host.limits;
    for (const [reader, subscription] of this.#open.readers) {
      if (reader.bufferedBytes > ephemeralBytes) this.#withhold(reader, subscription);
    }
  }

  #withhold(reader: Reader, subscription: unknown): void {
    const { limits, metrics, presence } = this.#host;
    const { readers } = this.#open;
    const topic = topics.ephemeral(this.#id, reader);
    // It is off the topic already, or its replay is still running.
    if (!reader.isOn(topic)) return;
    reader.leave(topic);
    metrics.ephemeralWithheld.inc();
    void reader.drained(limits.ephemeralBytes / RESUME_AT).then(() => {
      if (reader.closed || readers.get(reader) !== subscription) return;
      this.#open.admit(reader, () => presence.repeat(this.#id, reader));
    });
  }
}

const LOOK_EVERY_MS = 20;
const LOOK_EVERY_BYTES = 16 * 1_024;
/** A reader returns when most of its queue is taken; otherwise it would flap with every event. */
const RESUME_AT = 4;
