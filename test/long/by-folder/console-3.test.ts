import { runTogether } from '../../support/together.ts';

await runTogether('test/long/console', 3, 4);
