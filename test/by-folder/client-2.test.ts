import { runTogether } from '../support/together.ts';

await runTogether('client', { part: 2, of: 4 });
