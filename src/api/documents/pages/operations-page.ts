import { readFile } from 'node:fs/promises';
import type { Document } from '../documents.ts';
import { renderMarkdown } from './markdown.ts';
import { pageOf } from './page.ts';

/**
 * Returns `/docs/operations`: docs/operations.md, unchanged. The console links to its sections
 * where something needs an operator.
 */
export async function operationsPage(): Promise<Document> {
  const text = await readFile(new URL('../../../../docs/operations.md', import.meta.url), 'utf8');
  const main = await renderMarkdown(text.replace(LINK_TO_UNSERVED, '$1'), {});
  return pageOf('operations', { main, scripts: ['copy.js'] });
}

/** Documents of the repository that no page shows: their links stay as text. */
const LINK_TO_UNSERVED = /\[([^\]]+)\]\((?!#|https:)[^)]+\)/g;
