import { notFound } from '@parley/protocol/errors/errors.ts';
import { ListOf, listOf } from '@parley/protocol/lists.ts';
import { Actor } from '@parley/protocol/resources/actor.ts';
import { ActorPresence, ActorsQuery, Person, PresenceQuery } from '@parley/protocol/resources/person.ts';
import { defineList, readPage, SearchQuery, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import {
  type PersonRow,
  peopleOf,
  presentPerson,
  readKnownActors,
  readPerson,
  readPresences,
} from './people.ts';

/**
 * Returns the directory for members without `users:read`, not customers (docs/contract.md#people).
 */
export function peopleRoutes(database: Database): Route[] {
  const common = {
    method: 'GET',
    since: '1.2.harbor',
    permission: 'messaging:read',
  } as const;
  return [
    defineRoute({
      ...common,
      name: 'list_people',
      path: '/v1/messaging/people',
      summary: 'List the users and agents whom the caller may write to, by name',
      query: SearchQuery({}),
      response: ListOf(Person),
      async handle({ principal, query, url }) {
        const { accountId, actor } = principal;
        const page = readPage(LIST, query, { account: accountId, caller: actor.id });
        const rows = await peopleOf(principal).readPage(database, [accountId, actor.id], page);
        return toList(rows, page, url, keyOf, presentPerson);
      },
    }),
    defineRoute({
      ...common,
      since: '1.4.harbor',
      name: 'get_person',
      path: '/v1/messaging/people/:id',
      summary: 'Get a user or agent whom the caller may write to',
      response: Person,
      async handle({ principal, params }) {
        const person = await readPerson(database, principal, params.id!);
        if (person === undefined) throw notFound('person', 'id');
        return person;
      },
    }),
    defineRoute({
      ...common,
      name: 'list_presence',
      path: '/v1/messaging/presence',
      summary: 'List whether users are online',
      query: PresenceQuery,
      response: ListOf(ActorPresence),
      handle: async ({ principal, query }) =>
        listOf(await readPresences(database, principal, query['actor_ids[]'])),
    }),
    defineRoute({
      ...common,
      since: '1.3.harbor',
      name: 'list_actors',
      path: '/v1/messaging/actors',
      summary: 'Look up actors by their ids: users, customers, agents, groups and API keys',
      query: ActorsQuery,
      response: ListOf(Actor),
      handle: async ({ principal, query }) =>
        listOf(await readKnownActors(database, principal, query['actor_ids[]'])),
    }),
  ];
}

const LIST = defineList('people', ['text', 'text']);
const keyOf = ({ sort_name, id }: PersonRow) => [sort_name, id];
