import { runTogether } from '../support/together.ts';

await runTogether('client', 3, 4);
