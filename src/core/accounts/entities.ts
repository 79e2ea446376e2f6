import { notFound } from '../../contract/protocol/errors.ts';
import { newId } from '../../contract/protocol/ids.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import type { EntityRow } from '../resources/entity.ts';
import { defineAccountList } from './account-list.ts';

/**
 * Creates a resource of the account's own application, which messages and conversations can point
 * to.
 */
export async function createEntity(
  db: Db,
  entity: { readonly accountId: string; readonly name: string; readonly handle?: string | undefined },
): Promise<EntityRow> {
  const { accountId, name, handle = null } = entity;
  const id = newId('entity');
  await db.kysely.insertInto('entities').values({ id, account_id: accountId, name, handle }).execute();
  return { type: 'entity', id, name, handle };
}

/** Throws `resource_not_found` (param id). */
export async function findEntity(db: Db, accountId: string, id: string): Promise<EntityRow> {
  const row = await db.kysely
    .selectFrom('entities')
    .select(['id', 'name', 'handle'])
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst();
  if (row === undefined) throw notFound('entity', 'id');
  return { type: 'entity', ...row };
}

/** The entities of an account, newest first; searched by name and handle. */
export const ENTITIES = defineAccountList<EntityRow & { readonly created_at: string }>({
  name: 'entities',
  columns: "'entity' AS type, t.id, t.name, t.handle, t.created_at",
  from: 'entities t',
  search: ['t.name', 't.handle'],
});
