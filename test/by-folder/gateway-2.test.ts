import { runTogether } from '../support/together.ts';

await runTogether('gateway', 2, 2);
