import type { Import } from '@parley/protocol/resources/import.ts';
import type { UploadUrl } from '@parley/protocol/resources/upload.ts';
import { type CallOptions, within } from '../link/call-scope.ts';
import { put, type UploadHost, type UploadProgress } from './upload.ts';

/** The facts of an archive for `POST /v1/imports`; its size is that of the file. */
export interface ArchiveFacts {
  /** The service that wrote it. */
  readonly source: Import['source'];
  /** SHA-256 as 64 lower-case hex digits; a different archive fails the import. */
  readonly sha256?: string;
  /** A name of the server, where archives of several servers of one service are imported. */
  readonly origin?: string;
  /** Makes `<user name>@<domain>` the address of persons for whom the archive has none. */
  readonly email_domain?: string;
  /** States that the addresses in the archive belong to their persons. */
  readonly emails_verified?: boolean;
  /** A token of the service with which files are fetched. */
  readonly file_token?: string;
}

/** Options of an archive's upload. */
export interface ImportOptions extends CallOptions {
  /**
   * An import that awaits the rest of this very archive: parts that are there are not sent again.
   */
  readonly resume?: Import;
  /** Called as soon as there is an import, before its first part is sent. */
  onCreated?(created: Import): void;
  /** Called as bytes leave; without XMLHttpRequest only after each part. */
  onProgress?(progress: UploadProgress): void;
}

/** Implements Client.importArchive. */
export function importArchive(
  host: UploadHost,
  file: Blob,
  facts: ArchiveFacts,
  { resume, onCreated, onProgress, ...options }: ImportOptions = {},
): Promise<Import> {
  return within(host.timing, options, host.closing, async (signal) => {
    const body = { ...facts, size_bytes: file.size };
    const made = resume ?? (await host.fetch<Import>('/v1/imports', { method: 'POST', body, signal }));
    onCreated?.(made);
    const path = `/v1/imports/${encodeURIComponent(made.id)}`;
    const { size_bytes: partBytes = 0, count = 0, uploaded = [] } = made.parts ?? {};
    for (let number = 1; number <= count; number++) {
      const begin = (number - 1) * partBytes;
      if (uploaded.includes(number)) continue;
      await put(host, file.slice(begin, begin + partBytes), {
        signal,
        target: () => host.fetch<UploadUrl>(`${path}/parts`, { method: 'POST', body: { number }, signal }),
        progress: (sent) => onProgress?.({ sentBytes: begin + sent, totalBytes: file.size }),
      });
    }
    return host.fetch<Import>(`${path}/actions/start`, { method: 'POST', signal });
  });
}
