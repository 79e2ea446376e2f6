import type { ServerFrame } from '@parley/protocol/socket/server-frames.ts';
import type { SocketLimits } from '@parley/protocol/socket/socket-limits.ts';
import { Loop } from '../../../platform/lifecycle.ts';

/** An object with deadlines: a session. */
export interface Timed {
  /** The tick of its next deadline, or 0 without one. Set by Heartbeats. */
  tick: number;
  /**
   * Does the work due at `nowMs` (of `Heartbeats.nowMs`) and returns when it is due next, or
   * Infinity for never. It may be called too early, so it must compare. Must not throw.
   */
  due(nowMs: number): number;
}

export interface HeartbeatsOptions {
  readonly limits: SocketLimits;
  /** The resume cursor for pings. */
  readonly cursor: () => string;
  readonly onError: (error: unknown) => void;
}

/**
 * All deadlines of all sockets on one timer, because a timer for each would cost more than the
 * socket (bench/README.md, P8). A session is in the slot of the tick at which it is due next. Only
 * its latest entry counts; a replaced one is skipped when its tick comes.
 */
export class Heartbeats {
  /** Milliseconds by which a deadline may be noticed late. */
  readonly tickMs: number;
  readonly #cursor: () => string;
  readonly #slots = new Map<number, Timed[]>();
  readonly #loop: Loop;
  #lastTick: number;
  #ping: { readonly atMs: number; readonly bytes: Buffer } | undefined;

  constructor({ limits, cursor, onError }: HeartbeatsOptions) {
    const shortestMs = Math.min(limits.heartbeatMs, limits.pongMs, limits.authenticateMs, limits.cutMs);
    this.tickMs = Math.max(5, Math.min(MAX_TICK_MS, Math.floor(shortestMs / 8)));
    this.#cursor = cursor;
    this.#lastTick = this.#tickAt(this.nowMs());
    this.#loop = new Loop({
      intervalMs: this.tickMs,
      run: async () => this.#round(),
      rests: () => this.#slots.size === 0,
      onError,
    });
  }

  /** Returns whole milliseconds of a clock that never goes back; objects hold these unboxed. */
  nowMs(): number {
    return Math.floor(performance.now());
  }

  /** Calls `timed.due` at `atMs` or a tick later. An earlier entry stays. */
  schedule(timed: Timed, atMs: number): void {
    const tick = Math.max(this.#tickAt(atMs), this.#lastTick + 1);
    if (timed.tick > this.#lastTick && timed.tick <= tick) return;
    timed.tick = tick;
    const slot = this.#slots.get(tick);
    if (slot !== undefined) slot.push(timed);
    else {
      this.#slots.set(tick, [timed]);
      this.#loop.stir();
    }
  }

  /**
   * Returns the present heartbeat. It is encoded once for all sessions of a round without `heads`
   * of their own or an earlier cursor (heartbeat-cursor.ts).
   */
  ping(nowMs: number, heads?: Readonly<Record<string, number>>, held?: string): Buffer {
    if (heads !== undefined || held !== undefined) return this.#encode({ ...heads }, held);
    if (this.#ping?.atMs !== nowMs) this.#ping = { atMs: nowMs, bytes: this.#encode({}) };
    return this.#ping.bytes;
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  #round(): void {
    const nowMs = this.nowMs();
    const lastTick = Math.floor(nowMs / this.tickMs);
    while (this.#lastTick < lastTick) {
      const tick = ++this.#lastTick;
      const slot = this.#slots.get(tick);
      if (slot === undefined) continue;
      this.#slots.delete(tick);
      for (const timed of slot) {
        if (timed.tick !== tick) continue;
        timed.tick = 0;
        const nextMs = timed.due(nowMs);
        if (nextMs !== Number.POSITIVE_INFINITY) this.schedule(timed, nextMs);
      }
    }
  }

  #encode(heads: Record<string, number>, cursor = this.#cursor()): Buffer {
    const frame: ServerFrame = { type: 'ping', t: Date.now(), cursor, heads };
    return Buffer.from(JSON.stringify(frame));
  }

  #tickAt(ms: number): number {
    return Math.ceil(ms / this.tickMs);
  }
}

const MAX_TICK_MS = 250;
