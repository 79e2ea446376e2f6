import { mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { openArchive } from '../open-archive.ts';
import { openInProcess } from '../process/reader-process.ts';
import type { ArchiveSource } from '../record.ts';
import { type Converted, writeConverted } from './converted-writer.ts';

export interface Conversion {
  readonly source: ArchiveSource;
  /** The path of the archive. */
  readonly from: string;
  /** The path of a file that does not exist. */
  readonly to: string;
  /** Ends the conversion with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * Writes an archive as a zip of its records and files, which imports take as `parley`. The same
 * archive gives the same bytes. The file has its name once it is complete; before, all is in a
 * folder beside it, which a killed process leaves. Rejects with `UnreadableArchive`, and with the
 * error of a file.
 */
export async function convertArchive({ source, from, to, signal }: Conversion): Promise<Converted> {
  if ((await stat(to).catch(() => undefined)) !== undefined) {
    throw new Error(`${to} is there already. Name a new file.`);
  }
  const stage = await mkdtemp(`${to}.unfinished-`);
  try {
    const options = { scratch: stage, ...(signal && { signal }) };
    const path = join(stage, 'converted.zip');
    const reader = await openInProcess(source, from, options);
    const converted = await writeConverted(reader, path).finally(() => reader.close());
    // What is beyond the limits of an import is refused here already.
    await (await openArchive('parley', path, options)).close();
    signal?.throwIfAborted();
    await rename(path, to);
    return converted;
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}
