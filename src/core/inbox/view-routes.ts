import { ListOf } from '@parley/protocol/lists.ts';
import {
  ConversationView,
  CreateConversationViewBody,
  UpdateConversationViewBody,
} from '@parley/protocol/resources/conversation-view.ts';
import { defineList, PageQuery, readPage, toList } from '../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { keyOf } from '../accounts/collections/account-list.ts';
import { createView, deleteView, findView, presentView, updateView, VIEWS } from './view-store.ts';

/** Returns the routes of the lists that a person has saved. */
export function viewRoutes(database: Database): Route[] {
  const common = { since: '1.4.harbor', permission: 'messaging:read', agents: false } as const;
  const [path, one] = ['/v1/messaging/views', '/v1/messaging/views/:id'];
  return [
    defineRoute({
      ...common,
      name: 'create_conversation_view',
      method: 'POST',
      path,
      summary: 'Save a view: filters of the list of conversations under a name',
      body: CreateConversationViewBody,
      status: 201,
      response: ConversationView,
      change: async (tx, { principal, body }) => presentView(await createView(tx, principal, body)),
    }),
    defineRoute({
      ...common,
      name: 'list_conversation_views',
      method: 'GET',
      path,
      summary: "List the caller's saved views, oldest first",
      query: PageQuery({}),
      response: ListOf(ConversationView),
      async handle({ principal: { actor }, query, url }) {
        const page = readPage(LIST, query, { actor: actor.id });
        const rows = await VIEWS.readPage(database, [actor.id], page);
        return toList(rows, page, url, keyOf, presentView);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_conversation_view',
      method: 'GET',
      path: one,
      summary: "Get one of the caller's saved views",
      response: ConversationView,
      handle: async ({ principal, params }) =>
        presentView(await findView(database, principal.actor.id, params.id!)),
    }),
    defineRoute({
      ...common,
      name: 'update_conversation_view',
      method: 'PATCH',
      path: one,
      summary: "Rename one of the caller's saved views, or replace its filters",
      body: UpdateConversationViewBody,
      response: ConversationView,
      change: async (tx, { principal, params, body }) =>
        presentView(await updateView(tx, principal, params.id!, body)),
    }),
    defineRoute({
      ...common,
      name: 'delete_conversation_view',
      method: 'DELETE',
      path: one,
      summary: "Delete one of the caller's saved views",
      response: ConversationView,
      change: async (tx, { principal, params }) =>
        presentView(await deleteView(tx, principal.actor.id, params.id!)),
    }),
  ];
}

const LIST = defineList('conversation_views', ['time', 'text']);
