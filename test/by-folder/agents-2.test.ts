import { runTogether } from '../support/together.ts';

await runTogether('test/agents', 2, 2);
