import { mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { openArchive } from '../open-archive.ts';
import { openInProcess } from '../process/reader-process.ts';
import type { ArchiveSource, Counts } from '../record.ts';
import { type Remark, writeConverted } from './converted-writer.ts';

export interface Conversion {
  readonly source: ArchiveSource;
  /** The path of the archive. */
  readonly from: string;
  /** The path of a file that does not exist. */
  readonly to: string;
  /** Called with each thing that is left out or changed. */
  readonly onRemark?: (remark: Remark) => void;
  /** Ends the conversion with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * Writes an archive as a zip of its records and files, which imports take as `parley`. The same
 * archive gives the same bytes. Resolves with what was written. The file has its name once it is
 * complete; before, all is in a folder beside it, which a killed process leaves. Rejects with
 * `UnreadableArchive`, and with the error of a file.
 */
export async function convertArchive({ source, from, to, onRemark, signal }: Conversion): Promise<Counts> {
  if ((await stat(to).catch(() => undefined)) !== undefined) {
    throw new Error(`${to} is there already. Name a new file.`);
  }
  const stage = await mkdtemp(`${to}.unfinished-`);
  try {
    const options = { scratch: stage, ...(signal && { signal }) };
    const path = join(stage, 'converted.zip');
    const reader = await openInProcess(source, from, options);
    const counts = await writeConverted(reader, path, onRemark).finally(() => reader.close());
    // Archives beyond the limits of an import are refused here already.
    await (await openArchive('parley', path, options)).close();
    signal?.throwIfAborted();
    await rename(path, to);
    return counts;
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}
