import { runTogether } from '../support/together.ts';

await runTogether('agents', 1, 2);
