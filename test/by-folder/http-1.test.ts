import { runTogether } from '../support/together.ts';

await runTogether('http', 1, 3);
