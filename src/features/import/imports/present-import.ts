import {
  IMPORTED_TYPES,
  type Import,
  type ImportCounts,
  type ImportReport,
} from '@parley/protocol/resources/import.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import type { ImportRow } from './import-store.ts';
import { partCount } from './parts.ts';
import { readReasons } from './remarks.ts';

/** Returns the import without its token. `uploaded`: the numbers of the uploaded parts. */
export function presentImport(row: ImportRow, uploaded: readonly number[]): Import {
  const { origin = null, email_domain = null, emails_verified = false } = row.options;
  return {
    id: row.id,
    object: 'import',
    source: row.source,
    status: row.status,
    origin,
    email_domain,
    emails_verified,
    size_bytes: row.size_bytes,
    sha256: row.sha256,
    parts:
      row.part_bytes === null
        ? null
        : { size_bytes: row.part_bytes, count: partCount(row), uploaded: [...uploaded] },
    progress: { done: row.done, total: row.total },
    counts: listed(row.counts),
    error: row.error,
    error_message: row.error_message,
    created_by: row.created_by,
    created_at: row.created_at,
    updated_at: row.updated_at,
    started_at: row.started_at,
    completed_at: row.completed_at,
  };
}

export async function readReport(db: Db, row: ImportRow): Promise<ImportReport> {
  const reasons = await readReasons(db, row.id);
  return {
    object: 'import_report',
    import_id: row.id,
    status: row.status,
    adds_up: addsUp(row.counts),
    types: listed(row.counts).map(({ type, in_archive, imported, existed }) => ({
      type,
      in_archive,
      imported,
      existed,
      skipped: reasons.get(type) ?? [],
    })),
    notes: reasons.get('note') ?? [],
  };
}

/** Returns whether all contents of the archive were imported, existed or were skipped. */
export function addsUp(counts: ImportCounts): boolean {
  return Object.values(counts).every(
    ({ in_archive, imported, existed, skipped }) => in_archive === imported + existed + skipped,
  );
}

function listed(counts: ImportCounts): Import['counts'] {
  return IMPORTED_TYPES.flatMap((type) => {
    const count = counts[type];
    return count === undefined ? [] : [{ type, ...count }];
  });
}
