import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { CommandFrame } from '@parley/protocol/socket/commands.ts';
import type { ResyncReason, ServerFrame } from '@parley/protocol/socket/server-frames.ts';
import type { ConversationFacts } from '../../../core/conversations/directory/directory.ts';
import { type EventReads, earlier, type Since } from '../../../core/events/event-source.ts';
import type { CommittedFrame } from '../../../core/frames/frame.ts';
import { readHeads } from '../../../core/messages/timeline/timeline-store.ts';
import { GatheredReads } from '../../../platform/db/connection/gathered-reads.ts';
import { type Changes, readChanges } from '../changes/changes.ts';
import type { Cursors, ReadCursor } from '../changes/cursors.ts';
import { MissedChanges } from '../changes/missed-changes.ts';
import type { NodeOptions } from '../options.ts';
import type { HeartbeatCursors } from '../session/heartbeat-cursor.ts';
import { mayFollow, sendRevoked } from '../session/revocation.ts';
import type { Session } from '../session/session.ts';
import { type SocketSubscription, tooManySubscriptions } from '../session/session-state.ts';
import { MAX_REPLAY } from '../stream/replay.ts';
import type { Joined, Streams } from '../stream/streams.ts';

export interface ResumeOptions
  extends Pick<NodeOptions, 'database' | 'files' | 'directory' | 'timeline' | 'limits'> {
  readonly cursors: Pick<Cursors, 'beforeFeed' | 'current' | 'read'>;
  readonly streams: Pick<Streams, 'join' | 'leave' | 'sendChanges'>;
  readonly heartbeatCursors: HeartbeatCursors;
}

/** A resume that was accepted and has sent nothing yet. */
export interface Resumption {
  /** The cursor as the client sent it. */
  readonly cursor: string;
  readonly since: ReadCursor;
  readonly conversations: readonly Resumed[];
}

interface Resumed {
  readonly id: string;
  /** The last number that the client has. */
  readonly after: number;
  readonly subscription: SocketSubscription;
  /** The session was subscribed before, so no message is replayed. */
  readonly isKnown: boolean;
}

/** Conversations of one session read at once; they are sent one after the other. */
const AT_ONCE = 32;

/**
 * Sends what follows the reply to `resume` (docs/realtime.md#catching-up): the missed messages and
 * changes of each conversation, the actor's own feed, then `resumed`. When a node stops, thousands
 * of sockets resume at once and have much in common, so reads are gathered
 * (platform/db/connection/gathered-reads.ts).
 */
export class Resume {
  readonly #options: ResumeOptions;
  readonly #changes: GatheredReads<ChangesAsk, Changes>;
  readonly #running = new WeakMap<Session, Promise<void>>();

  constructor(options: ResumeOptions) {
    this.#options = options;
    this.#changes = new GatheredReads((asks) => readAll(options, asks));
  }

  /**
   * Accepts a resume. Its subscriptions are registered when this returns, so a right that ends
   * meanwhile ends them. Throws ApiError: `invalid_format` (param `cursor`: no node of this
   * database issued it), `limit_exceeded`, `resource_conflict` (the socket has less of a
   * conversation than the client asks for).
   */
  accept(session: Session, { cursor, conversations }: CommandFrame<'resume'>): Resumption {
    const { cursors, limits } = this.#options;
    const since = cursors.read(cursor);
    if (since === undefined) {
      const message = 'The cursor is broken, or belongs to another database.';
      throw new ApiError('invalid_format', message, { param: 'cursor' });
    }
    const entries = Object.entries(conversations);
    const known = entries.filter(([id]) => session.subscription(id) !== undefined);
    const used = session.subscriptionCount + entries.length - known.length;
    if (used > limits.subscriptions) throw tooManySubscriptions(limits.subscriptions, used);
    if (known.some(([id, after]) => after < session.subscription(id)!.fromSequence)) {
      const message =
        'The socket follows one of these conversations from a later message. Unsubscribe first.';
      throw new ApiError('resource_conflict', message, { param: 'conversations' });
    }
    return { cursor, since, conversations: entries.map(([id, after]) => register(session, id, after)) };
  }

  /** Resolves when the session's resume has sent everything; undefined without a resume. */
  running(session: Session): Promise<void> | undefined {
    return this.#running.get(session);
  }

  /**
   * Sends everything; then the subscriptions are live or gone. Rejects if Postgres or the engine is
   * unavailable: the client gets the rest by another resume. Only one may run for a session.
   */
  async run(session: Session, resumption: Resumption): Promise<void> {
    const { heartbeatCursors } = this.#options;
    heartbeatCursors.beginResume(session, resumption.cursor);
    const running = this.#run(session, resumption).finally(() => {
      this.#running.delete(session);
      heartbeatCursors.endResume(session);
    });
    const settled = running.catch(() => {});
    this.#running.set(session, settled);
    for (const { subscription, isKnown } of resumption.conversations) {
      if (!isKnown) subscription.replay = settled;
    }
    await running;
  }

  async #run(session: Session, { since, conversations }: Resumption): Promise<void> {
    // Taken before the reads: this resume covers all later changes.
    const { cursors } = this.#options;
    const cursor = session.hasFeed ? await cursors.beforeFeed() : cursors.current();
    // No `resync` of a conversation could tell this client about the gap in its feed.
    if (since.expired && conversations.length === 0) return session.close('cursor_invalid');
    if (since.expired) {
      await this.#refuse(session, conversations);
      resyncFeed(session, 'too_old');
    } else {
      let start = 0;
      do {
        const some = conversations.slice(start, start + AT_ONCE);
        start += AT_ONCE;
        await this.#runSome(session, since, some, start >= conversations.length);
      } while (start < conversations.length && !session.closed);
    }
    session.sendFrame({ type: 'resumed', cursor });
  }

  /** Resumes some conversations. The feed follows the last ones, and is read with them. */
  async #runSome(
    session: Session,
    since: ReadCursor,
    resumed: readonly Resumed[],
    areLast: boolean,
  ): Promise<void> {
    const joins = await Promise.all(resumed.map((one) => this.#join(session, one)));
    for (const joined of joins) joined?.readAhead();
    // Read after the joins, because later frames come through the streams.
    const conversationIds = resumed
      .map(({ id }) => id)
      .filter((id) => session.subscription(id) !== undefined);
    const actorIds = areLast && since.feedXid === since.xid ? feedOf(session) : [];
    const missed = await this.#readMissed({ since, conversationIds, actorIds });
    const onPause = () => {
      for (const joined of joins) joined?.forgetAhead();
      for (const changes of missed.values()) changes.forget();
    };
    for (const [index, one] of resumed.entries()) {
      const changes = missed.get(one.id);
      if (!isHere(session, one) || changes === undefined) continue;
      const joined = joins[index];
      if (joined !== undefined) await this.#runJoined(session, one, joined, changes, onPause);
      else if (one.isKnown) await this.#runKnown(session, one, changes, onPause);
    }
    if (areLast) await this.#runFeed(session, since, missed);
  }

  async #readMissed(ask: ChangesAsk): Promise<ReadonlyMap<string, MissedChanges>> {
    const read = await this.#changes.ask(ask);
    const missed = new Map<string, MissedChanges>();
    const add = (id: string, one: Partial<ChangesAsk>) => {
      const again = { ...ask, conversationIds: [], actorIds: [], ...one };
      const readAgain = async () => changesOf(await this.#changes.ask(again), id);
      missed.set(id, new MissedChanges(changesOf(read, id), readAgain));
    };
    for (const id of ask.conversationIds) add(id, { conversationIds: [id] });
    for (const id of ask.actorIds) add(id, { actorIds: [id] });
    return missed;
  }

  /** Returns undefined if there is nothing to join: no right, or subscribed already. */
  async #join(session: Session, one: Resumed): Promise<Joined | undefined> {
    const { streams } = this.#options;
    if (one.isKnown) {
      await one.subscription.replay;
      return undefined;
    }
    const facts = await this.#options.directory.facts(one.id);
    if (!isHere(session, one)) return undefined;
    if (!isAllowed(session, facts)) {
      session.removeSubscription(one.id);
      sendRevoked(session, one.id, facts);
      return undefined;
    }
    return streams.join(one.id, session, one.after);
  }

  async #runJoined(
    session: Session,
    { id, subscription }: Resumed,
    joined: Joined,
    changes: MissedChanges,
    onPause: () => void,
  ): Promise<void> {
    subscription.headSequence = joined.headSequence;
    subscription.state = 'replaying';
    await joined.run(changes, onPause);
    session.replayed(id, subscription);
  }

  async #runKnown(
    session: Session,
    one: Resumed,
    changes: MissedChanges,
    onPause: () => void,
  ): Promise<void> {
    const { id, subscription } = one;
    const { streams } = this.#options;
    const areSent = await streams.sendChanges(session, changes, () => !isHere(session, one), onPause);
    if (!isHere(session, one)) return;
    if (!areSent) {
      session.removeSubscription(id);
      streams.leave(id, session);
      resync(session, id, 'too_many', subscription.headSequence);
      return;
    }
    session.sendFrame({ type: 'caught_up', conversation_id: id, sequence: subscription.headSequence });
  }

  /**
   * Sends the missed events of the actor's feed; live ones arrive already. Sends none if there are
   * too many: the client then loads its lists again.
   */
  async #runFeed(
    session: Session,
    since: ReadCursor,
    read: ReadonlyMap<string, MissedChanges>,
  ): Promise<void> {
    const actorIds = feedOf(session);
    const [actorId] = actorIds;
    if (actorId === undefined || session.closed) return;
    // The feed was not read if the session got it meanwhile, or has more of it than of the rest.
    const ofFeed = { ...since, xid: since.feedXid };
    const missed = read.has(actorId)
      ? read
      : await this.#readMissed({ since: ofFeed, conversationIds: [], actorIds, isExact: true });
    const over = () => session.closed || !session.hasFeed;
    const areSent = await this.#options.streams.sendChanges(session, missed.get(actorId)!, over, () => {});
    if (!areSent) resyncFeed(session, 'too_many');
  }

  /** Tells the client for each conversation that the cursor is too old, with its head. */
  async #refuse(session: Session, resumed: readonly Resumed[]): Promise<void> {
    const facts = await Promise.all(resumed.map(({ id }) => this.#options.directory.facts(id)));
    const heads = await this.#heads(
      session,
      resumed.filter((_, index) => isAllowed(session, facts[index])).map(({ id }) => id),
    );
    for (const [index, one] of resumed.entries()) {
      if (!isHere(session, one)) continue;
      session.removeSubscription(one.id);
      this.#options.streams.leave(one.id, session);
      const head = heads.get(one.id);
      if (head === undefined) sendRevoked(session, one.id, facts[index]);
      else resync(session, one.id, 'too_old', head);
    }
  }

  async #heads(session: Session, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { database, timeline } = this.#options;
    const heads = await readHeads(database, ids);
    const asks = [...heads].map(([conversationId, upTo]) => ({ conversationId, upTo }));
    const visible = await timeline.visibleHeads(asks, session.audience === 'customer');
    return new Map(asks.map(({ conversationId }, index) => [conversationId, visible[index]!]));
  }
}

/** Returns the id of the actor whose feed the session has, if any. */
function feedOf({ hasFeed, principal }: Session): readonly string[] {
  return hasFeed && principal !== undefined ? [principal.actor.id] : [];
}

function isAllowed({ principal }: Session, facts: ConversationFacts | undefined): boolean {
  return facts !== undefined && principal !== undefined && mayFollow(principal, facts);
}

function register(session: Session, id: string, after: number): Resumed {
  const known = session.subscription(id);
  if (known !== undefined) return { id, after, subscription: known, isKnown: true };
  const subscription: SocketSubscription = { headSequence: after, fromSequence: after, state: 'resuming' };
  session.addSubscription(id, subscription);
  return { id, after, subscription, isKnown: false };
}

/** Returns whether the session is still subscribed; the client knows of any end meanwhile. */
function isHere(session: Session, { id, subscription }: Resumed): boolean {
  return !session.closed && session.subscription(id) === subscription;
}

function resyncFeed(session: Session, reason: ResyncReason): void {
  if (session.hasFeed) session.sendFrame({ type: 'resync', feed: true, reason });
}

function resync(session: Session, conversationId: string, reason: ResyncReason, head?: number): void {
  const frame: ServerFrame = { type: 'resync', conversation_id: conversationId, reason };
  session.sendFrame(head === undefined ? frame : { ...frame, head_sequence: head });
}

interface ChangesAsk {
  /** Whether it is read from this moment, never from an older ask's. */
  readonly isExact?: boolean;
  readonly since: Pick<ReadCursor, keyof Since | 'ageMs'>;
  readonly conversationIds: readonly string[];
  readonly actorIds: readonly string[];
}

function changesOf({ frames, tooMany }: Changes, stream: string) {
  return tooMany.has(stream) ? 'too_many' : (frames.get(stream) ?? []);
}

/** Streams read by one query. */
const READ_STREAMS = 1_000;

/**
 * Reads once for all cursors of about the same age, from the oldest on, so sessions with younger
 * cursors get some changes again. Different ages are read apart, so a client that was away for a
 * week does not make all others read a week. Exact moments, of polling clients, are apart too.
 */
async function readAll(source: EventReads, asks: readonly ChangesAsk[]): Promise<Changes[]> {
  const answers = new Map<ChangesAsk, Changes>();
  const readFor = async (together: readonly ChangesAsk[]) => {
    const since = together.map((ask): Since => ask.since).reduce(earlier);
    const frames = new Map<string, readonly CommittedFrame[]>();
    const tooMany = new Set<string>();
    for (const streams of inQueries(together)) {
      const changes = await readChanges(source, streams, since, MAX_REPLAY);
      for (const [stream, ofStream] of changes.frames) frames.set(stream, ofStream);
      for (const stream of changes.tooMany) tooMany.add(stream);
    }
    for (const ask of together) answers.set(ask, { frames, tooMany });
  };
  const groups = Map.groupBy(asks, ({ since, isExact }) => (isExact ? since.xid : ageClass(since.ageMs)));
  await Promise.all([...groups.values()].map(readFor));
  return asks.map((ask) => answers.get(ask)!);
}

/** Returns the class of an age; classes double from one minute on. */
function ageClass(ageMs: number): number {
  return Math.ceil(Math.log2(Math.max(1, ageMs / 60_000)));
}

function* inQueries(asks: readonly ChangesAsk[]) {
  const conversationIds = [...new Set(asks.flatMap((ask) => ask.conversationIds))];
  const actorIds = [...new Set(asks.flatMap((ask) => ask.actorIds))];
  const most = Math.max(conversationIds.length, actorIds.length);
  for (let start = 0; start < most; start += READ_STREAMS) {
    yield {
      conversationIds: conversationIds.slice(start, start + READ_STREAMS),
      actorIds: actorIds.slice(start, start + READ_STREAMS),
    };
  }
}
