import type { InboxSummary } from '@parley/protocol/resources/inbox.ts';
import type { FollowHost } from '../live/follow-host.ts';
import { CONVERSATIONS } from '../rest/paths.ts';

export interface SummaryListener {
  changed(summary: InboxSummary): void;
  /** Called when a snooze ends by its time, without an event. */
  snoozeEnded(): void;
}

/**
 * The counts over all conversations, which `inbox.updated` brings. They are requested where that
 * event may be missing, and after each change for customers, who do not receive it.
 */
export class FollowedSummary {
  readonly #host: Pick<FollowHost, 'fetch' | 'timing'>;
  readonly #listener: SummaryListener;
  #summary: InboxSummary | undefined;
  #isSent = false;
  #stopAsking: (() => void) | undefined;
  #stopSnooze: (() => void) | undefined;
  #isClosed = false;

  constructor(host: Pick<FollowHost, 'fetch' | 'timing'>, listener: SummaryListener) {
    this.#host = host;
    this.#listener = listener;
  }

  /** Times of the last messages in the first conversations, by their ids. */
  get latest(): ReadonlyMap<string, string> {
    return new Map(this.#summary?.latest.map((one) => [one.conversation_id, one.activity_at]));
  }

  /** Takes the data of `inbox.updated`. Returns false unless they are newer than the known ones. */
  receive(summary: InboxSummary): boolean {
    this.#isSent = true;
    return this.#take(summary);
  }

  /** Asks the server; the next event makes up for a failure. */
  ask(): void {
    this.#stopAsking?.();
    this.#stopAsking = undefined;
    this.#host.fetch<InboxSummary>(`${CONVERSATIONS}/summary`).then(
      (summary) => this.#take(summary),
      () => {},
    );
  }

  /** Asks for the counts if their event does not follow a change within moments. */
  mayHaveChanged(): void {
    if (!this.#isSent) this.#stopAsking ??= this.#host.timing.after(PATIENCE_MS, () => this.ask());
  }

  close(): void {
    this.#isClosed = true;
    this.#stopAsking?.();
    this.#stopSnooze?.();
  }

  #take(summary: InboxSummary): boolean {
    if (this.#isClosed || (this.#summary !== undefined && summary.as_of <= this.#summary.as_of)) return false;
    this.#summary = summary;
    this.#stopSnooze?.();
    const { snooze_ends_at: end, as_of: now } = summary;
    if (end) {
      const ms = Math.max(0, Date.parse(end) - Date.parse(now)) + LATER_MS;
      this.#stopSnooze = this.#host.timing.after(Math.min(ms, LONGEST_MS), () =>
        this.#listener.snoozeEnded(),
      );
    }
    this.#listener.changed(summary);
    return true;
  }
}

/** Longer than the time within which `inbox.updated` comes. */
const PATIENCE_MS = 3_000;
/** A margin for Postgres's clock to pass the end too. */
const LATER_MS = 500;
/** A day: timers count to 24 days. */
const LONGEST_MS = 86_400_000;
