import { runTogether } from '../support/together.ts';

await runTogether('messages', { part: 1, of: 2 });
