import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { ApiError } from '@parley/protocol/errors/errors.ts';

export interface FileUrlsOptions {
  /** Shared by all nodes. */
  readonly secret: string;
  /**
   * The base URL at which callers reach this server, without a trailing slash; called per signing.
   */
  readonly baseUrl: () => string;
  /** The path below which files are served. Default: FILES_PATH. */
  readonly path?: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** The action that a signed URL permits. HEAD counts as GET. */
export type FileAction = 'GET' | 'PUT';

/** The signed content of a URL's query. */
export interface SignedFile {
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number;
  readonly fields: Readonly<Record<string, string>>;
}

/** The path below which files are served, before their key. */
export const FILES_PATH = '/v1/files/';

/**
 * Signs and checks URLs of files that this server stores itself. The signature is the whole
 * credential: it covers the action, the key, the expiry and every other parameter.
 */
export class FileUrls {
  readonly #key: Buffer;
  readonly #baseUrl: () => string;
  readonly #path: string;
  readonly #now: () => number;

  constructor({ secret, baseUrl, path = FILES_PATH, now = Date.now }: FileUrlsOptions) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'parley file urls', 32));
    this.#baseUrl = baseUrl;
    this.#path = path;
    this.#now = now;
  }

  /** Returns a URL with the parameters `fields`, none called `expires` or `signature`. */
  sign(action: FileAction, { key, expiresAtMs, fields }: SignedFile): string {
    const query = new URLSearchParams({ ...fields, expires: String(Math.floor(expiresAtMs / 1000)) });
    query.set('signature', this.#signatureOf(action, key, query));
    return `${this.#baseUrl()}${this.#path}${key}?${query}`;
  }

  /**
   * Throws ApiError `insufficient_permissions` for a URL that we did not sign in exactly this form,
   * or `resource_gone` for an expired one.
   */
  verify(action: FileAction, path: string, queryText: string): SignedFile {
    const key = path.slice(this.#path.length);
    const query = new URLSearchParams(queryText);
    const given = Buffer.from(query.get('signature') ?? '');
    query.delete('signature');
    const right = Buffer.from(this.#signatureOf(action, key, query));
    if (given.length !== right.length || !timingSafeEqual(given, right)) {
      throw new ApiError(
        'insufficient_permissions',
        'The signature does not match this URL. Request a new URL.',
      );
    }
    const { expires, ...fields } = Object.fromEntries(query);
    const expiresAtMs = Number(expires) * 1000;
    if (this.#now() >= expiresAtMs)
      throw new ApiError('resource_gone', 'This URL has expired. Request a new one.');
    return { key, expiresAtMs, fields };
  }

  /** Signs the decoded parameters, because proxies may encode them differently. */
  #signatureOf(action: FileAction, key: string, query: URLSearchParams): string {
    const text = JSON.stringify([action, key, [...query].sort(byName)]);
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}

/** Compares stably: parameters of one name keep their order. */
function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
