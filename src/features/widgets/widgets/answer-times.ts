import type { AnswerTime } from '@parley/protocol/resources/widget.ts';
import { LRUCache } from 'lru-cache';
import { bounded } from '../../../platform/bounded.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { standingAt } from './hours.ts';
import type { WidgetRow } from './widget-store.ts';

/** Measures how long the first answers of a widget usually take, once an hour. */
export class AnswerTimes {
  readonly #database: Database;
  readonly #kept: LRUCache<string, { readonly time: AnswerTime | null }, MeasuredWidget>;

  constructor(database: Database) {
    this.#database = database;
    this.#kept = new LRUCache({
      ...bounded(MAX_WIDGETS),
      ttl: HOUR_MS,
      fetchMethod: async (_id, _stale, { context }) => ({ time: await this.#measure(context) }),
    });
  }

  /** Returns null for more than a day, and where too few conversations show it. */
  async of(widget: MeasuredWidget): Promise<AnswerTime | null> {
    return (await this.#kept.forceFetch(widget.id, { context: widget })).time;
  }

  async #measure({ id, account_id, hours }: MeasuredWidget): Promise<AnswerTime | null> {
    const rows = await this.#database.query(READ_FIRST_ANSWERS, account_id, id);
    return answerTimeOf(rows, hours, Date.now());
  }
}

type MeasuredWidget = Pick<WidgetRow, 'id' | 'account_id' | 'hours'>;

/** The first message of a customer, and the first answer to it, or null. */
export interface FirstAnswer {
  readonly asked_at: string;
  readonly answered_at: string | null;
}

/**
 * Returns the median of the waiting times within the hours, as a bucket. A question without an
 * answer counts once it is older than a day.
 */
export function answerTimeOf(
  answers: readonly FirstAnswer[],
  hours: WidgetRow['hours'],
  nowMs: number,
): AnswerTime | null {
  const waits = answers
    .flatMap(({ asked_at, answered_at }) => {
      const askedMs = Date.parse(asked_at);
      if (answered_at === null) return nowMs - askedMs > DAY_MS ? Number.POSITIVE_INFINITY : [];
      const { opens_at } = standingAt(hours, askedMs);
      return Math.max(0, Date.parse(answered_at) - (opens_at === null ? askedMs : Date.parse(opens_at)));
    })
    .sort((one, other) => one - other);
  if (waits.length < MIN_CONVERSATIONS) return null;
  const median = waits[Math.floor(waits.length / 2)]!;
  return BUCKETS.find(({ upToMs }) => median <= upToMs)?.time ?? null;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const BUCKETS: readonly { readonly time: AnswerTime; readonly upToMs: number }[] = [
  { time: 'minutes', upToMs: 5 * MINUTE_MS },
  { time: 'hour', upToMs: HOUR_MS },
  { time: 'day', upToMs: DAY_MS },
];
const MIN_CONVERSATIONS = 5;
const MAX_WIDGETS = 1_000;

/** Bounded in each part, because a visitor without a credential can cause it. */
const READ_FIRST_ANSWERS = statement<[accountId: string, widgetId: string], FirstAnswer>(
  'read-first-answers-of-widget',
)`
    SELECT asked.created_at AS asked_at, answered.created_at AS answered_at
    FROM (SELECT id, widget_id, workflow_status FROM conversations
        WHERE account_id = $1 AND created_at > clock_timestamp() - interval '28 days'
          AND deleted_at IS NULL
        ORDER BY created_at DESC LIMIT 1000) c
      CROSS JOIN LATERAL (SELECT m.sequence, m.created_at
        FROM messages m JOIN actors a ON a.id = m.author_id AND a.customer
        WHERE m.conversation_id = c.id AND m.sequence <= 50
        ORDER BY m.sequence LIMIT 1) asked
      LEFT JOIN LATERAL (SELECT m.created_at
        FROM messages m JOIN actors a ON a.id = m.author_id AND NOT a.customer
        WHERE m.conversation_id = c.id AND m.visibility = 'external'
          AND m.sequence > asked.sequence AND m.sequence <= asked.sequence + 50
        ORDER BY m.sequence LIMIT 1) answered ON true
    WHERE c.widget_id = $2 AND (answered.created_at IS NOT NULL OR c.workflow_status <> 'resolved')
    LIMIT 100`;
