import { IS_DIRECT } from '../../core/resources/conversation.ts';
import { IS_MEMBER } from '../../core/resources/participant.ts';
import { type Principal, seesWholeAccount } from '../../platform/access/principal.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import { statement, type Value } from '../../platform/db/connection/statement.ts';

/** The extent of what a caller may find. */
export interface Scope {
  readonly accountId: string;
  readonly actorId: string;
  /** Whether the caller may read every conversation of its account. */
  readonly isWhole: boolean;
  readonly isCustomer: boolean;
  /** The only conversation to search, or null for all. */
  readonly conversationId: string | null;
  /** The caller's conversations, if it may read only those and they are few. */
  readonly few: readonly string[] | undefined;
  /** The time of Postgres before the search began. */
  readonly now: string;
  /** The times that the search is limited to. */
  readonly period: Period;
}

/** A range of times: after `lower`, up to and including `upper`. */
export interface Period {
  readonly lower: string;
  readonly upper: string;
}

/** The limits that a request sets. */
export interface Limits {
  readonly conversationId: string | null;
  /** Excluded. RFC 3339. */
  readonly before: string | null;
  /** Excluded. RFC 3339. */
  readonly after: string | null;
}

export async function readScope(
  db: Querier,
  principal: Principal,
  { conversationId, before, after }: Limits,
): Promise<Scope> {
  const isWhole = seesWholeAccount(principal);
  const { accountId, actor, customer: isCustomer } = principal;
  const [row] = await db.query(READ_SCOPE, isWhole ? null : actor.id, FEW + 1, before, after);
  const { now, own, lower, upper } = row!;
  const few = isWhole || own.length > FEW ? undefined : own;
  return {
    accountId,
    actorId: actor.id,
    isWhole,
    isCustomer,
    conversationId,
    now,
    period: { lower: lower ?? FIRST_TIME, upper: upper === null || upper > now ? now : upper },
    few: conversationId === null ? few : [conversationId],
  };
}

export type ScopeValues = readonly [
  accountId: string,
  actorId: string,
  isWhole: boolean,
  isCustomer: boolean,
  conversationId: string | null,
];

export function scopeValues(scope: Scope): ScopeValues {
  return [scope.accountId, scope.actorId, scope.isWhole, scope.isCustomer, scope.conversationId];
}

/**
 * SQL: whether the caller may find messages of this conversation (`c`, a row of conversations) at
 * the snapshot of the statement. Differs from readableConversation in direct messages of others:
 * callers of the whole account find those only if they name the conversation. The parameters are
 * those of `scopeValues`, from $1 on.
 */
export const IS_READABLE = `c.account_id = $1 AND c.deleted_at IS NULL AND ($5::text IS NULL OR c.id = $5)
      AND (NOT $4::boolean OR c.audience = 'customer')
      AND (($3::boolean AND (NOT c.${IS_DIRECT} OR c.id = $5)) OR EXISTS (
        SELECT FROM participants p WHERE p.conversation_id = c.id AND p.actor_id = $2 AND p.${IS_MEMBER} OFFSET 0
      ))`;

export type Scoped<Params extends readonly Value[]> = readonly [...ScopeValues, ...Params];

/** Up to this many conversations are looked up one by one; no other block is read. */
const FEW = 64;

const FIRST_TIME = '0001-01-01T00:00:00.000000Z';

interface ScopeRow {
  readonly now: string;
  readonly own: readonly string[];
  readonly lower: string | null;
  readonly upper: string | null;
}

const READ_SCOPE = statement<
  [actorId: string | null, limit: number, before: string | null, after: string | null],
  ScopeRow
>('search-read-scope')`
    SELECT clock_timestamp() AS now, $4::timestamptz AS lower,
      $3::timestamptz - interval '1 microsecond' AS upper, ARRAY(
        SELECT conversation_id FROM participants WHERE actor_id = $1 AND ${IS_MEMBER} LIMIT $2
      ) AS own`;
