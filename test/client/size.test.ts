/**
 * What the SDK adds to a page, by brotli, bundled and minified as applications do. The limits are
 * those of docs/sdk.md.
 */

import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { type OutputChunk, rolldown } from 'rolldown';
import t from 'tap';
import { builtClient } from '../support/built-client.ts';

const KB = 1_000;

t.test('of everything: at most 24 KB whole, and 14 KB before the first connection', async (t) => {
  const chunks = await bundled('index.js');
  const [entry] = chunks.filter(({ isEntry }) => isEntry);
  const first = withImports(entry!, chunks);
  const whole = sizeOf(chunks);
  t.comment(`${sizeOf(first)} bytes before the first connection, ${whole} whole, in ${chunks.length} chunks`);
  t.ok(whole <= 24 * KB, `${whole} bytes whole`);
  t.ok(sizeOf(first) <= 14 * KB, `${sizeOf(first)} bytes before the first connection`);
});

t.test('what is used rarely is in chunks of its own', async (t) => {
  const chunks = await bundled('index.js');
  const [entry] = chunks.filter(({ isEntry }) => isEntry);
  const later = chunks.filter((chunk) => !withImports(entry!, chunks).includes(chunk));
  t.ok(
    later.some(({ code }) => code.includes('/v1/messaging/attachments/upload-url')),
    'uploads',
  );
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
