import { ApiError } from '@parley/protocol/errors/errors.ts';
import { ListOf, PAGE_LIMIT } from '@parley/protocol/lists.ts';
import { ENTITY_TYPES } from '@parley/protocol/resources/actor.ts';
import { CONVERSATION_INCLUDES, Conversation } from '@parley/protocol/resources/conversation.ts';
import {
  AUDIENCES,
  CONVERSATION_STATUSES,
  CONVERSATION_TYPES,
  INBOX_FILTERS,
  INBOX_ORDERS,
  WORKFLOW_STATUSES,
} from '@parley/protocol/resources/conversation-values.ts';
import { INBOX_FACTS, INBOX_FILTERS_SINCE, INBOX_ORDERS_SINCE } from '@parley/protocol/resources/inbox.ts';
import { MetadataFilter } from '@parley/protocol/resources/metadata.ts';
import { IdBy, IdOf, OwnIdFilter } from '@parley/protocol/schema/external-ids.ts';
import { Id, Include, OneOf } from '@parley/protocol/schema/schema.ts';
import { MEMBERS_SINCE, Since } from '@parley/protocol/schema/since.ts';
import { covers, type Version } from '@parley/protocol/versions.ts';
import { type Static, Type } from 'typebox';
import { type Principal, seesWholeAccount } from '../../api/access/principal.ts';
import { defineList, readPage, SearchQuery, toList } from '../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { auditAccount } from '../audit/audit.ts';
import { AssigneeFilter, readAssigneeFilter } from '../conversations/cases/assignee-filter.ts';
import { readActorFilter } from '../resources/actor-filter.ts';
import { expandConversations } from '../resources/conversation.ts';
import { type EntityRef, readEntities, refKey } from '../resources/entity.ts';
import { findExternal } from '../resources/external-ids.ts';
import { acquainted } from '../resources/known-users.ts';
import { isAllPublic } from '../resources/metadata.ts';
import { readIdsWithMetadata } from '../resources/metadata-filter.ts';
import { ACTORS } from '../resources/shown-conversation.ts';
import { type InboxFilters, type InboxRow, readClock, readInbox, TIME_OF } from './list-store.ts';
import { type OWNED, readOwned } from './owned-filter.ts';

const SINCE = '1.2.harbor';
const COMBINED_SINCE = '1.4.harbor';

const ListQuery = SearchQuery({
  order: Since(SINCE, OneOf(INBOX_ORDERS, { [MEMBERS_SINCE]: INBOX_ORDERS_SINCE })),
  filter: Since(SINCE, OneOf(INBOX_FILTERS, { [MEMBERS_SINCE]: INBOX_FILTERS_SINCE })),
  'filter[]': Since(COMBINED_SINCE, several(INBOX_FILTERS)),
  status: Type.Optional(OneOf(CONVERSATION_STATUSES)),
  'status[]': Since(SINCE, several(CONVERSATION_STATUSES)),
  type: Type.Optional(OneOf(CONVERSATION_TYPES)),
  audience: Type.Optional(OneOf(AUDIENCES)),
  workflow_status: Type.Optional(OneOf(WORKFLOW_STATUSES)),
  'workflow_status[]': Since(SINCE, several(WORKFLOW_STATUSES)),
  assignee_id: Type.Optional(AssigneeFilter),
  participant_id: Since(SINCE, IdOf('user', 'customer', 'agent')),
  customer_id: Since(SINCE, IdOf('customer')),
  topic_type: Since(SINCE, OneOf(ENTITY_TYPES)),
  topic_id: Since(SINCE, IdBy('topic_type')),
  direct: Since(SINCE, OneOf(['all'])),
  'conversation_ids[]': Since(
    '1.3.harbor',
    Type.Array(IdOf('conversation'), { minItems: 1, maxItems: PAGE_LIMIT.most }),
  ),
  group_id: Since(COMBINED_SINCE, IdOf('group')),
  inbox_id: Since(COMBINED_SINCE, Id),
  metadata: MetadataFilter,
  external_id: OwnIdFilter,
  'include[]': Include(CONVERSATION_INCLUDES),
});

export function listRoute(database: Database): Route {
  return defineRoute({
    name: 'list_conversations',
    frequent: true,
    method: 'GET',
    path: '/v1/messaging/conversations',
    summary: 'List the conversations that the caller may read, newest first',
    since: '1.1.harbor',
    permission: 'messaging:read',
    customers: true,
    query: ListQuery,
    response: ListOf(Conversation, INBOX_FACTS),
    async handle({ principal, version, query, url }) {
      const { order = 'created' } = query;
      const filters = filtersOf(query, version);
      const definition = LISTS[order];
      const request = readPage(definition, query, { actor: principal.actor.id, ...filters });
      if (query.direct === 'all') await auditDirect(database, principal);
      const named = await withIds(database, principal, await resolved(database, principal, filters));
      const [asOf, page] = walkOf(request);
      const isDated = covers(version, SINCE);
      const [read, clock] = await Promise.all([
        named === undefined ? NOTHING : readInbox(database, principal, named, order, page, asOf),
        isDated && order !== 'activity' ? readClock(database) : undefined,
      ]);
      const as_of = read.asOf ?? asOf ?? clock;
      const include = query['include[]'] ?? [];
      const shown = await expandConversations(database, principal, read.rows, include, ACTORS);
      const keyOf = (row: InboxRow) =>
        order === 'created' ? [row.created_at, row.id] : [TIME_OF[order](row), row.id, as_of!];
      const list = toList(read.rows, request, url, keyOf, (row) => shown.get(row.id)!);
      return isDated ? list.with({ as_of: as_of ?? (await readClock(database)) }) : list;
    },
  });
}

/** The last part of the other two is the beginning of the walk. */
const LISTS = {
  created: defineList('conversations', ['time', 'text']),
  activity: defineList('inbox', ['time', 'text', 'time']),
  waiting: defineList('waiting', ['time', 'text', 'time']),
} as const;

const NOTHING = { rows: [], asOf: undefined } as const;

function several<const V extends readonly string[]>(values: V) {
  return Type.Array(OneOf(values), { minItems: 1, maxItems: values.length });
}

/** Returns the beginning of the page's walk, and the page by the key of the rows. */
function walkOf<Page extends { readonly after: readonly (string | number)[] | null }>(
  page: Page,
): [asOf: string | undefined, page: Page] {
  const [at, id, asOf] = page.after ?? [];
  return asOf === undefined ? [undefined, page] : [String(asOf), { ...page, after: [at!, id!] }];
}

/** Returns the given filters. Throws ApiError `parameters_exclusive` or `parameter_missing`. */
function filtersOf(query: Static<typeof ListQuery>, version: Version): InboxFilters {
  const { type, audience, topic_type, topic_id } = query;
  if ((topic_type === undefined) !== (topic_id === undefined)) {
    const param = topic_type === undefined ? 'topic_type' : 'topic_id';
    throw new ApiError('parameter_missing', 'Send topic_type together with topic_id.', { param });
  }
  return {
    type,
    audience,
    states: oneOrSeveral('filter', query.filter, query['filter[]']),
    statuses: oneOrSeveral('status', query.status, query['status[]']),
    lanes: oneOrSeveral('workflow_status', query.workflow_status, query['workflow_status[]']),
    assigneeId: query.assignee_id,
    participantId: query.participant_id,
    customerId: query.customer_id,
    topic: topic_type === undefined ? undefined : { type: topic_type, id: topic_id! },
    ids: query['conversation_ids[]'],
    groupId: query.group_id,
    mailboxId: query.inbox_id,
    metadata: query.metadata,
    externalId: query.external_id,
    includesDirect: query.direct === 'all' || !covers(version, SINCE),
  };
}

function oneOrSeveral(
  name: string,
  one: string | undefined,
  several: readonly string[] | undefined,
): readonly string[] | undefined {
  if (one !== undefined && several !== undefined) {
    throw new ApiError('parameters_exclusive', `Send either ${name} or ${name}[].`, { param: `${name}[]` });
  }
  return one === undefined ? several?.toSorted() : [one];
}

/**
 * Returns the filters with actors' ids, or undefined if no conversation matches. Customers see
 * neither the team's workflow nor a case's members, so for them these filters match nothing.
 */
async function resolved(
  database: Database,
  principal: Principal,
  filters: InboxFilters,
): Promise<InboxFilters | undefined> {
  const { participantId, customerId, assigneeId, lanes, topic, states, ids, externalId } = filters;
  const { groupId, mailboxId } = filters;
  if (principal.customer) {
    const own: readonly (string | undefined)[] = [undefined, 'me', principal.actor.id];
    const isOwn = own.includes(participantId) && own.includes(customerId);
    const isHidden =
      [assigneeId, lanes, topic, externalId, groupId, mailboxId].some((value) => value !== undefined) ||
      !isAllPublic(filters.metadata);
    const hasLane = states?.some((state) => state !== 'unread') === true;
    if (!isOwn || isHidden || hasLane) return undefined;
    const itself = (id: string | undefined) => id && principal.actor.id;
    return { ...filters, participantId: itself(participantId), customerId: itself(customerId) };
  }
  const one = externalId && (await findExternal(database, principal, 'conversation', externalId));
  if (externalId !== undefined && (one === undefined || ids?.includes(one) === false)) return undefined;
  const named = async (param: string, id: string | undefined) =>
    id === undefined ? undefined : (await readActorFilter(database, principal, param, [id]))[0];
  const owned = async (param: keyof typeof OWNED, id: string | undefined) =>
    id === undefined ? undefined : await readOwned(database, principal, param, id);
  return {
    ...filters,
    assigneeId: assigneeId && (await readAssigneeFilter(database, principal, assigneeId)),
    participantId: await named('participant_id', participantId),
    customerId: await named('customer_id', customerId),
    groupId: await owned('group_id', groupId),
    mailboxId: await owned('inbox_id', mailboxId),
    topic: topic && (await readTopicFilter(database, principal, topic)),
    ids: one === undefined ? ids : [one],
  };
}

/**
 * Returns the filters with the ids of the conversations that have the metadata, if there are few,
 * or undefined if no conversation matches.
 */
async function withIds(
  database: Database,
  { accountId }: Principal,
  filters: InboxFilters | undefined,
): Promise<InboxFilters | undefined> {
  if (filters?.metadata === undefined) return filters;
  const { ids, metadata } = filters;
  const found = await readIdsWithMetadata(database, 'conversations', accountId, metadata, PAGE_LIMIT.most);
  if (found === undefined) return filters;
  const both = ids === undefined ? found : found.filter((id) => ids.includes(id));
  return both.length === 0 ? undefined : { ...filters, ids: both };
}

/**
 * Throws ApiError `parameter_invalid` (param topic_id) if the account does not have the resource.
 */
async function readTopicFilter(db: Db, principal: Principal, topic: EntityRef): Promise<EntityRef> {
  const known = await readEntities(db, principal.accountId, [topic], acquainted(principal));
  const found = known.get(refKey(topic));
  if (found !== undefined) return { type: found.type, id: found.id };
  const message = `Must be the id of a resource of the account, of the type ${topic.type}.`;
  throw new ApiError('parameter_invalid', message, { param: 'topic_id' });
}

/**
 * Audits the reading of other people's direct messages, per page. Throws
 * `insufficient_permissions`.
 */
async function auditDirect(database: Database, principal: Principal): Promise<void> {
  if (!seesWholeAccount(principal)) {
    const message = 'Only admins and API keys can list the direct messages of other people.';
    throw new ApiError('insufficient_permissions', message, { param: 'direct' });
  }
  await database.transaction((tx) => auditAccount(tx, principal, 'conversations.direct_listed'));
}
