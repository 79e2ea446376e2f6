import { join } from 'node:path';
import type { Database } from '../../platform/db/connection/database.ts';
import { sharedSecret } from '../../platform/db/shared-secret.ts';
import { FileStore } from './file-store.ts';
import { FileUrls } from './file-urls.ts';
import type { S3StoreOptions } from './s3-store.ts';
import type { ObjectStore } from './storage.ts';

export interface OpenStoreOptions {
  readonly database: Database;
  /** Null if files are stored below `dataDir`. */
  readonly s3: S3StoreOptions | null;
  readonly dataDir: string;
  /** See ObjectStore.accountBytes. */
  readonly accountBytes: number | null;
  /** The base URL at which callers reach this server, without a trailing slash. */
  readonly baseUrl: () => string;
}

/** Opens this deployment's store of files; `files` is present if the server serves them itself. */
export async function openObjectStore(
  options: OpenStoreOptions,
): Promise<{ readonly store: ObjectStore; readonly files: FileStore | undefined }> {
  const { database, s3, dataDir, accountBytes, baseUrl } = options;
  if (s3 !== null) {
    const { S3Store } = await import('./s3-store.ts');
    return { store: new S3Store({ ...s3, accountBytes }), files: undefined };
  }
  const secret = await sharedSecret(database, 'file_secret');
  const files = new FileStore({
    directory: join(dataDir, 'uploads'),
    urls: new FileUrls({ secret, baseUrl }),
    accountBytes,
  });
  return { store: files, files };
}
