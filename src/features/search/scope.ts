import { IS_DIRECT } from '../../core/resources/conversation.ts';
import { IS_MEMBER } from '../../core/resources/participant.ts';
import { type Principal, seesWholeAccount } from '../../platform/access/principal.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Phrase } from './query.ts';

/** The parameters of a search. */
export interface Search {
  readonly phrases: readonly Phrase[];
  /** Milliseconds of `performance.now()` after which the search gives up. */
  readonly deadlineMs: number;
  readonly conversationId: string | null;
  /** The actor that the caller's kind of reader sees as the author. */
  readonly authorId: string | null;
  readonly hasFile: boolean;
  /** Excluded. RFC 3339. */
  readonly before: string | null;
  /** Excluded. RFC 3339. */
  readonly after: string | null;
}

/** The extent of what a caller may find. */
export interface Scope {
  /** The first parameters of each statement. */
  readonly values: ScopeValues;
  /** The conversation to search, or those of a caller that may read only those and they are few. */
  readonly few: readonly string[] | undefined;
  /** The time of Postgres before the search began. */
  readonly now: string;
  /** The times that the search is limited to. */
  readonly period: Period;
  /** Whether everything that is older than the index is in it. */
  readonly isFilled: boolean;
}

export type ScopeValues = readonly [
  accountId: string,
  actorId: string,
  seesWholeAccount: boolean,
  isCustomer: boolean,
  conversationId: string | null,
  authorId: string | null,
  hasFile: boolean,
];

/** A range of times: after `lower`, up to and including `upper`. */
export interface Period {
  readonly lower: string;
  readonly upper: string;
}

export async function readScope(db: Querier, principal: Principal, search: Search): Promise<Scope> {
  const { conversationId, authorId, hasFile, before, after } = search;
  const { accountId, actor, customer } = principal;
  const isWhole = seesWholeAccount(principal);
  const [row] = await db.query(READ_SCOPE, isWhole ? null : actor.id, before, after);
  const { now, own, lower, upper, is_filled } = row!;
  const few = isWhole || own.length > FEW ? undefined : own;
  return {
    values: [accountId, actor.id, isWhole, customer, conversationId, authorId, hasFile],
    few: conversationId === null ? few : [conversationId],
    now,
    period: { lower, upper: upper === null || upper > now ? now : upper },
    isFilled: is_filled,
  };
}

/**
 * SQL: whether the caller may find messages of this conversation (`c`, a row of conversations) at
 * the snapshot of the statement. Differs from readableConversation in direct messages of others:
 * callers of the whole account find those only if they name the conversation. The parameters are
 * ScopeValues, from $1 on.
 */
export const IS_READABLE = `c.account_id = $1 AND c.deleted_at IS NULL AND ($5::text IS NULL OR c.id = $5)
      AND (NOT $4::boolean OR c.audience = 'customer')
      AND (($3::boolean AND (NOT c.${IS_DIRECT} OR c.id = $5)) OR EXISTS (
        SELECT FROM participants p WHERE p.conversation_id = c.id AND p.actor_id = $2 AND p.${IS_MEMBER} OFFSET 0
      ))`;

/** Up to this many conversations are looked up one by one; no other entry is read. */
const FEW = 64;

const READ_SCOPE = statement<
  [actorId: string | null, before: string | null, after: string | null],
  { now: string; lower: string; upper: string | null; own: readonly string[]; is_filled: boolean }
>('search-read-scope')`
    SELECT clock_timestamp() AS now, coalesce($3::timestamptz, '0001-01-01T00:00:00Z') AS lower,
      $2::timestamptz - interval '1 microsecond' AS upper, ARRAY(
        SELECT conversation_id FROM participants WHERE actor_id = $1 AND ${IS_MEMBER} LIMIT ${FEW + 1}
      ) AS own, s.filled_through IS NULL AS is_filled
    FROM search_state s`;
