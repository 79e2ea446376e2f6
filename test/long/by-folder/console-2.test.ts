import { runTogether } from '../../support/together.ts';

await runTogether('long/console', 2, 4);
