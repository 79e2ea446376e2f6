import { ApiError } from '@parley/protocol/errors/errors.ts';
import { wireTime } from '@parley/protocol/json/canonical-json.ts';
import type { NodeOptions } from '../options.ts';
import type { PresenceRecord } from '../presence/presence-record.ts';
import type { Handshake } from '../session/handshake.ts';
import { Session, type SessionHost } from '../session/session.ts';
import type { Wire } from '../session/session-state.ts';
import type { Fanout } from '../stream/fanout.ts';

export interface OpenSessionsOptions
  extends Omit<SessionHost, 'gapped' | 'ended'>,
    Pick<NodeOptions, 'metrics'> {
  readonly fanout: Pick<Fanout, 'gapped'>;
  readonly record: Pick<PresenceRecord, 'left'>;
}

/** Opens the sessions of this node, whatever carries them, and sends them away when it stops. */
export class OpenSessions {
  readonly #options: OpenSessionsOptions;
  readonly #host: SessionHost;
  /** Undefined while the node serves. */
  #draining: Draining | undefined;
  #emptied: (() => void) | undefined;

  constructor(options: OpenSessionsOptions) {
    this.#options = options;
    const { heartbeats, heartbeatCursors, sessions, streams, fanout, record, limits, metrics, log } = options;
    this.#host = {
      limits,
      log,
      heartbeats,
      heartbeatCursors,
      sessions,
      streams,
      gapped: (session) => fanout.gapped(session),
      ended: (session, reason) => {
        sessions.closed(session);
        record.left(session);
        metrics.socketsOpen.dec();
        if (reason !== undefined) metrics.socketsClosed.inc({ reason });
        if (sessions.size === 0) this.#emptied?.();
      },
    };
  }

  /** Throws ApiError `service_unavailable` once the node drains. */
  requireServing(): void {
    if (this.#draining === undefined) return;
    throw new ApiError('service_unavailable', 'This node is stopping. Connect again.', { retryAfterS: 1 });
  }

  /** Opens a session, which is not greeted yet. */
  open(wire: Wire, handshake: Pick<Handshake, 'version' | 'account'>): Session {
    const { sessions, metrics } = this.#options;
    const session = new Session(wire, handshake, this.#host);
    sessions.opened(session);
    metrics.socketsOpen.inc();
    metrics.socketsOpened.inc();
    return session;
  }

  /**
   * Sends the first frame, and `goaway` if the node has begun to drain since it let the client in.
   */
  greet(session: Session): void {
    const { limits } = this.#options;
    session.sendFrame({
      type: 'hello',
      connection_id: session.id,
      server_time: wireTime(Date.now()),
      heartbeat_ms: limits.heartbeatMs,
      max_frame_bytes: limits.frameBytes,
    });
    if (this.#draining !== undefined) this.#sendAway(session, this.#draining, 0);
  }

  /**
   * Sends `goaway` (docs/realtime.md#guarantees, 5): every session gets its own share of a period
   * in which to reconnect elsewhere, new ones are refused, and those left after `drainMs` are
   * closed with 4000. Resolves when no session is left, or a second after that, so that clients
   * that do not read do not delay the end of the process.
   */
  async drain(reason: string, drainMs: number): Promise<void> {
    const { sessions } = this.#options;
    const draining = { reason, drainMs };
    this.#draining = draining;
    const spreadMs = Math.min(SPREAD_MS, drainMs / 2);
    const open = [...sessions.all()];
    for (const [index, session] of open.entries()) {
      // Each session has its own interval: chance alone makes heaps twice as high as the mean.
      this.#sendAway(session, draining, ((index + Math.random()) * spreadMs) / open.length);
    }
    await this.#untilEmpty(drainMs);
    for (const session of [...sessions.all()]) session.close('going_away');
    await this.#untilEmpty(LAST_WORDS_MS);
  }

  #sendAway(session: Session, { reason, drainMs }: Draining, inMs: number): void {
    session.sendFrame({ type: 'goaway', reconnect_in_ms: Math.floor(inMs), deadline_ms: drainMs, reason });
  }

  #untilEmpty(timeoutMs: number): Promise<void> {
    if (this.#options.sessions.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#emptied = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

interface Draining {
  readonly reason: string;
  readonly drainMs: number;
}

/** The period over which reconnects are spread (docs/realtime.md#guarantees, 5). */
const SPREAD_MS = 5_000;
/** The time for the close frames of sessions that still read. */
const LAST_WORDS_MS = 1_000;
