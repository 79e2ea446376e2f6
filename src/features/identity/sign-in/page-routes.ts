import { DOCUMENT_HEADERS } from '../../../api/documents/documents.ts';
import { type Html, html } from '../../../api/documents/pages/html.ts';
import { htmlPage } from '../../../api/documents/pages/html-page.ts';
import type { PublicAnswer } from '../../../api/pipeline/public-routes.ts';
import type { OfferedProvider } from './sign-in-providers.ts';

/** Headers of pages that are never cached, and never part of another page. */
export const PRIVATE = {
  'Cache-Control': 'no-store',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

export interface Choices {
  readonly providers: readonly OfferedProvider[];
  /** A path that `returnPath` has passed. */
  readonly returnTo: string;
}

/** Returns the page with the providers to sign in by. */
export function choicesPage({ providers, returnTo }: Choices): PublicAnswer {
  if (providers.length === 0) {
    return page(404, 'Sign in', [
      html`<p>There is no identity provider to sign in by here. If this server has several accounts, use
the address that an admin of yours gives you: it ends in <code>?account=acc_…</code></p>`,
    ]);
  }
  return page(200, 'Sign in', [
    html`<ul>
${providers.map(({ id, name }) => html`<li><a href="${beginPath(id, returnTo)}">Sign in with ${name}</a></li>`)}
</ul>`,
  ]);
}

/** Returns the page of a failed sign-in, with a sentence for the person. */
export function failurePage(status: number, sentence: string, again: string): PublicAnswer {
  return page(status, 'You are not signed in', [
    html`<p role="alert">${sentence}</p>
<p><a href="${again}">Sign in again</a></p>`,
  ]);
}

function beginPath(provider: string, returnTo: string): string {
  return `${SIGN_IN_PATH}?${new URLSearchParams({ provider, return_to: returnTo })}`;
}

export const SIGN_IN_PATH = '/v1/auth/sign-in';

function page(status: number, title: string, parts: readonly Html[]): PublicAnswer {
  const { contentType, body } = htmlPage({
    title,
    name: 'sign-in',
    nav: { label: 'Parley', links: [{ path: '/docs', title: 'Docs' }] },
    styles: ['/docs/assets/prose.css'],
    main: html`<h1>${title}</h1>
${parts}`,
  });
  return { status, contentType, body, headers: { ...DOCUMENT_HEADERS, ...PRIVATE } };
}
