import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { bundle as bundleStyles } from 'lightningcss';
import { rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '../..');

/** A single-page application. */
interface Page {
  /** The folder of its modules, from the root, with `main.tsx` and `main.css`. */
  readonly sources: string;
  /** The folder that is made, from the root: `page.json` and `assets/`. */
  readonly out: string;
  /** A classic script without imports, for the pages of others, and its name in `out`. */
  readonly loader?: { readonly source: string; readonly name: string };
}

const PAGES: readonly Page[] = [
  { sources: 'packages/console', out: 'packages/console/dist' },
  {
    sources: 'packages/widget',
    out: 'packages/widget/dist',
    loader: { source: 'packages/widget/loader.ts', name: 'widget.js' },
  },
];

/** The content of `page.json`: the files that a document names, by their names in `assets/`. */
interface BuiltPage {
  readonly script: string;
  readonly style: string;
  /** Modules that the script imports at once. */
  readonly preloads: readonly string[];
}

/**
 * Makes the pages that servers offer. The names of all files have the hash of their content, so
 * that browsers keep them. Each folder takes the place of an earlier one when it is complete.
 */
export async function buildPages(): Promise<void> {
  for (const page of PAGES) await buildPage(page);
}

async function buildPage({ sources, out, loader }: Page): Promise<void> {
  const place = join(ROOT, out);
  await mkdir(dirname(place), { recursive: true });
  const stage = await mkdtemp(`${place}-`);
  // Nodes may run as another user than the builder.
  await chmod(stage, 0o755);
  try {
    const assets = join(stage, 'assets');
    await mkdir(assets);
    const { script, preloads } = await writeScripts(join(ROOT, sources, 'main.tsx'), assets);
    const style = await writeStyle(join(ROOT, sources, 'main.css'), assets);
    if (loader !== undefined) await writeLoader(join(ROOT, loader.source), join(stage, loader.name));
    const built: BuiltPage = { script, style, preloads };
    await writeFile(join(stage, 'page.json'), JSON.stringify(built));
    await rm(place, { recursive: true, force: true });
    await rename(stage, place);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

async function writeScripts(entry: string, dir: string): Promise<Pick<BuiltPage, 'script' | 'preloads'>> {
  const build = await rolldown({
    input: { main: entry },
    platform: 'browser',
    tsconfig: false,
    resolve: { alias: { react: 'preact/compat' }, extensions: ['.ts', '.tsx', '.js', '.mjs'] },
    transform: { target: 'es2022', jsx: { runtime: 'automatic', importSource: 'preact' } },
    moduleTypes: { '.svg': 'text' },
    checks: { bundlerTimings: false, moduleLevelDirective: false },
  });
  try {
    const names = '[name]-[hash].js';
    const { output } = await build.write({
      dir,
      format: 'es',
      minify: true,
      entryFileNames: names,
      chunkFileNames: names,
    });
    const main = output.find((file) => file.type === 'chunk' && file.isEntry);
    if (main?.type !== 'chunk') throw new Error(`${entry} has become no module.`);
    return { script: main.fileName, preloads: main.imports };
  } finally {
    await build.close();
  }
}

async function writeLoader(entry: string, file: string): Promise<void> {
  const build = await rolldown({
    input: entry,
    platform: 'browser',
    tsconfig: false,
    transform: { target: 'es2022' },
    checks: { bundlerTimings: false },
  });
  try {
    await build.write({ file, format: 'iife', minify: true });
  } finally {
    await build.close();
  }
}

async function writeStyle(filename: string, dir: string): Promise<string> {
  const { code } = bundleStyles({ filename, minify: true, targets: STYLE_TARGETS });
  const name = `main-${createHash('sha256').update(code).digest('base64url').slice(0, 8)}.css`;
  await writeFile(join(dir, name), code);
  return name;
}

/** Browsers of which `light-dark()`, nesting and `popover` can be taken for granted. */
const STYLE_TARGETS = { chrome: 125 << 16, firefox: 128 << 16, safari: (17 << 16) | (5 << 8) };
