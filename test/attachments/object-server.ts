import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Teardown } from '../support/teardown.ts';

export interface ObjectServerOptions {
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * The part of S3's protocol that S3Store uses, over real HTTP: objects by path in one bucket, every
 * request signed (Signature Version 4, in the query or in a header, recomputed here from the bytes
 * on the wire).
 */
export class ObjectServer {
  readonly objects = new Map<string, { readonly bytes: Buffer; readonly type: string }>();
  /** Uploads in parts that are not complete. */
  readonly uploads = new Map<string, { readonly type: string; readonly parts: Map<number, Buffer> }>();
  /** `PUT upl_…`, and for presigned ones the headers under the signature. */
  readonly served: string[] = [];
  /**
   * What happens to every request in place of its answer: this status, silence, a reset, or bytes
   * that are no HTTP.
   */
  failing: number | 'hang' | 'reset' | 'garbage' | undefined;
  readonly #options: ObjectServerOptions;
  #endpoint = '';

  constructor(options: ObjectServerOptions) {
    this.#options = options;
  }

  get endpoint(): string {
    return this.#endpoint;
  }

  async listen(t: Teardown): Promise<this> {
    const server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    this.#endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return this;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const url = new URL(request.url ?? '', this.#endpoint);
    const [, bucket, key = ''] = url.pathname.split('/');
    const end = (status: number, code = '') => {
      response.writeHead(status, { 'Content-Type': 'application/xml' });
      response.end(code && `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);
    };
    if (this.failing === 'hang') return;
    if (this.failing === 'reset') return void request.socket.resetAndDestroy();
    if (this.failing === 'garbage') return void request.socket.end('SSH-2.0-OpenSSH_9.2\r\n');
    if (this.failing !== undefined) return end(this.failing, 'InternalError');
    const problem = this.#signatureProblem(request, url);
    if (problem !== undefined) return end(403, problem);
    this.served.push(`${request.method} ${key} ${url.searchParams.get('X-Amz-SignedHeaders') ?? ''}`);
    if (bucket !== this.#options.bucket) return end(404, 'NoSuchBucket');

    const object = this.objects.get(key);
    const uploadId = url.searchParams.get('uploadId');
    if (url.searchParams.has('uploads')) {
      const type = request.headers['content-type'] ?? 'application/octet-stream';
      const id = String(this.uploads.size + 1);
      this.uploads.set(id, { type, parts: new Map() });
      response.writeHead(200, { 'Content-Type': 'application/xml' });
      return void response.end(
        `<?xml version="1.0"?><InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
      );
    }
    if (uploadId !== null) {
      const upload = this.uploads.get(uploadId);
      if (upload === undefined) return end(404, 'NoSuchUpload');
      if (request.method === 'PUT') {
        upload.parts.set(Number(url.searchParams.get('partNumber')), Buffer.concat(pieces));
        response.writeHead(200, { ETag: '"part"' });
        return void response.end();
      }
      this.uploads.delete(uploadId);
      if (request.method === 'DELETE') return end(204);
      const parts = [...upload.parts].sort(([a], [b]) => a - b).map(([, bytes]) => bytes);
      this.objects.set(key, { bytes: Buffer.concat(parts), type: upload.type });
      response.writeHead(200, { 'Content-Type': 'application/xml' });
      return void response.end(
        '<?xml version="1.0"?><CompleteMultipartUploadResult></CompleteMultipartUploadResult>',
      );
    }
    if (request.method === 'PUT') {
      if (object !== undefined && request.headers['if-none-match'] === '*')
        return end(412, 'PreconditionFailed');
      this.objects.set(key, {
        bytes: Buffer.concat(pieces),
        type: request.headers['content-type'] ?? 'application/octet-stream',
      });
      return end(200);
    }
    if (request.method === 'DELETE') {
      this.objects.delete(key);
      return end(204);
    }
    if (object === undefined) return end(404, request.method === 'HEAD' ? '' : 'NoSuchKey');
    response.writeHead(200, {
      'Content-Length': object.bytes.length,
      'Content-Type': url.searchParams.get('response-content-type') ?? object.type,
      ...overridden(url, 'Content-Disposition'),
      ...overridden(url, 'Cache-Control'),
    });
    response.end(request.method === 'HEAD' ? '' : object.bytes);
  }

  /** Returns S3's error for a request with a wrong signature. */
  #signatureProblem(request: IncomingMessage, url: URL): string | undefined {
    const presigned = url.searchParams.get('X-Amz-Signature');
    const header = request.headers.authorization ?? '';
    const part = (name: string) => new RegExp(`${name}=([^, ]+)`).exec(header)?.[1] ?? '';
    const query = (name: string) => url.searchParams.get(`X-Amz-${name}`) ?? '';
    const credential = presigned === null ? part('Credential') : query('Credential');
    const signedHeaders = presigned === null ? part('SignedHeaders') : query('SignedHeaders');
    const date = presigned === null ? String(request.headers['x-amz-date']) : query('Date');
    const [accessKeyId, ...scope] = credential.split('/');
    if (accessKeyId !== this.#options.accessKeyId) return 'InvalidAccessKeyId';

    const names = signedHeaders.split(';');
    const canonical = [
      request.method,
      url.pathname,
      canonicalQuery(url),
      ...names.map((name) => `${name}:${String(request.headers[name] ?? '').trim()}`),
      '',
      signedHeaders,
      presigned === null ? String(request.headers['x-amz-content-sha256']) : 'UNSIGNED-PAYLOAD',
    ].join('\n');
    const hash = createHash('sha256').update(canonical).digest('hex');
    const text = ['AWS4-HMAC-SHA256', date, scope.join('/'), hash].join('\n');
    const key = scope.reduce<string | Buffer>(
      (previous, step) => createHmac('sha256', previous).update(step).digest(),
      `AWS4${this.#options.secretAccessKey}`,
    );
    const right = createHmac('sha256', key).update(text).digest('hex');
    if ((presigned ?? part('Signature')) !== right) return 'SignatureDoesNotMatch';
    if (presigned === null) return undefined;
    const age = this.#options.now() - timeOf(date);
    return age < 0 || age >= Number(query('Expires')) * 1000 ? 'AccessDenied' : undefined;
  }
}

function overridden(url: URL, name: string): Record<string, string> {
  const value = url.searchParams.get(`response-${name.toLowerCase()}`);
  return value === null ? {} : { [name]: value };
}

function canonicalQuery(url: URL): string {
  return [...url.searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');
}

/** As RFC 3986 has it. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Parses `20260102T120230Z`. */
function timeOf(date: string): number {
  return Date.parse(date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}
