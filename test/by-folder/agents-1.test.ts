import { runTogether } from '../support/together.ts';

await runTogether('test/agents', 1, 2);
