import { ListOf } from '@parley/protocol/lists.ts';
import { MessagingGroup } from '@parley/protocol/resources/actor.ts';
import {
  CreateGroupBody,
  GROUP_INCLUDES,
  PutGroupBody,
  UpdateGroupBody,
} from '@parley/protocol/resources/group.ts';
import { EXTERNAL_SINCE, OwnIdFilter } from '@parley/protocol/schema/external-ids.ts';
import { Body, Include } from '@parley/protocol/schema/schema.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { defineList, readPage, SearchQuery, toList } from '../../../api/pipeline/pagination.ts';
import { Answer, defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { IMAGE_REFUSALS } from '../../attachments/images.ts';
import { type GroupRow, presentGroup, readMembers } from '../../resources/group.ts';
import { acquainted } from '../../resources/known-users.ts';
import type { Avatars } from '../avatars/avatars.ts';
import { keyOf } from '../collections/account-list.ts';
import { putIdOf } from '../collections/external-ids.ts';
import {
  changeGroup,
  createGroup,
  findGroup,
  GROUPS,
  putGroup,
  readMemberIds,
  removeGroup,
} from './groups.ts';

export function groupRoutes(database: Database, avatars: Avatars): Route[] {
  const ofOne = {
    path: '/v1/messaging/groups/:id',
    since: '1.2.harbor',
    query: Body({ 'include[]': Include(GROUP_INCLUDES) }),
    response: MessagingGroup,
  } as const;
  const byExternalId = { path: '/v1/groups/:id', since: EXTERNAL_SINCE } as const;
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
        const { name, external_id: externalId } = body;
        const { accountId } = principal;
        const members = await readMemberIds(tx, principal, body.members ?? []);
        const group = await createGroup(tx, { accountId, name, members, externalId });
        return presentOne(tx, principal, group, query);
      },
    }),
    defineRoute({
      name: 'list_groups',
      method: 'GET',
      path: '/v1/messaging/groups',
      summary: 'List the groups of the account, newest first',
      since: '1.1.harbor',
      permission: 'messaging:read',
      query: SearchQuery({ external_id: OwnIdFilter, 'include[]': Include(GROUP_INCLUDES) }),
      response: ListOf(MessagingGroup),
      async handle({ principal, query, url }) {
        const { external_id } = query;
        const page = readPage(LIST, query, { account: principal.accountId, external_id });
        const rows = await GROUPS.readPage(database, [principal.accountId, external_id ?? null], page);
        const shown = await present(database, principal, rows, query['include[]']);
        return toList(rows, page, url, keyOf, (row) => shown.get(row)!);
      },
    }),
    defineRoute({
      ...ofOne,
      name: 'get_group',
      method: 'GET',
      summary: 'Get a group',
      permission: 'messaging:read',
      handle: async ({ principal, params, query }) =>
        presentOne(database, principal, await findGroup(database, principal.accountId, params.id!), query),
    }),
    defineRoute({
      ...ofOne,
      name: 'update_group',
      method: 'PATCH',
      summary: 'Rename a group, replace its members, or give it an avatar or external id',
      permission: 'messaging:update',
      body: UpdateGroupBody,
      refuses: ['resource_exists', ...IMAGE_REFUSALS],
      prepare: ({ principal, body }) => avatars.find(principal.accountId, body.avatar_s3_key),
      async change(tx, { principal, params, body, query }, image) {
        const { accountId } = principal;
        const { id, actor_id: actorId } = await changeGroup(tx, principal, params.id!, body);
        await avatars.set(tx, { accountId, actorId }, image);
        return presentOne(tx, principal, await findGroup(tx, accountId, id), query);
      },
    }),
    defineRoute({
      ...ofOne,
      ...byExternalId,
      name: 'read_group',
      method: 'GET',
      summary: 'Get a group, at the path of its PUT',
      permission: 'messaging:read',
      handle: async ({ principal, params, query }) =>
        presentOne(database, principal, await findGroup(database, principal.accountId, params.id!), query),
    }),
    defineRoute({
      ...ofOne,
      ...byExternalId,
      name: 'put_group',
      method: 'PUT',
      summary: 'Create the group with an external id, or change it',
      permission: 'messaging:update',
      upserts: true,
      body: PutGroupBody,
      rules: ({ params }) => void putIdOf(params),
      refuses: ['resource_exists'],
      status: 201,
      mayExist: true,
      async change(tx, { principal, params, body, query }) {
        const { found, isNew } = await putGroup(tx, principal, putIdOf(params), body);
        return new Answer(isNew ? 201 : 200, await presentOne(tx, principal, found, query));
      },
    }),
    defineRoute({
      ...ofOne,
      name: 'delete_group',
      method: 'DELETE',
      summary: 'Delete a group that owns no conversation and no inbox names',
      permission: 'messaging:update',
      change: async (tx, { principal, params, query }) =>
        presentOne(tx, principal, await removeGroup(tx, principal, params.id!), query),
    }),
  ];
}

const LIST = defineList('groups', ['time', 'text']);

async function presentOne(
  db: Db,
  reader: Principal,
  row: GroupRow,
  query: { readonly 'include[]'?: readonly (typeof GROUP_INCLUDES)[number][] },
): Promise<MessagingGroup> {
  return (await present(db, reader, [row], query['include[]'])).get(row)!;
}

async function present(
  db: Db,
  reader: Principal,
  rows: readonly GroupRow[],
  include: readonly (typeof GROUP_INCLUDES)[number][] = [],
): Promise<ReadonlyMap<GroupRow, MessagingGroup>> {
  const ids = rows.map(({ id }) => id);
  const members = include.includes('members') ? await readMembers(db, ids, acquainted(reader)) : null;
  return new Map(rows.map((row) => [row, presentGroup(row, members && (members.get(row.id) ?? []))]));
}
