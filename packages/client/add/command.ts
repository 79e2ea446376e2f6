#!/usr/bin/env node
/** The command of the package: `npx @parley/client add timeline`. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { copyParts } from './copied-parts.ts';

const PARTS = ['inbox', 'timeline', 'message', 'composer', 'thread', 'bell'];
const USAGE = `Usage: npx @parley/client add <part …> [--to <folder>] [--force]

Copies the sources of parts for React into a project, with what they need: ${PARTS.join(', ')}.
The folder is src/parley by default, or parley where there is no src. --force overwrites files that
you have changed.`;

function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { to: { type: 'string' }, force: { type: 'boolean' }, help: { type: 'boolean' } },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const [command, ...parts] = positionals;
  const unknown = parts.find((part) => !PARTS.includes(part));
  if (command !== 'add' || parts.length === 0) throw new Error(USAGE);
  if (unknown !== undefined) throw new Error(`There is no part ${unknown}. The parts: ${PARTS.join(', ')}.`);
  const to = values.to ?? (existsSync('src') ? 'src/parley' : 'parley');
  const from = fileURLToPath(new URL('parts', import.meta.url));
  const names = copyParts({ from, to, parts, isForced: values.force === true });
  console.log(names.map((name) => `${to}/${name}`).join('\n'));
  console.log(`\nImport ${parts.map((part) => `${to}/${part}`).join(', ')} and ${to}/parts.css.`);
}

try {
  main();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
