import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ChunkingContext, type OutputOptions, type RolldownPluginOption, rolldown } from 'rolldown';
import { writeCopyableParts } from './copyable-parts.ts';
import { declarationPlugins, declaredModules } from './declarations.ts';
import { withoutEarlyImports } from './early-imports.ts';
import { sdkReference } from './reference/reference.ts';

const ROOT = join(import.meta.dirname, '../..');
const CLIENT = join(ROOT, 'packages/client');
/** The package as users install it. */
const NPM = join(CLIENT, 'npm');
/** The former name of the package. */
const FORMER_NAME = 'parley-client';

/**
 * Makes the package of the SDK in packages/client/npm/dist/: each entry of its package.json as a
 * bundle with its declarations, and later parts as chunks, and the command that copies parts for
 * React into a project, with their sources. Below that, served/ has the files that a
 * server offers: the package as a tarball with its manifest, the same by its former name, its main
 * entry as one file beside one of declarations, and the reference of its names. It takes the place
 * of an earlier one when it is complete.
 */
export async function build(): Promise<void> {
  const { name, ...fields } = JSON.parse(await readFile(join(NPM, 'package.json'), 'utf8'));
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  // The package has the version of the release.
  const manifest = { name, version, ...fields };
  const listed = Object.keys(fields.exports).filter((entry) => !/\.(json|css)$/.test(entry));
  const fileOf = (entry: string) => join(CLIENT, entry, 'index.ts');
  const entries = Object.fromEntries(
    listed.map((entry) => [entry === '.' ? 'index' : entry.slice(2), fileOf(entry)]),
  );
  const main = { client: join(CLIENT, 'index.ts') };
  const imports = Object.fromEntries(listed.map((entry) => [join(name, entry), fileOf(entry)]));
  const declared = await declaredModules();
  // Beside its place, which it takes by its name alone.
  const stage = await mkdtemp(join(NPM, 'dist-'));
  try {
    const dist = join(stage, 'dist');
    const served = join(dist, 'served');
    const chunkFileNames = 'chunks/[name].js';
    await bundle(entries, {
      dir: dist,
      sourcemap: true,
      chunkFileNames,
      codeSplitting: { groups: [{ debugName: 'chunks', name: chunkOf }] },
    });
    await bundle(entries, { dir: dist, chunkFileNames: 'chunks/[name].d.ts' }, declarationPlugins(declared));
    await copyFile(join(CLIENT, 'react/parts/parts.css'), join(dist, 'react/parts.css'));
    await bundle({ add: join(CLIENT, 'add/command.ts') }, { dir: dist });
    await writeCopyableParts(join(CLIENT, 'react/parts'), join(dist, 'parts'));
    await copyFile(join(ROOT, 'LICENSE'), join(dist, 'LICENSE'));
    await copyFile(join(NPM, 'README.md'), join(stage, 'README.md'));
    const tarball = await packed(stage, manifest);
    const former = await packed(stage, { ...manifest, name: FORMER_NAME });
    const one: OutputOptions = { codeSplitting: false, minify: true, comments: { annotation: false } };
    await bundle(main, { dir: served, ...one }, [LOADED_AT_ONCE, LITERALS_IN_PLACE]);
    await bundle(main, { dir: served }, declarationPlugins(declared));
    await writeFile(join(served, 'reference.json'), JSON.stringify(sdkReference(declared, imports)));
    await writeFile(join(served, 'manifest.json'), JSON.stringify(manifest));
    await writeFile(join(served, 'package.tgz'), tarball);
    await writeFile(join(served, 'client.tgz'), former);
    await rename(join(NPM, 'dist'), join(stage, 'former')).catch(() => {});
    await rename(dist, join(NPM, 'dist'));
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/** Returns the tarball of a folder as the package of a manifest. */
async function packed(folder: string, manifest: object): Promise<Buffer> {
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
  const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder, folder];
  const { stdout } = await promisify(execFile)('npm', pack, { cwd: ROOT });
  const file = join(folder, stdout.trim());
  try {
    return await readFile(file);
  } finally {
    await rm(file);
  }
}

/**
 * Names the chunk of a module: few, because each compresses by itself and costs a request. `core`
 * is what `.` needs for its first connection; a page with a list of conversations shows them too.
 */
function chunkOf(id: string, modules: ChunkingContext): string | null {
  const core = new Set([join(CLIENT, 'index.ts')]);
  for (const one of core) for (const next of modules.getModuleInfo(one)?.importedIds ?? []) core.add(next);
  if (core.has(id)) return 'core';
  return LIVE.some((folder) => id.startsWith(join(CLIENT, folder, '/'))) ? 'live' : null;
}

/**
 * Folders with the code of lists and conversations, which is loaded when the first one is opened.
 */
const LIVE = ['conversation', 'inbox', 'lists', 'notifications', 'outbox', 'people'];

/**
 * Turns later parts into imports, for a bundle of one file. Bundlers wrap each such module in a
 * function otherwise, which is 3 % of the whole, and a namespace in an object, which is 1 %.
 */
const LOADED_AT_ONCE: RolldownPluginOption = {
  name: 'loaded-at-once',
  transform(code, id) {
    const imports: string[] = [];
    const body = withoutEarlyImports(code).replace(
      /\{ (\w+) \} = await import\(('[^']+')\)/g,
      (_, name, path) => {
        const loaded = `loaded${imports.length}`;
        imports.push(`import { ${name} as ${loaded} } from ${path};`);
        return `${name} = ${loaded}`;
      },
    );
    if (/\bimport\(/.test(body)) throw new Error(`An import is not loaded at once: ${id}`);
    return body === code ? null : { code: imports.join('') + body, map: null };
  },
};

/**
 * Writes the literals that are constants of one module where they are used, which minifiers do not
 * do: the names are 1 % of the whole by brotli.
 */
const LITERALS_IN_PLACE: RolldownPluginOption = {
  name: 'literals-in-place',
  transform(code) {
    const literals = new Map<string, string>();
    const rest = code.replace(LITERAL, (_, name: string, literal: string) => {
      literals.set(name, `(${literal})`);
      return '';
    });
    return { code: rest.replace(/\b[A-Z][A-Z_]+\b/g, (name) => literals.get(name) ?? name), map: null };
  },
};

/** A number, a text or a pattern. */
const LITERAL = /^const ([A-Z_]+)(?:: [^=]+)? = ([\d_. *]+|'[^']+'|\/.+\/);$/gm;

/** Bundles for platforms of ES2022. Packages are left to the application. */
async function bundle(
  input: Readonly<Record<string, string>>,
  output: OutputOptions,
  plugins: RolldownPluginOption = [],
): Promise<void> {
  const build = await rolldown({
    input: { ...input },
    plugins,
    external: /^(?!@parley\/)[^./]/,
    platform: 'neutral',
    tsconfig: false,
    // 'use client' of the hooks is kept at the top of their entry.
    checks: { bundlerTimings: false, moduleLevelDirective: false },
    // A field without a value is set by its constructor, and is nothing before.
    transform: { target: 'es2022', typescript: { removeClassFieldsWithoutInitializer: true } },
  });
  try {
    await build.write({ format: 'es', entryFileNames: '[name].js', ...output });
  } finally {
    await build.close();
  }
}
