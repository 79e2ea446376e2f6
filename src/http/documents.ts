import { hash } from 'node:crypto';
import type { PublicAnswer, PublicRoute } from './public-routes.ts';

/** What does not change while the process lives: a page, a style sheet, the OpenAPI document. */
export interface Document {
  readonly contentType: string;
  readonly body: Buffer;
}

/**
 * Serves a document: made when somebody first asks for it, kept from then on. Whoever has it already
 * (If-None-Match) is told so in a few bytes.
 */
export function documentRoute(make: () => Document | Promise<Document>): PublicRoute {
  let kept: Kept | undefined;
  return async ({ ifNoneMatch }): Promise<PublicAnswer> => {
    kept ??= keep(await make());
    const headers = { ...DOCUMENT_HEADERS, ETag: kept.tag };
    if (ifNoneMatch?.includes(kept.tag)) return { status: 304, body: null, headers };
    return { status: 200, ...kept.document, headers };
  };
}

/** Pages run what this server serves itself and nothing else: no other host, no script inside a page. */
export const DOCUMENT_HEADERS: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-cache',
  'Content-Security-Policy':
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

interface Kept {
  readonly document: Document;
  readonly tag: string;
}

function keep(document: Document): Kept {
  return { document, tag: `"${hash('sha256', document.body, 'base64url').slice(0, 22)}"` };
}
