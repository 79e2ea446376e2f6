import { runTogether } from '../support/together.ts';

await runTogether('messages', 1, 2);
