import { runTogether } from '../support/together.ts';

await runTogether('http', { part: 2, of: 3 });
