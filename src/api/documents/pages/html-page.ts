import type { Document } from '../documents.ts';
import { type Html, html } from './html.ts';

export interface HtmlPage {
  readonly title: string;
  readonly nav: { readonly label: string; readonly links: readonly NavLink[] };
  /** Class of the main element. */
  readonly name: string;
  readonly main: Html;
  /** Paths, in the order of loading, beside the styles of every page. */
  readonly styles: readonly string[];
  readonly scripts?: readonly Html[];
}

interface NavLink {
  readonly path: string;
  readonly title: string;
  readonly current?: boolean;
}

/** Returns a page in the frame of every page: head, header and link to the content. */
export function htmlPage({ title, nav, name, main, styles, scripts = [] }: HtmlPage): Document {
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Parley</title>
<link rel="icon" type="image/svg+xml" href="/docs/assets/icon.svg">
${[...BASE, ...styles].map((path) => html`<link rel="stylesheet" href="${path}">`)}
${scripts}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<a class="brand" href="/"><img src="/docs/assets/icon.svg" alt="Parley" width="24" height="24"><span aria-hidden="true">Parley</span></a>
<nav aria-label="${nav.label}">
${nav.links.map(({ path, title, current }) =>
  current === true
    ? html`<a href="${path}" aria-current="page">${title}</a>`
    : html`<a href="${path}">${title}</a>`,
)}
</nav>
</header>
<main id="main" class="${name}">
${main}
</main>
</body>
</html>
`;
  return { contentType: 'text/html; charset=utf-8', body: Buffer.from(text) };
}

/** The tokens of all pages of this server, and the frame. */
const BASE = ['/docs/assets/tokens.css', '/docs/assets/docs.css'];
