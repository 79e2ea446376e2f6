'use strict';
// `npm run build`: makes the package of the SDK, which users install and servers offer, the package
// that converts archives, and the pages. The code is in build/, and packages/client/ has only what
// is in the package, which knows nothing of the server. `npm ci` runs it with --optional: without
// the tools, or with a Node that cannot run them, the installation succeeds, and a server says why
// it has neither.
//
// Plain JavaScript that old releases of Node parse too: it has to answer there as well.

const { createHash } = require('node:crypto');
const {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} = require('node:fs');
const { join } = require('node:path');
const { problemsOf } = require('./runtime.cjs');

const ROOT = join(__dirname, '..');
const OUTS = [
  'packages/client/npm/dist',
  'packages/archives/npm/dist',
  'packages/console/dist',
  'packages/widget/dist',
].map((path) => join(ROOT, path));
/** This file has the digest of the inputs of the last build. `npm ci` removes it. */
const BUILT_OF = join(ROOT, 'node_modules', '.cache', 'parley', 'built-of');
const INPUTS = ['bin', 'packages', 'src', 'package.json', 'package-lock.json'];
const isOptional = process.argv.includes('--optional');

async function main() {
  const { platform, versions, features } = process;
  const [problem] = problemsOf(platform, versions.node, Boolean(features.typescript));
  if (problem !== undefined) throw new Error(problem);
  const inputs = digestOf(INPUTS);
  if (OUTS.every((out) => existsSync(out)) && inputs === textOf(BUILT_OF)) return;
  rmSync(BUILT_OF, { force: true });
  require('./quick-load.cjs').loadQuickly();
  const { build } = await import('./build/build.ts');
  const { buildArchives } = await import('./build/archives.ts');
  const { buildPages } = await import('./build/pages.ts');
  await build();
  await buildArchives();
  await buildPages();
  mkdirSync(join(BUILT_OF, '..'), { recursive: true });
  writeFileSync(BUILT_OF, inputs);
}

/** Returns a digest of files and folders, by their paths in the checkout, without built files. */
function digestOf(paths) {
  const digest = createHash('sha256').update(process.version);
  const add = (path) => {
    const place = join(ROOT, path);
    if (statSync(place).isDirectory()) {
      for (const name of readdirSync(place).sort()) if (!/^dist(-|$)/.test(name)) add(`${path}/${name}`);
    } else digest.update(`\0${path}\0`).update(readFileSync(place));
  };
  for (const path of paths) if (existsSync(join(ROOT, path))) add(path);
  return digest.digest('hex');
}

function textOf(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

main().then(
  // Modules of the server, which are read for the endpoints that they declare, may keep it alive.
  () => process.exit(),
  (error) => {
    // The bundler has one error for each module.
    const told = (error.errors || [error]).map((one) => String(one.message || one)).join('\n');
    const [line] = told.replaceAll(join(ROOT, '/'), '').split('\n');
    // The earlier output is not of these sources.
    for (const out of OUTS) {
      rmSync(out, { recursive: true, force: true });
      mkdirSync(out, { recursive: true });
      writeFileSync(join(out, 'failure.txt'), line);
    }
    process.stderr.write(
      `parley: the packages for users and the pages were not built: ${isOptional ? line : told}\n`,
    );
    process.exit(isOptional ? 0 : 1);
  },
);
