import type { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { HttpResponse } from '../../platform/http/connection.ts';
import type { Exchange } from '../../platform/http/exchange.ts';
import type { AllowedOrigins } from '../../platform/http/origins.ts';
import type { KeyedQueue } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import type { Whereabouts } from '../access/account-moves.ts';
import type { Authenticator } from '../access/authenticate.ts';
import type { ExternalIds } from '../access/external-ids.ts';
import type { Idempotency } from '../access/idempotency.ts';
import type { OperatorKeys } from '../access/operator-keys.ts';
import type { Principal } from '../access/principal.ts';
import type { RateState } from '../access/rate-window.ts';
import type { CursorSeal } from './cursor-seal.ts';
import type { Endpoint } from './endpoint.ts';
import type { ErrorMapper } from './failure.ts';
import type { AnsweredRequest } from './request-log.ts';
import type { Scarce } from './route.ts';
import type { Match } from './router.ts';

/** The parts of the server that checks and handlers use; absent if switched off. */
export interface RunParts {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  /** Reads keys at the paths of operators. */
  readonly operatorKeys?: Pick<OperatorKeys, 'authenticate'>;
  readonly whereabouts?: Pick<Whereabouts, 'explain'>;
  /** Counts by credential. */
  readonly limiter?: Limiter;
  /** Counts by address, before authentication. Omit if unlimited: reading an address costs time. */
  readonly addressLimiter?: Limiter;
  /** Count by address, for endpoints that are `scarce`. */
  readonly scarceLimiters?: Readonly<Record<Scarce, Limiter>>;
  /** Replace `limiter` and `addressLimiter` for endpoints that are `polls`. */
  readonly pollLimiters?: {
    /** Counts by actor. */
    readonly actors: Limiter;
    /** Counts by address, before authentication. */
    readonly addresses: Limiter;
  };
  readonly idempotency?: Pick<Idempotency, 'begin'>;
  readonly externalIds?: ExternalIds;
  /** Opens the transactions of changes. */
  readonly database: Pick<Database, 'transaction'>;
  readonly log: Logger;
}

/** The way that a request comes in: the network, or this process itself. */
export interface Entrance extends Pick<RunParts, 'authenticator' | 'addressLimiter'> {
  /** Returns undefined if there is nothing at this path. */
  find(path: string): Match<Endpoint> | undefined;
  /** Present if the caller is known before its request is checked. */
  readonly principal?: Principal;
  /** The run of the agent that makes the request. */
  readonly runId?: string;
}

export interface RunHost {
  readonly parts: RunParts;
  /** Turns of changes, by caller and path. */
  readonly changeQueue: KeyedQueue;
  /** Turns at the pool, by credential. */
  readonly connectionQueue: KeyedQueue;
  readonly origins: AllowedOrigins;
  readonly failures: ErrorMapper;
  readonly cursors: CursorSeal;
  answer(exchange: Exchange, outgoing: HttpResponse, request: AnsweredRequest): void;
  answerError(exchange: Exchange, error: ApiError, request: AnsweredRequest): void;
}

/** Throws, or rejects with, ApiError `rate_limit_exceeded`; returns undefined if unlimited. */
export interface Limiter {
  /** Requests per window, for RateLimit-Limit in a refusal. */
  readonly limit?: number;
  consume(key: string): RateState | Promise<RateState> | undefined;
}
