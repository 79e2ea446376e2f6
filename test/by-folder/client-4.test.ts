import { runTogether } from '../support/together.ts';

await runTogether('client', 4, 4);
