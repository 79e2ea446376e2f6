import { runTogether } from '../support/together.ts';

await runTogether('client', { part: 1, of: 4 });
