import { runTogether } from '../support/together.ts';

await runTogether('http', { part: 1, of: 3 });
