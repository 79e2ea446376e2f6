import type { HttpRequest, HttpResponse, us_socket_context_t, WebSocket } from 'uWebSockets.js';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { SocketLimits } from '@parley/protocol/socket/socket-limits.ts';
import { requireAccount, requireSubscription } from '../../../api/access/authorize.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { deprecationHeaders } from '../../../api/pipeline/spoken-version.ts';
import type { RequestHead } from '../../../platform/http/request-head.ts';
import type { NodeOptions } from '../options.ts';
import type { Admission } from '../session/admission.ts';
import { type Handshake, readHandshake, spokenIn } from '../session/handshake.ts';
import { Session } from '../session/session.ts';
import type { Commands } from './commands.ts';
import type { OpenSessions } from './open-sessions.ts';
import type { Tickets } from './tickets.ts';
import { UpgradeCork } from './upgrade-cork.ts';

export interface SocketServerOptions
  extends Pick<
    NodeOptions,
    'http' | 'refuse' | 'authenticator' | 'whereabouts' | 'rateLimits' | 'origins' | 'limits' | 'metrics'
  > {
  readonly tickets: Pick<Tickets, 'redeem'>;
  readonly openSessions: OpenSessions;
  readonly admission: Admission;
  readonly commands: Commands;
}

/**
 * `GET /v1/realtime`: turns an upgrade request into a session, and the callbacks of uWebSockets.js
 * into calls of its methods (docs/realtime.md#opening). uWS has one queue for each socket:
 * published and sent frames, small and large, leave in the order of the calls.
 */
export class SocketServer {
  readonly #options: SocketServerOptions;
  readonly #cork = new UpgradeCork();

  constructor(options: SocketServerOptions) {
    this.#options = options;
    const { limits } = options;
    options.http.ws<SocketData>('/v1/realtime', {
      maxPayloadLength: limits.frameBytes,
      // uWS skips sockets above this limit. It compares before a write: the last frame exceeds it.
      maxBackpressure: limits.durableBytes,
      // True would close with 1006, without the queued bytes and without a close frame.
      closeOnBackpressureLimit: false,
      // Heartbeats are our own frames, because browsers do not show pings. This timeout is for
      // clients that do not answer our FIN (uWS gives them up to 16 s), and a second net.
      idleTimeout: idleTimeoutS(limits),
      sendPingsAutomatically: false,
      // A compression context costs more than an idle socket may (bench/README.md, P7).
      compression: 0,
      upgrade: (res, req, context) => this.#upgrade(res, req, context),
      open: (ws) => this.#open(ws),
      message: (ws, bytes, isBinary) => this.#receive(sessionOf(ws), bytes, isBinary),
      // uWS has answered the ping.
      ping: (ws) => sessionOf(ws)?.countControlFrame(),
      pong: (ws) => sessionOf(ws)?.countControlFrame(),
      drain: (ws) => sessionOf(ws)?.wireDrained(),
      dropped: (ws) => sessionOf(ws)?.dropped(),
      close: (ws) => sessionOf(ws)?.wireClosed(),
    });
  }

  async close(): Promise<void> {
    await this.#cork.ready.catch(() => {});
    this.#cork.close();
  }

  /** Copies the request before it returns, because the library takes the request back then. */
  #upgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    const exchange = this.#options.http.receive(res, req);
    if (exchange === undefined) return;
    const key = req.getHeader('sec-websocket-key');
    const extensions = req.getHeader('sec-websocket-extensions');
    const protocolVersion = req.getHeader('sec-websocket-version');
    const ofVersion = deprecationHeaders(spokenIn(exchange.head));
    for (const [name, value] of ofVersion) exchange.setHeader(name, value);
    this.#admit(exchange.head, protocolVersion, exchange.readAddress()).then(
      (opening) => {
        // Runs in a turn of its own, outside of any call of the library. During this request's call
        // the connection is not known yet, and during another request's call the library takes the
        // upgrade for that request.
        setImmediate(() => {
          if (exchange.ended) return;
          this.#cork.run(res, () => {
            if (ofVersion.length > 0) res.writeStatus('101 Switching Protocols');
            for (const [name, value] of ofVersion) res.writeHeader(name, value);
            // No subprotocol is accepted.
            res.upgrade<SocketData>({ socket: opening }, key, '', extensions, context);
          });
          exchange.handOver();
        });
      },
      (error) => {
        this.#options.metrics.socketsRefused.inc({ reason: refusalOf(error) });
        this.#options.refuse(exchange, error);
      },
    );
  }

  /** Checks in the order of docs/contract.md#order-of-checks. Rejects with the error to answer. */
  async #admit(head: RequestHead, protocolVersion: string, address: string): Promise<Opening> {
    const { rateLimits, admission, origins, openSessions } = this.#options;
    await rateLimits.addresses.consume(address);
    openSessions.requireServing();
    if (protocolVersion !== '13') {
      throw new ApiError('parameter_invalid', 'Only version 13 of WebSocket is supported.', {
        param: 'Sec-WebSocket-Version',
      });
    }
    const handshake = readHandshake(head, origins);
    const { rightsRead } = admission;
    const principal = await this.#authenticate(handshake);
    if (principal !== undefined) {
      requireSubscription(principal);
      await rateLimits.credentials.consume(principal.credential.id);
      admission.requireRoom(principal.actor.id);
    }
    await this.#cork.ready;
    return { handshake, principal, rightsRead };
  }

  /** Returns undefined if the credential is left to an `authenticate` frame. */
  async #authenticate(handshake: Handshake): Promise<Principal | undefined> {
    const { ticket, account } = handshake;
    try {
      const principal = await this.#principalOf(handshake);
      // A ticket is bound to its account, so the handshake need not name it.
      if (principal !== undefined) requireAccount(principal, account ?? (ticket && principal.accountId));
      return principal;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw await this.#options.whereabouts.explain(error, account);
    }
  }

  async #principalOf({ authorization, ticket, account }: Handshake): Promise<Principal | undefined> {
    const { authenticator, tickets } = this.#options;
    if (ticket !== undefined) return authenticator.principalOf(await tickets.redeem(ticket));
    return authorization === undefined ? undefined : authenticator.authenticate(authorization, account);
  }

  #open(ws: WebSocket<SocketData>): void {
    const { openSessions, commands } = this.#options;
    const data = ws.getUserData();
    if (data.socket instanceof Session) return;
    const { handshake, principal, rightsRead } = data.socket;
    const { version, account } = handshake;
    const session = openSessions.open(ws, { version, account });
    data.socket = session;
    openSessions.greet(session);
    this.#cork.learn(ws);
    if (principal !== undefined) commands.admit(session, principal, rightsRead);
  }

  /**
   * Takes a message. uWS joins fragments, and by itself cuts, without a close frame, a text that is
   * not UTF-8 and a frame that is too long or breaks RFC 6455.
   */
  #receive(session: Session | undefined, bytes: ArrayBuffer, isBinary: boolean): void {
    if (session === undefined) return;
    if (isBinary) session.close('protocol_error');
    else this.#options.commands.receive(session, bytes);
  }
}

/** The user data, under one name, because uWS copies it key by key to its own object. */
interface SocketData {
  socket: Session | Opening;
}

interface Opening {
  readonly handshake: Handshake;
  readonly principal: Principal | undefined;
  readonly rightsRead: number;
}

function sessionOf(ws: WebSocket<SocketData>): Session | undefined {
  const { socket } = ws.getUserData();
  return socket instanceof Session ? socket : undefined;
}

/** Returns the condition of the answer; anything but an ApiError is answered with a 5xx. */
function refusalOf(error: unknown): string {
  return error instanceof ApiError ? error.condition : 'unavailable';
}

/** Returns the time limit in seconds: uWS accepts 0 or 8 to 960, and otherwise ends the process. */
function idleTimeoutS({ heartbeatMs, pongMs }: SocketLimits): number {
  return Math.min(960, Math.max(60, Math.ceil((2 * (heartbeatMs + pongMs)) / 1_000)));
}
