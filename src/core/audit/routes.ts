import { ListOf } from '@parley/protocol/lists.ts';
import {
  AUDIT_ACTIONS,
  AUDIT_ACTIONS_SINCE,
  AuditEvent,
  AuditHead,
} from '@parley/protocol/resources/audit-event.ts';
import { IdOf } from '@parley/protocol/schema/external-ids.ts';
import { OneOf } from '@parley/protocol/schema/schema.ts';
import { MEMBERS_SINCE } from '@parley/protocol/schema/since.ts';
import { Type } from 'typebox';
import { defineList, PageQuery, readPage, toList } from '../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { readActorFilter } from '../resources/actor-filter.ts';
import { auditKeyOf, presentAuditEvent, readAccountAudit, requireAudited } from './audit.ts';
import { NOTHING_SEALED } from './chain.ts';
import { readHead } from './chain-store.ts';
import type { SigningKey } from './signing-key.ts';

/**
 * Returns the routes of the account's audit (docs/contract.md#audit); conversations have their own.
 */
export function auditRoutes(database: Database, signingKey: SigningKey): Route[] {
  return [
    defineRoute({
      name: 'list_account_audit',
      method: 'GET',
      path: '/v1/account/audit',
      summary: 'List the audit events of the account and of all its conversations, newest first',
      since: '1.2.harbor',
      permission: 'audit:read',
      agents: false,
      query: PageQuery({
        conversation_id: Type.Optional(IdOf('conversation')),
        actor_id: Type.Optional(IdOf('actor')),
        action: Type.Optional(OneOf(AUDIT_ACTIONS, { [MEMBERS_SINCE]: AUDIT_ACTIONS_SINCE })),
      }),
      response: ListOf(AuditEvent),
      async handle({ principal, query, url }) {
        const { accountId } = principal;
        const { conversation_id: conversationId, actor_id: actorId, action } = query;
        const page = readPage(LIST, query, { account: accountId, conversationId, actorId, action });
        const actorIds =
          actorId === undefined
            ? undefined
            : await readActorFilter(database, principal, 'actor_id', [actorId]);
        if (conversationId !== undefined) await requireAudited(database, accountId, conversationId);
        const rows = await readAccountAudit(database, accountId, { conversationId, actorIds, action }, page);
        return toList(rows, page, url, auditKeyOf, presentAuditEvent);
      },
    }),
    defineRoute({
      name: 'get_audit_head',
      method: 'GET',
      path: '/v1/account/audit/head',
      summary: "Get the signed head of the account's audit",
      since: '1.2.harbor',
      permission: 'audit:read',
      agents: false,
      response: AuditHead,
      async handle({ principal: { accountId } }) {
        const { head, now } = await readHead(database, accountId);
        return head ?? signingKey.sign({ ...NOTHING_SEALED, account_id: accountId, signed_at: now });
      },
    }),
  ];
}

const LIST = defineList('account audit', ['time', 'text']);
