import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { PublicAnswer, PublicRoute } from '../pipeline/public-routes.ts';

/** Content that is constant for the process: a page, a style sheet, the OpenAPI document. */
export interface Document {
  readonly contentType: string;
  readonly body: Buffer;
}

/**
 * Serves a document, made at the first request, compressed once per encoding, and cached. A client
 * that has it (If-None-Match) gets 304. The headers `more` replace the document's own.
 */
export function documentRoute(
  make: () => Document | Promise<Document>,
  more: Readonly<Record<string, string>> = {},
): PublicRoute {
  let kept: CachedDocument | undefined;
  return async ({ ifNoneMatch, acceptEncoding = '' }): Promise<PublicAnswer> => {
    kept ??= new CachedDocument(await make());
    const headers = { ...DOCUMENT_HEADERS, ...more, ETag: kept.tag };
    if (ifNoneMatch?.includes(kept.tag)) return { status: 304, body: null, headers };
    const { contentType, body } = kept.document;
    const encoding = encodingFor(acceptEncoding);
    const encoded = encoding && (await kept.encoded(encoding));
    if (encoding === undefined || encoded === undefined) return { status: 200, contentType, body, headers };
    return { status: 200, contentType, body: encoded, headers: { ...headers, 'Content-Encoding': encoding } };
  };
}

/** Pages load only what this server serves: no other host, no inline script. */
export const DOCUMENT_HEADERS: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-cache',
  'Content-Security-Policy':
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  Vary: 'Accept-Encoding',
  'X-Content-Type-Options': 'nosniff',
};

/** Cache-Control of what never changes at its address. */
export const KEPT_FOR_GOOD = 'public, max-age=31536000, immutable';

/** In order of preference. */
const ENCODINGS = {
  br: (bytes: Buffer) => compressBrotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes: Buffer) => compressGzip(bytes),
} as const;
type Encoding = keyof typeof ENCODINGS;

const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);

/** Returns the best encoding that an Accept-Encoding header accepts (RFC 9110, 12.5.3). */
function encodingFor(acceptEncoding: string): Encoding | undefined {
  const accepted = acceptEncoding
    .toLowerCase()
    .split(',')
    .map((entry) => entry.split(';').map((part) => part.trim()))
    .filter(([, weight]) => weight === undefined || !REFUSED.test(weight))
    .map(([name]) => name);
  return (Object.keys(ENCODINGS) as Encoding[]).find((encoding) => accepted.includes(encoding));
}

const REFUSED = /^q=0(?:\.0*)?$/;

class CachedDocument {
  readonly document: Document;
  /** Weak, because it is the same for every encoding. */
  readonly tag: string;
  readonly #encoded = new Map<Encoding, Promise<Buffer | undefined>>();

  constructor(document: Document) {
    this.document = document;
    this.tag = `W/"${hash('sha256', document.body, 'base64url').slice(0, 22)}"`;
  }

  /** Resolves with undefined if compressing gains nothing. */
  encoded(encoding: Encoding): Promise<Buffer | undefined> {
    let encoded = this.#encoded.get(encoding);
    if (encoded === undefined) {
      const { body } = this.document;
      encoded = ENCODINGS[encoding](body).then((bytes) => (bytes.length < body.length ? bytes : undefined));
      this.#encoded.set(encoding, encoded);
    }
    return encoded;
  }
}
