import { runTogether } from '../support/together.ts';

await runTogether('client', { part: 3, of: 4 });
