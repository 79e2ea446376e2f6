import type { Entity } from '@parley/protocol/resources/actor.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { namedActors } from './actor.ts';
import { type Acquainted, isKnown } from './known-users.ts';

/** A pointer to an app resource: its kind and its id (docs/contract.md#entities). */
export interface EntityRef {
  readonly type: Entity['type'];
  readonly id: string;
}

export interface EntityRow extends EntityRef {
  readonly name: string | null;
  readonly handle: string | null;
}

/** Returns the ref of two fields, or undefined if they have none. */
export function refOf(
  type: EntityRef['type'] | null | undefined,
  id: string | null | undefined,
): EntityRef | undefined {
  return type == null || id == null ? undefined : { type, id };
}

export function refKey(ref: EntityRef | undefined): string {
  return ref === undefined ? '' : `${ref.type} ${ref.id}`;
}

/**
 * Returns the resources of the account that refs point to, by their `refKey`, in one query. A ref
 * to an agent or a group as an actor points to its actor (actor.ts). Users that `caller` does not
 * know are left out; what was written already shows its readers every user, for whom it is null.
 */
export async function readEntities(
  db: Db,
  accountId: string,
  refs: readonly EntityRef[],
  caller: Acquainted,
): Promise<ReadonlyMap<string, Entity>> {
  if (refs.length === 0) return new Map();
  const idsOf = (type: EntityRef['type']) => refs.filter((ref) => ref.type === type).map((ref) => ref.id);
  const asked = [idsOf('account'), idsOf('actor'), idsOf('entity')] as const;
  const rows = await db.query(READ_ENTITIES, accountId, ...asked, caller);
  return new Map(rows.map((row) => [refKey({ type: row.type, id: row.given }), presentEntity(row)]));
}

export function presentEntity(row: EntityRow): Entity {
  return { id: row.id, object: 'entity', type: row.type, name: row.name, handle: row.handle };
}

const READ_ENTITIES = statement<
  [
    accountId: string,
    accountIds: readonly string[],
    actorIds: readonly string[],
    entityIds: readonly string[],
    caller: Acquainted,
  ],
  EntityRow & { readonly given: string }
>('read-entities')`
    SELECT 'account' AS type, id AS given, id, name, NULL AS handle FROM accounts WHERE id = $1 AND id = ANY($2)
    UNION ALL
    SELECT 'actor', given, a.id, a.name, a.handle FROM ${namedActors('$3')} WHERE a.account_id = $1 AND ${isKnown('$5')}
    UNION ALL
    SELECT 'entity', id, id, name, handle FROM entities WHERE account_id = $1 AND id = ANY($4)`;
