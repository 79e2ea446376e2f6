import { notFound } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { ListOf } from '@parley/protocol/lists.ts';
import { Entity } from '@parley/protocol/resources/actor.ts';
import { CreateEntityBody } from '@parley/protocol/resources/person.ts';
import { defineList, readPage, SearchQuery, toList } from '../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { type EntityRow, presentEntity } from '../resources/entity.ts';
import { FOLDED } from '../tables/folded-tables.ts';
import { defineAccountList, keyOf } from './collections/account-list.ts';

export function entityRoutes(database: Database): Route[] {
  return [
    defineRoute({
      name: 'create_entity',
      method: 'POST',
      path: '/v1/entities',
      summary: "Create a pointer to a resource of the account's own application",
      since: '1.1.harbor',
      permission: 'messaging:update',
      body: CreateEntityBody,
      status: 201,
      response: Entity,
      async change(tx, call) {
        const { name, handle = null } = call.body;
        const id = newId('entity');
        await tx.kysely
          .insertInto('entities')
          .values({ id, account_id: call.principal.accountId, name, handle })
          .execute();
        return presentEntity({ type: 'entity', id, name, handle });
      },
    }),
    defineRoute({
      name: 'list_entities',
      method: 'GET',
      path: '/v1/entities',
      summary: 'List the entities of the account, newest first',
      since: '1.1.harbor',
      permission: 'messaging:read',
      query: SearchQuery({}),
      response: ListOf(Entity),
      async handle({ principal, query, url }) {
        const page = readPage(LIST, query, { account: principal.accountId });
        const rows = await ENTITIES.readPage(database, [principal.accountId], page);
        return toList(rows, page, url, keyOf, presentEntity);
      },
    }),
    defineRoute({
      name: 'get_entity',
      method: 'GET',
      path: '/v1/entities/:id',
      summary: 'Get an entity',
      since: '1.2.harbor',
      permission: 'messaging:read',
      response: Entity,
      handle: async ({ principal, params }) =>
        presentEntity(await findEntity(database, principal.accountId, params.id!)),
    }),
  ];
}

const LIST = defineList('entities', ['time', 'text']);

/** Throws `resource_not_found` (param id). */
async function findEntity(db: Db, accountId: string, id: string): Promise<EntityRow> {
  const row = await db.kysely
    .selectFrom('entities')
    .select(['id', 'name', 'handle'])
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow(() => notFound('entity', 'id'));
  return { type: 'entity', ...row };
}

/** The entities of an account, newest first; searchable by name and handle. */
const ENTITIES = defineAccountList<EntityRow & { readonly created_at: string }>({
  name: 'entities',
  columns: "'entity' AS type, t.id, t.name, t.handle, t.created_at",
  from: 'entities t',
  folded: { table: FOLDED.entities, alias: 't' },
});
