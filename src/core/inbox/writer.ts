import type { Database } from '../../platform/db/connection/database.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from '../../platform/db/queue/due-watch.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import type { Engine } from '../frames/engine.ts';
import type { InboxChange } from '../frames/frame.ts';
import type { CoreMetrics } from '../metrics.ts';
import type { Holdings } from '../resources/holdings.ts';
import { IS_MEMBER } from '../resources/membership.ts';
import { activityOf, isUnread, STANDING_COLUMNS, standingOf } from './standing.ts';

/** The writer and triggers remove rows with their conversations. */
export const inboxHoldings: Holdings = {
  tables: { conversation_activity: { account: 'content' }, inbox_rows: { account: 'content' } },
  async movePerson(tx, { from, to, conversationIds }) {
    await tx.query(MOVE_AUTHORS, from, to, conversationIds);
    await tx.query(MARK_MOVED, from, conversationIds);
  },
};

const MOVE_AUTHORS = statement<[from: string, to: string, conversationIds: readonly string[]]>(
  'move-authors-of-activity',
)`
    UPDATE conversation_activity SET
      last_author_id = CASE WHEN last_author_id = $1 THEN $2 ELSE last_author_id END,
      customer_last_author_id = CASE WHEN customer_last_author_id = $1 THEN $2 ELSE customer_last_author_id END
    WHERE conversation_id = ANY($3) AND $1 IN (last_author_id, customer_last_author_id)`;

// Two authors may have become one, so the newest message by another author is looked for again.
const MARK_MOVED = statement<[from: string, conversationIds: readonly string[]]>('mark-moved-in-inbox')`
    WITH gone AS (DELETE FROM inbox_rows WHERE actor_id = $1)
    INSERT INTO inbox_due (conversation_id, is_rescan) SELECT id, true FROM unnest($2::text[]) AS c(id)`;

export interface InboxWriterOptions {
  readonly database: Database;
  readonly watch: Pick<DueWatch, 'add'>;
  readonly metrics: Pick<CoreMetrics, 'inboxWritten'>;
  readonly log: Logger;
  /** Called with the written conversations after the commit. */
  readonly onWritten?: (written: readonly WrittenConversation[]) => void;
}

/**
 * Writes the inbox rows of marked conversations (src/core/inbox/README.md). Every node has a
 * writer, which takes any marks, including the marks that a killed node left behind.
 */
export class InboxWriter {
  readonly #options: InboxWriterOptions;
  readonly #loop: Loop;

  constructor(options: InboxWriterOptions) {
    this.#options = options;
    this.#loop = new Loop({
      intervalMs: UNWOKEN_EVERY_MS,
      run: (signal) => this.#round(signal),
      onError: (error) => options.log.warn({ err: error }, 'writing inbox rows failed'),
    });
    options.watch.add({ name: 'inbox', condition: HAS_MARKED, onDue: () => this.#loop.wake() });
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { database, metrics, onWritten } = this.#options;
    for (let isMore = true; isMore && !signal.aborted; ) {
      const rows = await database.query(WRITE_DUE);
      const written = rows.flatMap((row) => row.written ?? []);
      metrics.inboxWritten.inc(written.length);
      if (written.length > 0) onWritten?.(written);
      isMore = written.length === MOST_CONVERSATIONS;
    }
  }
}

/** A larger conversation has no row for each member: its readers merge it in. */
const MOST_ROWS = 100;

export interface WrittenConversation {
  readonly id: string;
  /** Null if the conversation is gone. */
  readonly account_id: string | null;
  readonly is_large: boolean | null;
  readonly is_direct: boolean | null;
  /**
   * The actors whose lists may show it differently: team members after any change but their own,
   * and actors whose rows changed or were removed. In a large conversation, only actors that acted.
   */
  readonly actor_ids: readonly string[];
}

/** Each has up to MOST_ROWS rows. No parameter, so that a connection plans the statement once. */
const MOST_CONVERSATIONS = 200;

/**
 * The number of marks that a statement reads. Further marks of a conversation are taken a second
 * later.
 */
const MOST_MARKS = 2_000;

/** An arbitrary number that nothing else of Parley locks. */
export const INBOX_LOCK = 7_230_915_025;

/** SQL: whether a conversation is marked. */
const HAS_MARKED = '(SELECT id FROM inbox_due ORDER BY id LIMIT 1) IS NOT NULL';

/**
 * Writes the rows of up to MOST_CONVERSATIONS that are marked and were not written for a second,
 * and removes their marks. Writes none if another node is writing.
 *
 * One statement sees one snapshot: a mark that it removes was committed with, or after, its change,
 * which the rows then contain; a later commit leaves its own mark. Only one writer runs at a time,
 * since an older snapshot must not be written over a newer one. The lock ends with the statement,
 * whatever happens to the node.
 */
const WRITE_DUE = statement<[], { is_ours: boolean; written: WrittenConversation | null }>(
  'write-due-inbox-rows',
)`
    WITH turn AS MATERIALIZED (
      SELECT pg_try_advisory_xact_lock(${INBOX_LOCK}) AS is_ours
    ), oldest AS MATERIALIZED (
      SELECT d.* FROM turn CROSS JOIN LATERAL (
        SELECT * FROM inbox_due WHERE turn.is_ours ORDER BY id LIMIT ${MOST_MARKS}
      ) d
    ), marked AS MATERIALIZED (
      SELECT conversation_id AS id, bool_or(is_rescan) AS is_rescan, bool_or(actor_id IS NULL) AS is_whole,
        array_agg(id) AS mark_ids, min(id) AS oldest_id,
        coalesce(array_agg(DISTINCT actor_id::text) FILTER (WHERE actor_id IS NOT NULL), '{}') AS actor_ids
      FROM oldest GROUP BY conversation_id
    ), due AS MATERIALIZED (
      SELECT d.* FROM marked d LEFT JOIN conversation_activity a ON a.conversation_id = d.id
      WHERE a.written_at IS NULL OR a.written_at < statement_timestamp() - interval '1 second'
      ORDER BY d.oldest_id LIMIT ${MOST_CONVERSATIONS}
    ), taken AS (
      DELETE FROM inbox_due WHERE id = ANY(ARRAY(SELECT unnest(mark_ids) FROM due))
    ), found AS MATERIALIZED (
      SELECT due.*, c.account_id, c.audience, c.type = 'direct_message' AS is_direct, s.*, members.count > ${MOST_ROWS} AS is_large,
        CASE WHEN members.count > ${MOST_ROWS} THEN '{}' ELSE members.team_ids END AS team_ids,
        (members.count > ${MOST_ROWS}) IS DISTINCT FROM stored.is_large AS is_other_size
      FROM due JOIN conversations c ON c.id = due.id
        ${standingOf('due', 'c')}
        CROSS JOIN LATERAL (
          SELECT count(*), coalesce(array_agg(actor_id::text) FILTER (
              WHERE due.is_whole AND type <> 'customer' AND actor_id IS NOT NULL), '{}') AS team_ids
          FROM (
            SELECT actor_id, type FROM participants WHERE conversation_id = due.id AND ${IS_MEMBER}
            LIMIT ${MOST_ROWS + 1}
          ) AS present
        ) members
    ), activity AS (
      INSERT INTO conversation_activity (conversation_id, account_id, is_large, written_at, ${STANDING_COLUMNS.join(', ')})
      SELECT id, account_id, is_large, statement_timestamp(), ${STANDING_COLUMNS.join(', ')} FROM found
      ON CONFLICT (conversation_id) DO UPDATE SET is_large = excluded.is_large, written_at = excluded.written_at,
        ${STANDING_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ')}
    ), ended AS (
      DELETE FROM conversation_activity a USING due
      WHERE a.conversation_id = due.id AND NOT EXISTS (SELECT FROM conversations WHERE id = due.id)
    ), written AS (
      INSERT INTO inbox_rows AS r (actor_id, conversation_id, account_id, activity_at, is_unread)
      SELECT p.actor_id, f.id, f.account_id, CASE WHEN f.is_large THEN NULL ELSE ${activityOf('p', 'f')} END,
        NOT f.is_large AND ${isUnread('p', 'f')}
      FROM found f CROSS JOIN LATERAL (
        SELECT * FROM participants
        WHERE conversation_id = f.id AND ${IS_MEMBER} AND actor_id IS NOT NULL OFFSET 0
      ) p
      WHERE (f.is_whole AND NOT f.is_large) OR f.is_other_size OR p.actor_id = ANY(f.actor_ids)
      ON CONFLICT (actor_id, conversation_id) DO UPDATE
        SET activity_at = excluded.activity_at, is_unread = excluded.is_unread
        WHERE (r.activity_at, r.is_unread) IS DISTINCT FROM (excluded.activity_at, excluded.is_unread)
      RETURNING r.actor_id, r.conversation_id
    ), gone AS (
      DELETE FROM inbox_rows r USING (
        SELECT due.id, own.actor_id FROM due CROSS JOIN unnest(due.actor_ids) AS own(actor_id)
        WHERE NOT EXISTS (
          SELECT FROM participants p
          WHERE p.conversation_id = due.id AND p.actor_id = own.actor_id AND p.${IS_MEMBER})
        OFFSET 0
      ) former
      WHERE r.actor_id = former.actor_id AND r.conversation_id = former.id
    ), changed AS (
      SELECT conversation_id, array_agg(actor_id::text) AS actor_ids FROM written GROUP BY conversation_id
    )
    SELECT turn.is_ours, CASE WHEN due.id IS NOT NULL THEN jsonb_build_object(
      'id', due.id, 'account_id', f.account_id, 'is_large', f.is_large, 'is_direct', f.is_direct,
      'actor_ids', to_jsonb(due.actor_ids || changed.actor_ids || f.team_ids)) END AS written
    FROM turn LEFT JOIN due ON true LEFT JOIN found f ON f.id = due.id
      LEFT JOIN changed ON changed.conversation_id = due.id`;

/** The channel that tells nodes whose inbox changed (edge/gateway/inbox-updates.ts). */
export const INBOX_CHANNEL = 'inbox';

/**
 * Announces to every node whose inbox has changed, account by account. The next announcement makes
 * up for a lost one: its event shows everything.
 */
export function announceWritten(
  engine: Pick<Engine, 'publish'>,
  written: readonly WrittenConversation[],
): void {
  const ofAccounts = Map.groupBy(written, ({ account_id }) => account_id);
  for (const [accountId, conversations] of ofAccounts) {
    const actors = [...new Set(conversations.flatMap(({ actor_ids }) => actor_ids))];
    const places = new Map(actors.map((id, place) => [id, place]));
    const change: InboxChange = {
      actors,
      large: conversations.flatMap(({ id, is_large }) => (is_large === true ? id : [])),
      direct: conversations.flatMap(({ id, is_direct }) => (is_direct === true ? id : [])),
      conversations: conversations.map(({ id, actor_ids }) => ({
        id,
        actors: [...new Set(actor_ids)].map((actor) => places.get(actor)!),
      })),
    };
    engine
      .publish(INBOX_CHANNEL, { kind: 'inbox_changed', accountId: accountId ?? '', change })
      .catch(() => {});
  }
}
