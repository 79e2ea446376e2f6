import { randomBytes } from 'node:crypto';
import type { TraceContext } from '@parley/protocol/traceparent.ts';
import { versionFor } from '@parley/protocol/versions.ts';
import type { Connection, ExchangeLimits } from '../../platform/http/connection.ts';
import type { ExchangeHost } from '../../platform/http/exchange.ts';
import { Exchange } from '../../platform/http/exchange.ts';
import { HeldAnswers } from '../../platform/http/held-answers.ts';
import { headOf } from '../../platform/http/request-head.ts';
import { unlessAborted } from '../../platform/lifecycle.ts';
import type { Principal } from '../access/principal.ts';
import type { Endpoint } from './endpoint.ts';
import type { Http } from './pipeline.ts';
import { RequestRun } from './request-run.ts';
import type { Route } from './route.ts';
import type { Match } from './router.ts';
import type { Entrance } from './run-host.ts';

/** A request that did not come over the network. */
export interface InProcessRequest {
  /** The only endpoint that may answer; paths of other endpoints are not found. */
  readonly route: Pick<Route, 'name' | 'method' | 'since'>;
  /** Percent-encoded, as in a URL. */
  readonly path: string;
  /** Without `?`. */
  readonly query: string;
  /** JSON; '' if there is none. */
  readonly body: string;
  /** Authenticated by the code that makes the request. */
  readonly principal: Principal;
  readonly idempotencyKey: string | undefined;
  /** The run of the agent that makes the request; undefined for other callers. */
  readonly runId: string | undefined;
  /** The trace of that run or caller. */
  readonly trace: TraceContext | undefined;
}

export interface InProcessAnswer {
  readonly status: number;
  /** JSON. */
  readonly text: string;
}

/**
 * The API without a connection: a request takes the same steps in the same order as a request from
 * the network (request-run.ts), except the limit by address and the reading of a credential.
 */
export class InProcess {
  readonly #http: Http;
  readonly #host: ExchangeHost;
  readonly #idPrefix = `req_${randomBytes(9).toString('base64url')}`;
  #requests = 0;

  /** `limits` are the limits of the server beside it. */
  constructor(http: Http, limits: ExchangeLimits) {
    this.#http = http;
    // An exchange ends here before its clock would be checked.
    const held = new HeldAnswers({
      perCredential: Number.POSITIVE_INFINITY,
      total: Number.POSITIVE_INFINITY,
    });
    this.#host = { limits, held, draining: false, closed: 0, enter() {}, watch() {}, finished() {} };
  }

  /** Resolves with the answer or refusal; rejects only with the reason of `signal`. */
  async call(request: InProcessRequest, signal: AbortSignal): Promise<InProcessAnswer> {
    signal.throwIfAborted();
    const { promise, resolve } = Promise.withResolvers<InProcessAnswer>();
    const exchange = this.#run(request, new MemoryConnection(resolve));
    try {
      return await unlessAborted(promise, signal);
    } finally {
      // A change that has begun goes on, because its effect does not depend on a waiting caller. An
      // answer that waits for events ends.
      exchange.clientGone();
    }
  }

  #run(request: InProcessRequest, connection: MemoryConnection): Exchange {
    const bytes = Buffer.from(request.body);
    this.#requests += 1;
    const id = this.#idPrefix + this.#requests.toString(36);
    const exchange = new Exchange(this.#host, connection, headFor(request, bytes.length), id);
    new RequestRun(this.#http, exchange, entranceOf(request, this.#http)).begin();
    exchange.receive(new Uint8Array(bytes).buffer, true);
    exchange.leaveLibrary();
    return exchange;
  }
}

function entranceOf({ route, principal, runId }: InProcessRequest, http: Http): Entrance {
  return {
    authenticator: { authenticate: () => principal },
    find: (path) => only(route, http.find(path)),
    principal,
    ...(runId !== undefined && { runId }),
  };
}

/** Returns a match of this route only: an id that spells a fixed segment would match another. */
function only({ name, method }: InProcessRequest['route'], match: Match<Endpoint> | undefined) {
  return match?.byMethod.get(method)?.route.route.name === name ? match : undefined;
}

function headFor(
  { route, path, query, principal, idempotencyKey, trace }: InProcessRequest,
  contentLength: number,
) {
  const [version, account] = [versionFor(route.since), principal.accountId];
  return headOf({
    method: route.method,
    path,
    query,
    version,
    account,
    idempotencyKey,
    trace,
    contentLength,
  });
}

/** Takes at once everything that an exchange writes. */
class MemoryConnection implements Connection {
  readonly #answered: (answer: InProcessAnswer) => void;
  #status = 0;
  #written = '';

  constructor(answered: (answer: InProcessAnswer) => void) {
    this.#answered = answered;
  }

  writeStatus(status: string): void {
    this.#status = Number.parseInt(status, 10);
  }

  writeHeader(): void {}

  write(piece: Buffer): boolean {
    this.#written += piece.toString();
    return true;
  }

  end(body: string | Buffer): void {
    this.#answered({ status: this.#status, text: this.#written + body.toString() });
  }

  endWithoutBody(): void {
    this.end('');
  }

  tryEnd(body: string | Buffer): [boolean, boolean] {
    this.end(body);
    return [true, true];
  }

  cork(write: () => void): void {
    write();
  }

  getRemoteAddressAsText(): ArrayBuffer {
    return new ArrayBuffer(0);
  }

  getWriteOffset(): number {
    return 0;
  }

  onWritable(): void {}

  pause(): void {}

  resume(): void {}

  close(): void {}
}
