import { Worker } from 'node:worker_threads';
import { ToolRefusal } from './tool.ts';

/**
 * What people read of a page, links with where they lead. Parsing takes as long as the page's author wants, so it
 * is done in a thread that ends with `signal`. Rejects with its reason, or with ToolRefusal
 * `external_service_error` where the page is beyond the parser.
 */
export async function htmlToText(html: string, url: string, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const worker = new Worker(new URL('./html-worker.ts', import.meta.url), {
    workerData: { html, url },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const unreadable = (cause?: unknown) =>
    reject(new ToolRefusal('external_service_error', 'The page could not be read.', cause));
  const abandon = () => reject(signal.reason);
  worker
    .once('message', resolve)
    .once('error', unreadable)
    .once('exit', () => unreadable());
  signal.addEventListener('abort', abandon);
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', abandon);
    await worker.terminate();
  }
}

/** Tens of times the largest page. */
const HEAP_MB = 128;
