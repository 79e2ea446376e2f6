import { type ActorFields, presentActor } from '@parley/protocol/resources/actor.ts';
import {
  type MessageReaction,
  REACTION_LIMITS,
  type Reaction,
  type ReactionCount,
} from '@parley/protocol/resources/reaction.ts';
import type { Db, Querier } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { ACTOR_JSON } from './actor.ts';
import type { Viewer } from './message.ts';

/**
 * One emoji of a message. Both lists of ids have the order of the reactions and the shown length.
 */
interface CountRow {
  readonly message_id: string;
  readonly emoji: string;
  readonly count: number;
  readonly actor_ids: readonly string[];
  /** The customers among `actor_ids`. */
  readonly customer_ids: readonly string[] | null;
  readonly mine: boolean;
}

/**
 * Returns the reactions of messages, by the first use of each emoji; messages without any are left
 * out.
 */
export async function countReactions(
  db: Querier,
  messageIds: readonly string[],
  viewerId: string,
): Promise<ReadonlyMap<string, readonly CountRow[]>> {
  if (messageIds.length === 0) return new Map();
  return Map.groupBy(await db.query(COUNT, messageIds, viewerId), ({ message_id }) => message_id);
}

/**
 * Returns reactions as all readers of an audience get them. Customers must not learn which team
 * member is behind a persona, so members are counted and not named.
 */
export function presentCounts(counted: readonly CountRow[], forCustomer: boolean): ReactionCount[] {
  return counted.map(({ emoji, count, actor_ids, customer_ids }) => ({
    emoji,
    count,
    actor_ids: [...(forCustomer ? (customer_ids ?? []) : actor_ids)],
  }));
}

/** Returns the reactions of messages for a reader; messages without any are left out. */
export async function readReactions(
  db: Db,
  viewer: Viewer,
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, MessageReaction[]>> {
  const counted = await countReactions(db, messageIds, viewer.actor.id);
  const present = (rows: readonly CountRow[]) =>
    presentCounts(rows, viewer.customer).map((count, index) => ({ ...count, mine: rows[index]!.mine }));
  return new Map([...counted].map(([id, rows]) => [id, present(rows)]));
}

export interface ReactionRow {
  readonly message_id: string;
  readonly emoji: string;
  readonly actor: ActorFields;
  readonly created_at: string;
}

export const REACTION_COLUMNS = `r.message_id, r.emoji, r.created_at, ${ACTOR_JSON} AS actor`;

export function presentReaction({ actor, message_id, emoji, created_at }: ReactionRow): Reaction {
  return { object: 'reaction', message_id, emoji, actor: presentActor(actor), created_at };
}

const SHOWN = `[1:${REACTION_LIMITS.shownActors}]`;
const IN_ORDER = 'ORDER BY created_at, actor_id';

const COUNT = statement<[messageIds: readonly string[], viewerId: string], CountRow>(
  'count-reactions-of-messages',
)`
    SELECT message_id, emoji, count, actor_ids, customer_ids, mine FROM (
      SELECT message_id, emoji, count(*) AS count, min(created_at) AS first, bool_or(actor_id = $2) AS mine,
        (array_agg(actor_id ${IN_ORDER}))${SHOWN} AS actor_ids,
        (array_agg(actor_id ${IN_ORDER}) FILTER (WHERE customer))${SHOWN} AS customer_ids
      FROM reactions WHERE message_id = ANY($1) GROUP BY message_id, emoji
    ) counted ORDER BY message_id, first, emoji`;
