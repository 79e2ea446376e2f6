import type { Signed } from '../../../core/audit/signing-key.ts';
import type { ListedFile } from './contents.ts';

/** The contents and origin of an export: the last file of the archive, signed as a whole. */
export interface Manifest {
  readonly object: 'export_manifest';
  readonly format: 1;
  readonly export_id: string;
  readonly account_id: string;
  readonly subject: { readonly type: 'conversation' | 'user'; readonly id: string };
  readonly requested_by: string;
  readonly requested_at: string;
  /** Rows are of one moment. The timeline is complete to `through_sequence`, null for a person. */
  readonly snapshot: {
    readonly at: string;
    readonly consistent: true;
    readonly through_sequence: number | null;
    readonly legal_hold: 'held' | 'released' | null;
  };
  readonly counts: Readonly<Record<string, number>>;
  /** All files except the manifest and those of messages and runs, which `files.jsonl` lists. */
  readonly files: readonly ListedFile[];
}

export type SignedManifest = Signed<Manifest>;

export const MANIFEST_PATH = 'manifest.json';

/** The list of the files of messages and runs, with their hashes. */
export const FILES_PATH = 'files.jsonl';

export const EXPORT_TYPE = 'application/zip';

/** Returns the name under which browsers save the export. */
export function exportName(id: string): string {
  return `${id}.zip`;
}
