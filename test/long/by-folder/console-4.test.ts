import { runTogether } from '../../support/together.ts';

await runTogether('test/long/console', 4, 4);
