import { notFound } from '@parley/protocol/errors/errors.ts';
import { ListOf } from '@parley/protocol/lists.ts';
import {
  Conversation,
  CustomerTokenBody,
  MarkReadBody,
  SnoozeBody,
} from '@parley/protocol/resources/conversation.ts';
import { MetadataFilter } from '@parley/protocol/resources/metadata.ts';
import {
  MEMBERSHIPS,
  Participant,
  ParticipantInput,
  UpdateParticipantBody,
} from '@parley/protocol/resources/participant.ts';
import { Token } from '@parley/protocol/resources/token.ts';
import { OneOf } from '@parley/protocol/schema/schema.ts';
import { Since } from '@parley/protocol/schema/since.ts';
import { Type } from 'typebox';
import type { Principal } from '../../../api/access/principal.ts';
import type { Rights } from '../../../api/access/rights.ts';
import type { Tokens } from '../../../api/access/tokens.ts';
import { defineList, PageQuery, readPage, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { keyOf } from '../../accounts/collections/account-list.ts';
import { issueTokenPair } from '../../accounts/sessions/token-pairs.ts';
import type { Engine } from '../../frames/engine.ts';
import { MEMBER } from '../../resources/membership.ts';
import { isAllPublic } from '../../resources/metadata.ts';
import { presentParticipants, type ShownParticipant } from '../../resources/participant.ts';
import { ConversationQuery, show } from '../../resources/shown-conversation.ts';
import { readableConversation } from '../directory/access.ts';
import type { ConversationDirectory } from '../directory/directory.ts';
import { PARTICIPANTS, readParticipant } from '../rows/participant-store.ts';
import { markRead, publishRead, requireComing, setHidden, snooze } from './own-state.ts';
import {
  changeParticipant,
  checkParticipantChange,
  joinConversation,
  leaveConversation,
  requireCustomer,
} from './participants.ts';
import { checkInput } from './roster.ts';

/** Routes of participants, and of each member's own state in a conversation. */
export function participantRoutes(
  database: Database,
  directory: ConversationDirectory,
  engine: Engine,
  rights: Pick<Rights, 'announce'>,
  tokens: Pick<Tokens, 'issueAccess'>,
): Route[] {
  return [
    defineRoute({
      name: 'list_participants',
      method: 'GET',
      path: '/v1/messaging/conversations/:id/participants',
      summary: 'List the participants of a conversation, in the order in which they joined',
      since: '1.2.harbor',
      permission: 'messaging:read',
      customers: true,
      query: PageQuery({
        'membership[]': Since(
          '1.2.harbor',
          Type.Array(OneOf(MEMBERSHIPS), { minItems: 1, maxItems: 2 * MEMBERSHIPS.length }),
        ),
        metadata: MetadataFilter,
      }),
      response: ListOf(Participant),
      async handle({ principal, params, query, url }) {
        const memberships = query['membership[]'] ?? MEMBER;
        const { metadata } = query;
        const filters = { conversation: params.id, memberships: [...new Set(memberships)].sort(), metadata };
        const page = readPage(LIST, query, filters);
        const { id } = await readableConversation(directory, principal, params.id!);
        const actorId = principal.customer ? principal.actor.id : null;
        const filter = metadata === undefined ? null : JSON.stringify(metadata);
        const isHidden = principal.customer && !isAllPublic(metadata);
        const rows = isHidden
          ? []
          : await PARTICIPANTS.readPage(database, [id, actorId, memberships, filter], page);
        const shown = new Map(
          (await presentParticipants(database, principal, rows)).map((one) => [one.id, one]),
        );
        return toList(rows, page, url, keyOf, (row) => shown.get(row.id)!);
      },
    }),
    defineRoute({
      name: 'get_participant',
      method: 'GET',
      path: '/v1/messaging/conversations/:id/participants/:participant_id',
      summary: 'Get a participant of a conversation, also a former one',
      since: '1.2.harbor',
      permission: 'messaging:read',
      customers: true,
      response: Participant,
      async handle({ principal, params }) {
        const { id } = await readableConversation(directory, principal, params.id!);
        const row = await readParticipant(database, principal, id, params.participant_id!);
        if (row === undefined) throw notFound('participant', 'participant_id');
        return showParticipant(database, principal, row);
      },
    }),
    defineRoute({
      name: 'add_participant',
      method: 'POST',
      path: '/v1/messaging/conversations/:id/participants',
      summary: 'Add a user, an agent or a customer to a conversation',
      since: '1.1.harbor',
      permission: 'messaging:update',
      reachesOutside: ({ type }) => type === 'customer',
      body: ParticipantInput,
      status: 201,
      response: Participant,
      rules: ({ body }) => checkInput(body),
      async change(tx, { principal, params, body }) {
        return showParticipant(tx, principal, await joinConversation(tx, principal, params.id!, body));
      },
    }),
    defineRoute({
      name: 'update_participant',
      method: 'PATCH',
      path: '/v1/messaging/conversations/:id/participants/:participant_id',
      summary: "Change a participant's role or trigger, or mute the conversation for yourself",
      since: '1.1.harbor',
      permission: 'messaging:update',
      own: { permission: 'messaging:read', of: 'your own notification setting' },
      body: UpdateParticipantBody,
      response: Participant,
      rules: ({ body }) => checkParticipantChange(database, body),
      async change(tx, { principal, params, body }) {
        const { id, participant_id } = params;
        const changed = await changeParticipant(tx, principal, id!, participant_id!, body);
        return showParticipant(tx, principal, changed);
      },
    }),
    defineRoute({
      name: 'remove_participant',
      method: 'DELETE',
      path: '/v1/messaging/conversations/:id/participants/:participant_id',
      summary: 'Remove a participant, or leave the conversation',
      since: '1.1.harbor',
      permission: 'messaging:update',
      own: { permission: 'messaging:read', of: 'your own participant' },
      response: Participant,
      async change(tx, { principal, params }) {
        const { id, participant_id } = params;
        return showParticipant(tx, principal, await leaveConversation(tx, principal, id!, participant_id!));
      },
    }),
    defineRoute({
      name: 'mark_conversation_read',
      path: '/v1/messaging/conversations/:id/actions/mark-read',
      summary: "Move the caller's read position forward",
      since: '1.1.harbor',
      ...OWN_STATE,
      customers: true,
      body: MarkReadBody,
      async change(tx, { principal, params, query, body, afterCommit }) {
        const id = params.id!;
        const { conversation, movedAt } = await markRead(tx, principal, id, body.sequence);
        if (movedAt !== undefined) {
          afterCommit(() => publishRead(engine, id, principal.actor, body.sequence, movedAt));
        }
        return show(tx, principal, conversation, query['include[]']);
      },
    }),
    ...(['hide', 'unhide'] as const).map((move) =>
      defineRoute({
        name: `${move}_conversation`,
        path: `/v1/messaging/conversations/:id/actions/${move}`,
        summary:
          move === 'hide'
            ? "Hide a conversation from the caller's list"
            : "Show a hidden conversation in the caller's list again",
        since: '1.1.harbor',
        ...OWN_STATE,
        async change(tx, { principal, params, query, afterCommit }) {
          const row = await setHidden(tx, principal, params.id!, move);
          // This precedes the answer, so that a message sent after it shows the conversation again.
          afterCommit(() => rights.announce(row.id));
          return show(tx, principal, row, query['include[]']);
        },
      }),
    ),
    defineRoute({
      name: 'snooze_conversation',
      path: '/v1/messaging/conversations/:id/actions/snooze',
      summary: 'Snooze a conversation for the caller, until a time or the next message',
      since: '1.2.harbor',
      ...OWN_STATE,
      body: SnoozeBody,
      rules: ({ body: { until } }) => (until ? requireComing(database, until, 'until') : undefined),
      async change(tx, { principal, params, query, body }) {
        const row = await snooze(tx, principal, params.id!, body.until ?? 'infinity');
        return show(tx, principal, row, query['include[]']);
      },
    }),
    defineRoute({
      name: 'unsnooze_conversation',
      path: '/v1/messaging/conversations/:id/actions/unsnooze',
      summary: "End the caller's snooze of a conversation",
      since: '1.2.harbor',
      ...OWN_STATE,
      async change(tx, { principal, params, query }) {
        const row = await snooze(tx, principal, params.id!, null);
        return show(tx, principal, row, query['include[]']);
      },
    }),
    defineRoute({
      name: 'create_customer_token',
      method: 'POST',
      path: '/v1/messaging/conversations/:id/actions/customer-token',
      summary: 'Create an access token with which the customer reads and answers its case',
      since: '1.1.harbor',
      permission: 'tokens:create',
      agents: false,
      body: CustomerTokenBody,
      status: 201,
      response: Token,
      secret: true,
      async change(tx, { principal, params, body }) {
        const subject = await requireCustomer(tx, principal, params.id!, body.participant_id);
        return issueTokenPair(tx, tokens, subject);
      },
    }),
  ];
}

const OWN_STATE = {
  method: 'POST',
  permission: 'messaging:read',
  query: ConversationQuery,
  response: Conversation,
} as const;

const LIST = defineList('participants', ['time', 'text']);

async function showParticipant(db: Db, principal: Principal, row: ShownParticipant): Promise<Participant> {
  const [shown] = await presentParticipants(db, principal, [row]);
  return shown!;
}
