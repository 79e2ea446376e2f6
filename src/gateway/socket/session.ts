import type { Principal } from '../../access/principal.ts';
import { formAt } from '../../protocol/forms.ts';
import { newId } from '../../protocol/ids.ts';
import { CLOSE_CODES, type CloseReason } from '../../protocol/socket/close-codes.ts';
import { SERVER_FRAMES, type ServerFrame } from '../../protocol/socket/server-frames.ts';
import type { SocketLimits } from '../../protocol/socket/socket-limits.ts';
import { SOCKETS_SINCE, type Version } from '../../protocol/versions.ts';
import type { HeartbeatCursors } from '../catch-up/heartbeat-cursor.ts';
import { movedHeads } from '../catch-up/heartbeat-heads.ts';
import type { Reader, ReaderAudience } from '../stream/reader.ts';
import type { Streams } from '../stream/streams.ts';
import { ClientLimits } from './client-limits.ts';
import { endAt, noticeAt } from './credential-expiry.ts';
import { DrainWaiters } from './drain-waiters.ts';
import type { Handshake } from './handshake.ts';
import type { Heartbeats, Timed } from './heartbeats.ts';
import { type Sessions, subjectsOf } from './sessions.ts';
import type { SocketSubscription } from './subscription.ts';
import type { Wire } from './wire.ts';

/** What the sessions of a server share: one pointer a session. */
export interface SessionHost {
  readonly limits: SocketLimits;
  readonly heartbeats: Heartbeats;
  readonly heldCursors: HeartbeatCursors;
  readonly sessions: Sessions<Session>;
  readonly streams: Pick<Streams, 'leave' | 'leaveFeed' | 'moved'>;
  /** The session has a gap: it is to be silenced before anything else is published, then closed. */
  gapped(session: Session): void;
  /** The socket is gone; `reason` where this side ended it. */
  ended(session: Session, reason: CloseReason | 'cut' | undefined): void;
}

/**
 * One socket: who it is, what it is subscribed to, what is due when, how it ends. `opening` until its
 * caller is known, `ready` while commands are taken, `closing` while what is queued still leaves,
 * `closed` once the socket is gone.
 *
 * There may be tens of thousands, nearly all idle: no timer, no closure, no collection that an idle
 * one does not need, small integers for times (performance.md P7).
 */
export class Session implements Reader, Timed {
  readonly id = newId('connection');
  /** What the handshake said; let go when the session is ready. */
  handshake: Pick<Handshake, 'version' | 'account'> | undefined;
  version: Version;
  /** It has joined its actor's feed, or is about to. */
  hasFeed = false;
  tick = 0;
  readonly #host: SessionHost;
  readonly #wire: Wire;
  #state: 'opening' | 'ready' | 'closing' | 'closed' = 'opening';
  #principal: Principal | undefined;
  /** Milliseconds since 1970, of the credential; null where it does not expire. */
  #expiresAtMs: number | null = null;
  #expiryNoticed = false;
  #subscriptions: Map<string, SocketSubscription> | undefined;
  /** Topics joined before the session is ready. */
  #earlyTopics: string[] | undefined;
  #drainWaiters: DrainWaiters | undefined;
  #closeReason: CloseReason | 'cut' | undefined;
  #closeText = '';
  /** On the clock of Heartbeats; 0: none. Until the caller is known, or until a closing socket is cut. */
  #deadlineMs: number;
  #pingAtMs = 0;
  #pongByMs = 0;
  #conduct: ClientLimits | undefined;

  constructor(wire: Wire, handshake: Pick<Handshake, 'version' | 'account'>, host: SessionHost) {
    this.#wire = wire;
    this.handshake = handshake;
    this.version = handshake.version ?? SOCKETS_SINCE;
    this.#host = host;
    this.#deadlineMs = host.heartbeats.nowMs() + host.limits.authenticateMs;
    host.heartbeats.schedule(this, this.#deadlineMs);
  }

  /** Undefined until the caller is known. */
  get principal(): Principal | undefined {
    return this.#principal;
  }

  get ready(): boolean {
    return this.#state === 'ready';
  }

  get closed(): boolean {
    return this.#state === 'closing' || this.#state === 'closed';
  }

  get audience(): ReaderAudience {
    return this.#principal?.customer === true ? 'customer' : 'team';
  }

  get expiresAtMs(): number | null {
    return this.#expiresAtMs;
  }

  // Who it is

  /** Also later, when its rights were read again or its token was refreshed. Keeps the expiry it was given. */
  identify(principal: Principal, expiresAtMs: number | null): void {
    const { sessions } = this.#host;
    if (this.#state === 'closed') return;
    if (this.#principal !== undefined) sessions.remove(this, subjectsOf(this.#principal));
    this.#principal = principal;
    sessions.add(this, subjectsOf(principal));
    if (this.#expiresAtMs === expiresAtMs) return;
    this.#expiresAtMs = expiresAtMs;
    this.#expiryNoticed = false;
    if (this.#state === 'ready') this.#host.heartbeats.schedule(this, this.#expiryDue(this.#now));
  }

  /** Commands are taken from here on; `ready` goes first, the feed that was joined before comes behind it. */
  becomeReady(frame: ServerFrame): void {
    if (this.#state !== 'opening') return;
    const { heartbeats, limits } = this.#host;
    this.#state = 'ready';
    this.#deadlineMs = 0;
    this.handshake = undefined;
    // At a random phase, so that a thousand sockets opened at once do not beat together for ever.
    this.#pingAtMs = this.#now + Math.floor(Math.random() * limits.heartbeatMs);
    this.sendFrame(frame);
    for (const topic of this.#earlyTopics ?? []) this.join(topic);
    this.#earlyTopics = undefined;
    heartbeats.schedule(this, Math.min(this.#pingAtMs, this.#expiryDue(this.#now)));
  }

  // What it gets

  get subscriptionCount(): number {
    return this.#subscriptions?.size ?? 0;
  }

  get conversationIds(): Iterable<string> {
    return this.#subscriptions?.keys() ?? [];
  }

  subscription(conversationId: string): SocketSubscription | undefined {
    return this.#subscriptions?.get(conversationId);
  }

  /** From here on it hears of changes of the right to this conversation. */
  addSubscription(conversationId: string, subscription: SocketSubscription): void {
    this.#subscriptions ??= new Map();
    this.#subscriptions.set(conversationId, subscription);
    this.#host.sessions.add(this, [conversationId]);
  }

  /** False where there was none. The caller leaves the stream. */
  removeSubscription(conversationId: string): boolean {
    if (this.#subscriptions?.delete(conversationId) !== true) return false;
    this.#host.sessions.remove(this, [conversationId]);
    return true;
  }

  join(topic: string): void {
    if (this.closed) return;
    if (this.#state === 'opening') {
      this.#earlyTopics ??= [];
      this.#earlyTopics.push(topic);
    } else {
      // uWS delivers what was published to the topic before this line to the others alone, and what
      // comes after it to this socket too, also within one turn of the loop.
      this.#wire.subscribe(topic);
    }
  }

  leave(topic: string): void {
    if (this.closed) return;
    // What was published before this line in the same turn is still delivered, nothing after it.
    this.#wire.unsubscribe(topic);
  }

  isOn(topic: string): boolean {
    return !this.closed && this.#wire.isSubscribed(topic);
  }

  send(bytes: Buffer): void {
    if (this.closed) return;
    // uWS first writes what was published to this socket earlier in the turn, then this: one queue.
    const queued = this.#wire.send(bytes, false) !== SENT;
    // `dropped` may have been called meanwhile.
    if (queued && this.bufferedBytes > this.#host.limits.durableBytes) this.close('slow_consumer');
  }

  sendAll(frames: readonly Buffer[]): void {
    if (this.closed) return;
    this.#wire.cork(() => {
      for (const bytes of frames) {
        // `dropped` may close it meanwhile.
        if (!this.closed) this.#wire.send(bytes, false);
      }
    });
    if (this.bufferedBytes > this.#host.limits.durableBytes) this.close('slow_consumer');
  }

  sendFrame(frame: ServerFrame): void {
    this.send(Buffer.from(JSON.stringify(formAt(this.version, SERVER_FRAMES[frame.type], frame))));
  }

  get bufferedBytes(): number {
    return this.closed ? 0 : this.#wire.getBufferedAmount();
  }

  /** Whether something is queued that could still be taken back, also while closing. */
  get holdsBytes(): boolean {
    return this.#state !== 'closed' && this.#wire.getBufferedAmount() > 0;
  }

  drained(bytes: number): Promise<void> {
    if (this.closed || this.#wire.getBufferedAmount() < bytes) return Promise.resolve();
    this.#drainWaiters ??= new DrainWaiters();
    // uWS's drain is no exact signal: also look at every tick.
    this.#host.heartbeats.schedule(this, this.#now);
    return this.#drainWaiters.add(bytes);
  }

  // What it asks

  /** False when it asks too often. */
  takeRequest(): boolean {
    this.#conduct ??= new ClientLimits();
    return this.#conduct.takeRequest(this.#host.limits, this.#now);
  }

  /** For a frame that was malformed or out of place: too many of them, and the socket is closed (realtime.md section 2). */
  countFault(): void {
    if (this.#conduct?.addFault(this.#host.limits, this.#now) === true) this.close('protocol_error');
  }

  /** For a request that was refused for its rate: who goes on nevertheless is sent away for a while. */
  countRefusal(): void {
    const retryAfterMs = this.#conduct?.addRefusal(this.#host.limits, this.#now) ?? 0;
    if (retryAfterMs > 0) this.close('rate_limited', { retryAfterMs });
  }

  /** For a ping or pong of the WebSocket protocol: it counts as a request, which is never refused in words. */
  countControlFrame(): void {
    if (!this.closed && !this.takeRequest()) this.countRefusal();
  }

  pong(): void {
    this.#pongByMs = 0;
  }

  // How it ends

  /**
   * Nothing is sent from here on but what is queued already, then the close frame. What the client does
   * not take within `cutMs` is thrown away with the connection. `detail` is for the codes whose client
   * has to wait (realtime.md section 5, band 41xx).
   */
  close(reason: CloseReason, detail?: { readonly retryAfterMs: number }): void {
    if (this.closed) return;
    this.#state = 'closing';
    this.#closeReason = reason;
    this.#closeText = detail === undefined ? reason : JSON.stringify({ retry_after_ms: detail.retryAfterMs });
    this.finishClosing();
  }

  /** At once and without a close frame, for what is queued may not be read any more (design.md section 6, revocation). */
  cut(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closing';
    this.#closeReason = 'cut';
    this.#wire.close();
  }

  /** Its caller may do nothing here any more: what is queued for it neither. */
  revoke(reason: CloseReason): void {
    if (this.holdsBytes) this.cut();
    else this.close(reason);
  }

  /** From uWS's `dropped`: something published was lost to this socket, so nothing more may follow it. */
  dropped(): void {
    if (this.closed) return;
    this.#state = 'closing';
    this.#closeReason = 'slow_consumer';
    this.#closeText = 'slow_consumer';
    this.#deadlineMs = 0;
    // Not closed here: uWS is in the middle of its list of subscribers, and ends the process with a
    // segmentation fault when one of them goes away under it.
    this.#host.gapped(this);
  }

  /** Off every topic, so that what is published next does not reach it. */
  silence(): void {
    if (this.#state !== 'closing') return;
    for (const topic of this.#wire.getTopics()) this.#wire.unsubscribe(topic);
  }

  /** Second half of `close`; of `dropped`, once uWS is out of its list. */
  finishClosing(): void {
    if (this.#state !== 'closing') return;
    this.silence();
    this.#leaveStreams();
    this.#deadlineMs = this.#now + this.#host.limits.cutMs;
    this.#endWhenSent();
    this.#host.heartbeats.schedule(this, this.#now);
  }

  /** From uWS's `close`: the wire must not be touched any more. */
  wireClosed(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#leaveStreams();
    const { sessions } = this.#host;
    if (this.#principal !== undefined) sessions.remove(this, subjectsOf(this.#principal));
    sessions.remove(this, this.conversationIds);
    this.#host.ended(this, this.#closeReason);
  }

  /** From uWS's `drain`. */
  wireDrained(): void {
    if (this.#state === 'closing') this.#endWhenSent();
    else this.#settleDrainWaiters();
  }

  due(nowMs: number): number {
    switch (this.#state) {
      case 'opening':
        if (nowMs >= this.#deadlineMs) this.close('authentication_timeout');
        return this.#nextDue(nowMs, this.#deadlineMs);
      case 'ready':
        this.#beat(nowMs);
        this.#expire(nowMs);
        this.#settleDrainWaiters();
        return this.#nextDue(nowMs, Math.min(this.#pingAtMs, this.#pongByMs || this.#pingAtMs));
      case 'closing':
        if (nowMs >= this.#deadlineMs && this.#deadlineMs > 0) this.#wire.close();
        else this.#endWhenSent();
        return this.#nextDue(nowMs, this.#deadlineMs);
      default:
        return Number.POSITIVE_INFINITY;
    }
  }

  get #now(): number {
    return this.#host.heartbeats.nowMs();
  }

  #nextDue(nowMs: number, deadlineMs: number): number {
    if (this.#state === 'closed') return Number.POSITIVE_INFINITY;
    if (this.#state === 'closing' || this.#drainWaiters !== undefined) return nowMs;
    return this.#state === 'ready' ? Math.min(deadlineMs, this.#expiryDue(nowMs)) : deadlineMs;
  }

  #beat(nowMs: number): void {
    const { limits, heartbeats, heldCursors, streams } = this.#host;
    if (this.#pongByMs !== 0 && nowMs >= this.#pongByMs) {
      this.close('heartbeat_timeout');
      return;
    }
    if (nowMs < this.#pingAtMs) return;
    const heads = movedHeads(this, streams, this.#pingAtMs - limits.heartbeatMs);
    this.#pingAtMs = nowMs + limits.heartbeatMs;
    if (this.#pongByMs === 0) this.#pongByMs = nowMs + limits.pongMs;
    this.send(heartbeats.ping(nowMs, heads, heldCursors.of(this)));
  }

  #expire(nowMs: number): void {
    if (this.closed || this.#expiresAtMs === null || nowMs < this.#expiryDue(nowMs)) return;
    if (this.#expiresAt(endAt) <= Date.now()) {
      this.close('token_expired');
      return;
    }
    this.#expiryNoticed = true;
    this.sendFrame({ type: 'auth_expiring', expires_at: new Date(this.#expiresAtMs).toISOString() });
  }

  /** When the next thing about the expiry is to be done. */
  #expiryDue(nowMs: number): number {
    const noticeMs = this.#expiryNoticed ? Number.POSITIVE_INFINITY : this.#expiresAt(noticeAt);
    return nowMs + Math.min(noticeMs, this.#expiresAt(endAt)) - Date.now();
  }

  #expiresAt(step: typeof endAt): number {
    if (this.#expiresAtMs === null || this.#principal === undefined) return Number.POSITIVE_INFINITY;
    return step(this.#principal.credential.kind, this.#expiresAtMs, this.#host.limits);
  }

  /**
   * uWS drops the close frame itself of a socket over maxBackpressure, and hands its object back with
   * `end`, so that nobody could cut it any more: hence only once everything is in the kernel.
   */
  #endWhenSent(): void {
    if (this.#state !== 'closing' || this.#deadlineMs === 0 || this.#wire.getBufferedAmount() > 0) return;
    const reason = this.#closeReason ?? 'going_away';
    this.#wire.end(CLOSE_CODES[reason === 'cut' ? 'going_away' : reason].code, this.#closeText);
  }

  /** Once more when the socket is gone: it may go between `dropped` and what follows from it. */
  #leaveStreams(): void {
    const { streams } = this.#host;
    for (const conversationId of this.conversationIds) streams.leave(conversationId, this);
    if (this.hasFeed && this.#principal !== undefined) streams.leaveFeed(this.#principal.actor.id, this);
    this.hasFeed = false;
    this.#settleDrainWaiters();
  }

  /** A socket that has closed has nothing queued. */
  #settleDrainWaiters(): void {
    this.#drainWaiters?.settle(this.bufferedBytes);
    if (this.#drainWaiters?.empty === true) this.#drainWaiters = undefined;
  }
}

const SENT = 1;
