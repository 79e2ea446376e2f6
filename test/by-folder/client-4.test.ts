import { runTogether } from '../support/together.ts';

await runTogether('client', { part: 4, of: 4 });
