import type { Db } from '../db/handle.ts';
import { newId } from '../protocol/ids.ts';
import type { Entity } from '../protocol/resources/actor.ts';
import { defineAccountList } from './account-list.ts';
import { namedActors } from './named-actors.ts';

/** What points to an app resource: by the kind of thing and its id (docs/contract.md#entities). */
export interface EntityRef {
  readonly type: Entity['type'];
  readonly id: string;
}

/**
 * The resources that refs point to, by their `refKey`; what the account does not have is left out. One
 * query, whatever their number. A ref to an agent or a group as an actor points to its actor (named-actors.ts).
 */
export async function readEntities(
  db: Db,
  accountId: string,
  refs: readonly EntityRef[],
): Promise<ReadonlyMap<string, Entity>> {
  if (refs.length === 0) return new Map();
  const idsOf = (type: EntityRef['type']) => refs.filter((ref) => ref.type === type).map((ref) => ref.id);
  const rows = await db.query<EntityRow & { readonly given: string }>(READ_ENTITIES, [
    accountId,
    idsOf('account'),
    idsOf('actor'),
    idsOf('entity'),
  ]);
  return new Map(rows.map((row) => [refKey({ type: row.type, id: row.given }), presentEntity(row)]));
}

/** A resource of the account's own application, to be pointed to. */
export async function createEntity(
  db: Db,
  entity: { readonly accountId: string; readonly name: string; readonly handle?: string | undefined },
): Promise<EntityRow> {
  const { accountId, name, handle = null } = entity;
  const id = newId('entity');
  await db.kysely.insertInto('entities').values({ id, account_id: accountId, name, handle }).execute();
  return { type: 'entity', id, name, handle };
}

/** The entities of an account, newest first; searched by name and handle. */
export const ENTITIES = defineAccountList<EntityRow & { readonly created_at: string }>({
  name: 'entities',
  columns: "'entity' AS type, t.id, t.name, t.handle, t.created_at",
  from: 'entities t',
  search: ['t.name', 't.handle'],
});

export function refKey(ref: EntityRef): string {
  return `${ref.type} ${ref.id}`;
}

export interface EntityRow extends EntityRef {
  readonly name: string | null;
  readonly handle: string | null;
}

export function presentEntity(row: EntityRow): Entity {
  return { id: row.id, object: 'entity', type: row.type, name: row.name, handle: row.handle };
}

const READ_ENTITIES = {
  name: 'read-entities',
  text: `
    SELECT 'account' AS type, id AS given, id, name, NULL AS handle FROM accounts WHERE id = $1 AND id = ANY($2)
    UNION ALL
    SELECT 'actor', given, a.id, a.name, a.handle FROM ${namedActors('$3')} WHERE a.account_id = $1
    UNION ALL
    SELECT 'entity', id, id, name, handle FROM entities WHERE account_id = $1 AND id = ANY($4)`,
};
