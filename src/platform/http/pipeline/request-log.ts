import type { ApiError } from '../../../contract/protocol/errors.ts';
import { traceFields } from '../../../contract/protocol/traceparent.ts';
import type { Principal } from '../../access/principal.ts';
import type { Logger } from '../../log.ts';
import type { Exchange } from '../connection/exchange.ts';
import { logFailure } from './failure.ts';

/** What the log and the metrics say of a request beside its head. */
export interface AnsweredRequest {
  /**
   * The pattern of its route: paths are made up by callers, and endless. `none` where no route was
   * found.
   */
  readonly route: string;
  /** Undefined where the caller is not known, or not asked for. */
  readonly principal: Principal | undefined;
  /** The run of an agent that made it. */
  readonly runId?: string | undefined;
}

/**
 * One line for each request that is answered (docs/operations.md, Logs and traces): `info` for
 * changes and refusals, `debug` for what was only read, and for failures of the server a warning or
 * an error with their cause. Never with text of a caller: no paths, queries, bodies or credentials.
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

  /** `error`: what the answer says, where it is the error envelope. */
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

/** Fields that are undefined are left out by pino. */
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
