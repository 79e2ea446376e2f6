import { runTogether } from '../support/together.ts';

await runTogether('messages', 2, 2);
