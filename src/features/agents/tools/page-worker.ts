/** A thread for each page (page-text.ts), so that a page built to be slow blocks nothing else. */

import { parentPort, workerData } from 'node:worker_threads';
import { convert } from 'html-to-text';

const { html, url }: { readonly html: string; readonly url: string } = workerData;

parentPort?.postMessage(
  convert(html, {
    wordwrap: false,
    limits: { maxDepth: 200 },
    selectors: [
      { selector: 'a', options: { pathRewrite: absolute, hideLinkHrefIfSameAsText: true } },
      { selector: 'img', format: 'skip' },
      ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({
        selector,
        options: { uppercase: false },
      })),
      {
        selector: 'table',
        format: 'dataTable',
        options: { uppercaseHeaderCells: false, maxColumnWidth: 60 },
      },
    ],
  }),
);

function absolute(path: string): string {
  return URL.parse(path, url)?.href ?? path;
}
