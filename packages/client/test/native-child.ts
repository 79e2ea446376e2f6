/**
 * Acts as an app, without React Native: runs a bundle with the globals that its releases 0.80 to
 * 0.86 have, and nothing else. `native-child.ts <bundle> <folder of the storage>` calls what a
 * message of its parent names, as native-app.ts has it.
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createContext, runInContext } from 'node:vm';

interface Call {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

const [bundle = '', folder = ''] = process.argv.slice(2);

/** The class of the package `abort-controller`: without reasons. */
class AppAbortSignal extends EventTarget {
  aborted = false;
}

class AppAbortController {
  readonly signal: AppAbortSignal = new AppAbortSignal();

  abort(): void {
    if (this.signal.aborted) return;
    this.signal.aborted = true;
    this.signal.dispatchEvent(new Event('abort'));
  }
}

/** It reads addresses by patterns, and refuses none. */
class AppUrl {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  get protocol(): string {
    return this.#read(/^([a-zA-Z][a-zA-Z\d+\-.]*:)/);
  }

  get host(): string {
    return this.#read(/^https?:\/\/(?:[^@]+@)?([^/?#]+)/);
  }

  get pathname(): string {
    return this.#read(/https?:\/\/[^/]+(\/[^?#]*)?/) || '/';
  }

  get search(): string {
    return this.#read(/(\?[^#]*)/);
  }

  get hash(): string {
    return this.#read(/(#[^/]*)/);
  }

  get username(): string {
    return this.#read(/^https?:\/\/([^:@]+)(?::[^@]*)?@/);
  }

  get password(): string {
    return this.#read(/https?:\/\/.*:(.*)@/);
  }

  #read(pattern: RegExp): string {
    return pattern.exec(this.#url)?.[1] ?? '';
  }
}

/** It names the server as the origin, and takes headers. */
class AppWebSocket extends WebSocket {
  constructor(url: string, protocols: string[] = [], { headers = {} }: { headers?: object } = {}) {
    const { origin } = new URL(url.replace(/^ws/, 'http'));
    super(url, { protocols, headers: { origin, ...headers } } as unknown as string[]);
  }
}

/** It answers once the answer is there as a whole. */
async function appFetch(url: string, { signal, ...init }: RequestInit = {}): Promise<object> {
  const abort = new AbortController();
  signal?.addEventListener('abort', () => abort.abort());
  const response = await fetch(url, { ...init, signal: abort.signal });
  const text = await response.text();
  return { ok: response.ok, status: response.status, headers: response.headers, text: async () => text };
}

/** The storage of the app, which outlives it: a file for each value. */
const storage = {
  getItem: (key: string) => readFile(fileOf(key), 'utf8').catch(() => null),
  async setItem(key: string, value: string): Promise<void> {
    const file = fileOf(key);
    await writeFile(`${file}.new`, value);
    await rename(`${file}.new`, file);
  },
  removeItem: (key: string) => rm(fileOf(key), { force: true }),
};

function fileOf(key: string): string {
  return join(folder, createHash('sha256').update(key).digest('hex'));
}

await mkdir(folder, { recursive: true });
const app = createContext({
  setTimeout,
  clearTimeout,
  setInterval,
  clearInterval,
  queueMicrotask,
  console,
  navigator: { product: 'ReactNative' },
  fetch: appFetch,
  WebSocket: AppWebSocket,
  URL: AppUrl,
  URLSearchParams,
  AbortController: AppAbortController,
  AbortSignal: AppAbortSignal,
  TextEncoder,
  storage,
});
runInContext('globalThis.window = globalThis.self = globalThis', app);
runInContext(readFileSync(bundle, 'utf8'), app);
const { chat } = app as { chat: Record<string, (...args: readonly unknown[]) => unknown> };

process.on('message', ({ id, method, args }: Call) => {
  Promise.resolve(chat[method]!(...args)).then(
    (result) => process.send!({ id, result }),
    (error: unknown) => process.send!({ id, error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
