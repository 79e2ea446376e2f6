import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { ImportReport, ImportSource } from '@parley/protocol/resources/import.ts';
import { audit } from '../../core/audit/audit.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { runJob } from '../../platform/db/queue/leased-jobs.ts';
import type { Logger } from '../../platform/log.ts';
import {
  cancelImport,
  findImport,
  findLocalImport,
  type ImportRow,
  insertImport,
  lockImport,
  queueImport,
} from './imports/import-store.ts';
import { readReport } from './imports/present-import.ts';
import { type ImportJobsOptions, importJobs } from './job/import-jobs.ts';
import type { ImportOptions } from './tables.ts';

export type LocalImportParts = Omit<ImportJobsOptions, 'localPath'> & { readonly log: Logger };

interface ArchiveToImport {
  readonly accountId: string;
  readonly source: ImportSource;
  /** The path of the archive. */
  readonly archive: string;
  readonly options: ImportOptions;
  /** Called with the bytes of the archive that were read. */
  readonly progress: (done: number, total: number) => void;
  /** Aborts to pause: the same call continues where it stopped. */
  readonly signal: AbortSignal;
}

/**
 * Imports an archive of this machine in this process, as a node would. A paused or killed import of
 * the same file continues; after a completed import another begins and finds the existing records.
 * Resolves once the import has ended or is paused; `message` is a sentence about a failure.
 */
export async function importLocally(
  parts: LocalImportParts,
  { accountId, source, archive, options, progress, signal }: ArchiveToImport,
): Promise<{ readonly report: ImportReport; readonly message: string | null }> {
  const { database, log } = parts;
  const { size } = await stat(archive);
  const sha256 = await hashOf(archive);
  const { id } = await database.transaction(async (tx) => {
    const before = await findLocalImport(tx, accountId, source, sha256);
    const row =
      before === undefined
        ? await insertImport(tx, {
            accountId,
            source,
            options,
            sizeBytes: size,
            sha256,
            partBytes: null,
            createdBy: null,
          })
        : before.status === 'running'
          ? before
          : await queueImport(tx, before, options);
    const { position } = row;
    await audit(tx, {
      accountId,
      action: 'import.started',
      details: { import_id: row.id, source, position },
    });
    return row;
  });
  const kind = importJobs({ ...parts, localPath: archive });
  const shown = { ...kind, run: showing(kind.run, progress) };
  for (;;) {
    const taken = await runJob(shown, { database, log }, id, signal);
    const row = await find(database, accountId, id);
    if (signal.aborted && isOpen(row)) await pause(database, row);
    if (signal.aborted || !isOpen(row)) break;
    // Another try follows a failed one after a pause, or another process has it.
    if (!taken) await delay(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  const row = await find(database, accountId, id);
  return { report: await readReport(database, row), message: row.error_message };
}

type Run = ReturnType<typeof importJobs>['run'];

function showing(run: Run, shown: ArchiveToImport['progress']): Run {
  return (row, { signal, progress }) =>
    run(row, {
      signal,
      progress(done, total) {
        progress(done, total);
        shown(done, total);
      },
    });
}

async function pause(database: Database, { id, account_id }: ImportRow): Promise<void> {
  await database.transaction(async (tx) => {
    const row = await lockImport(tx, account_id, id);
    if (row !== undefined && isOpen(row)) await cancelImport(tx, id);
  });
}

async function find(database: Database, accountId: string, id: string): Promise<ImportRow> {
  const row = await findImport(database, accountId, id);
  if (row === undefined) throw new Error(`the import ${id} is gone`);
  return row;
}

function isOpen({ status }: ImportRow): boolean {
  return status === 'queued' || status === 'running';
}

async function hashOf(path: string): Promise<string> {
  const digest = createHash('sha256');
  for await (const piece of createReadStream(path, { highWaterMark: 2 ** 20 })) digest.update(piece);
  return digest.digest('hex');
}

const LOOK_EVERY_MS = 500;
