import { runTogether } from '../support/together.ts';

await runTogether('gateway', { part: 1, of: 2 });
