/** Postgres does not answer: the request may be sent again later, nothing is wrong with it. */
export class DatabaseUnavailableError extends Error {
  override readonly name = 'DatabaseUnavailableError';
}

/**
 * Whether `error` says that Postgres, or the way to it, is away or overloaded, rather than that a statement
 * is wrong. It may be the driver's own error or wrapped (`cause`). Whether the statement was carried out is
 * unknown: the connection may have died after it was sent.
 */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof DatabaseUnavailableError) return true;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (UNAVAILABLE_CODE.test(code) || UNAVAILABLE_MESSAGE.test(error.message)) return true;
  if (error instanceof AggregateError && error.errors.some(isUnavailable)) return true;
  return isUnavailable(error.cause);
}

/** The SQLSTATE or code of a socket that an error has, by itself or in what caused it; '' where there is none. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return codeOf(error.cause);
}

/** The same error, or a DatabaseUnavailableError around it. */
export function wrapUnavailable(error: unknown): unknown {
  if (!isUnavailable(error) || error instanceof DatabaseUnavailableError) return error;
  return new DatabaseUnavailableError(`Postgres is unavailable: ${(error as Error).message}`, {
    cause: error,
  });
}

/**
 * Sockets: E… · SQLSTATE: 08 connection, 53 disk full, out of memory, too many connections, 57014 a statement over its time,
 * 57P01–57P05 shut down, crashed, starting, database dropped, session idle too long.
 */
const UNAVAILABLE_CODE =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|08...|53...|57014|57P0[1-5])$/;

/** What pg 8.23 and pg-pool say without a code, see their client.js and index.js. */
const UNAVAILABLE_MESSAGE =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end|driver has already been destroyed)/;
