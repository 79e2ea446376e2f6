import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { ListOf } from '@parley/protocol/lists.ts';
import { Export } from '@parley/protocol/resources/export.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { defineList, PageQuery, readPage, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { findPerson } from '../../../core/accounts/actors/persons.ts';
import { keyOf } from '../../../core/accounts/collections/account-list.ts';
import { audit } from '../../../core/audit/audit.ts';
import { conversationGone, conversationNotFound } from '../../../core/conversations/directory/access.ts';
import { findConversation } from '../../../core/conversations/rows/conversation-store.ts';
import type { Downloads } from '../../../core/resources/attachment.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import {
  addComplianceJob,
  type ComplianceJobRow,
  countOpenExports,
  findComplianceJob,
  readComplianceJobs,
} from '../jobs/job-store.ts';
import { conversationOf } from './exporter.ts';
import { EXPORT_TYPE, exportName } from './manifest.ts';

/** Returns the routes of exports (docs/contract.md#exports), for admins. Closed to agents. */
export function exportRoutes(database: Database, files: Downloads): Route[] {
  const common = { since: '1.2.harbor', agents: false, response: Export } as const;
  const show = async (row: ComplianceJobRow): Promise<Export> => {
    const { status, s3_key: key } = row;
    if (status !== 'complete' || key === null) return present(row, null);
    const file = { key, filename: exportName(row.id), contentType: EXPORT_TYPE };
    return present(row, await files.presignDownload(file));
  };
  return [
    defineRoute({
      ...common,
      name: 'create_conversation_export',
      method: 'POST',
      path: '/v1/messaging/conversations/:id/exports',
      summary: 'Export a conversation with everything of it as a signed file',
      permission: 'exports:create',
      status: 201,
      async change(tx, { principal, params }) {
        const conversation = await findConversation(tx, principal.accountId, params.id!);
        if (conversation === undefined) throw conversationNotFound();
        // A held conversation can be exported even while it is deleted.
        if (conversation.deleted_at !== null && conversation.legal_hold !== 'held') throw conversationGone();
        return present(await request(tx, principal, 'conversation_export', conversation.id), null);
      },
    }),
    defineRoute({
      ...common,
      name: 'create_user_export',
      method: 'POST',
      path: '/v1/users/:id/exports',
      summary: 'Export everything about a person, user or customer, as a signed file',
      permission: 'exports:create',
      status: 201,
      async change(tx, { principal, params }) {
        const person = await findPerson(tx, principal.accountId, params.id!);
        if (person === undefined) throw notFound('user', 'id');
        return present(await request(tx, principal, 'user_export', person.id), null);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_export',
      method: 'GET',
      path: '/v1/exports/:id',
      summary: 'Get an export: how far it is, and where to download it',
      permission: 'exports:read',
      async handle({ principal, params }) {
        const row = await findComplianceJob(database, principal.accountId, params.id!);
        if (row === undefined || row.kind === 'user_erasure') throw notFound('export', 'id');
        return show(row);
      },
    }),
    defineRoute({
      ...common,
      name: 'list_exports',
      method: 'GET',
      path: '/v1/exports',
      summary: 'List the exports of the account, newest first',
      permission: 'exports:read',
      query: PageQuery({}),
      response: ListOf(Export),
      async handle({ principal: { accountId }, query, url }) {
        const page = readPage(LIST, query, { account: accountId });
        const rows = await readComplianceJobs(database, accountId, KINDS, page);
        const shown = new Map(await Promise.all(rows.map(async (row) => [row, await show(row)] as const)));
        return toList(rows, page, url, keyOf, (row) => shown.get(row)!);
      },
    }),
  ];
}

const LIST = defineList('exports', ['time', 'text']);
const KINDS = ['conversation_export', 'user_export'] as const;

/** The most unfinished exports of an account. */
const OPEN_EXPORTS = 10;

async function request(
  tx: Tx,
  { accountId, actor }: Principal,
  kind: 'conversation_export' | 'user_export',
  subject_id: string,
): Promise<ComplianceJobRow> {
  const used = await countOpenExports(tx, accountId);
  if (used >= OPEN_EXPORTS) {
    throw new ApiError(
      'limit_exceeded',
      'The account has as many unfinished exports as it may have. Wait until one has ended.',
      {
        quota: { limit: OPEN_EXPORTS, used, reset_at: null },
      },
    );
  }
  const id = newId('export');
  await audit(tx, {
    accountId,
    conversationId: conversationOf({ kind, subject_id }),
    actorId: actor.id,
    action: 'export.requested',
    details: { export_id: id, subject_id },
  });
  return addComplianceJob(tx, { id, account_id: accountId, kind, subject_id, requested_by: actor.id });
}

/** Returns the export of a row. `url` is null unless the export is complete. */
function present(row: ComplianceJobRow, url: string | null): Export {
  return {
    id: row.id,
    object: 'export',
    subject_type: row.kind === 'user_export' ? 'user' : 'conversation',
    subject_id: row.subject_id,
    status: row.status,
    progress: { done: row.done, total: row.total },
    size_bytes: row.status === 'complete' ? row.size_bytes : null,
    url,
    error: row.error,
    requested_by: row.requested_by,
    created_at: row.created_at,
    completed_at: row.completed_at,
    expires_at: row.expires_at,
  };
}
