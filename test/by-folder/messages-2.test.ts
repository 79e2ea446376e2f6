import { runTogether } from '../support/together.ts';

await runTogether('messages', { part: 2, of: 2 });
