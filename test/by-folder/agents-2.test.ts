import { runTogether } from '../support/together.ts';

await runTogether('agents', 2, 2);
