import { Worker } from 'node:worker_threads';
import { KeyedLimiter, unlessAborted } from '../../lifecycle.ts';
import { ToolRefusal } from './tool.ts';

/**
 * What people read of a page, links with where they lead. Parsing takes as long as the page's author wants, so it
 * is done in a thread that ends with `signal`. Rejects with its reason, or with ToolRefusal
 * `external_service_error` where the page is beyond the parser.
 */
export function htmlToText(html: string, url: string, signal: AbortSignal): Promise<string> {
  const parsed = threads.run({}, async () => {
    // Nobody waits for it any more.
    signal.throwIfAborted();
    return parse(html, url, signal);
  });
  return unlessAborted(parsed, signal);
}

/** A thread takes a core and up to HEAP_MB: of hundreds of runs few have one at a time. */
const threads = new KeyedLimiter(2);

async function parse(html: string, url: string, signal: AbortSignal): Promise<string> {
  const worker = new Worker(new URL('./html-worker.ts', import.meta.url), {
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

/** Tens of times the largest page. */
const HEAP_MB = 128;
