import { ListOf } from '@parley/protocol/lists.ts';
import { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import {
  Conversation,
  CreateConversationBody,
  LEGAL_HOLD_INCLUDES,
  PutConversationBody,
  SetLegalHoldBody,
  UpdateConversationBody,
} from '@parley/protocol/resources/conversation.ts';
import { EXTERNAL_SINCE } from '@parley/protocol/schema/external-ids.ts';
import { Body, Include } from '@parley/protocol/schema/schema.ts';
import { defineList, PageQuery, readPage, toList } from '../../api/pipeline/pagination.ts';
import { Answer, defineRoute, type Route } from '../../api/pipeline/route.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { putIdOf } from '../accounts/collections/external-ids.ts';
import { auditKeyOf, presentAuditEvent, readConversationAudit } from '../audit/audit.ts';
import { expandConversations, readConversationsById } from '../resources/conversation.ts';
import { reachesCustomers } from '../resources/metadata.ts';
import { ConversationQuery, show } from '../resources/shown-conversation.ts';
import { readableConversation } from './directory/access.ts';
import type { ConversationDirectory } from './directory/directory.ts';
import {
  checkNewConversation,
  checkPut,
  putConversation,
  startConversation,
} from './lifecycle/start-conversation.ts';
import { setLegalHold, updateConversation } from './lifecycle/update-conversation.ts';

export function conversationRoutes(database: Database, directory: ConversationDirectory): Route[] {
  return [
    defineRoute({
      name: 'create_conversation',
      method: 'POST',
      path: '/v1/messaging/conversations',
      summary: 'Start a direct message, a group or a customer case',
      since: '1.1.harbor',
      permission: 'messaging:create',
      customers: true,
      refuses: ['limit_exceeded'],
      reachesOutside: ({ participants = [] }) => participants.some(({ type }) => type === 'customer'),
      query: ConversationQuery,
      body: CreateConversationBody,
      rules: ({ principal, body }) => checkNewConversation(principal, body),
      status: 201,
      mayExist: true,
      response: Conversation,
      async change(tx, { principal, version, query, body }) {
        const { conversation, isNew } = await startConversation(tx, principal, version, body);
        const shown = await show(tx, principal, conversation, query['include[]']);
        return new Answer(isNew ? 201 : 200, shown);
      },
    }),
    defineRoute({
      name: 'get_conversation',
      method: 'GET',
      path: '/v1/messaging/conversations/:id',
      summary: 'Read a conversation',
      since: '1.1.harbor',
      permission: 'messaging:read',
      customers: true,
      query: ConversationQuery,
      response: Conversation,
      async handle({ principal, params, query }) {
        const { id } = await readableConversation(directory, principal, params.id!);
        const [row] = await readConversationsById(database, [id]);
        return show(database, principal, row!, query['include[]']);
      },
    }),
    defineRoute({
      name: 'update_conversation',
      method: 'PATCH',
      path: '/v1/messaging/conversations/:id',
      summary: 'Rename, assign, move, anchor or archive a conversation',
      since: '1.1.harbor',
      permission: 'messaging:update',
      // The customer of a case sees these.
      reachesOutside: ({ title, metadata }) => title !== undefined || reachesCustomers(metadata),
      query: ConversationQuery,
      body: UpdateConversationBody,
      refuses: ['resource_exists'],
      response: Conversation,
      async change(tx, { principal, params, query, body }) {
        const row = await updateConversation(tx, principal, params.id!, body);
        return show(tx, principal, row, query['include[]']);
      },
    }),
    defineRoute({
      name: 'put_conversation',
      method: 'PUT',
      path: '/v1/messaging/conversations/:id',
      summary: 'Create the conversation with an external id, or change it',
      since: EXTERNAL_SINCE,
      permission: 'messaging:create',
      own: { permission: 'messaging:update', of: 'a conversation that is there' },
      // It changes the members of a case, or the title that its customer sees.
      reachesOutside: ({ type }) => type !== 'direct_message',
      query: ConversationQuery,
      upserts: true,
      body: PutConversationBody,
      rules({ params, body }) {
        putIdOf(params);
        checkPut(body);
      },
      status: 201,
      mayExist: true,
      response: Conversation,
      async change(tx, { principal, version, params, query, body }) {
        const { conversation, isNew } = await putConversation(tx, principal, version, putIdOf(params), body);
        const shown = await show(tx, principal, conversation, query['include[]']);
        return new Answer(isNew ? 201 : 200, shown);
      },
    }),
    defineRoute({
      name: 'list_conversation_audit',
      method: 'GET',
      path: '/v1/messaging/conversations/:id/audit',
      summary: 'List the audit events of a conversation, newest first',
      since: '1.1.harbor',
      permission: 'messaging:read',
      query: PageQuery({}),
      response: ListOf(AuditEvent),
      async handle({ principal, params, query, url }) {
        const page = readPage(AUDIT, query, { conversation: params.id });
        const { id } = await readableConversation(directory, principal, params.id!);
        const rows = await readConversationAudit(database, id, page);
        return toList(rows, page, url, auditKeyOf, presentAuditEvent);
      },
    }),
    defineRoute({
      name: 'set_legal_hold',
      method: 'POST',
      path: '/v1/messaging/conversations/:id/actions/set-legal-hold',
      summary: 'Put a conversation under legal hold, or release it',
      since: '1.0.harbor',
      permission: 'messaging:update',
      query: Body({ 'include[]': Include(LEGAL_HOLD_INCLUDES) }),
      body: SetLegalHoldBody,
      response: Conversation,
      async change(tx, { principal, params, query, body }) {
        const row = await setLegalHold(tx, principal, params.id!, body);
        // The topic is always included, and participants' actors never are
        // (docs/contract.md#expansion).
        const include = ['topic', ...(query['include[]'] ?? [])] as const;
        const shown = await expandConversations(tx, principal, [row], include);
        return shown.get(row.id)!;
      },
    }),
  ];
}

const AUDIT = defineList('audit events', ['time', 'text']);
