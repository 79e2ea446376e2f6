import { runTogether } from '../support/together.ts';

await runTogether('gateway', 1, 2);
