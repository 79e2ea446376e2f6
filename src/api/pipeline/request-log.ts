import type { ApiError } from '@parley/protocol/errors/errors.ts';
import { traceFields } from '@parley/protocol/traceparent.ts';
import type { Exchange } from '../../platform/http/exchange.ts';
import type { Logger } from '../../platform/log.ts';
import type { Principal } from '../access/principal.ts';
import { logFailure } from './failure.ts';

/** Facts for log and metrics, beside the request's head. */
export interface AnsweredRequest {
  /** The route's pattern, or `none`: callers make up paths without end. */
  readonly route: string;
  /** Undefined if the caller is unknown or not asked for. */
  readonly principal: Principal | undefined;
  /** The run of the agent that made the request. */
  readonly runId?: string | undefined;
}

/**
 * Logs one line per answered request (docs/operations.md, Logs and traces): `info` for changes and
 * refusals, `debug` for reads, and a warning or an error with the cause for failures of the server.
 * Lines never have text of a caller: no paths, queries, bodies or credentials.
 */
export class RequestLog {
  readonly #log: Logger;
  readonly #hasDebug: boolean;
  readonly #hasInfo: boolean;

  constructor(log: Logger) {
    this.#log = log;
    this.#hasDebug = log.isLevelEnabled('debug');
    this.#hasInfo = log.isLevelEnabled('info');
  }

  /** Writes a line. `error` is that of an answer with the error envelope. */
  write(exchange: Exchange, request: AnsweredRequest, status: number, ms: number, error?: ApiError): void {
    if (status >= 500 && error !== undefined) {
      if (logFailure(this.#log, error, fieldsOf(exchange, request, status, ms, error))) return;
    }
    const isInfo = status >= 400 || !READS.has(exchange.head.method);
    if (isInfo ? !this.#hasInfo : !this.#hasDebug) return;
    const fields = fieldsOf(exchange, request, status, ms, error);
    this.#log[isInfo ? 'info' : 'debug'](fields, 'request completed');
  }
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Returns the fields of a line, of which pino omits undefined ones. */
function fieldsOf(
  { id, head }: Exchange,
  { route, principal, runId }: AnsweredRequest,
  status: number,
  ms: number,
  error: ApiError | undefined,
) {
  return {
    method: head.method,
    route,
    status,
    ms: Math.round(ms * 10) / 10,
    request_id: id,
    // An open endpoint has a principal without an id (UNAUTHENTICATED).
    actor_id: principal?.actor.id || undefined,
    account_id: principal?.accountId || undefined,
    run_id: runId,
    error_code: error?.condition,
    ...traceFields(head.trace),
  };
}
