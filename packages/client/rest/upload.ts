import type { AttachmentInput } from '@parley/protocol/resources/chat-message.ts';
import type { UploadUrl } from '@parley/protocol/resources/upload.ts';
import { kindOfUpload } from '@parley/protocol/resources/upload-kind.ts';
import { lost, refusedAnswer } from '../errors/parley-error.ts';
import { abortable } from '../link/abortable.ts';
import { type CallOptions, within } from '../link/call-scope.ts';
import type { Timing } from '../timing/timing.ts';
import type { Fetch } from './pages.ts';
import type { XhrConstructor } from './xhr.ts';

export type { AttachmentInput };

/** Options of a file's upload. */
export interface UploadOptions extends CallOptions {
  /** The file's own name by default. */
  readonly filename?: string;
  /** Called as bytes leave and at the end; without XMLHttpRequest only at the end. */
  onProgress?(progress: UploadProgress): void;
}

/** The progress of an upload. */
export interface UploadProgress {
  /** The bytes that have left; a repeated upload begins again. */
  readonly sentBytes: number;
  /** The size of the file. */
  readonly totalBytes: number;
}

export interface UploadHost {
  /** Reports progress, unlike fetch. Node has none. */
  readonly XMLHttpRequest: XhrConstructor | undefined;
  readonly platformFetch: typeof fetch;
  readonly fetch: Fetch;
  /** Waits before another try, until the network is back. */
  readonly pause: (signal: AbortSignal) => Promise<void>;
  readonly timing: Pick<Timing, 'after'>;
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal;
}

/**
 * Uploads a file. Rejects with ParleyError, or as CallOptions say.
 */
export async function upload(
  host: UploadHost,
  file: Blob & { readonly name?: string },
  { filename = file.name ?? 'file', onProgress, ...options }: UploadOptions = {},
): Promise<AttachmentInput> {
  const content_type = file.type === '' ? 'application/octet-stream' : file.type;
  const facts = { filename, content_type, size_bytes: file.size };
  // It waits for the network as messages do.
  const request = { method: 'POST', body: facts, mostTries: Infinity } as const;
  const { s3_key } = await within(host.timing, options, host.closing, (signal) =>
    put(host, file, {
      signal,
      target: () => host.fetch<UploadUrl>('/v1/messaging/attachments/upload-url', { ...request, signal }),
      progress: (sentBytes) => onProgress?.({ sentBytes, totalBytes: file.size }),
    }),
  );
  return { kind: kindOfUpload(content_type), s3_key, ...facts };
}

export interface Put {
  readonly signal: AbortSignal;
  /** Requests a URL, which takes the bytes once: each try has its own. */
  readonly target: () => Promise<UploadUrl>;
  readonly progress: (sentBytes: number) => void;
}

/** Sends bytes to a requested URL, in as many tries as it takes. */
export async function put(
  { XMLHttpRequest: Request, platformFetch, pause }: Omit<UploadHost, 'fetch' | 'timing' | 'closing'>,
  bytes: Blob,
  { signal, target: request, progress }: Put,
): Promise<UploadUrl> {
  for (;;) {
    signal.throwIfAborted();
    const target = await request();
    try {
      await (Request === undefined
        ? putByFetch(platformFetch, target, bytes, signal)
        : putByXhr(Request, target, bytes, signal, progress));
      progress(bytes.size);
      return target;
    } catch (cause) {
      signal.throwIfAborted();
      const error = lost(cause);
      if (!error.isTransient && error.status !== ACCOUNT_MOVED) throw error;
      await pause(signal);
    }
  }
}

async function putByFetch(
  platformFetch: typeof fetch,
  { method, url, headers }: UploadUrl,
  body: Blob,
  signal: AbortSignal,
): Promise<void> {
  const response = await platformFetch(url, { method, headers, body, signal });
  await response.body?.cancel();
  if (!response.ok) throw refusedAnswer(response.status, null, null);
}

/** Sends by XHR, because fetch reports no progress. */
function putByXhr(
  Request: XhrConstructor,
  { method, url, headers }: UploadUrl,
  body: Blob,
  signal: AbortSignal,
  progress: (sentBytes: number) => void,
): Promise<void> {
  return abortable(signal, (resolve, reject) => {
    const request = new Request();
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded }) => progress(loaded);
    request.onload = () => {
      if (request.status < 300) resolve();
      else reject(refusedAnswer(request.status, null, null));
    };
    request.onerror = () => reject(new TypeError('The upload failed.'));
    request.send(body);
    // Does nothing to a request that is over.
    return () => request.abort();
  });
}

/** The next URL is of the cell that has the account now. */
const ACCOUNT_MOVED = 421;
