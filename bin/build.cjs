'use strict';
// `npm run build`: makes the package of the SDK, which users install and servers offer, and the
// pages. The code is in build/, and src/contract/client/ has only what is in the package, which
// knows nothing of the server. `npm ci` runs it with --optional: without the tools, or with a Node
// that cannot run them, the installation succeeds, and a server says why it has neither.
//
// Plain JavaScript that old releases of Node parse too: it has to answer there as well.

const { mkdirSync, rmSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { problemsOf } = require('./runtime.cjs');

const ROOT = join(__dirname, '..');
const OUTS = ['src/contract/client/dist', 'src/edge/console/dist', 'src/features/widgets/dist'].map((path) =>
  join(ROOT, path),
);
const isOptional = process.argv.includes('--optional');

async function main() {
  const { platform, versions, features } = process;
  const [problem] = problemsOf(platform, versions.node, Boolean(features.typescript));
  if (problem !== undefined) throw new Error(problem);
  require('./quick-load.cjs').loadQuickly();
  const { build } = await import('./build/build.ts');
  const { buildPages } = await import('./build/pages.ts');
  await build();
  await buildPages();
}

main().then(
  // Modules of the server, which are read for the endpoints that they declare, may keep it alive.
  () => process.exit(),
  (error) => {
    // The bundler has one for each module.
    const told = (error.errors || [error]).map((one) => String(one.message || one)).join('\n');
    const [line] = told.replaceAll(join(ROOT, '/'), '').split('\n');
    // What was there is not of these sources.
    for (const out of OUTS) {
      rmSync(out, { recursive: true, force: true });
      mkdirSync(out, { recursive: true });
      writeFileSync(join(out, 'failure.txt'), line);
    }
    process.stderr.write(
      `parley: the package of the SDK and the pages were not built: ${isOptional ? line : told}\n`,
    );
    process.exit(isOptional ? 0 : 1);
  },
);
