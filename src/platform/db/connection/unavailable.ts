import pg from 'pg';

/** Postgres is unavailable. The request itself is fine and may be sent again later. */
export class DatabaseUnavailableError extends Error {
  override readonly name = 'DatabaseUnavailableError';
}

/**
 * Returns whether `error`, or a cause of it, means that Postgres or the connection is unavailable
 * or overloaded, not that a statement is wrong. It is unknown whether the statement was executed:
 * the connection may have died after it was sent.
 */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof DatabaseUnavailableError) return true;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === FENCED || UNAVAILABLE_CODE.test(code) || UNAVAILABLE_MESSAGE.test(error.message)) return true;
  // An absent or full Unix socket is ENOENT or EAGAIN, which mean other things in other calls.
  if ('syscall' in error && error.syscall === 'connect') return true;
  if (error instanceof AggregateError && error.errors.some(isUnavailable)) return true;
  return isUnavailable(error.cause);
}

/** Returns the SQLSTATE or socket code of an error or of one of its causes; '' if there is none. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return codeOf(error.cause);
}

/**
 * Returns whether Postgres refused a change of an account that is about to leave
 * (docs/operations.md#cells). Statements about others are not concerned.
 */
export function isFenced(error: unknown): boolean {
  return codeOf(error) === FENCED;
}

/** The SQLSTATE by which triggers refuse changes of an account that is about to leave. */
const FENCED = 'PYMVD';

/** Returns the same error, or a DatabaseUnavailableError around it. */
export function wrapUnavailable(error: unknown): unknown {
  if (!isUnavailable(error) || error instanceof DatabaseUnavailableError) return error;
  return new DatabaseUnavailableError(`Postgres is unavailable: ${(error as Error).message}`, {
    cause: error,
  });
}

/**
 * Sockets: E… · SQLSTATE: 08 connection, 25006 a server that is read-only, 53 disk full, out of
 * memory, too many connections, 57014 a statement over its time, 57P01–57P05 shut down, crashed,
 * starting, database dropped, session idle too long.
 */
const UNAVAILABLE_CODE =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|08...|25006|53...|57014|57P0[1-5])$/;

/** Messages of pg 8.23 and pg-pool for errors without a code; see their client.js and index.js. */
const UNAVAILABLE_MESSAGE =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end|driver has already been destroyed)/;

/**
 * SQLSTATE of a change that a standby refuses. Its connections must not be used again: behind an
 * address that led to it for a moment, new ones go to the primary.
 */
export const READ_ONLY = '25006';

/** SQLSTATE of a connection beyond a limit of the server, the database or the role. */
export const TOO_MANY = '53300';

/** SQLSTATE of a prepared statement whose columns a migration has changed; nothing was run. */
export const CACHED_PLAN_CHANGED = '0A000';

/** Returns whether Postgres rejected a row because of this unique key. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  if (!(error instanceof pg.DatabaseError) || error.code !== '23505') return false;
  return constraint === undefined || error.constraint === constraint;
}

/** A resource that Postgres has run out of (SQLSTATE class 53); reads may still work. */
export type ShortageKind = 'disk_full' | 'out_of_memory';

const KINDS: Readonly<Record<string, ShortageKind>> = {
  '53100': 'disk_full',
  '53200': 'out_of_memory',
};

/** Milliseconds without an error after which a shortage counts as over: nothing signals its end. */
const REMEMBERED_MS = 30_000;

/** Remembers the last shortage, for readiness checks. */
export class Shortage {
  #kind: ShortageKind | undefined;
  #recordedAtMs = Number.NEGATIVE_INFINITY;

  record(code: string): void {
    const kind = KINDS[code];
    if (kind === undefined) return;
    this.#kind = kind;
    this.#recordedAtMs = performance.now();
  }

  get current(): ShortageKind | undefined {
    return performance.now() - this.#recordedAtMs < REMEMBERED_MS ? this.#kind : undefined;
  }
}
