import { ApiError, invalid, notFound } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import {
  ConversationView,
  type CreateConversationViewBody,
  MAX_CONVERSATION_VIEWS,
  type UpdateConversationViewBody,
  type ViewFilters,
} from '@parley/protocol/resources/conversation-view.ts';
import type { Static } from 'typebox';
import type { Principal } from '../../api/access/principal.ts';
import type { Db, Querier, Tx } from '../../platform/db/connection/handle.ts';
import { keysetList } from '../../platform/db/connection/keyset.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { UNASSIGNED } from '../conversations/cases/assignee-filter.ts';
import { readNamedActors } from '../resources/actor.ts';
import type { Holdings } from '../resources/holdings.ts';
import { presentAs } from '../resources/present-as.ts';
import { OWNED } from './owned-filter.ts';

export const viewHoldings: Holdings = {
  tables: {
    conversation_views: { account: 'last', actor_id: 'removed', exported: 'conversation_views' },
  },
  exportsOfPerson: {
    conversation_views: (db, _files, { id }) => readViewsOf(db, id),
  },
};

type ViewRow = Omit<ConversationView, 'object'>;

export function presentView(row: ViewRow): ConversationView {
  return presentAs(ConversationView, row);
}

/**
 * Throws ApiError `insufficient_permissions` (the caller is no user), `limit_exceeded`,
 * `resource_not_found` (params filters.assignee_id, filters.group_id, filters.inbox_id).
 */
export async function createView(
  tx: Tx,
  principal: Principal,
  { name, filters }: Static<typeof CreateConversationViewBody>,
): Promise<ViewRow> {
  const { accountId, actor } = principal;
  await checkFilters(tx, principal, filters);
  if (actor.type !== 'user') {
    throw new ApiError('insufficient_permissions', 'Only users have saved views: use the token of a user.');
  }
  // Locked, so that the quota holds for concurrent requests.
  await tx.kysely.selectFrom('actors').select('id').where('id', '=', actor.id).forNoKeyUpdate().execute();
  const used = (await tx.query(COUNT, actor.id))[0]!.count;
  if (used >= MAX_CONVERSATION_VIEWS) {
    const quota = { limit: MAX_CONVERSATION_VIEWS, used, reset_at: null };
    const message = 'You have as many saved views as you may have. Delete one first.';
    throw new ApiError('limit_exceeded', message, { quota });
  }
  const id = newId('conversationView');
  const [row] = await tx.query(INSERT, id, accountId, actor.id, name, JSON.stringify(filters));
  return row!;
}

/** Throws ApiError `resource_not_found`, and as `createView` for the filters. */
export async function updateView(
  tx: Tx,
  principal: Principal,
  id: string,
  { name, filters }: Static<typeof UpdateConversationViewBody>,
): Promise<ViewRow> {
  if (filters !== undefined) await checkFilters(tx, principal, filters);
  const stored = filters === undefined ? null : JSON.stringify(filters);
  return found(await tx.query(UPDATE, principal.actor.id, id, name ?? null, stored));
}

export async function deleteView(tx: Tx, actorId: string, id: string): Promise<ViewRow> {
  return found(await tx.query(DELETE, actorId, id));
}

export async function findView(db: Db, actorId: string, id: string): Promise<ViewRow> {
  return found(await db.query(FIND, actorId, id));
}

function found([row]: readonly ViewRow[]): ViewRow {
  if (row === undefined) throw notFound('conversation_view');
  return row;
}

async function checkFilters(
  tx: Tx,
  principal: Principal,
  { assignee_id, group_id, inbox_id, ...filters }: ViewFilters,
): Promise<void> {
  if (Object.keys(filters).length === 0 && !assignee_id && !group_id && !inbox_id) {
    throw invalid('filters', 'A view has at least one filter or an order.');
  }
  if (assignee_id !== undefined && assignee_id !== 'me' && assignee_id !== UNASSIGNED) {
    const actor = (await readNamedActors(tx, principal, [assignee_id])).get(assignee_id);
    if (actor === undefined) throw notFound('actor', 'filters.assignee_id');
  }
  for (const [param, id] of Object.entries({ group_id, inbox_id } as const)) {
    if (id === undefined) continue;
    const rows = await tx.query(OWNED[param as keyof typeof OWNED], principal.accountId, id);
    if (rows.length === 0) throw notFound(param === 'group_id' ? 'group' : 'inbox', `filters.${param}`);
  }
}

const COLUMNS = 'v.id, v.name, v.filters, v.created_at, v.updated_at';

export const VIEWS = keysetList<[actorId: string], ViewRow>({
  name: 'list-conversation-views',
  columns: COLUMNS,
  from: 'conversation_views v',
  where: 'v.actor_id = $1',
  key: [
    ['v.created_at', 'timestamptz'],
    ['v.id', 'text'],
  ],
  order: 'oldest_first',
});

async function* readViewsOf(db: Querier, actorId: string): AsyncIterable<ViewRow[]> {
  const rows = await db.query(READ_ALL, actorId);
  if (rows.length > 0) yield rows;
}

const READ_ALL = statement<[actorId: string], ViewRow>('read-conversation-views-of-person')`
    SELECT ${COLUMNS} FROM conversation_views v WHERE v.actor_id = $1 ORDER BY v.created_at, v.id`;

const FIND = statement<[actorId: string, id: string], ViewRow>('find-conversation-view')`
    SELECT ${COLUMNS} FROM conversation_views v WHERE v.actor_id = $1 AND v.id = $2`;

const COUNT = statement<[actorId: string], { count: number }>('count-conversation-views')`
    SELECT count(*) AS count FROM conversation_views WHERE actor_id = $1`;

const INSERT = statement<
  [id: string, accountId: string, actorId: string, name: string, filters: string],
  ViewRow
>('insert-conversation-view')`
    INSERT INTO conversation_views AS v (id, account_id, actor_id, name, filters)
    VALUES ($1, $2, $3, $4, $5::jsonb) RETURNING ${COLUMNS}`;

const UPDATE = statement<[actorId: string, id: string, name: string | null, filters: string | null], ViewRow>(
  'update-conversation-view',
)`
    UPDATE conversation_views v SET name = coalesce($3, v.name), filters = coalesce($4::jsonb, v.filters),
      updated_at = later_than(v.updated_at)
    WHERE v.actor_id = $1 AND v.id = $2 RETURNING ${COLUMNS}`;

const DELETE = statement<[actorId: string, id: string], ViewRow>('delete-conversation-view')`
    DELETE FROM conversation_views v WHERE v.actor_id = $1 AND v.id = $2 RETURNING ${COLUMNS}`;
