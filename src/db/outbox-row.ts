/** An event that is true and whose effects may not have happened yet. */
export interface OutboxRow {
  readonly id: number;
  readonly topic: string;
  readonly payload: unknown;
  readonly attempts: number;
}

/** What a transaction under way has put into the outbox. */
export interface OutboxRecord {
  readonly rows: OutboxRow[];
  /**
   * Whether this process handles the rows after the commit. A process that does not (a command outside any node)
   * leaves them to whichever node sweeps next.
   */
  readonly isHandledHere: boolean;
}
