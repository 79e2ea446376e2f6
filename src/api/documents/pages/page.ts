import { readFile } from 'node:fs/promises';
import type { Document } from '../documents.ts';
import { type Html, html } from './html.ts';
import { htmlPage } from './html-page.ts';
import { renderMarkdown, type Values } from './markdown.ts';

/** The pages of the documentation, as the navigation lists them. */
export const PAGES = {
  guides: { path: '/docs/guides', title: 'Guides' },
  reference: { path: '/docs', title: 'API reference' },
  sdk: { path: '/docs/sdk', title: 'SDK reference' },
  socket: { path: '/docs/socket', title: 'Socket' },
  errors: { path: '/docs/api/errors', title: 'Errors' },
  agents: { path: '/docs/agents', title: 'Agents' },
  states: { path: '/docs/states', title: 'States' },
  access: { path: '/docs/access', title: 'Access' },
  operations: { path: '/docs/operations', title: 'Operations' },
} as const;

export type PageName = keyof typeof PAGES;

export interface PageContent {
  /** Default: the title in the navigation. */
  readonly title?: string;
  readonly main: Html;
  /** Below /docs/assets/, in the order of loading, beside the styles of every page. */
  readonly styles?: readonly string[];
  readonly scripts?: readonly string[];
}

/** Returns the page whose text is the Markdown file with its name in this folder. */
export async function markdownPage(name: PageName, values: Values): Promise<Document> {
  const text = await readFile(new URL(`${name}.md`, import.meta.url), 'utf8');
  return pageOf(name, { main: await renderMarkdown(text, values) });
}

/** Returns a page. A guide has the name of their list; the page of a mistyped address has none. */
export function pageOf(
  name: PageName | undefined,
  {
    title = name === undefined ? 'No such page' : PAGES[name].title,
    main,
    styles = [],
    scripts = [],
  }: PageContent,
): Document {
  return htmlPage({
    title,
    name: name ?? 'unlisted',
    main,
    nav: {
      label: 'Documentation',
      links: [
        ...Object.entries(PAGES).map(([page, link]) => ({ ...link, current: page === name })),
        { path: '/console/', title: 'Console' },
      ],
    },
    styles: ['prose.css', ...styles].map(assetPath),
    scripts: ['sign-in.js', ...scripts].map((file) => html`<script defer src="${assetPath(file)}"></script>`),
  });
}

function assetPath(file: string): string {
  return `/docs/assets/${file}`;
}
