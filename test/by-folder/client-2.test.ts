import { runTogether } from '../support/together.ts';

await runTogether('client', 2, 4);
