import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openInProcess } from '@parley/archives/process/reader-process.ts';
import { UnreadableArchive } from '@parley/archives/reader.ts';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { audit } from '../../../core/audit/audit.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { ImportedWrites } from '../../../core/messages/timeline/imported-write.ts';
import type { JobContext, JobKind } from '../../../platform/db/queue/leased-jobs.ts';
import type { GuardedFetch } from '../../../platform/outbound/guarded-fetch.ts';
import { endImport, IMPORTS, type ImportRow, readRunning } from '../imports/import-store.ts';
import { joinParts } from '../imports/parts.ts';
import { addsUp } from '../imports/present-import.ts';
import { ArchiveWalk } from './walk.ts';

export interface ImportJobsOptions extends Pick<NodeParts, 'database' | 'store'> {
  /** The directory below which archives are joined and unpacked. */
  readonly dataDir: string;
  readonly writes: ImportedWrites;
  readonly web: Pick<GuardedFetch, 'fetch'>;
  /** The path of a local archive; a node has none. */
  readonly localPath?: string;
}

/** Returns the job kind that runs imports, on nodes and in the operator's command. */
export function importJobs(options: ImportJobsOptions): JobKind<ImportRow> {
  const { database, dataDir } = options;
  return {
    name: 'an import',
    queue: IMPORTS,
    async run(row, context) {
      const scratch = join(dataDir, SCRATCH, `${row.id}-${row.fence}`);
      await removeOthers(options, row);
      await mkdir(scratch, { recursive: true });
      try {
        await run(options, row, { context, scratch });
      } catch (error) {
        const refusal = refusalOf(error);
        if (refusal === undefined) throw error;
        await end(options, row, { status: 'failed', ...refusal });
      } finally {
        await rm(scratch, { recursive: true, force: true });
      }
    },
    async fail(row, error) {
      const message = 'It failed several times; the log of the server says why. It can be started again.';
      await end({ database }, row, { status: 'failed', error, message });
    },
  };
}

const SCRATCH = 'imports';
/** Makes the process that reads an archive load its modules as fast as a node. */
const QUICKLY = ['--import', new URL('../../../../bin/quick-thread.cjs', import.meta.url).href];

async function run(
  options: ImportJobsOptions,
  row: ImportRow,
  { context, scratch }: { readonly context: JobContext; readonly scratch: string },
): Promise<void> {
  const { database, store, localPath } = options;
  const { signal } = context;
  const path = localPath ?? join(scratch, 'archive');
  if (localPath === undefined) await joinParts(database, store, row, { path, signal });
  const reader = await openInProcess(row.source, path, { execArgv: QUICKLY, scratch, signal });
  try {
    const ofSource = { ...row, source: reader.source };
    const counts = await new ArchiveWalk({ ...options, row: ofSource, reader, context }).run();
    if (addsUp(counts)) await end(options, row, { status: 'completed', counts });
    else {
      const message = 'What was imported and skipped is not what is in the archive; see the report.';
      await end(options, row, { status: 'failed', counts, error: 'internal_error', message });
    }
  } finally {
    await reader.close();
  }
}

/** Returns the outcome for an error that would recur; undefined for a temporary error. */
function refusalOf(error: unknown): { readonly error: string; readonly message: string } | undefined {
  if (error instanceof UnreadableArchive) return { error: 'validation_failed', message: error.message };
  if (!(error instanceof ApiError) || !LASTING.has(error.condition)) return undefined;
  return { error: error.condition, message: error.message };
}

const LASTING = new Set(['validation_failed', 'resource_conflict', 'limit_exceeded']);

async function end(
  { database }: Pick<ImportJobsOptions, 'database'>,
  row: ImportRow,
  outcome: Parameters<typeof endImport>[2],
): Promise<void> {
  await database.transaction(async (tx) => {
    if (!(await endImport(tx, row, outcome))) return;
    const { status, counts, error } = outcome;
    await audit(tx, {
      accountId: row.account_id,
      actorId: row.created_by,
      action: `import.${status}`,
      details: { import_id: row.id, ...(counts && { counts }), ...(error !== undefined && { error }) },
    });
  });
}

/** Removes files that killed attempts have left, of this import and of others. */
async function removeOthers(
  { database, dataDir }: Pick<ImportJobsOptions, 'database' | 'dataDir'>,
  row: ImportRow,
): Promise<void> {
  const left = await readdir(join(dataDir, SCRATCH)).catch(() => [] as string[]);
  if (left.length === 0) return;
  const running = new Set((await readRunning(database)).filter((id) => id !== row.id));
  for (const name of left) {
    if (!/^imp_\w+-\d+$/.test(name) || running.has(name.split('-')[0]!)) continue;
    await rm(join(dataDir, SCRATCH, name), { recursive: true, force: true });
  }
}
