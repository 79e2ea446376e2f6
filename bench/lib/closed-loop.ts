export interface ClosedLoopOptions {
  readonly port: number;
  readonly connections: number;
  readonly durationMs: number;
  /** Shared by all connections, or by connection. */
  readonly headers: Headers | ((connection: number) => Headers);
  /**
   * The path of a connection, which stays the same: building requests again costs the generator
   * more than sending them.
   */
  readonly path: (connection: number) => string;
  /** JSON with UNIQUE in it once, which each request replaces by a unique number. Without: GET. */
  readonly body?: string;
}

type Headers = Readonly<Record<string, string>>;

export interface ClosedLoopReport {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Every request that was answered, also before the counting began. */
  readonly answered: number;
}

/** Time that connections get before the counting begins. */
export const SETTLE_MS = 300;

export function headersOf({ headers }: ClosedLoopOptions, connection: number): Headers {
  return typeof headers === 'function' ? headers(connection) : headers;
}
