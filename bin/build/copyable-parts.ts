import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The entries that users have, by the imports of the parts. */
const ENTRIES: Readonly<Record<string, string>> = {
  '../../index.ts': '@parley/client',
  '../index.ts': '@parley/client/react',
  '../headless/index.ts': '@parley/client/react/headless',
};

/**
 * Writes the sources of the parts as they work in an application: they import the entries of the
 * package, and each other without endings, which a bundler needs no setting for.
 */
export async function writeCopyableParts(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from)) {
    if (name.endsWith('.css')) await copyFile(join(from, name), join(to, name));
    else if (name !== 'index.ts') {
      await writeFile(join(to, name), copyable(name, await readFile(join(from, name), 'utf8')));
    }
  }
}

function copyable(name: string, text: string): string {
  const code = text.replace(/(?<=from ')(\.[^']+)(?=')/g, (path) => {
    const entry = ENTRIES[path] ?? /^\.\/[\w-]+(?=\.tsx?$)/.exec(path)?.[0];
    if (entry === undefined) throw new Error(`${name} imports ${path}, which applications do not have.`);
    return entry;
  });
  // Below a component of a server it begins what runs in browsers.
  return name.endsWith('.tsx') ? `'use client';\n\n${code}` : code;
}
