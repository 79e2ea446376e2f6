import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { Export } from '@parley/protocol/resources/export.ts';
import { type Entry, open, type ZipFile } from 'yauzl';
import type { CallAnswer, CallOptions, TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';

const PREVIEW = { 'Service-Version': '1.2.harbor' };

/** Asks as the admin key in the newest version. */
export function ask<Body>(
  app: TestApp,
  method: string,
  path: string,
  { headers, ...options }: CallOptions = {},
): Promise<CallAnswer<Body>> {
  return app.call<Body>(method, path, { ...options, headers: { ...PREVIEW, ...headers } });
}

/** Requests an export and waits until it has ended. */
export async function exported(app: TestApp, path: string): Promise<Export> {
  const { status, body, text } = await ask<Export>(app, 'POST', path);
  if (status !== 201) throw new Error(`${path}: ${status} ${text}`);
  return ended(app, body.id);
}

export function ended(app: TestApp, id: string): Promise<Export> {
  return until(
    async () => {
      const { body } = await ask<Export>(app, 'GET', `/v1/exports/${id}`);
      return body.status === 'complete' || body.status === 'failed' ? body : undefined;
    },
    { what: `the end of ${id}` },
  );
}

/** An export's file, by path: parsed JSON, the lines of JSON Lines, or text. */
export async function downloaded(shown: Export, directory: string): Promise<{ path: string; files: Files }> {
  const answer = await fetch(shown.url!);
  if (answer.status !== 200) throw new Error(`${shown.url}: ${answer.status}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  if (bytes.length !== shown.size_bytes)
    throw new Error(`${bytes.length} bytes in place of ${shown.size_bytes}`);
  const path = join(directory, `${shown.id}.zip`);
  writeFileSync(path, bytes);
  return { path, files: await filesOf(path) };
}

export type Files = ReadonlyMap<string, string>;

/** Lines of a JSON Lines file. */
export function lines<Line = Readonly<Record<string, unknown>>>(files: Files, path: string): Line[] {
  return files
    .get(path)!
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

export function sha256(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

const OPTIONS = { lazyEntries: true, autoClose: false };

async function filesOf(path: string): Promise<Files> {
  const zip = await promisify<string, typeof OPTIONS, ZipFile>(open)(path, OPTIONS);
  const files = new Map<string, string>();
  try {
    for (const entry of await entriesOf(zip)) {
      const read = promisify<Entry, NodeJS.ReadableStream>(zip.openReadStream.bind(zip));
      files.set(entry.fileName, await text(await read(entry)));
    }
  } finally {
    zip.close();
  }
  return files;
}

function entriesOf(zip: ZipFile): Promise<Entry[]> {
  return new Promise((resolve, reject) => {
    const entries: Entry[] = [];
    zip.on('error', reject);
    zip.on('end', () => resolve(entries));
    zip.on('entry', (entry: Entry) => {
      entries.push(entry);
      zip.readEntry();
    });
    zip.readEntry();
  });
}
