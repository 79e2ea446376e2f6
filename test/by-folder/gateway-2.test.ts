import { runTogether } from '../support/together.ts';

await runTogether('gateway', { part: 2, of: 2 });
