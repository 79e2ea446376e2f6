import { runTogether } from '../../support/together.ts';

await runTogether('long/console', 3, 4);
