import type { Document } from '../documents.ts';
import { type Html, html } from './html.ts';

/** Every page of the documentation, as the navigation lists them. */
export const PAGES = {
  reference: { path: '/docs', title: 'API reference' },
  socket: { path: '/docs/socket', title: 'Socket' },
  errors: { path: '/docs/api/errors', title: 'Errors' },
  agents: { path: '/docs/agents', title: 'Agents' },
  states: { path: '/docs/states', title: 'States' },
  access: { path: '/docs/access', title: 'Access' },
} as const;

export type PageName = keyof typeof PAGES;

export interface PageContent {
  readonly main: Html;
  /** Of /docs/assets/, in the order in which they are loaded. */
  readonly styles?: readonly string[];
  readonly scripts?: readonly string[];
}

/** A whole page, readable without any script. */
export function pageOf(name: PageName, { main, styles = [], scripts = [] }: PageContent): Document {
  const { title } = PAGES[name];
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Parley</title>
<link rel="icon" type="image/svg+xml" href="/docs/assets/icon.svg">
${['docs.css', ...styles].map((file) => html`<link rel="stylesheet" href="/docs/assets/${file}">`)}
${scripts.map((file) => html`<script defer src="/docs/assets/${file}"></script>`)}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<a class="brand" href="/docs"><img src="/docs/assets/icon.svg" alt="Parley" width="24" height="24"><span aria-hidden="true">Parley</span></a>
<nav aria-label="Documentation">
${Object.entries(PAGES).map(([page, { path, title }]) =>
  page === name
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
