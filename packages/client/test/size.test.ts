/**
 * What the SDK adds to a page, by brotli, bundled and minified as applications do. The limits are
 * those of docs/sdk.md.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { type OutputChunk, rolldown } from 'rolldown';
import t from 'tap';
import { builtClient } from '../../../test/support/built-client.ts';

const KB = 1_000;

/** What a page may never need, by a text of its code. */
const RARE = {
  uploads: '/v1/messaging/attachments/upload-url',
  'fallback transports': '/v1/realtime/${',
  runs: '^await',
  push: 'applicationServerKey',
};

t.test('at most 28 KB whole, and 15 KB before the first connection', async (t) => {
  const whole = brotliCompressSync(readFileSync(join(builtClient(), 'dist/served/client.js'))).length;
  const chunks = await bundled('index.js');
  const [entry] = chunks.filter(({ isEntry }) => isEntry);
  const first = sizeOf(withImports(entry!, chunks));
  t.comment(`${first} bytes before the first connection, ${whole} whole, in ${chunks.length} chunks`);
  t.ok(whole <= 28 * KB, `${whole} bytes whole`);
  t.ok(first <= 15 * KB, `${first} bytes before the first connection`);
});

t.test('what is used rarely is in chunks of its own', async (t) => {
  const chunks = await bundled('index.js');
  const [entry] = chunks.filter(({ isEntry }) => isEntry);
  const later = chunks.filter((chunk) => !withImports(entry!, chunks).includes(chunk));
  for (const [what, part] of Object.entries(RARE)) {
    const having = later.filter(({ code }) => code.includes(part));
    t.equal(having.length, 1, what);
    t.ok(sizeOf(having) <= 3 * KB, `${what}: ${sizeOf(having)} bytes`);
  }
});

async function bundled(entry: string): Promise<OutputChunk[]> {
  const input = join(builtClient(), 'dist', entry);
  const build = await rolldown({ input, platform: 'browser', external: /^[^./]/ });
  const { output } = await build.generate({ format: 'es', minify: true });
  await build.close();
  return output.filter((one) => one.type === 'chunk');
}

/** A chunk and all that it imports before it runs. */
function withImports(
  chunk: OutputChunk,
  all: readonly OutputChunk[],
  seen = new Set<OutputChunk>(),
): OutputChunk[] {
  seen.add(chunk);
  for (const name of chunk.imports) {
    const imported = all.find(({ fileName }) => fileName === name);
    if (imported !== undefined && !seen.has(imported)) withImports(imported, all, seen);
  }
  return [...seen];
}

function sizeOf(chunks: readonly OutputChunk[]): number {
  return chunks.reduce((sum, { code }) => sum + brotliCompressSync(code).length, 0);
}
