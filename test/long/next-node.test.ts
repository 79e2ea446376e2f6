/**
 * Whether the next Node could run Parley.
 *
 * Without influence: packages/console, packages/widget, packages/ui.
 */

import t from 'tap';
import { runProgram } from '../start/parley.ts';
import { NEXT_NODE, nextNode } from './next-node.ts';

t.test(`Node ${NEXT_NODE} could run it, but for the addon`, async (t) => {
  const node = await nextNode();
  if (node === undefined) {
    t.comment('not tried: it cannot be installed here');
    return;
  }
  t.match(await runProgram(node, ['--version'], {}), { stdout: new RegExp(`^v${NEXT_NODE}\\.`) });
  const loaded = await runProgram(node, ['test/support/load-everything.js'], {});
  t.match(loaded, { code: 0, stdout: /^loaded [1-9]\d{2,} modules\n$/ }, loaded.stderr);
  const help = await runProgram(node, ['src/app/main.ts', 'admin', '--help'], {});
  t.match(help, { code: 0, stdout: /account create/ }, help.stderr);
  // Programs of their own, which Node starts: what they find does not depend on it.
  for (const tool of ['typescript/bin/tsc', '@biomejs/biome/bin/biome']) {
    const started = await runProgram(node, [`node_modules/${tool}`, '--version'], {});
    t.match(started, { code: 0, stdout: /^Version:? \d/ }, started.stderr);
  }
  const test = await runProgram(node, ['test/metrics.test.ts'], {});
  t.match(test, { code: 0, stdout: /^ok 1/m }, test.stdout);
});
