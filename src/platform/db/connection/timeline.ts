/**
 * SQL: the timeline that a primary writes, from the name of its file of the log. The timeline of
 * the last checkpoint lags behind a promotion by minutes.
 */
export const TIMELINE = `('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer`;

/** SQL: whether the server takes changes. */
export const IS_WRITABLE = "current_setting('transaction_read_only') = 'off' AS is_writable";

/** SQL: the columns of ServerState. */
export const READ_STATE = `
  (SELECT system_identifier FROM pg_control_system())::text AS cluster,
  ${IS_WRITABLE},
  CASE WHEN pg_is_in_recovery() THEN 0 ELSE ${TIMELINE} END AS timeline`;

/** A server's answer about itself. */
export interface ServerState {
  /** Equal for a primary, its standbys, and what they become. */
  readonly cluster: string;
  readonly is_writable: boolean;
  /** Raised by each promotion; 0 for a standby. */
  readonly timeline: number;
}

/**
 * The latest timeline that this process has seen a primary write. A primary of an earlier one was
 * stopped, or cut off, while another server was promoted, and must not be used again.
 */
export class LatestTimeline {
  readonly #onRaised: (() => void)[] = [];
  #cluster: string | undefined;
  #timeline = 0;

  get timeline(): number {
    return this.#timeline;
  }

  /** Calls `listener` when a later timeline is seen. */
  onRaised(listener: () => void): void {
    this.#onRaised.push(listener);
  }

  /** Takes note of a server, and returns whether it is the primary as far as this process knows. */
  admits({ cluster, is_writable: isWritable, timeline }: ServerState): boolean {
    if (!isWritable) return false;
    this.#cluster ??= cluster;
    if (cluster !== this.#cluster || timeline < this.#timeline) return false;
    if (timeline > this.#timeline) {
      this.#timeline = timeline;
      for (const listener of this.#onRaised) listener();
    }
    return true;
  }
}
