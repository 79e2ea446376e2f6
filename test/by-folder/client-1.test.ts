import { runTogether } from '../support/together.ts';

await runTogether('client', 1, 4);
