import type { Document } from '../documents.ts';
import { type Html, html } from './html.ts';
import { htmlPage } from './html-page.ts';

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
  /** Below /docs/assets/, in the order in which they are loaded. */
  readonly styles?: readonly string[];
  readonly scripts?: readonly string[];
}

/** A whole page, readable without a script. */
export function pageOf(name: PageName, { main, styles = [], scripts = [] }: PageContent): Document {
  const { title } = PAGES[name];
  return htmlPage({
    title,
    name,
    main,
    nav: {
      label: 'Documentation',
      links: Object.entries(PAGES).map(([page, link]) => ({ ...link, current: page === name })),
    },
    styles: ['docs.css', ...styles].map(assetPath),
    scripts: scripts.map((file) => html`<script defer src="${assetPath(file)}"></script>`),
  });
}

function assetPath(file: string): string {
  return `/docs/assets/${file}`;
}
