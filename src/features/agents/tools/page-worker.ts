/** A thread for each page (page-text.ts), so that a page built to be slow blocks nothing else. */

import { parentPort, workerData } from 'node:worker_threads';
import { pageText } from '@parley/mail-reader/text/page-text.ts';

const { html, url }: { readonly html: string; readonly url: string } = workerData;

parentPort?.postMessage(pageText(html, url));
