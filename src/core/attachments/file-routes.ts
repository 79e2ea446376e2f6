import { ApiError } from '@parley/protocol/errors/errors.ts';
import type {
  PublicAnswer,
  PublicRequest,
  PublicRoutes,
  PutRequest,
} from '../../api/pipeline/public-routes.ts';
import type { CoreMetrics } from '../metrics.ts';
import { contentDisposition } from './download-name.ts';
import type { FileStore } from './file-store.ts';
import { FILES_PATH } from './file-urls.ts';

/** Queries of the database about files. */
export interface KnownFiles {
  /** Returns whether the file of this key was deleted, although its bytes may still exist. */
  readonly isDeleted: (key: string) => Promise<boolean>;
  /** Rejects with an ApiError unless bytes may be uploaded under this key. */
  readonly requireUpload: (key: string) => Promise<void>;
}

/** Returns the targets of a FileStore's signed URLs, whose signature is the only credential. */
export function fileRoutes(
  files: FileStore,
  metrics: Pick<CoreMetrics, 'uploadBytes'>,
  known: KnownFiles,
  now: () => number = Date.now,
): PublicRoutes {
  return {
    [`${FILES_PATH}*`]: {
      get: (request) => download(files, known, request, now()),
      put: (request) => takeIn(files, metrics, known, request),
    },
  };
}

/** Sends the bytes as the signed URL states; only the file's existence is looked up. */
async function download(
  files: FileStore,
  { isDeleted }: KnownFiles,
  { path, query }: PublicRequest,
  nowMs: number,
): Promise<PublicAnswer> {
  const { key, expiresAtMs, fields } = files.urls.verify('GET', path, query);
  if (await isDeleted(key)) throw new ApiError('resource_gone', 'The file was deleted.');
  const file = await files.open(key);
  if (file === undefined) throw new ApiError('resource_not_found', 'This file no longer exists.');
  const maxAgeS = Math.max(0, Math.floor((expiresAtMs - nowMs) / 1000));
  return {
    status: 200,
    body: file,
    contentType: fields.content_type!,
    headers: {
      // Contains no character that could end the header: see download-name.ts.
      'Content-Disposition': contentDisposition(fields.filename!),
      'X-Content-Type-Options': 'nosniff',
      // A user's file in our origin: it must not run anything, whatever its content is.
      'Content-Security-Policy': "default-src 'none'; sandbox",
      'Cache-Control': `private, max-age=${maxAgeS}, immutable`,
    },
  };
}

/** Stores the body and returns 204. Refuses what it can before reading a byte. */
async function takeIn(
  files: FileStore,
  metrics: Pick<CoreMetrics, 'uploadBytes'>,
  { requireUpload }: KnownFiles,
  request: PutRequest,
): Promise<PublicAnswer> {
  const { key, fields } = files.urls.verify('PUT', request.path, request.query);
  const sizeBytes = Number(fields.size);
  const { contentLength, contentType } = request;
  if (contentLength > sizeBytes) {
    throw new ApiError(
      'payload_too_large',
      `The upload was created for a file of ${sizeBytes} bytes. Send exactly these.`,
    );
  }
  if (contentLength < sizeBytes) {
    const message = `The upload was created for a file of ${sizeBytes} bytes. Send exactly these.`;
    throw new ApiError('validation_failed', message, { param: 'Content-Length' });
  }
  if (contentType !== fields.content_type) {
    const message = 'The upload was created for another Content-Type.';
    throw new ApiError('validation_failed', message, { param: 'Content-Type' });
  }
  await requireUpload(key);
  await files.write(key, request.body, sizeBytes);
  metrics.uploadBytes.inc(sizeBytes);
  return { status: 204, body: null };
}
