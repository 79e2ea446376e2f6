import { notFound } from '@parley/protocol/errors/errors.ts';
import { ListOf } from '@parley/protocol/lists.ts';
import { EndedSessions, Session } from '@parley/protocol/resources/session.ts';
import type { Principal } from '../../../api/access/principal.ts';
import {
  defineList,
  type PageParameters,
  PageQuery,
  readPage,
  toList,
} from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { findPerson } from '../actors/persons.ts';
import { findUser } from '../actors/users.ts';
import { requireGrant } from '../rights/grants.ts';
import { findRoleById } from '../rights/roles.ts';
import {
  endCredentials,
  endSession,
  endSessions,
  findSession,
  presentSession,
  SESSIONS,
  type SessionRow,
} from './sessions.ts';

/** Returns routes of own and others' sessions (docs/contract.md#sessions). Closed to agents. */
export function sessionRoutes(database: Database): Route[] {
  const common = { since: '1.2.harbor', agents: false } as const;
  const ended = (count: number): EndedSessions => ({ object: 'ended_sessions', count });
  const list = async (principal: Principal, userId: string, query: PageParameters, url: string) => {
    const page = readPage(LIST, query, { user: userId });
    const rows = await SESSIONS.readPage(database, [userId], page);
    return toList(rows, page, url, keyOf, (row) => presentSession(row, principal));
  };
  return [
    defineRoute({
      ...common,
      name: 'list_own_sessions',
      method: 'GET',
      path: '/v1/me/sessions',
      summary: "List the caller's own sessions, the one that was used last first",
      permission: null,
      query: PageQuery({}),
      response: ListOf(Session),
      handle: ({ principal, query, url }) => list(principal, principal.actor.id, query, url),
    }),
    defineRoute({
      ...common,
      name: 'get_own_session',
      method: 'GET',
      path: '/v1/me/sessions/:session_id',
      summary: "Get one of the caller's own sessions",
      permission: null,
      response: Session,
      handle: async ({ principal, params }) =>
        presentSession(await findSession(database, principal.actor.id, params.session_id!), principal),
    }),
    defineRoute({
      ...common,
      name: 'end_own_session',
      method: 'DELETE',
      path: '/v1/me/sessions/:session_id',
      summary: "End one of the caller's own sessions: sign out",
      permission: null,
      response: Session,
      change: async (tx, { principal, params }) =>
        presentSession(await endSession(tx, principal, principal.actor.id, params.session_id!), principal),
    }),
    defineRoute({
      ...common,
      name: 'end_other_own_sessions',
      method: 'DELETE',
      path: '/v1/me/sessions',
      summary: "End the caller's own sessions, except the one that asks",
      permission: null,
      response: EndedSessions,
      change: async (tx, { principal }) =>
        ended(await endSessions(tx, principal, principal.actor.id, { keep: principal.credential.familyId })),
    }),
    defineRoute({
      ...common,
      name: 'list_user_sessions',
      method: 'GET',
      path: '/v1/users/:id/sessions',
      summary: 'List the sessions of a user, the one that was used last first',
      permission: 'users:read',
      query: PageQuery({}),
      response: ListOf(Session),
      async handle({ principal, params, query, url }) {
        const { id } = await findUser(database, principal.accountId, params.id!, 'id');
        return list(principal, id, query, url);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_user_session',
      method: 'GET',
      path: '/v1/users/:id/sessions/:session_id',
      summary: 'Get one session of a user',
      permission: 'users:read',
      response: Session,
      async handle({ principal, params }) {
        const { id } = await findUser(database, principal.accountId, params.id!, 'id');
        return presentSession(await findSession(database, id, params.session_id!), principal);
      },
    }),
    defineRoute({
      ...common,
      name: 'end_user_session',
      method: 'DELETE',
      path: '/v1/users/:id/sessions/:session_id',
      summary: 'End one session of a user',
      permission: 'users:update',
      response: Session,
      async change(tx, { principal, params }) {
        const id = await requireLesser(tx, principal, params.id!);
        return presentSession(await endSession(tx, principal, id, params.session_id!), principal);
      },
    }),
    defineRoute({
      ...common,
      name: 'end_user_sessions',
      method: 'DELETE',
      path: '/v1/users/:id/sessions',
      summary: 'End all sessions of a user',
      permission: 'users:update',
      response: EndedSessions,
      change: async (tx, { principal, params }) =>
        ended(await endSessions(tx, principal, await requireLesser(tx, principal, params.id!))),
    }),
    defineRoute({
      ...common,
      name: 'end_every_session',
      method: 'POST',
      path: '/v1/users/:id/actions/end-sessions',
      summary: 'End all sessions, tokens and tickets of a user or customer, also those of identity providers',
      since: '1.3.harbor',
      permission: 'users:update',
      response: EndedSessions,
      change: async (tx, { principal, params }) =>
        ended(await endCredentials(tx, principal, await requireLesserPerson(tx, principal, params.id!))),
    }),
  ];
}

const LIST = defineList('sessions', ['time', 'text']);
const keyOf = ({ last_used_at, id }: SessionRow) => [last_used_at, id];

/**
 * Returns the id of the user, whose role must grant no more than the caller has: `users:update`
 * alone cannot lock out an admin.
 */
async function requireLesser(tx: Tx, principal: Principal, id: string): Promise<string> {
  const user = await findUser(tx, principal.accountId, id, 'id');
  if (user.role_id !== null)
    requireGrant(principal, await findRoleById(tx, principal.accountId, user.role_id));
  return user.id;
}

/** Does the same for a user, or for a customer, which has no role. */
async function requireLesserPerson(tx: Tx, principal: Principal, id: string): Promise<string> {
  const person = await findPerson(tx, principal.accountId, id);
  if (person === undefined) throw notFound('user', 'id');
  return person.customer ? person.id : requireLesser(tx, principal, id);
}
