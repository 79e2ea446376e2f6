import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import { ListOf } from '@parley/protocol/lists.ts';
import {
  CreateImportBody,
  CreateImportPartBody,
  IMPORTED_TYPES,
  Import,
  ImportRemark,
  ImportReport,
} from '@parley/protocol/resources/import.ts';
import { UploadUrl } from '@parley/protocol/resources/upload.ts';
import { OneOf } from '@parley/protocol/schema/schema.ts';
import { Type } from 'typebox';
import { defineList, PageQuery, readPage, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { keyOf } from '../../../core/accounts/collections/account-list.ts';
import type { ObjectStore } from '../../../core/attachments/storage.ts';
import { auditAccount } from '../../../core/audit/audit.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import {
  cancelImport,
  findImport,
  type ImportRow,
  insertImport,
  lockImport,
  queueImport,
  readImports,
} from './import-store.ts';
import { newPart, registerPart, requireComplete, requirePart, uploadedParts } from './parts.ts';
import { presentImport, readReport } from './present-import.ts';
import { presentRemark, readRemarks, remarkKeyOf } from './remarks.ts';

interface ImportRoutesOptions {
  readonly database: Database;
  readonly store: ObjectStore;
  /** See PARLEY_IMPORT_MAX_BYTES. */
  readonly maxBytes: number;
}

/** Returns the routes of imports (docs/contract.md#imports), for admins. Closed to agents. */
export function importRoutes({ database, store, maxBytes }: ImportRoutesOptions): Route[] {
  const common = { since: '1.3.harbor', agents: false, response: Import } as const;
  const show = async (db: Db, row: ImportRow) => presentImport(row, await uploadedParts(db, store, row.id));
  return [
    defineRoute({
      ...common,
      name: 'create_import',
      method: 'POST',
      path: '/v1/imports',
      summary: 'Create an import of an archive of another service, which is then uploaded in parts',
      permission: 'imports:create',
      body: CreateImportBody(maxBytes),
      status: 201,
      async change(tx, { principal, body }) {
        const { source, size_bytes, sha256 = null, ...options } = body;
        const row = await insertImport(tx, {
          accountId: principal.accountId,
          source,
          options,
          sizeBytes: size_bytes,
          partBytes: store.maxBytes,
          sha256,
          createdBy: principal.actor.id,
        });
        await auditAccount(tx, principal, 'import.created', { import_id: row.id, source, size_bytes });
        return presentImport(row, []);
      },
    }),
    defineRoute({
      ...common,
      name: 'create_import_part',
      method: 'POST',
      path: '/v1/imports/:id/parts',
      summary: 'Create an upload URL for a part of the archive',
      permission: 'imports:create',
      body: CreateImportPartBody,
      status: 201,
      response: UploadUrl,
      // The URL is a credential: its holder may use it.
      secret: true,
      async prepare({ principal, params, body }) {
        const row = await find(database, principal.accountId, params.id!);
        requirePart(row, body.number);
        return newPart(store, row, body.number);
      },
      async change(tx, { principal, params, body }, upload) {
        const row = await lock(tx, principal.accountId, params.id!);
        if (row.status !== 'awaiting_upload') {
          throw new ApiError(
            'resource_conflict',
            `The import is ${row.status}. Parts are taken while it is awaiting_upload.`,
          );
        }
        const part = { number: body.number, key: upload.s3_key, actorId: principal.actor.id };
        await registerPart(tx, row, part);
        return upload;
      },
    }),
    defineRoute({
      ...common,
      name: 'start_import',
      method: 'POST',
      path: '/v1/imports/:id/actions/start',
      summary: 'Start an import whose parts are there, or let a failed or canceled one go on',
      permission: 'imports:create',
      async prepare({ principal, params }) {
        const { id } = await find(database, principal.accountId, params.id!);
        return uploadedParts(database, store, id);
      },
      async change(tx, { principal, params }, uploaded) {
        const row = await lock(tx, principal.accountId, params.id!);
        if (row.status === 'queued' || row.status === 'running') return presentImport(row, uploaded);
        if (row.is_local) throw conflict('The archive is a file of the operator, whose command imports it.');
        if (row.status === 'completed') throw conflict('The import is completed. Create another one.');
        requireComplete(row, uploaded);
        const queued = await queueImport(tx, row);
        await auditAccount(tx, principal, 'import.started', { import_id: row.id, position: row.position });
        return presentImport(queued, uploaded);
      },
    }),
    defineRoute({
      ...common,
      name: 'cancel_import',
      method: 'POST',
      path: '/v1/imports/:id/actions/cancel',
      summary: 'Stop an import; what it has imported stays',
      permission: 'imports:create',
      async change(tx, { principal, params }) {
        const row = await lock(tx, principal.accountId, params.id!);
        if (row.status === 'canceled') return show(tx, row);
        if (row.status === 'completed' || row.status === 'failed') {
          throw conflict(`The import has ended: it is ${row.status}.`);
        }
        const canceled = await cancelImport(tx, row.id);
        await auditAccount(tx, principal, 'import.canceled', { import_id: row.id });
        return show(tx, canceled);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_import',
      method: 'GET',
      path: '/v1/imports/:id',
      summary: 'Get an import: which parts are there, and how far it is',
      permission: 'imports:read',
      handle: async ({ principal, params }) =>
        show(database, await find(database, principal.accountId, params.id!)),
    }),
    defineRoute({
      ...common,
      name: 'get_import_report',
      method: 'GET',
      path: '/v1/imports/:id/report',
      summary: 'Get what became of everything in the archive of an import',
      permission: 'imports:read',
      response: ImportReport,
      handle: async ({ principal, params }) =>
        readReport(database, await find(database, principal.accountId, params.id!)),
    }),
    defineRoute({
      ...common,
      name: 'list_import_remarks',
      method: 'GET',
      path: '/v1/imports/:id/remarks',
      summary: 'List what was not imported, or not as it was, in the order of the archive',
      permission: 'imports:read',
      query: PageQuery({
        type: Type.Optional(OneOf([...IMPORTED_TYPES, 'note'])),
        reason: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      }),
      response: ListOf(ImportRemark),
      async handle({ principal, params, query, url }) {
        const { id } = await find(database, principal.accountId, params.id!);
        const { type = null, reason = null } = query;
        const page = readPage(REMARKS, query, { import: id, type, reason });
        const rows = await readRemarks(database, id, { type, reason }, page);
        return toList(rows, page, url, remarkKeyOf, presentRemark);
      },
    }),
    defineRoute({
      ...common,
      name: 'list_imports',
      method: 'GET',
      path: '/v1/imports',
      summary: 'List the imports of the account, newest first',
      permission: 'imports:read',
      query: PageQuery({}),
      response: ListOf(Import),
      async handle({ principal: { accountId }, query, url }) {
        const page = readPage(LIST, query, { account: accountId });
        const rows = await readImports(database, accountId, page);
        const shown = new Map(
          await Promise.all(rows.map(async (row) => [row, await show(database, row)] as const)),
        );
        return toList(rows, page, url, keyOf, (row) => shown.get(row)!);
      },
    }),
  ];
}

const LIST = defineList('imports', ['time', 'text']);
const REMARKS = defineList('import remarks', ['integer', 'integer']);

async function find(db: Db, accountId: string, id: string): Promise<ImportRow> {
  const row = await findImport(db, accountId, id);
  if (row === undefined) throw notFound('import', 'id');
  return row;
}

async function lock(tx: Parameters<typeof lockImport>[0], accountId: string, id: string): Promise<ImportRow> {
  const row = await lockImport(tx, accountId, id);
  if (row === undefined) throw notFound('import', 'id');
  return row;
}

function conflict(message: string): ApiError {
  return new ApiError('resource_conflict', message);
}
