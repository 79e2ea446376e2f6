import type { Database } from '../db/database.ts';
import type { Db } from '../db/handle.ts';
import { defineList, readPage, SearchQuery, toList } from '../http/pagination.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { ListOf } from '../protocol/lists.ts';
import { MessagingGroup } from '../protocol/resources/actor.ts';
import { CreateGroupBody, GROUP_INCLUDES } from '../protocol/resources/group.ts';
import { Body, Include } from '../protocol/schema.ts';
import { type GroupRow, presentGroup, readMembers } from '../resources/group.ts';
import { keyOf } from './account-list.ts';
import { createGroup, GROUPS } from './groups.ts';

export function groupRoutes(database: Database): Route[] {
  return [
    defineRoute({
      name: 'create_group',
      method: 'POST',
      path: '/v1/messaging/groups',
      summary: 'Create a roster of users and agents that conversations can start from',
      since: '1.1.harbor',
      permission: 'messaging:update',
      query: Body({ 'include[]': Include(GROUP_INCLUDES) }),
      body: CreateGroupBody,
      status: 201,
      response: MessagingGroup,
      async change(tx, { principal, body, query }) {
        const { name, members = [] } = body;
        const group = await createGroup(tx, { accountId: principal.accountId, name, members });
        return (await present(tx, [group], query['include[]'])).get(group)!;
      },
    }),
    defineRoute({
      name: 'list_groups',
      method: 'GET',
      path: '/v1/messaging/groups',
      summary: 'List the groups of the account, newest first',
      since: '1.1.harbor',
      permission: 'messaging:read',
      query: SearchQuery({ 'include[]': Include(GROUP_INCLUDES) }),
      status: 200,
      response: ListOf(MessagingGroup),
      async handle({ principal, query, url }) {
        const page = readPage(LIST, query, { account: principal.accountId });
        const rows = await GROUPS.readPage(database, principal.accountId, page);
        const shown = await present(database, rows, query['include[]']);
        return toList(rows, page, url, keyOf, (row) => shown.get(row)!);
      },
    }),
  ];
}

const LIST = defineList('groups', ['time', 'text']);

async function present(
  db: Db,
  rows: readonly GroupRow[],
  include: readonly (typeof GROUP_INCLUDES)[number][] = [],
): Promise<ReadonlyMap<GroupRow, MessagingGroup>> {
  const members = include.includes('members')
    ? await readMembers(
        db,
        rows.map(({ id }) => id),
      )
    : null;
  return new Map(rows.map((row) => [row, presentGroup(row, members && (members.get(row.id) ?? []))]));
}
