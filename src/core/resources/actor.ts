import { ApiError, deactivatedCaller } from '@parley/protocol/errors/errors.ts';
import { type Actor, type ActorFields, presentActor } from '@parley/protocol/resources/actor.ts';
import type { Selectable } from 'kysely';
import type { Principal } from '../../api/access/principal.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import { type Acquainted, acquainted, isKnown } from './known-users.ts';

export type ActorRow = Selectable<Schema['actors']>;

/**
 * Returns actors by id; absent ones are left out, and users that `reader` does not know. What a
 * conversation shows names its actors to all of its readers.
 */
export async function readActors(
  db: Db,
  ids: readonly string[],
  reader: Acquainted = null,
): Promise<ReadonlyMap<string, Actor>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query(READ_ACTORS, ids, reader);
  return new Map(rows.map((row) => [row.id, presentActor(row)]));
}

/** An actor that a request names, with the columns that decide whether it is allowed there. */
export type NamedActor = Pick<ActorRow, 'id' | 'type' | 'name' | 'customer'> & {
  readonly deactivated: boolean;
};

/**
 * Returns the actors of the account by the ids that the caller gave: an actor's own id, or the id
 * of an agent or a group, which stands for its actor (DECISIONS.md#ids-that-stand-for-an-actor).
 * Other ids are left out, also those of other accounts and of users that the caller does not know.
 * One query for all ids.
 */
export async function readNamedActors(
  db: Db,
  caller: Principal,
  ids: readonly string[],
): Promise<ReadonlyMap<string, NamedActor>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query(READ_NAMED, caller.accountId, ids, acquainted(caller));
  return new Map(rows.map(({ given, ...actor }) => [given, actor]));
}

/** Returns a FROM clause for named actors `a`, each beside its `given` id; `ids` is a parameter. */
export function namedActors(ids: `$${number}`): string {
  return `unnest(${ids}::text[]) AS given
      LEFT JOIN agent_definitions d ON d.id = given
      LEFT JOIN messaging_groups g ON g.id = given
      JOIN actors a ON a.id = coalesce(d.actor_id, g.actor_id, given)`;
}

/** SQL: the actor `a` as ActorFields. */
export const ACTOR_JSON =
  "jsonb_build_object('id', a.id, 'type', a.type, 'name', a.name, 'handle', a.handle, 'avatar_url', a.avatar_url, 'external_id', a.external_id, 'username', a.username)";

const READ_ACTORS = statement<[ids: readonly string[], reader: Acquainted], ActorFields>('read-actors')`
    SELECT a.id, a.type, a.name, a.handle, a.avatar_url, a.external_id, a.username FROM actors a
    WHERE a.id = ANY($1) AND ${isKnown('$2')}`;

const READ_NAMED = statement<
  [accountId: string, ids: readonly string[], caller: Acquainted],
  NamedActor & { readonly given: string }
>('read-named-actors')`
    SELECT given, a.id, a.type, a.name, a.customer, a.deactivated_at IS NOT NULL AS deactivated
    FROM ${namedActors('$2')} WHERE a.account_id = $1 AND ${isKnown('$3')}`;

/** SQL: whether the team has blocked this actor, a customer. `actorId` is an expression. */
export function isBlockedByTeam(actorId: string): string {
  return `EXISTS (SELECT FROM blocks WHERE actor_id = ${actorId} AND blocker_id IS NULL)`;
}

/**
 * Locks a customer that writes, so that its requests count what it has one after another. Throws
 * `insufficient_permissions` if the team has blocked it, or `invalid_credentials` if it has been
 * deactivated or claimed meanwhile.
 */
export async function lockWritingCustomer(tx: Tx, actorId: string): Promise<void> {
  const [customer] = await tx.query(LOCK_CUSTOMER, actorId);
  if (customer === undefined || customer.deactivated) throw deactivatedCaller();
  if (customer.blocked) throw customerBlocked();
}

/** Returns the refusal when the team has blocked the customer (docs/contract.md#blocks). */
export function customerBlocked(): ApiError {
  return new ApiError('insufficient_permissions', 'The team has blocked this customer, who can only read.');
}

const LOCK_CUSTOMER = statement<[actorId: string], { blocked: boolean; deactivated: boolean }>(
  'lock-writing-customer',
)`
    SELECT ${isBlockedByTeam('a.id')} AS blocked, a.deactivated_at IS NOT NULL AS deactivated
    FROM actors a WHERE a.id = $1 FOR NO KEY UPDATE`;
