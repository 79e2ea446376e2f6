import { formAt } from '@parley/protocol/forms/forms.ts';
import { newId } from '@parley/protocol/ids.ts';
import { wireTime } from '@parley/protocol/json/canonical-json.ts';
import { CLOSE_CODES, type CloseReason } from '@parley/protocol/socket/close-codes.ts';
import { SERVER_FRAMES, type ServerFrame } from '@parley/protocol/socket/server-frames.ts';
import type { SocketLimits } from '@parley/protocol/socket/socket-limits.ts';
import { SOCKETS_SINCE, type Version } from '@parley/protocol/versions.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Hidden } from '../../../api/marked-json.ts';
import type { Logger } from '../../../platform/log.ts';
import { hiddenFrom } from '../stream/forms.ts';
import { type Reader, type ReaderAudience, topics } from '../stream/reader.ts';
import type { Streams } from '../stream/streams.ts';
import { ClientLimits } from './client-limits.ts';
import type { Handshake } from './handshake.ts';
import { type HeartbeatCursors, movedHeads } from './heartbeat-cursor.ts';
import type { Heartbeats, Timed } from './heartbeats.ts';
import type { SocketSubscription, Wire } from './session-state.ts';
import { DrainWaiters, endAt, noticeAt, type SessionState, transition } from './session-state.ts';
import { type Sessions, subjectsOf } from './sessions.ts';

/** The state that the sessions of a server share, at one pointer a session. */
export interface SessionHost {
  readonly limits: SocketLimits;
  readonly heartbeats: Heartbeats;
  readonly heartbeatCursors: HeartbeatCursors;
  readonly sessions: Sessions<Session>;
  readonly streams: Pick<Streams, 'leave' | 'leaveFeed' | 'moved'>;
  readonly log: Logger;
  /** Called when the session lost a frame. Must silence it before the next publish, then close. */
  gapped(session: Session): void;
  /** Called when the socket is gone; `reason` tells why this side ended it. */
  ended(session: Session, reason: CloseReason | 'cut' | undefined): void;
}

/**
 * One socket: its caller, its subscriptions, its deadlines and its end. Every change of state
 * (session-state.ts) goes through `#enter`.
 *
 * A node holds tens of thousands, nearly all idle: a session has no timer, closure or collection
 * that an idle one does not need, and keeps times as small integers (bench/README.md, P7).
 */
export class Session implements Reader, Timed {
  readonly id = newId('connection');
  /** The version and account of the handshake; released when the session is ready. */
  handshake: Pick<Handshake, 'version' | 'account'> | undefined;
  version: Version;
  /** True once it begins to join its actor's feed. */
  hasFeed = false;
  tick = 0;
  readonly #host: SessionHost;
  readonly #wire: Wire;
  #state: SessionState = 'opening';
  #principal: Principal | undefined;
  /** The end of the credential in milliseconds since 1970; null if it does not expire. */
  #expiresAtMs: number | null = null;
  #expiryNoticed = false;
  #subscriptions: Map<string, SocketSubscription> | undefined;
  /** Topics joined before the session is ready. */
  #earlyTopics: string[] | undefined;
  #drainWaiters: DrainWaiters | undefined;
  #closeReason: CloseReason | 'cut' | undefined;
  #closeText = '';
  /** When (on Heartbeats's clock) an opening socket is closed and a closing one is cut. */
  #deadlineMs: number;
  #pingAtMs = 0;
  #pongByMs = 0;
  #clientLimits: ClientLimits | undefined;

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

  /** True as soon as nothing may be sent any more. */
  get closed(): boolean {
    return this.#state !== 'opening' && this.#state !== 'ready';
  }

  get audience(): ReaderAudience {
    return this.#principal?.customer === true ? 'customer' : 'team';
  }

  get hidden(): readonly Hidden[] {
    return this.#principal === undefined ? [] : hiddenFrom(this.version, this.#principal);
  }

  get expiresAtMs(): number | null {
    return this.#expiresAtMs;
  }

  /** Returns this connection's logger, made for each line so that idle sockets need none. */
  get log(): Logger {
    return this.#host.log.child({ connection_id: this.id });
  }

  // The caller

  /**
   * Sets the caller, or replaces it after its rights were reread or its token was refreshed. A
   * socket whose events have another form from now on is cut: its client resumes in that form.
   */
  identify(principal: Principal, expiresAtMs: number | null): void {
    const { sessions } = this.#host;
    if (this.#state === 'closed') return;
    if (this.#principal !== undefined) {
      if (hiddenFrom(this.version, principal) !== this.hidden) {
        this.cut();
        return;
      }
      sessions.remove(this, subjectsOf(this.#principal));
    }
    this.#principal = principal;
    sessions.add(this, subjectsOf(principal));
    if (this.#expiresAtMs === expiresAtMs) return;
    this.#expiresAtMs = expiresAtMs;
    this.#expiryNoticed = false;
    if (this.#state === 'ready') this.#host.heartbeats.schedule(this, this.#expiryDue(this.#now));
  }

  /** Begins to take commands. Sends `frame`, then the events of the feed that was joined before. */
  becomeReady(frame: ServerFrame): void {
    if (this.#state !== 'opening') return;
    this.#enter('ready');
    this.sendFrame(frame);
    for (const topic of this.#earlyTopics ?? []) this.join(topic);
    this.#earlyTopics = undefined;
    this.#host.heartbeats.schedule(this, Math.min(this.#pingAtMs, this.#expiryDue(this.#now)));
  }

  // Receiving

  get subscriptionCount(): number {
    return this.#subscriptions?.size ?? 0;
  }

  get conversationIds(): Iterable<string> {
    return this.#subscriptions?.keys() ?? [];
  }

  subscription(conversationId: string): SocketSubscription | undefined {
    return this.#subscriptions?.get(conversationId);
  }

  /** Registers the session for changes of the right to this conversation. */
  addSubscription(conversationId: string, subscription: SocketSubscription): void {
    this.#subscriptions ??= new Map();
    this.#subscriptions.set(conversationId, subscription);
    this.#host.sessions.add(this, [conversationId]);
  }

  /** Returns false if there was none. The caller leaves the stream. */
  removeSubscription(conversationId: string): boolean {
    if (this.#subscriptions?.delete(conversationId) !== true) return false;
    this.#host.sessions.remove(this, [conversationId]);
    return true;
  }

  /**
   * Must be called when the subscription's replay has ended. It is live then, or ends if the
   * session was sent `resync` and is not on the topic: it may subscribe again.
   */
  replayed(conversationId: string, subscription: SocketSubscription): void {
    if (this.closed || this.subscription(conversationId) !== subscription) return;
    if (this.isOn(topics.durable(conversationId, this))) subscription.state = 'live';
    else this.removeSubscription(conversationId);
  }

  join(topic: string): void {
    if (this.closed) return;
    if (this.#state === 'opening') {
      this.#earlyTopics ??= [];
      this.#earlyTopics.push(topic);
    } else {
      // uWS delivers frames published to the topic before this line only to the other sockets, and
      // all later ones to this socket too, even within one turn of the loop.
      this.#wire.subscribe(topic);
    }
  }

  leave(topic: string): void {
    if (this.closed) return;
    // Frames published before this line in the same turn are still delivered, but no later ones.
    this.#wire.unsubscribe(topic);
  }

  forget(conversationId: string): void {
    this.removeSubscription(conversationId);
  }

  isOn(topic: string): boolean {
    return !this.closed && this.#wire.isSubscribed(topic);
  }

  send(bytes: Buffer): void {
    if (this.closed) return;
    // uWS keeps one queue, so frames published earlier in the turn leave before this one.
    const queued = this.#wire.send(bytes, false) !== SENT;
    // `send` may have called `dropped`.
    if (queued && this.bufferedBytes > this.#host.limits.durableBytes) this.close('slow_consumer');
  }

  sendAll(frames: readonly Buffer[]): void {
    if (this.closed) return;
    this.#wire.cork(() => {
      for (const bytes of frames) {
        // Each send may call `dropped`.
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

  /** Bytes that wait for the client and can still be discarded, even while closing. */
  get heldBytes(): number {
    return this.#state === 'closed' ? 0 : (this.#wire.heldBytes ?? this.#wire.getBufferedAmount());
  }

  drained(bytes: number): Promise<void> {
    if (this.closed || this.#wire.getBufferedAmount() < bytes) return Promise.resolve();
    this.#drainWaiters ??= new DrainWaiters();
    // uWS does not call `drain` at every such moment, so every tick checks too.
    this.#host.heartbeats.schedule(this, this.#now);
    return this.#drainWaiters.add(bytes);
  }

  // Requests

  /** Returns 0 if the request is accepted, or after how many milliseconds the next one is. */
  takeRequest(): number {
    this.#clientLimits ??= new ClientLimits();
    return this.#clientLimits.takeRequest(this.#host.limits, this.#now);
  }

  /** Counts a bad frame; too many close the socket (docs/realtime.md#requests). */
  countFault(): void {
    if (this.#clientLimits?.addFault(this.#host.limits, this.#now) === true) this.close('protocol_error');
  }

  /** Counts a request refused for its rate; a client that goes on is closed with 4100. */
  countRefusal(): void {
    const retryAfterMs = this.#clientLimits?.addRefusal(this.#host.limits, this.#now) ?? 0;
    if (retryAfterMs > 0) this.close('rate_limited', { retryAfterMs });
  }

  /** Counts a WebSocket ping or pong as a request; no reply could refuse it. */
  countControlFrame(): void {
    if (!this.closed && this.takeRequest() > 0) this.countRefusal();
  }

  pong(): void {
    this.#pongByMs = 0;
  }

  // The end

  /**
   * Sends only the bytes that are queued already, then the close frame. Bytes that the client does
   * not take within `cutMs` are discarded with the connection. `detail` is for codes whose client
   * has to wait (docs/realtime.md#close-codes, band 41xx).
   */
  close(reason: CloseReason, detail?: { readonly retryAfterMs: number }): void {
    if (this.closed) return;
    this.#closeReason = reason;
    this.#closeText = detail === undefined ? reason : JSON.stringify({ retry_after_ms: detail.retryAfterMs });
    this.#enter('closing');
  }

  giveUp(): void {
    this.close('slow_consumer');
  }

  /**
   * Ends it at once and without a close frame, because its caller may not read the queued bytes any
   * more (docs/architecture.md#rights-that-end).
   */
  cut(): void {
    if (this.#state === 'closed') return;
    this.#closeReason = 'cut';
    if (this.#state === 'closing') this.#wire.close();
    else this.#enter('closing');
  }

  /** Ends it for a caller without any right here: queued bytes must not reach it either. */
  revoke(reason: CloseReason): void {
    if (this.heldBytes > 0) this.cut();
    else this.close(reason);
  }

  /** Called by uWS's `dropped`: this socket lost a frame, so nothing more may follow it. */
  dropped(): void {
    if (this.closed) return;
    this.#closeReason = 'slow_consumer';
    this.#closeText = 'slow_consumer';
    this.#enter('dropped');
  }

  /** Leaves every topic after a drop, so that the next published frame does not reach it. */
  silence(): void {
    if (this.#state === 'dropped') this.#leaveTopics();
  }

  /** Closes a dropped session, once uWS is out of its list of subscribers. */
  closeDropped(): void {
    if (this.#state === 'dropped') this.#enter('closing');
  }

  /** Called by uWS's `close`: the wire must not be touched any more. */
  wireClosed(): void {
    if (this.#state !== 'closed') this.#enter('closed');
  }

  /** Called by uWS's `drain`. */
  wireDrained(): void {
    if (this.#state === 'closing') this.#endWhenSent();
    else if (!this.closed) this.#settleDrainWaiters();
  }

  /** Changes the state, as no other method does, with everything that the new state requires. */
  #enter(state: SessionState): void {
    this.#state = transition(this.#state, state);
    const { limits, heartbeats, sessions } = this.#host;
    switch (state) {
      case 'ready':
        this.handshake = undefined;
        // A random phase, because a thousand sockets may have opened together.
        this.#pingAtMs = this.#now + Math.floor(Math.random() * limits.heartbeatMs);
        break;
      case 'dropped':
        // Not closed here: uWS is inside its list of subscribers, and the process ends with a
        // segmentation fault if one of them goes away meanwhile.
        this.#host.gapped(this);
        break;
      case 'closing':
        if (this.#closeReason === 'cut') {
          // Calls `wireClosed` before it returns.
          this.#wire.close();
          break;
        }
        this.#leaveTopics();
        this.#leaveStreams();
        this.#deadlineMs = this.#now + limits.cutMs;
        this.#endWhenSent();
        heartbeats.schedule(this, this.#now);
        break;
      case 'closed':
        this.#leaveStreams();
        if (this.#principal !== undefined) sessions.remove(this, subjectsOf(this.#principal));
        sessions.remove(this, this.conversationIds);
        this.#host.ended(this, this.#closeReason);
    }
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
        if (nowMs >= this.#deadlineMs) this.#wire.close();
        else this.#endWhenSent();
        return this.#nextDue(nowMs, this.#deadlineMs);
      default:
        // `closeDropped` schedules a dropped session.
        return Number.POSITIVE_INFINITY;
    }
  }

  get #now(): number {
    return this.#host.heartbeats.nowMs();
  }

  #nextDue(nowMs: number, deadlineMs: number): number {
    if (this.#state === 'closed' || this.#state === 'dropped') return Number.POSITIVE_INFINITY;
    if (this.#state === 'closing' || this.#drainWaiters !== undefined) return nowMs;
    return this.#state === 'ready' ? Math.min(deadlineMs, this.#expiryDue(nowMs)) : deadlineMs;
  }

  #beat(nowMs: number): void {
    const { limits, heartbeats, heartbeatCursors, streams } = this.#host;
    if (this.#pongByMs !== 0 && nowMs >= this.#pongByMs) {
      this.close('heartbeat_timeout');
      return;
    }
    if (nowMs < this.#pingAtMs) return;
    const heads = movedHeads(this, streams, this.#pingAtMs - limits.heartbeatMs);
    this.#pingAtMs = nowMs + limits.heartbeatMs;
    if (this.#pongByMs === 0 && this.#wire.isOneWay !== true) this.#pongByMs = nowMs + limits.pongMs;
    this.send(heartbeats.ping(nowMs, heads, heartbeatCursors.of(this)));
  }

  #expire(nowMs: number): void {
    if (this.closed || this.#expiresAtMs === null || nowMs < this.#expiryDue(nowMs)) return;
    if (this.#expiresAt(endAt) <= Date.now()) {
      this.close('token_expired');
      return;
    }
    this.#expiryNoticed = true;
    this.sendFrame({ type: 'auth_expiring', expires_at: wireTime(this.#expiresAtMs) });
  }

  /** Returns when the notice or the end of the credential is due. */
  #expiryDue(nowMs: number): number {
    if (this.#expiresAtMs === null) return Number.POSITIVE_INFINITY;
    const noticeMs = this.#expiryNoticed ? Number.POSITIVE_INFINITY : this.#expiresAt(noticeAt);
    return nowMs + Math.min(noticeMs, this.#expiresAt(endAt)) - Date.now();
  }

  #expiresAt(step: typeof endAt): number {
    if (this.#expiresAtMs === null || this.#principal === undefined) return Number.POSITIVE_INFINITY;
    return step(this.#principal.credential.kind, this.#expiresAtMs, this.#host.limits);
  }

  /**
   * Ends the socket only when everything queued is in the kernel. Otherwise uWS drops even the
   * close frame of a socket over maxBackpressure, and its `end` releases the object, which could
   * not be cut any more.
   */
  #endWhenSent(): void {
    if (this.#state !== 'closing' || this.#wire.getBufferedAmount() > 0) return;
    const reason = this.#closeReason ?? 'going_away';
    this.#wire.end(CLOSE_CODES[reason === 'cut' ? 'going_away' : reason].code, this.#closeText);
  }

  #leaveTopics(): void {
    for (const topic of this.#wire.getTopics()) this.#wire.unsubscribe(topic);
  }

  /** Idempotent: a dropped socket may go before it is closed here. */
  #leaveStreams(): void {
    const { streams } = this.#host;
    for (const conversationId of this.conversationIds) streams.leave(conversationId, this);
    if (this.hasFeed && this.#principal !== undefined) streams.leaveFeed(this.#principal.actor.id, this);
    this.hasFeed = false;
    this.#settleDrainWaiters();
  }

  /** Releases waiters whose bytes have left. A closed socket counts as drained. */
  #settleDrainWaiters(): void {
    this.#drainWaiters?.settle(this.bufferedBytes);
    if (this.#drainWaiters?.empty === true) this.#drainWaiters = undefined;
  }
}

const SENT = 1;
