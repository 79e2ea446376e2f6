import { GroupCases } from '@parley/protocol/resources/group-cases.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { joinGroupCases, readGroupCases } from './group-cases.ts';

export function groupCaseRoutes(database: Database): Route[] {
  const common = { since: '1.4.harbor', agents: false, response: GroupCases } as const;
  return [
    defineRoute({
      ...common,
      name: 'get_group_cases',
      method: 'GET',
      path: '/v1/messaging/groups/:id/cases',
      summary: 'Count the open cases of a group, and those that its members are not in',
      permission: 'widgets:read',
      handle: ({ principal, params }) => readGroupCases(database, principal.accountId, params.id!),
    }),
    defineRoute({
      ...common,
      name: 'join_group_cases',
      method: 'POST',
      path: '/v1/messaging/groups/:id/cases/actions/join',
      summary: 'Add the members of a group to its open cases that lack them',
      permission: 'widgets:update',
      change: (tx, { principal, params }) => joinGroupCases(tx, principal, params.id!),
    }),
  ];
}
