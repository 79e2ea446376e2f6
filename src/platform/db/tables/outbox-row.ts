/** A committed event whose effects may not have happened yet. */
export interface OutboxRow {
  readonly id: number;
  readonly topic: string;
  readonly payload: unknown;
  readonly attempts: number;
}

/** The outbox rows of an open transaction. */
export interface OutboxRecord {
  readonly rows: OutboxRow[];
  /** Whether this process handles the rows after the commit; else (in a command) a sweep does. */
  readonly isHandledHere: boolean;
}
