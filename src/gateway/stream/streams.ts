import type { Downloads } from '../../attachments/storage.ts';
import type { ConversationDirectory } from '../../conversations/directory.ts';
import type { Database } from '../../db/database.ts';
import { GatheredReads } from '../../db/gathered-reads.ts';
import { type Engine, EngineUnavailableError, type Subscription } from '../../engine/engine.ts';
import type { CommittedFrame, EphemeralFrame, Frame, PieceFrame, VoidFrame } from '../../engine/frame.ts';
import type { Logger } from '../../log.ts';
import type { Timeline, TimelineHead } from '../../messages/timeline.ts';
import type { Metrics } from '../../metrics.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { SocketLimits } from '../../protocol/socket/socket-limits.ts';
import { RangeCache } from '../catch-up/range-cache.ts';
import {
  MAX_REPLAY,
  type Position,
  type ReadAhead,
  readAhead,
  replay,
  sendChanges,
} from '../catch-up/replay.ts';
import type { Presence } from '../presence/presence.ts';
import { ConversationStream, type Moved, type StreamContext } from './conversation-stream.ts';
import { EphemeralChannel } from './ephemeral-channel.ts';
import { Feed } from './feed.ts';
import { type Broadcast, type Reader, type ReaderAudience, topics } from './reader.ts';
import { StreamingMessages } from './streaming-messages.ts';

export interface StreamsOptions {
  readonly database: Database;
  readonly files: Downloads;
  readonly engine: Engine;
  readonly timeline: Timeline;
  readonly directory: ConversationDirectory;
  readonly broadcast: Broadcast;
  readonly presence: Presence;
  readonly limits: Pick<SocketLimits, 'ephemeralBytes'>;
  readonly metrics: Pick<Metrics, 'replays' | 'ephemeralWithheld'>;
  readonly log: Logger;
}

/** A subscription that was accepted and has sent nothing yet. */
export interface Joined {
  /** The highest number that this reader may see, for the reply. */
  readonly headSequence: number;
  /** Begins to read what `run` will send, for who runs several one after the other. */
  readAhead(): void;
  /**
   * Sends what changed (for who resumes; it was read after joining), the replay, then `caught_up` or
   * `resync`; the reader is live when it resolves. Call it once, behind the reply.
   */
  run(changes?: readonly CommittedFrame[] | 'too_many'): Promise<void>;
}

/**
 * The streams of this node: one for each conversation and each actor's feed that a socket here listens
 * to, opened for the first reader and closed behind the last. Rights are checked by who calls.
 */
export class Streams {
  readonly #options: StreamsOptions;
  readonly #context: StreamContext;
  readonly #stretches: RangeCache;
  readonly #standings: GatheredReads<string, TimelineHead>;
  readonly #visibleHeads: GatheredReads<{ conversationId: string; upTo: number }, number>;
  readonly #conversations = new Map<string, OpenStream>();
  readonly #feeds = new Map<string, Feed>();

  constructor(options: StreamsOptions) {
    this.#options = options;
    this.#context = options;
    this.#stretches = new RangeCache(options);
    const { timeline } = options;
    this.#standings = new GatheredReads((ids) => timeline.standings(ids));
    this.#visibleHeads = new GatheredReads((asks) => timeline.visibleHeads(asks));
  }

  /**
   * The conversation streams that are open, for repair: those named, or all. One that is being opened is waited for,
   * since it may have read Postgres before what was lost.
   */
  async open(ids: Iterable<string> = this.#conversations.keys()): Promise<ConversationStream[]> {
    const opening = [...ids].map((id) => this.#conversations.get(id)?.ready.catch(() => undefined));
    return (await Promise.all(opening)).filter((stream) => stream !== undefined);
  }

  /** The head of a conversation that moved last for an audience; undefined where nobody here listens to it. */
  moved(conversationId: string, audience: ReaderAudience): Moved | undefined {
    return this.#conversations.get(conversationId)?.stream?.moved(audience);
  }

  /** The actors whose feeds are open, for repair: of those named, or all. */
  feeds(ids: Iterable<string> = this.#feeds.keys()): string[] {
    return [...ids].filter((id) => this.#feeds.has(id));
  }

  /**
   * Listens to a conversation for `reader`, from `afterSequence` on or from now. Throws ApiError
   * `service_unavailable` while the engine is away; whatever Postgres throws otherwise.
   */
  async join(conversationId: string, reader: Reader, afterSequence: number | undefined): Promise<Joined> {
    const open = this.#acquire(conversationId);
    // A reader joins a stream once: joining again starts over.
    open.readers.get(reader)?.();
    let cancelled = false;
    open.readers.set(reader, () => {
      cancelled = true;
    });
    const isCancelled = () => cancelled || reader.closed;
    try {
      const stream = await open.ready;
      const delivered = stream.delivered;
      const { end: journal } = stream.journal;
      const headSequence = await this.#visibleHead(stream, delivered, reader.audience);
      // What it may not see it is not behind by: of that alone there may be more than is replayed.
      const isWhole = afterSequence === undefined || afterSequence >= headSequence;
      const position = { sequence: isWhole ? delivered : afterSequence, visible: headSequence, journal };
      let ahead: ReadAhead | undefined;
      return {
        headSequence,
        readAhead: () => {
          if (isTooFar(stream, position) || isCancelled()) return;
          ahead = readAhead(this.#stretches, stream, position.sequence);
        },
        run: (changes = []) => this.#run(stream, reader, position, isCancelled, changes, ahead),
      };
    } catch (error) {
      if (!cancelled) this.leave(conversationId, reader);
      throw error instanceof EngineUnavailableError
        ? new ApiError('service_unavailable', 'Subscriptions cannot be accepted at the moment.', {
            cause: error,
          })
        : error;
    }
  }

  /** Nothing more of the conversation is put on the reader from now on; ends a replay under way. */
  leave(conversationId: string, reader: Reader): void {
    const open = this.#conversations.get(conversationId);
    const cancel = open?.readers.get(reader);
    if (open === undefined || cancel === undefined) return;
    cancel();
    open.readers.delete(reader);
    for (const topic of topicsOf(conversationId, reader)) reader.leave(topic);
    this.#options.presence.left(conversationId, reader);
    if (open.readers.size > 0) return;
    this.#conversations.delete(conversationId);
    open.close();
  }

  /** Gives an ephemeral event to the readers on this node; false where there are none. */
  deliverEphemeral(conversationId: string, frame: EphemeralFrame | PieceFrame): boolean {
    const open = this.#conversations.get(conversationId);
    open?.shedding.deliver(frame);
    return open !== undefined;
  }

  /**
   * Frames that Postgres does not have were lost, on these channels or on any: the nodes that write texts which are
   * read here are asked how far they are. Who is present in all conversations is repeated soon, in single ones it is
   * asked for.
   */
  askOthers(channels: Iterable<string> | undefined): void {
    if (channels === undefined) {
      for (const open of this.#conversations.values()) open.askWriters();
      return;
    }
    for (const id of channels) {
      const open = this.#conversations.get(id);
      if (open === undefined) continue;
      open.askWriters();
      this.#options.presence.opened(id);
    }
  }

  /** The actor's own feed. Listening when it resolves; throws like `join`. */
  async joinFeed(actorId: string, reader: Reader): Promise<void> {
    let feed = this.#feeds.get(actorId);
    if (feed === undefined) {
      feed = new Feed(actorId, this.#options.engine, this.#options.broadcast);
      this.#feeds.set(actorId, feed);
    }
    feed.readers.add(reader);
    reader.join(topics.durable(actorId, reader));
    try {
      await feed.ready;
    } catch (error) {
      this.leaveFeed(actorId, reader);
      throw new ApiError('service_unavailable', 'Feeds cannot be opened at the moment.', { cause: error });
    }
  }

  leaveFeed(actorId: string, reader: Reader): void {
    const feed = this.#feeds.get(actorId);
    if (feed === undefined || !feed.readers.delete(reader)) return;
    reader.leave(topics.durable(actorId, reader));
    if (feed.readers.size > 0) return;
    this.#feeds.delete(actorId);
    feed.close();
  }

  #acquire(conversationId: string): OpenStream {
    let open = this.#conversations.get(conversationId);
    if (open === undefined) {
      open = new OpenStream(conversationId, this.#options, this.#context, this.#standings);
      this.#conversations.set(conversationId, open);
    }
    return open;
  }

  async #run(
    stream: ConversationStream,
    reader: Reader,
    position: Position,
    cancelled: () => boolean,
    changes: readonly CommittedFrame[] | 'too_many',
    ahead: ReadAhead | undefined,
  ): Promise<void> {
    if (cancelled()) return;
    if (changes === 'too_many' || isTooFar(stream, position)) {
      return this.#resync(stream, reader, cancelled);
    }
    // A client that has seen more than there is (a restored database) carries on from what there is.
    position.sequence = Math.min(position.sequence, stream.delivered);
    await sendChanges(changes, reader, position.sequence, cancelled);
    if (cancelled()) return;
    const outcome = await replay(this.#stretches, stream, reader, position, ahead, cancelled, (last) => {
      const sequence = reader.audience === 'team' ? stream.delivered : position.visible;
      reader.sendAll([...last, encode({ type: 'caught_up', conversation_id: stream.id, sequence })]);
      reader.join(topics.durable(stream.id, reader));
      this.#conversations
        .get(stream.id)
        ?.admit(reader, () => this.#options.presence.entered(stream.id, reader));
    });
    this.#options.metrics.replays.inc({ outcome });
    if (outcome === 'lost') await this.#resync(stream, reader, cancelled);
  }

  /** It is further behind than is sent: it leaves, loads afresh and subscribes again. */
  async #resync(stream: ConversationStream, reader: Reader, cancelled: () => boolean): Promise<void> {
    const head = await this.#visibleHead(stream, stream.delivered, reader.audience);
    if (cancelled()) return;
    this.leave(stream.id, reader);
    reader.send(
      encode({ type: 'resync', conversation_id: stream.id, reason: 'too_many', head_sequence: head }),
    );
  }

  /** Customers are not told of numbers that they may not see (design.md section 7). */
  async #visibleHead(stream: ConversationStream, upTo: number, audience: ReaderAudience): Promise<number> {
    if (audience === 'team') return upTo;
    return this.#visibleHeads.ask({ conversationId: stream.id, upTo });
  }
}

/** A conversation's stream with the engine subscription under it, and who reads it. */
class OpenStream {
  /** Each reader with what ends its replay. */
  readonly readers = new Map<Reader, () => void>();
  readonly ready: Promise<ConversationStream>;
  stream: ConversationStream | undefined;
  readonly #id: string;
  readonly #options: StreamsOptions;
  #shedding: EphemeralChannel | undefined;
  #texts: StreamingMessages | undefined;
  #subscription: Subscription | undefined;
  #closed = false;

  constructor(
    id: string,
    options: StreamsOptions,
    context: StreamContext,
    standings: GatheredReads<string, TimelineHead>,
  ) {
    this.#id = id;
    this.#options = options;
    this.ready = this.#open(id, options, context, standings);
    // Whoever joins awaits it; the stream itself survives that nobody does.
    this.ready.catch(() => {});
  }

  /** The ephemeral events, made with the first of them. */
  get shedding(): EphemeralChannel {
    const { broadcast, limits, presence, metrics } = this.#options;
    this.#shedding ??= new EphemeralChannel({
      conversationId: this.#id,
      readers: this.readers,
      broadcast,
      onWithheld: () => metrics.ephemeralWithheld.inc(),
      ephemeralBytes: limits.ephemeralBytes,
      restore: (reader) => this.admit(reader, () => presence.repeat(this.#id, reader)),
    });
    return this.#shedding;
  }

  /** What is being written here, made with the first of it. */
  get #liveTexts(): StreamingMessages {
    this.#texts ??= new StreamingMessages({
      ask: (messageId) => {
        // Asked again with the next piece.
        this.#options.engine.publish(this.#id, { kind: 'ask', stream: this.#id, messageId }).catch(() => {});
      },
      broadcast: (frame) => this.shedding.deliver(frame),
    });
    return this.#texts;
  }

  /** What is being written may have gaps here. */
  askWriters(): void {
    this.#texts?.askAll();
  }

  /** Puts a reader that has everything durable on the ephemeral events too, then calls `entered`. */
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
    this.#options.presence.closed(this.#id);
  }

  /** Listens before it reads, so that what is committed meanwhile is held, not missed. */
  async #open(
    id: string,
    options: StreamsOptions,
    context: StreamContext,
    standings: GatheredReads<string, TimelineHead>,
  ): Promise<ConversationStream> {
    const early: (CommittedFrame | VoidFrame)[] = [];
    let receive = (frame: CommittedFrame | VoidFrame): void => {
      early.push(frame);
    };
    this.#subscription = await options.engine.subscribe(id, (frame) => {
      if (!this.#closed) this.#receive(frame, receive);
    });
    if (this.#closed) this.#subscription.unsubscribe();
    else options.presence.opened(id);
    const facts = await options.directory.facts(id);
    const { head, settled, writing } = await standings.ask(id);
    const audience = facts?.audience ?? 'internal';
    const stream = new ConversationStream(id, audience, settled, context, (frame) => {
      if (frame.streaming) this.#liveTexts.onDurable(frame);
      else this.#texts?.onDurable(frame);
    });
    for (const messageId of writing) this.#liveTexts.addUnfinished(messageId);
    if (this.#closed) stream.close();
    this.stream = stream;
    receive = (frame) => stream.receive(frame);
    for (const frame of early) stream.receive(frame);
    if (head > settled) stream.fill(head).catch(() => {});
    return stream;
  }

  #receive(frame: Frame, receiveDurable: (frame: CommittedFrame | VoidFrame) => void): void {
    switch (frame.kind) {
      case 'created':
      case 'updated':
      case 'durable':
      case 'void':
        receiveDurable(frame);
        break;
      case 'ephemeral':
        this.shedding.deliver(frame);
        break;
      case 'piece':
        this.#liveTexts.onPiece(frame);
        break;
      case 'snapshot':
        this.#texts?.onSnapshot(frame);
        break;
      case 'presence':
        this.#options.presence.onReport(this.#id, frame);
        break;
      case 'ask':
      case 'rights_changed':
        // Not for readers.
        break;
    }
  }
}

function isTooFar(stream: ConversationStream, { sequence }: Position): boolean {
  return stream.delivered - sequence > MAX_REPLAY;
}

function topicsOf(stream: string, reader: Reader): [string, string] {
  return [topics.durable(stream, reader), topics.ephemeral(stream, reader)];
}

function encode(frame: object): Buffer {
  return Buffer.from(JSON.stringify(frame));
}
