import { runTogether } from '../support/together.ts';

await runTogether('test/gateway', 1, 2);
