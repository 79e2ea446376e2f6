import { runTogether } from '../support/together.ts';

await runTogether('http', { part: 3, of: 3 });
