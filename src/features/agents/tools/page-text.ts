import { Worker } from 'node:worker_threads';
import { KeyedLimiter, unlessAborted } from '../../../platform/lifecycle.ts';
import { ToolRefusal } from './tool.ts';

/**
 * Returns the readable text of a page, links with their targets. The author of a page controls how
 * long parsing takes, so it runs in a thread that ends with `signal`. Rejects with the reason of
 * `signal`, or with ToolRefusal `external_service_error` if the parser cannot handle the page.
 */
export function pageToText(html: string, url: string, signal: AbortSignal): Promise<string> {
  const parsed = threads.run({}, async () => {
    // The caller has given up.
    signal.throwIfAborted();
    return parse(html, url, signal);
  });
  return unlessAborted(parsed, signal);
}

/** A thread takes a core and up to HEAP_MB of memory, so a node runs only a few at a time. */
const threads = new KeyedLimiter(2);

async function parse(html: string, url: string, signal: AbortSignal): Promise<string> {
  const worker = new Worker(new URL('./page-worker.ts', import.meta.url), {
    workerData: { html, url },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const unreadable = (cause?: unknown) =>
    reject(new ToolRefusal('external_service_error', 'The page could not be read.', cause));
  worker
    .once('message', resolve)
    .once('error', unreadable)
    .once('exit', () => unreadable());
  try {
    return await unlessAborted(promise, signal);
  } finally {
    await worker.terminate();
  }
}

/** Dozens of times the size of the largest page. */
const HEAP_MB = 128;
