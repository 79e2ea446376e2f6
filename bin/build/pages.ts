import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join } from 'node:path';
import { bundle as bundleStyles } from 'lightningcss';
import { type RenderedChunk, type RolldownPluginOption, rolldown } from 'rolldown';
import { withoutEarlyImports } from './early-imports.ts';

const ROOT = join(import.meta.dirname, '../..');

/** A single-page application. */
interface Page {
  /** The folder of its modules, from the root, with `main.tsx` and `main.css`. */
  readonly sources: string;
  /** The folder that is made, from the root: `page.json` and `assets/`. */
  readonly out: string;
  /** A module that the entry imports when it has its texts, and that browsers fetch with it. */
  readonly next?: string;
  /** A classic script without imports, for the pages of others, and its name in `out`. */
  readonly loader?: { readonly source: string; readonly name: string };
  /** A small page without a style, and the name of its `page.json`. */
  readonly small?: { readonly source: string; readonly name: string };
}

const PAGES: readonly Page[] = [
  { sources: 'packages/console', out: 'packages/console/dist', next: 'packages/console/start.tsx' },
  {
    sources: 'packages/widget',
    out: 'packages/widget/dist',
    loader: { source: 'packages/widget/loader.ts', name: 'widget.js' },
    small: { source: 'packages/widget/bubble/bubble.ts', name: 'bubble.json' },
  },
];

/** The content of `page.json`: the files that a document names, by their names in `assets/`. */
interface BuiltPage {
  readonly script: string;
  readonly style?: string;
  /** Modules that the script imports at the start. */
  readonly preloads: readonly string[];
}

/**
 * Makes the pages that servers offer. The names of all files have the hash of their content, so
 * that browsers keep them. Each folder takes the place of an earlier one when it is complete.
 */
export async function buildPages(): Promise<void> {
  for (const page of PAGES) await buildPage(page);
}

async function buildPage({ sources, out, next, loader, small }: Page): Promise<void> {
  const place = join(ROOT, out);
  await mkdir(dirname(place), { recursive: true });
  const stage = await mkdtemp(`${place}-`);
  // Nodes may run as another user than the builder.
  await chmod(stage, 0o755);
  try {
    const assets = join(stage, 'assets');
    await mkdir(assets);
    const { script, preloads } = await writeScripts(
      join(ROOT, sources, 'main.tsx'),
      assets,
      next && join(ROOT, next),
    );
    const style = await writeStyle(join(ROOT, sources, 'main.css'), assets);
    if (loader !== undefined) await writeLoader(join(ROOT, loader.source), join(stage, loader.name));
    const built: BuiltPage = { script, style, preloads };
    await writeFile(join(stage, 'page.json'), JSON.stringify(built));
    if (small !== undefined) {
      const page: BuiltPage = await writeScripts(join(ROOT, small.source), assets);
      await writeFile(join(stage, small.name), JSON.stringify(page));
    }
    await rm(place, { recursive: true, force: true });
    await rename(stage, place);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

type Scripts = Pick<BuiltPage, 'script' | 'preloads'>;

async function writeScripts(entry: string, dir: string, next?: string): Promise<Scripts> {
  const build = await rolldown({
    input: next === undefined ? [entry] : [entry, next],
    platform: 'browser',
    tsconfig: false,
    resolve: { alias: { react: 'preact/compat' }, extensions: ['.ts', '.tsx', '.js', '.mjs'] },
    transform: { target: 'es2022', jsx: { runtime: 'automatic', importSource: 'preact' } },
    moduleTypes: { '.svg': 'text' },
    checks: { bundlerTimings: false, moduleLevelDirective: false },
    plugins: [fetchedFirst(next)],
  });
  try {
    const names = '[name]-[hash].js';
    const { output } = await build.write({
      dir,
      format: 'es',
      minify: true,
      entryFileNames: names,
      chunkFileNames: names,
      // Else rolldown makes a chunk for each few modules that later ones need too.
      ...(next !== undefined && {
        codeSplitting: {
          groups: [
            { name: 'begin', test: (id: string) => id === entry, priority: 1 },
            { name: 'first', tags: ['$initial' as const] },
          ],
        },
      }),
    });
    const chunkOf = (module: string) => {
      const found = output.find((file) => file.type === 'chunk' && file.facadeModuleId === module);
      if (found?.type !== 'chunk') throw new Error(`${module} has become no module.`);
      return found;
    };
    const main = chunkOf(entry);
    const after = next === undefined ? undefined : chunkOf(next);
    const preloads = new Set([...main.imports, ...(after ? [after.fileName, ...after.imports] : [])]);
    preloads.delete(main.fileName);
    return { script: main.fileName, preloads: [...preloads] };
  } finally {
    await build.close();
  }
}

/**
 * Fetches the files of a later part before it is imported, so that browsers import them from their
 * cache. Firefox never again asks for a module that could not be loaded: a part that was first
 * opened while no server answered would be dead until the page is loaded again. `preloaded` is a
 * module that the document names.
 */
function fetchedFirst(preloaded: string | undefined): RolldownPluginOption {
  return {
    name: 'fetched-first',
    // A part that could not be fetched is fetched again, so none has to be there before its use.
    transform: withoutEarlyImports,
    renderChunk(code, chunk, _, { chunks }) {
      const here = filesOf(chunk, chunks);
      const body = code.replace(LATER_PART, (whole, name: string) => {
        const part = chunks[name];
        if (part === undefined) throw new Error(`${chunk.name} imports ${name}, which is no part.`);
        if (part.facadeModuleId === preloaded) return whole;
        const files = [...filesOf(part, chunks)].filter((file) => !here.has(file));
        return `__fetched(${JSON.stringify(files)}).then(() => ${whole})`;
      });
      return body === code ? null : FETCHED + body;
    },
  };
}

const LATER_PART = /\bimport\("\.\/([^"]+)"\)/g;

/** Its names must not be those of a module, so it has one, which no module has. */
const FETCHED = `const __fetched = (() => {
  const fetches = {};
  const load = async (file) => {
    const answer = await fetch(new URL(file, import.meta.url));
    if (!answer.ok) throw new Error(file);
    await answer.arrayBuffer();
  };
  return (files) => Promise.all(files.map((file) => fetches[file] ??= load(file).catch((error) => {
    delete fetches[file];
    throw error;
  })));
})();
`;

/** Returns the names of a chunk and of all that it imports before it runs. */
function filesOf(chunk: RenderedChunk, all: Record<string, RenderedChunk>, found = new Set<string>()) {
  found.add(chunk.fileName);
  for (const name of chunk.imports) if (!found.has(name)) filesOf(all[name]!, all, found);
  return found;
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
  const options = { filename, minify: true, targets: STYLE_TARGETS, analyzeDependencies: true };
  const { code, dependencies } = bundleStyles(options);
  let style = code.toString();
  for (const dependency of dependencies ?? []) {
    if (dependency.type !== 'url') continue;
    const name = await writeFont(dependency.url, dependency.loc.filePath, dir);
    style = style.replaceAll(dependency.placeholder, name);
  }
  const name = `main-${hashOf(style)}.css`;
  await writeFile(join(dir, name), style);
  return name;
}

/** Copies a file that a style names by its package. Returns its name, beside the style. */
async function writeFont(specifier: string, style: string, dir: string): Promise<string> {
  const file = createRequire(style).resolve(specifier);
  const type = extname(file);
  const name = `${basename(file, type)}-${hashOf(await readFile(file))}${type}`;
  await copyFile(file, join(dir, name));
  return name;
}

function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 8);
}

/** Browsers of which `light-dark()`, nesting and `popover` can be taken for granted. */
const STYLE_TARGETS = { chrome: 125 << 16, firefox: 128 << 16, safari: (17 << 16) | (5 << 8) };
