import type { FormReader } from '@parley/protocol/forms/forms.ts';
import { type Principal, seesWholeAccount } from '../../api/access/principal.ts';
import { IS_DIRECT } from '../../core/resources/conversation.ts';
import { IS_MEMBER } from '../../core/resources/membership.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { IS_EARLIER } from './entries.ts';
import type { Phrase } from './query.ts';

/** The words and the filters of a search, named as in the query. */
export interface Search {
  readonly phrases: readonly Phrase[];
  /** The same by the words of entries with the earlier folding, if they differ; otherwise empty. */
  readonly earlier?: readonly Phrase[] | undefined;
  /** Milliseconds of `performance.now()` after which the search gives up. */
  readonly deadlineMs: number;
  readonly conversation_id?: string | undefined;
  /** The author's actor, as the caller's kind of reader sees it. */
  readonly author_id?: string | undefined;
  readonly has?: 'file' | undefined;
  /** RFC 3339, excluded, as is `after`. */
  readonly before?: string | undefined;
  readonly after?: string | undefined;
}

/** A search with the extent that its caller may find, and its limits of time. */
export interface Scope extends Search, Period {
  /** The first parameters of each statement. */
  readonly values: ScopeValues;
  /** The conversation to search, or all conversations of a caller that may read only these few. */
  readonly few: readonly string[] | undefined;
  /** Who searches, whom the addresses of others may be hidden from. */
  readonly reader: FormReader;
  /** The time of Postgres before the search began. */
  readonly now: string;
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
  const { conversation_id = null, author_id = null, has, before = null, after = null, earlier } = search;
  const { accountId, actor, customer } = principal;
  const isWhole = seesWholeAccount(principal);
  const [row] = await db.query(READ_SCOPE, isWhole ? null : actor.id, before, after, accountId);
  const { own, has_earlier, ...extent } = row!;
  const few = isWhole || own.length > FEW ? undefined : own;
  return {
    ...search,
    ...extent,
    reader: principal,
    earlier: has_earlier ? earlier : [],
    values: [accountId, actor.id, isWhole, customer, conversation_id, author_id, has === 'file'],
    few: conversation_id === null ? few : [conversation_id],
  };
}

/**
 * SQL: whether the caller may find messages of this conversation (`c`, a row of conversations) at
 * the snapshot of the statement. Differs from readableConversation in direct messages of others:
 * callers of the whole account find those only by naming the conversation. The parameters are
 * ScopeValues, from $1 on.
 */
export const IS_READABLE = `c.account_id = $1 AND c.deleted_at IS NULL AND ($5::text IS NULL OR c.id = $5)
      AND (NOT $4::boolean OR c.audience = 'customer')
      AND (($3::boolean AND (NOT c.${IS_DIRECT} OR c.id = $5)) OR EXISTS (
        SELECT FROM participants p WHERE p.conversation_id = c.id AND p.actor_id = $2 AND p.${IS_MEMBER} OFFSET 0
      ))`;

/** Up to this many conversations are looked up one by one, without reading other entries. */
const FEW = 64;

// An equal account would leave no order that makes Postgres read the index of earlier entries.
const READ_SCOPE = statement<
  [actorId: string | null, before: string | null, after: string | null, accountId: string],
  Pick<Scope, 'now' | 'lower' | 'upper'> & { readonly own: readonly string[]; readonly has_earlier: boolean }
>('search-read-scope')`
    SELECT now, coalesce($3::timestamptz, '0001-01-01T00:00:00Z') AS lower,
      least($2::timestamptz - interval '1 microsecond', now) AS upper, ARRAY(
        SELECT conversation_id FROM participants WHERE actor_id = $1 AND ${IS_MEMBER} LIMIT ${FEW + 1}
      ) AS own, (
        SELECT account_id FROM search_entries WHERE account_id >= $4 AND ${IS_EARLIER} ORDER BY account_id LIMIT 1
      ) IS NOT DISTINCT FROM $4 AS has_earlier
    FROM clock_timestamp() AS now`;
