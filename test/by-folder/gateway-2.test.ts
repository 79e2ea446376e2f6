import { runTogether } from '../support/together.ts';

await runTogether('test/gateway', 2, 2);
