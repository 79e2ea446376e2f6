import { unavailable } from '@parley/protocol/errors/errors.ts';
import type { ResyncReason } from '@parley/protocol/socket/server-frames.ts';
import type { EphemeralFrame, PieceFrame } from '../../../core/frames/frame.ts';
import { readHeads } from '../../../core/messages/timeline/timeline-store.ts';
import { GatheredReads } from '../../../platform/db/connection/gathered-reads.ts';
import { EngineUnavailableError } from '../../../platform/engine/engine.ts';
import { MissedChanges } from '../changes/missed-changes.ts';
import type { GatewayMetrics } from '../metrics.ts';
import { type ConversationStream, MAX_IMPORTED, type Moved } from './conversation-stream.ts';
import { Feed, OpenStream, type StreamHost } from './open-stream.ts';
import { RangeCache } from './range-cache.ts';
import { type Reader, type ReaderAudience, topics } from './reader.ts';
import {
  MAX_REPLAY,
  type Position,
  READ_ROWS,
  ReadAhead,
  type Replayed,
  type ReplayHost,
  replay,
  sendChanges,
} from './replay.ts';
import { ReplayRoom } from './replay-room.ts';

export interface StreamsOptions extends Omit<StreamHost, 'heads' | 'ranges' | 'onOverrun'> {
  readonly metrics: Pick<GatewayMetrics, 'replays' | 'ephemeralWithheld'>;
}

/** A subscription that was accepted and has sent nothing yet. */
export interface Joined {
  readonly headSequence: number;
  /** Begins to read what `run` sends first, for callers that run several in turn. */
  readAhead(): void;
  /** Releases the part that was read ahead, to be read again. */
  forgetAhead(): void;
  /**
   * Sends `changes` (for a resume, which reads them after joining), the replay, then `caught_up` or
   * `resync`. The reader is live when it resolves. Must be called once, after the reply. `onPause`
   * is called when the reader must be waited for.
   */
  run(changes?: MissedChanges, onPause?: () => void): Promise<void>;
}

/**
 * The streams of this node, for each conversation and actor's feed that a socket here reads: opened
 * for the first reader and closed after the last. Callers check rights.
 */
export class Streams {
  readonly #options: StreamsOptions;
  readonly #host: StreamHost;
  readonly #replays: ReplayHost;
  readonly #visibleHeads: GatheredReads<{ conversationId: string; upTo: number }, number>;
  readonly #heads: GatheredReads<string, number>;
  readonly #conversations = new Map<string, OpenStream>();
  readonly #feeds = new Map<string, Feed>();

  constructor(options: StreamsOptions) {
    this.#options = options;
    const ranges = new RangeCache(options);
    this.#replays = { ranges, room: new ReplayRoom() };
    const { database, timeline } = options;
    this.#heads = new GatheredReads(async (ids) => {
      const heads = await readHeads(database, [...new Set(ids)]);
      return ids.map((id) => heads.get(id)!);
    });
    this.#host = {
      ...options,
      ranges,
      heads: new GatheredReads((ids) => timeline.standings(ids)),
      onOverrun: (id) => this.#overrun(id),
    };
    this.#visibleHeads = new GatheredReads((asks) => timeline.visibleHeads(asks, true));
  }

  /**
   * Returns the open streams among these conversations, for repair. Waits for a stream that is
   * opening, because it may have read Postgres before the frames that were lost.
   */
  async open(ids: Iterable<string> = this.#conversations.keys()): Promise<ConversationStream[]> {
    const opening = [...ids].map((id) => this.#conversations.get(id)?.ready.catch(() => undefined));
    return (await Promise.all(opening)).filter((stream) => stream !== undefined);
  }

  /** Forgets the frames kept for readers that catch up, because an actor in them has changed. */
  forgetFrames(): void {
    this.#replays.ranges.eraseAll();
    for (const { stream } of this.#conversations.values()) stream?.journal.eraseAll();
  }

  /** Returns an audience's last head and its time; undefined if no socket here reads it. */
  moved(conversationId: string, audience: ReaderAudience): Moved | undefined {
    return this.#conversations.get(conversationId)?.stream?.moved(audience);
  }

  /** Returns which of these actors have open feeds, for repair. */
  feeds(ids: Iterable<string> = this.#feeds.keys()): string[] {
    return [...ids].filter((id) => this.#feeds.has(id));
  }

  /**
   * Subscribes `reader` to a conversation, from `afterSequence` on or from now on. A reader that
   * begins before the first message left is sent `resync`. Throws ApiError `service_unavailable` if
   * the engine is unavailable, and passes on what Postgres throws.
   */
  async join(conversationId: string, reader: Reader, afterSequence: number | undefined): Promise<Joined> {
    const open = this.#conversations.get(conversationId) ?? new OpenStream(conversationId, this.#host);
    this.#conversations.set(conversationId, open);
    // A reader joins a stream once; joining again starts over.
    open.readers.get(reader)?.();
    let cancelled = false;
    let unfollow = () => {};
    open.readers.set(reader, () => {
      cancelled = true;
      unfollow();
    });
    const isCancelled = () => cancelled || reader.closed;
    try {
      const stream = await open.ready;
      const facts = await this.#options.directory.facts(conversationId);
      const isTooOld = afterSequence !== undefined && afterSequence < (facts?.purgedThrough ?? 0);
      if (afterSequence !== undefined && afterSequence > stream.delivered) {
        // Joining earlier would repeat messages that the reader has from another node or over REST.
        // Numbers that Postgres does not have are left alone.
        await stream.fill(Math.min(await this.#heads.ask(stream.id), afterSequence));
      }
      const delivered = stream.delivered;
      const { end: journal } = stream.journal;
      unfollow = stream.journal.follow();
      if (cancelled) unfollow();
      const headSequence = await this.#visibleHead(stream, delivered, reader.audience);
      // Hidden messages do not count as missing: they alone may be more than a replay sends.
      const isWhole = afterSequence === undefined || afterSequence >= headSequence;
      const sequence = isWhole ? delivered : afterSequence;
      const position = { sequence, visible: headSequence, rows: READ_ROWS.most, journal };
      const ahead = new ReadAhead();
      return {
        headSequence,
        readAhead: () => {
          if (isTooOld || isTooFar(stream, position) || isCancelled()) return;
          ahead.begin(this.#replays.ranges, stream, position.sequence);
        },
        forgetAhead: () => ahead.forget(),
        run: (changes = new MissedChanges([]), onPause = () => {}) => {
          if (isTooOld) return this.#resync(stream, reader, isCancelled, 'too_old');
          const replayed = { stream, reader, position, ahead, cancelled: isCancelled, onPause };
          return this.#run(replayed, changes).finally(unfollow);
        },
      };
    } catch (error) {
      if (!cancelled) this.leave(conversationId, reader);
      throw error instanceof EngineUnavailableError
        ? unavailable('Subscriptions cannot be accepted at the moment.', error)
        : error;
    }
  }

  /** Stops sending the conversation to the reader, and ends a replay under way. */
  leave(conversationId: string, reader: Reader): void {
    const open = this.#conversations.get(conversationId);
    const cancel = open?.readers.get(reader);
    if (open === undefined || cancel === undefined) return;
    cancel();
    open.readers.delete(reader);
    for (const topic of [topics.durable, topics.ephemeral]) reader.leave(topic(conversationId, reader));
    this.#options.presence.left(conversationId, reader);
    if (open.readers.size > 0) return;
    this.#conversations.delete(conversationId);
    open.close();
  }

  /** Call it when a right of the reader changed and it still follows the conversation. */
  review(conversationId: string, reader: Reader): void {
    this.#options.presence.review(conversationId, reader);
  }

  /** Sends an ephemeral event to the readers here. Returns false if there are none. */
  deliverEphemeral(conversationId: string, frame: EphemeralFrame | PieceFrame): boolean {
    const open = this.#conversations.get(conversationId);
    open?.ephemeral.deliver(frame);
    return open !== undefined;
  }

  /**
   * Asks other nodes for what Postgres does not have, after frames were lost on these channels or
   * on any. It asks the writers of streamed texts for a snapshot and, for single channels, the
   * nodes for their presence. After a loss on all channels of a link, presence is not asked for,
   * because every node repeats it within seconds.
   */
  askOthers(channels: Iterable<string> | undefined, areSingle: boolean): void {
    if (channels === undefined) {
      for (const open of this.#conversations.values()) open.askWriters();
      return;
    }
    for (const id of channels) {
      const open = this.#conversations.get(id);
      if (open === undefined) continue;
      open.askWriters();
      if (areSingle) this.#options.presence.opened(id);
    }
  }

  /**
   * Subscribes the reader to the actor's feed. Returns undefined if the feed is open already.
   * Rejects as `join` throws.
   */
  joinFeed(actorId: string, reader: Reader): Promise<void> | undefined {
    const { engine, broadcast } = this.#options;
    const feed = this.#feeds.get(actorId) ?? new Feed(actorId, engine, broadcast);
    this.#feeds.set(actorId, feed);
    feed.readers.add(reader);
    reader.join(topics.durable(actorId, reader));
    if (feed.isOpen) return undefined;
    return feed.ready.then(
      () => {},
      (error) => {
        this.leaveFeed(actorId, reader);
        throw unavailable('Feeds cannot be opened at the moment.', error);
      },
    );
  }

  leaveFeed(actorId: string, reader: Reader): void {
    const feed = this.#feeds.get(actorId);
    if (feed === undefined || !feed.readers.delete(reader)) return;
    reader.leave(topics.durable(actorId, reader));
    if (feed.readers.size > 0) return;
    this.#feeds.delete(actorId);
    feed.close();
  }

  async #run(replayed: Replayed, changes: MissedChanges): Promise<void> {
    const { stream, reader, position, cancelled } = replayed;
    if (cancelled()) return;
    await changes.load();
    if (changes.areTooMany) return this.#resync(stream, reader, cancelled, 'too_many');
    if (isTooFar(stream, position)) {
      const missing = { conversationId: stream.id, after: position.sequence, upTo: stream.delivered };
      const isImport = await this.#options.timeline.hasImported(missing, MAX_IMPORTED);
      return this.#resync(stream, reader, cancelled, isImport ? 'too_old' : 'too_many');
    }
    // A client that has seen more (after a restore of the database) goes on from the present head.
    position.sequence = Math.min(position.sequence, stream.delivered);
    const following = changes.following(position.sequence);
    if (!(await sendChanges(this.#replays.room, changes, replayed))) {
      return this.#resync(stream, reader, cancelled, 'too_many');
    }
    if (cancelled()) return;
    // Changes of messages that this node has not delivered wait in the stream, which may deliver
    // them behind the replay.
    for (const [sequence, frames] of following) {
      if (sequence > stream.delivered) frames.forEach(stream.receive, stream);
    }
    const outcome = await replay(this.#replays, replayed, following, (last) => {
      const sequence = reader.audience === 'team' ? stream.moved('team').head : position.visible;
      reader.sendAll([...last, encode({ type: 'caught_up', conversation_id: stream.id, sequence })]);
      reader.join(topics.durable(stream.id, reader));
      this.#conversations
        .get(stream.id)
        ?.admit(reader, () => this.#options.presence.entered(stream.id, reader));
    });
    this.#options.metrics.replays.inc({ outcome });
    if (outcome === 'lost') await this.#resync(stream, reader, cancelled, 'too_many');
  }

  /** Sends a live reader the changes that it missed. Returns false if they are too many. */
  sendChanges(
    reader: Reader,
    changes: MissedChanges,
    cancelled: () => boolean,
    onPause: () => void,
  ): Promise<boolean> {
    const position = { sequence: Number.POSITIVE_INFINITY };
    return sendChanges(this.#replays.room, changes, { reader, position, cancelled, onPause });
  }

  /** Ends the subscription of a reader that misses too much: it reloads and subscribes again. */
  async #resync(
    stream: ConversationStream,
    reader: Reader,
    cancelled: () => boolean,
    reason: ResyncReason,
  ): Promise<void> {
    const head = await this.#visibleHead(stream, stream.delivered, reader.audience);
    if (cancelled()) return;
    this.leave(stream.id, reader);
    reader.send(encode({ type: 'resync', conversation_id: stream.id, reason, head_sequence: head }));
  }

  /** Ends all subscriptions of a conversation: its readers load its list and subscribe again. */
  async #overrun(conversationId: string): Promise<void> {
    const open = this.#conversations.get(conversationId);
    const { settled, visible } = await this.#host.heads.ask(conversationId);
    const ofCustomers = await this.#visibleHeads.ask({ conversationId, upTo: settled });
    if (open === undefined || this.#conversations.get(conversationId) !== open) return;
    for (const reader of [...open.readers.keys()]) {
      const head_sequence = reader.audience === 'team' ? visible : ofCustomers;
      this.leave(conversationId, reader);
      reader.forget(conversationId);
      reader.send(
        encode({ type: 'resync', conversation_id: conversationId, reason: 'too_old', head_sequence }),
      );
    }
  }

  /**
   * Returns the last message number up to `upTo` that the audience may see. Customers learn of no
   * others (docs/contract.md#customers), and a void is never named as a head.
   */
  async #visibleHead(stream: ConversationStream, upTo: number, audience: ReaderAudience): Promise<number> {
    if (audience === 'team') return stream.moved('team').head;
    return this.#visibleHeads.ask({ conversationId: stream.id, upTo });
  }
}

function isTooFar(stream: ConversationStream, { sequence }: Position): boolean {
  return stream.delivered - sequence > MAX_REPLAY;
}

function encode(frame: object): Buffer {
  return Buffer.from(JSON.stringify(frame));
}
