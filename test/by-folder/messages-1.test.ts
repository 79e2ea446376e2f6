import { runTogether } from '../support/together.ts';

await runTogether('test/messages', 1, 2);
