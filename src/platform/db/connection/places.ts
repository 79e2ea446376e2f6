import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { Querier } from './handle.ts';
import { statement } from './statement.ts';

/** The limits of Postgres that a connection counts towards. */
export type LimitedBy = 'server' | 'database' | 'role';

/** A limit of connections that is reached. */
export interface ReachedLimit {
  /** Whose limit it is: `max_connections`, or that of the database or the role. */
  readonly limited_by: LimitedBy;
  /** The most connections; null if it was never read. */
  readonly limit: number | null;
  /** The connections when they were counted last; null if they never were. */
  readonly used: number | null;
}

interface Counted {
  readonly limited_by: LimitedBy;
  /** Null for no limit. */
  readonly limit: number | null;
  readonly used: number;
}

export interface PlacesOptions {
  readonly log: Logger;
  readonly metrics?: Pick<Metrics, 'postgresConnections' | 'postgresConnectionLimit'> | undefined;
  /** Called when refusals count as over. */
  readonly onOver: () => void;
}

/** Remembers for a minute that Postgres has refused a connection, and which limit is reached. */
export class Places {
  readonly #options: PlacesOptions;
  #counted: readonly Counted[] = [];
  #reached: LimitedBy | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PlacesOptions) {
    this.#options = options;
  }

  /** The limit by which Postgres has refused a connection within the last minute. */
  get reached(): ReachedLimit | undefined {
    const limited_by = this.#reached;
    if (limited_by === undefined) return undefined;
    const { limit = null, used = null } = this.#counted.find((one) => one.limited_by === limited_by) ?? {};
    return { limited_by, limit, used };
  }

  get isReached(): boolean {
    return this.#reached !== undefined;
  }

  /** The limits, the lowest first; empty before they were read. */
  get limits(): readonly { readonly limited_by: LimitedBy; readonly limit: number }[] {
    return this.#counted
      .flatMap(({ limited_by, limit }) => (limit === null ? [] : { limited_by, limit }))
      .sort((a, b) => a.limit - b.limit);
  }

  /** Notes a refusal. `querier` counts the connections, if it can. */
  refused(error: unknown, querier: Querier): void {
    const isFirst = this.#reached === undefined;
    this.#reached = limitedBy(error);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.forget(), REMEMBERED_MS);
    this.#timer.unref();
    if (!isFirst) return;
    void this.count(querier)
      .catch(() => {})
      .then(() => this.#options.log.warn({ ...this.reached }, NO_PLACE));
  }

  /** Counts the connections, and reads the limits. Rejects as `querier` does. */
  async count(querier: Querier): Promise<void> {
    const rows = await querier.query(LIMITS);
    this.#counted = rows.map((row) => ({ ...row, limit: row.limit < 0 ? null : row.limit }));
    const { postgresConnections, postgresConnectionLimit } = this.#options.metrics ?? {};
    for (const { limited_by, limit, used } of this.#counted) {
      if (limit === null) continue;
      postgresConnections?.set({ limited_by }, used);
      postgresConnectionLimit?.set({ limited_by }, limit);
    }
  }

  /** Ends the minute. */
  forget(): void {
    clearTimeout(this.#timer);
    if (this.#reached === undefined) return;
    this.#reached = undefined;
    this.#options.onOver();
  }
}

/**
 * Returns whose limit a refusal is about, by the function of Postgres that made it: the message is
 * in the language of the server.
 */
function limitedBy(error: unknown): LimitedBy {
  if (!(error instanceof Error)) return 'server';
  if (!('routine' in error)) return limitedBy(error.cause);
  if (error.routine === 'InitializeSessionUserId') return 'role';
  return error.routine === 'CheckMyDatabase' ? 'database' : 'server';
}

/** Milliseconds. Nothing says when there is room again. */
const REMEMBERED_MS = 60_000;
const NO_PLACE = 'Postgres refuses further connections of this node';

/** A limit is negative where there is none. Places that are kept for superusers do not count. */
const LIMITS = statement<[], { limited_by: LimitedBy; limit: number; used: number }>('connection-limits')`
  SELECT 'server' AS limited_by,
    current_setting('max_connections')::int
      - current_setting('superuser_reserved_connections')::int
      - COALESCE(current_setting('reserved_connections', true)::int, 0) AS limit,
    (SELECT count(*)::int FROM pg_stat_activity WHERE usesysid IS NOT NULL) AS used
  UNION ALL
  SELECT 'database', datconnlimit,
    (SELECT count(*)::int FROM pg_stat_activity WHERE datid = oid AND usesysid IS NOT NULL)
  FROM pg_database WHERE datname = current_database()
  UNION ALL
  SELECT 'role', rolconnlimit, (SELECT count(*)::int FROM pg_stat_activity WHERE usesysid = oid)
  FROM pg_roles WHERE rolname = session_user`;
