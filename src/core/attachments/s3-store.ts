/** This file is loaded only with object storage, because its SDK is our largest dependency. */

import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  type S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl, S3RequestPresigner } from '@aws-sdk/s3-request-presigner';
import { ApiError, unavailable } from '@parley/protocol/errors/errors.ts';
import { FILE_URL_S, UPLOAD_LIMITS } from '@parley/protocol/resources/upload.ts';
import { LRUCache } from 'lru-cache';
import { bounded } from '../../platform/bounded.ts';
import type { StoredFile } from '../resources/attachment.ts';
import { contentDisposition, downloadName, downloadType } from './download-name.ts';
import { downloadWindow, type FileBytes, firstBytes, type NewObject, type ObjectStore } from './storage.ts';

export interface S3StoreOptions {
  readonly bucket: string;
  readonly region: string;
  /** Null for AWS itself. With an endpoint, the bucket is addressed by path. */
  readonly endpoint: string | null;
  /** Null for the credentials of the machine's role. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | null;
  /** See ObjectStore.accountBytes. */
  readonly accountBytes?: number | null;
  /** Milliseconds until an answer must have begun; each request is tried twice. Default 5,000. */
  readonly timeoutMs?: number;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/**
 * Files in S3 or a compatible store. Clients exchange the bytes with the store, not with this
 * server.
 */
export class S3Store implements ObjectStore {
  readonly maxBytes = UPLOAD_LIMITS.s3Bytes;
  readonly accountBytes: number | null;
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #now: () => number;
  readonly #signer: S3RequestPresigner;
  /** The base URL of the bucket's objects; a key follows. */
  #base: Promise<URL> | undefined;
  /** The cache serves pages of a busy conversation, which show the same pictures repeatedly. */
  readonly #downloads = new LRUCache<string, Promise<string>>(bounded(MAX_DOWNLOADS));

  constructor({
    bucket,
    region,
    endpoint,
    credentials,
    accountBytes = null,
    timeoutMs = 5_000,
    now = Date.now,
  }: S3StoreOptions) {
    this.accountBytes = accountBytes;
    this.#bucket = bucket;
    this.#now = now;
    this.#client = new S3Client({
      region,
      ...(endpoint !== null && { endpoint, forcePathStyle: true }),
      // A copy, because the SDK writes into it.
      ...(credentials !== null && { credentials: { ...credentials } }),
      // The SDK never sees the bytes, so its checksums would be those of an empty body.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      maxAttempts: 2,
      requestHandler: {
        connectionTimeout: 1_000,
        requestTimeout: timeoutMs,
        // By default the SDK logs a warning and continues to wait.
        throwOnRequestTimeout: true,
        // Applies between two pieces of an answer whose head arrived in time.
        socketTimeout: PART_MS,
      },
    });
    this.#signer = new S3RequestPresigner({ ...this.#client.config, region });
  }

  async presignUpload({ key, contentType, sizeBytes }: NewObject) {
    const nowMs = this.#now();
    const command = new PutObjectCommand({
      Bucket: this.#bucket,
      Key: key,
      ContentType: contentType,
      ContentLength: sizeBytes,
      IfNoneMatch: '*',
    });
    const url = await answered(
      getSignedUrl(this.#client, command, {
        expiresIn: FILE_URL_S,
        signingDate: new Date(nowMs),
        // By default the signer omits the type, so that an upload could claim any type.
        signableHeaders: new Set(['host', 'content-type', 'content-length', 'if-none-match']),
      }),
    );
    return {
      url,
      headers: { 'Content-Type': contentType, 'If-None-Match': '*' },
      expiresAtMs: nowMs + FILE_URL_S * 1000,
    };
  }

  presignDownload({ key, filename, contentType }: StoredFile): Promise<string> {
    const { beginsAtMs } = downloadWindow(this.#now());
    const disposition = contentDisposition(downloadName(filename ?? key));
    const type = downloadType(contentType);
    const cached = `${beginsAtMs} ${key} ${type} ${disposition}`;
    let url = this.#downloads.get(cached);
    if (url === undefined) {
      url = this.#signDownload(key, type, disposition, beginsAtMs);
      this.#downloads.set(cached, url);
      url.catch(() => this.#downloads.delete(cached));
    }
    return url;
  }

  async put({ key, contentType }: Pick<NewObject, 'key' | 'contentType'>, bytes: Buffer): Promise<void> {
    const object = { Bucket: this.#bucket, Key: key, ContentType: contentType, Body: bytes };
    try {
      await this.#client.send(new PutObjectCommand({ ...object, IfNoneMatch: '*' }));
    } catch (error) {
      if (statusOf(error) !== 412) throw asFailure(error);
    }
  }

  /** Uploads in parts, because S3 accepts no body of unknown size. */
  async putStream(
    { key, contentType }: Pick<NewObject, 'key' | 'contentType'>,
    bytes: AsyncIterable<Buffer>,
    { replaces = false }: { readonly replaces?: boolean } = {},
  ): Promise<number> {
    const object = { Bucket: this.#bucket, Key: key };
    if (!replaces && (await this.sizeOf(key)) !== undefined)
      throw new Error(`the object ${key} exists already`);
    const { UploadId } = await answered(
      this.#client.send(new CreateMultipartUploadCommand({ ...object, ContentType: contentType })),
    );
    try {
      let size = 0;
      const Parts: { ETag: string | undefined; PartNumber: number }[] = [];
      for await (const Body of inParts(bytes)) {
        const part = { ...object, UploadId, PartNumber: Parts.length + 1, Body };
        const { ETag } = await answered(
          this.#client.send(new UploadPartCommand(part), { requestTimeout: PART_MS }),
        );
        Parts.push({ ETag, PartNumber: part.PartNumber });
        size += Body.length;
      }
      const whole = { ...object, UploadId, MultipartUpload: { Parts } };
      await answered(
        this.#client.send(new CompleteMultipartUploadCommand(whole), { requestTimeout: PART_MS }),
      );
      return size;
    } catch (error) {
      await this.#client
        .send(new AbortMultipartUploadCommand({ ...object, UploadId }))
        .catch(() => undefined);
      throw error;
    }
  }

  async open(key: string): Promise<FileBytes | undefined> {
    const get = new GetObjectCommand({ Bucket: this.#bucket, Key: key });
    const found = await unlessMissing(this.#client.send(get));
    return found && { size: found.ContentLength ?? 0, read: () => found.Body as AsyncIterable<Buffer> };
  }

  async read(key: string, most: number): Promise<Buffer | undefined> {
    const get = new GetObjectCommand({ Bucket: this.#bucket, Key: key, Range: `bytes=0-${most - 1}` });
    const answer = this.#client.send(get);
    return unlessMissing(answer.then(({ Body }) => firstBytes(Body as AsyncIterable<Uint8Array>, most)));
  }

  async sizeOf(key: string): Promise<number | undefined> {
    const head = new HeadObjectCommand({ Bucket: this.#bucket, Key: key });
    return (await unlessMissing(this.#client.send(head)))?.ContentLength;
  }

  /** Sends one request per object, because stores that imitate S3 often lack the batch request. */
  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      await answered(this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key })));
    }
  }

  /** Does nothing: a PUT that breaks off leaves nothing behind. */
  async tidy(): Promise<void> {}

  close(): void {
    this.#client.destroy();
  }

  /** Avoids the SDK's full command, which takes ten times as long: a page may show 2,000 files. */
  async #signDownload(key: string, type: string, disposition: string, beginsAtMs: number): Promise<string> {
    const base = await this.#findBase();
    const request = {
      method: 'GET',
      protocol: base.protocol,
      hostname: base.hostname,
      ...(base.port !== '' && { port: Number(base.port) }),
      path: `${base.pathname}${key}`,
      headers: {},
      query: {
        'response-content-type': type,
        'response-content-disposition': disposition,
        'response-cache-control': `private, max-age=${FILE_URL_S}, immutable`,
      },
    };
    const options = { expiresIn: FILE_URL_S, signingDate: new Date(beginsAtMs) };
    const { query = {} } = await answered(this.#signer.presign(request, options));
    const pairs = Object.entries(query).map(
      ([name, value]) => `${name}=${encodeURIComponent(String(value))}`,
    );
    return `${base.href}${key}?${pairs.join('&')}`;
  }

  /** Follows the SDK's own rules for regions and endpoints. */
  #findBase(): Promise<URL> {
    this.#base ??= answered(
      getSignedUrl(this.#client, new GetObjectCommand({ Bucket: this.#bucket, Key: 'x' })),
    ).then((url) => new URL('.', url));
    this.#base.catch(() => {
      this.#base = undefined;
    });
    return this.#base;
  }
}

const MAX_DOWNLOADS = 10_000;

/** S3 accepts up to 10,000 parts of at least 5 MiB, except the last: this allows for 80 GB. */
const PART_BYTES = 8 * 1024 * 1024;
/** Milliseconds for the upload of a part. */
const PART_MS = 120_000;

/** Copies pieces into parts of PART_BYTES: at least one, perhaps empty; the last may be shorter. */
async function* inParts(bytes: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  // Grows by doubling, since most objects are far smaller than a part.
  let part = Buffer.allocUnsafeSlow(FIRST_BYTES);
  let size = 0;
  let isFirst = true;
  for await (const piece of bytes) {
    for (let from = 0; from < piece.length; ) {
      if (size === part.length && size < PART_BYTES) {
        const larger = Buffer.allocUnsafeSlow(Math.min(2 * size, PART_BYTES));
        part.copy(larger);
        part = larger;
      }
      const copied = piece.copy(part, size, from);
      from += copied;
      size += copied;
      if (size < PART_BYTES) continue;
      yield part;
      [size, isFirst] = [0, false];
    }
  }
  if (isFirst || size > 0) yield part.subarray(0, size);
}

const FIRST_BYTES = 64 * 1024;

/** Returns the status of an answer; the SDK also notes it on its own errors about the content. */
function statusOf(error: unknown): number | undefined {
  const { $metadata } = error as Partial<S3ServiceException>;
  return $metadata?.httpStatusCode;
}

async function answered<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw asFailure(error);
  }
}

/** Returns undefined if there is no such object. */
async function unlessMissing<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw asFailure(error);
  }
}

/**
 * Classifies a failure (docs/contract.md#errors): the store answered with an error, was not
 * reachable, or took too long. Credentials that this machine's role does not provide are a failure
 * of this deployment. Other errors are bugs of ours and are returned unchanged.
 */
function asFailure(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  if (cause.name === 'CredentialsProviderError') {
    return unavailable('The object storage is temporarily unavailable.', cause);
  }
  const { code, syscall } = cause as NodeJS.ErrnoException;
  // The SDK names everything that it retries a TimeoutError, even refused and reset connections.
  const isTimeout = code === 'ETIMEDOUT' || (code === undefined && cause.name === 'TimeoutError');
  if (isTimeout && syscall !== 'connect' && !NOT_CONNECTED.test(cause.message)) {
    return new ApiError('timeout', 'The object storage did not answer in time.', { cause });
  }
  if (isTimeout || BROKEN.test(code ?? '')) {
    return new ApiError('connection_error', 'The object storage could not be reached.', { cause });
  }
  if (statusOf(cause) !== undefined || code?.startsWith('HPE_')) {
    return new ApiError('external_service_error', 'The object storage answered with an error.', { cause });
  }
  return cause;
}

/** The SDK's message when its `connectionTimeout` has passed. */
const NOT_CONNECTED = /did not establish a connection/;

/** Node's codes for failed connections and TLS; codes of programming errors begin with ERR_. */
const BROKEN = /^(E(?!RR_)[A-Z_]+|ERR_(TLS|SSL)_\w+|\w*CERT\w*|UNABLE_TO_\w+)$/;
