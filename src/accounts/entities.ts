import type { Queries } from '../db/statement.ts';
import type { Entity } from '../protocol/actor.ts';

/** What points to an app resource: by the kind of thing and its id (specification, entity). */
export interface EntityRef {
  readonly type: Entity['type'];
  readonly id: string;
}

/**
 * The resources that refs point to, by `refKey`; what the account does not have is left out. One
 * query, whatever their number.
 */
export async function readEntities(
  database: Queries,
  accountId: string,
  refs: readonly EntityRef[],
): Promise<ReadonlyMap<string, Entity>> {
  if (refs.length === 0) return new Map();
  const idsOf = (type: EntityRef['type']) => refs.filter((ref) => ref.type === type).map((ref) => ref.id);
  const rows = await database.query<EntityRow>(READ_ENTITIES, [
    accountId,
    idsOf('account'),
    idsOf('actor'),
    idsOf('entity'),
  ]);
  return new Map(rows.map((row) => [refKey(row), presentEntity(row)]));
}

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
    SELECT 'account' AS type, id, name, NULL AS handle FROM accounts WHERE id = $1 AND id = ANY($2)
    UNION ALL
    SELECT 'actor', id, name, handle FROM actors WHERE account_id = $1 AND id = ANY($3)
    UNION ALL
    SELECT 'entity', id, name, handle FROM entities WHERE account_id = $1 AND id = ANY($4)`,
};
